"""Triton: root mean square normalisation of each row, float16, up to 2,048 columns."""

import triton
import triton.language as tl


@triton.jit
def rms_norm(source, weight, target, columns, epsilon, WIDTH: tl.constexpr):
    """One program a row, which stays in registers."""
    row = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    inside = column < columns
    value = tl.load(source + row * columns + column, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / columns + epsilon)
    gain = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(target + row * columns + column, (value * scale * gain).to(tl.float16), mask=inside)


KERNEL = rms_norm
SIGNATURE = {"source": "*fp16", "weight": "*fp16", "target": "*fp16", "columns": "i32", "epsilon": "fp32"}
CONSTANTS = {"WIDTH": 2048}
ALIGNED = ("source", "weight", "target", "columns")
OPTIONS = {"num_warps": 4}
