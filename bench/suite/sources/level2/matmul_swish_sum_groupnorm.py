"""Triton: group normalisation of swish(A B) + bias, float16 in, float32 out; a group is a tile's columns."""

import triton
import triton.language as tl


@triton.jit
def matmul_swish_sum_groupnorm(
    a, b, bias, gain, shift, c, rows, columns, depth, epsilon, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr
):
    """One program a tile; rows are ragged (masked), columns and depth are multiples of the tile."""
    row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, TILE_K)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for start in range(0, depth, TILE_K):
        step = start + inner
        left = tl.load(a + row[:, None] * depth + step[None, :], mask=row[:, None] < rows, other=0.0)
        right = tl.load(b + step[:, None] * columns + column[None, :])
        total = tl.dot(left, right, total)
    value = total * tl.sigmoid(total) + tl.load(bias + column)[None, :]
    mean = tl.sum(value, axis=1) / TILE_N
    apart = value - mean[:, None]
    scale = tl.rsqrt(tl.sum(apart * apart, axis=1) / TILE_N + epsilon)
    result = apart * scale[:, None] * tl.load(gain + column)[None, :] + tl.load(shift + column)[None, :]
    tl.store(c + row[:, None] * columns + column[None, :], result, mask=row[:, None] < rows)


KERNEL = matmul_swish_sum_groupnorm
SIGNATURE = {
    "a": "*fp16",
    "b": "*fp16",
    "bias": "*fp32",
    "gain": "*fp32",
    "shift": "*fp32",
    "c": "*fp32",
    "rows": "i32",
    "columns": "i32",
    "depth": "i32",
    "epsilon": "fp32",
}
CONSTANTS = {"TILE_M": 64, "TILE_N": 64, "TILE_K": 32}
ALIGNED = ("a", "b", "bias", "gain", "shift", "c", "columns", "depth")
OPTIONS = {"num_warps": 4, "num_stages": 2}
