"""Triton: layer normalisation of each row of a float32 matrix, with weight and bias, up to 1,024 columns."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(source, weight, bias, target, columns, epsilon, WIDTH: tl.constexpr):
    """One program a row, two passes over registers: mean, then the mean of squared deviations."""
    row = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    inside = column < columns
    value = tl.load(source + row * columns + column, mask=inside, other=0.0)
    mean = tl.sum(value, axis=0) / columns
    centred = tl.where(inside, value - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + epsilon)
    gain = tl.load(weight + column, mask=inside)
    shift = tl.load(bias + column, mask=inside)
    tl.store(target + row * columns + column, centred * scale * gain + shift, mask=inside)


KERNEL = layer_norm
SIGNATURE = {"source": "*fp32", "weight": "*fp32", "bias": "*fp32", "target": "*fp32", "columns": "i32", "epsilon": "fp32"}
CONSTANTS = {"WIDTH": 1024}
ALIGNED = ("source", "weight", "bias", "target")
OPTIONS = {"num_warps": 4}
