"""Triton: out = x + y, float32, any length."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    """One program adds BLOCK elements; the tail is masked."""
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    tl.store(out + index, tl.load(x + index, mask=inside) + tl.load(y + index, mask=inside), mask=inside)


KERNEL = vector_add
SIGNATURE = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
CONSTANTS = {"BLOCK": 1024}
ALIGNED = ("x", "y", "out")
OPTIONS = {"num_warps": 4}
