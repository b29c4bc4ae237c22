"""Triton: swish, x * sigmoid(x), float32, any length."""

import triton
import triton.language as tl


@triton.jit
def swish(source, target, length, BLOCK: tl.constexpr):
    """One program makes BLOCK elements; the tail is masked."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < length
    value = tl.load(source + index, mask=inside, other=0.0)
    tl.store(target + index, value * tl.sigmoid(value), mask=inside)


KERNEL = swish
SIGNATURE = {"source": "*fp32", "target": "*fp32", "length": "i32"}
CONSTANTS = {"BLOCK": 2048}
ALIGNED = ("source", "target")
OPTIONS = {"num_warps": 4}
