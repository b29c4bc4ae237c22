"""Triton: root mean square normalisation of a row, then swish of its first half times its second, float16."""

import triton
import triton.language as tl


@triton.jit
def rmsnorm_swiglu(source, weight, target, half_columns, epsilon, WIDTH: tl.constexpr):
    """One program a row of two halves of up to WIDTH columns, which stay in registers."""
    row = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    inside = column < half_columns
    gate_at = row * 2 * half_columns + column
    gate = tl.load(source + gate_at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(source + gate_at + half_columns, mask=inside, other=0.0).to(tl.float32)
    squares = tl.sum(gate * gate + up * up, axis=0) / (2 * half_columns)
    scale = tl.rsqrt(squares + epsilon)
    gate = gate * scale * tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    up = up * scale * tl.load(weight + half_columns + column, mask=inside, other=0.0).to(tl.float32)
    result = gate * tl.sigmoid(gate) * up
    tl.store(target + row * half_columns + column, result.to(tl.float16), mask=inside)


KERNEL = rmsnorm_swiglu
SIGNATURE = {"source": "*fp16", "weight": "*fp16", "target": "*fp16", "half_columns": "i32", "epsilon": "fp32"}
CONSTANTS = {"WIDTH": 1024}
ALIGNED = ("source", "weight", "target", "half_columns")
OPTIONS = {"num_warps": 4}
