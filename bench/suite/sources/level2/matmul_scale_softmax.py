"""Triton: softmax over a tile's columns of A B * scale, float16 in, float32 out: attention's first half."""

import triton
import triton.language as tl


@triton.jit
def matmul_scale_softmax(
    a, b, c, rows, columns, depth, scale, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr
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
    score = total * scale
    weight = tl.exp(score - tl.max(score, axis=1)[:, None])
    result = weight / tl.sum(weight, axis=1)[:, None]
    tl.store(c + row[:, None] * columns + column[None, :], result, mask=row[:, None] < rows)


KERNEL = matmul_scale_softmax
SIGNATURE = {
    "a": "*fp16",
    "b": "*fp16",
    "c": "*fp32",
    "rows": "i32",
    "columns": "i32",
    "depth": "i32",
    "scale": "fp32",
}
CONSTANTS = {"TILE_M": 64, "TILE_N": 64, "TILE_K": 64}
ALIGNED = ("a", "b", "c", "columns", "depth")
OPTIONS = {"num_warps": 4, "num_stages": 2}
