"""Triton: sums over a tile's columns of the larger of two neighbours in A B, scaled; float16 in, float32 out."""

import triton
import triton.language as tl


@triton.jit
def matmul_maxpool_sum_scale(
    a, b, c, rows, columns, depth, scale, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr
):
    """One program a tile; rows are ragged (masked), columns and depth multiples of the tile. The result has a column a tile."""
    row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, TILE_K)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for start in range(0, depth, TILE_K):
        step = start + inner
        left = tl.load(a + row[:, None] * depth + step[None, :], mask=row[:, None] < rows, other=0.0)
        right = tl.load(b + step[:, None] * columns + column[None, :])
        total = tl.dot(left, right, total)
    pairs = tl.max(tl.reshape(total, (TILE_M, TILE_N // 2, 2)), axis=2)
    result = tl.sum(pairs, axis=1) * scale
    tl.store(c + row * (columns // TILE_N) + tl.program_id(1), result, mask=row < rows)


KERNEL = matmul_maxpool_sum_scale
SIGNATURE = {
    "a": "*fp16",
    "b": "*fp16",
    "c": "*fp32",
    "rows": "i32",
    "columns": "i32",
    "depth": "i32",
    "scale": "fp32",
}
CONSTANTS = {"TILE_M": 128, "TILE_N": 32, "TILE_K": 32}
ALIGNED = ("a", "b", "c", "columns", "depth")
OPTIONS = {"num_warps": 4, "num_stages": 2}
