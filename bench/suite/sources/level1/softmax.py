"""Triton: softmax of long rows, float32, any number of columns: a running maximum and sum, then the result."""

import triton
import triton.language as tl


@triton.jit
def softmax(source, target, columns, BLOCK: tl.constexpr):
    """One program a row, two passes over memory."""
    source += tl.program_id(0) * columns
    target += tl.program_id(0) * columns
    peak = tl.full((BLOCK,), -1e30, dtype=tl.float32)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        value = tl.load(source + column, mask=column < columns, other=-1e30)
        higher = tl.maximum(peak, value)
        total = total * tl.exp(peak - higher) + tl.where(column < columns, tl.exp(value - higher), 0.0)
        peak = higher
    highest = tl.max(peak, axis=0)
    whole = tl.sum(total * tl.exp(peak - highest), axis=0)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        value = tl.load(source + column, mask=column < columns, other=0.0)
        tl.store(target + column, tl.exp(value - highest) / whole, mask=column < columns)


KERNEL = softmax
SIGNATURE = {"source": "*fp32", "target": "*fp32", "columns": "i32"}
CONSTANTS = {"BLOCK": 1024}
ALIGNED = ("source", "target", "columns")
OPTIONS = {"num_warps": 4}
