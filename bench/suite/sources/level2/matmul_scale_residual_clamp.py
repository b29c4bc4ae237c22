"""Triton: clamp(A B * scale + residual, -2, 2), float16 in and out."""

import triton
import triton.language as tl


@triton.jit
def matmul_scale_residual_clamp(
    a, b, residual, c, rows, columns, depth, scale, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr
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
    at = row[:, None] * columns + column[None, :]
    beside = tl.load(residual + at, mask=row[:, None] < rows, other=0.0).to(tl.float32)
    result = tl.minimum(tl.maximum(total * scale + beside, -2.0), 2.0)
    tl.store(c + at, result.to(tl.float16), mask=row[:, None] < rows)


KERNEL = matmul_scale_residual_clamp
SIGNATURE = {
    "a": "*fp16",
    "b": "*fp16",
    "residual": "*fp16",
    "c": "*fp16",
    "rows": "i32",
    "columns": "i32",
    "depth": "i32",
    "scale": "fp32",
}
CONSTANTS = {"TILE_M": 64, "TILE_N": 128, "TILE_K": 32}
ALIGNED = ("a", "b", "residual", "c", "columns", "depth")
OPTIONS = {"num_warps": 4, "num_stages": 2}
