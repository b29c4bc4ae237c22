"""Triton: C = A B with float16 inputs and float32 accumulation on the matrix cores, 256x128 tiles, float32 result."""

import triton
import triton.language as tl


@triton.jit
def matmul_256x128(a, b, c, rows, columns, depth, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    """One program a tile; rows and columns are ragged (masked), depth is a multiple of TILE_K."""
    row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, TILE_K)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for start in range(0, depth, TILE_K):
        step = start + inner
        left = tl.load(a + row[:, None] * depth + step[None, :], mask=row[:, None] < rows, other=0.0)
        right = tl.load(b + step[:, None] * columns + column[None, :], mask=column[None, :] < columns, other=0.0)
        total = tl.dot(left, right, total)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(c + row[:, None] * columns + column[None, :], total, mask=inside)


KERNEL = matmul_256x128
SIGNATURE = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "rows": "i32", "columns": "i32", "depth": "i32"}
CONSTANTS = {"TILE_M": 256, "TILE_N": 128, "TILE_K": 32}
ALIGNED = ("a", "b", "c", "columns", "depth")
OPTIONS = {"num_warps": 4, "num_stages": 2}
