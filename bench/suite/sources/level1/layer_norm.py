"""Triton: layer normalisation of long rows, float32, any number of columns, in three passes over memory."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(source, weight, bias, target, columns, epsilon, BLOCK: tl.constexpr):
    """One program a row: mean, then the mean of squared deviations, then the result."""
    source += tl.program_id(0) * columns
    target += tl.program_id(0) * columns
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        total += tl.load(source + column, mask=column < columns, other=0.0)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        value = tl.load(source + column, mask=column < columns, other=0.0)
        apart = tl.where(column < columns, value - mean, 0.0)
        squares += apart * apart
    scale = tl.rsqrt(tl.sum(squares, axis=0) / columns + epsilon)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        inside = column < columns
        value = tl.load(source + column, mask=inside, other=0.0)
        gain = tl.load(weight + column, mask=inside)
        shift = tl.load(bias + column, mask=inside)
        tl.store(target + column, (value - mean) * scale * gain + shift, mask=inside)


KERNEL = layer_norm
SIGNATURE = {"source": "*fp32", "weight": "*fp32", "bias": "*fp32", "target": "*fp32", "columns": "i32", "epsilon": "fp32"}
CONSTANTS = {"BLOCK": 1024}
ALIGNED = ("source", "weight", "bias", "target", "columns")
OPTIONS = {"num_warps": 4}
