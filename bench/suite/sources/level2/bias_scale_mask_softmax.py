"""Triton: causal softmax of (scores * scale + bias), float32, up to 1,024 columns."""

import triton
import triton.language as tl


@triton.jit
def bias_scale_mask_softmax(scores, bias, target, columns, scale, offset, WIDTH: tl.constexpr):
    """One program a row; row r sees columns 0 to r + offset."""
    row = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    inside = column < columns
    seen = inside & (column <= row + offset)
    value = tl.load(scores + row * columns + column, mask=inside, other=0.0) * scale
    value = tl.where(seen, value + tl.load(bias + column, mask=inside, other=0.0), float("-inf"))
    weight = tl.exp(value - tl.max(value, axis=0))
    tl.store(target + row * columns + column, weight / tl.sum(weight, axis=0), mask=inside)


KERNEL = bias_scale_mask_softmax
SIGNATURE = {"scores": "*fp32", "bias": "*fp32", "target": "*fp32", "columns": "i32", "scale": "fp32", "offset": "i32"}
CONSTANTS = {"WIDTH": 1024}
ALIGNED = ("scores", "bias", "target")
OPTIONS = {"num_warps": 4}
