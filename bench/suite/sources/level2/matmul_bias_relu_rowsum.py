"""Triton: sums over a tile's columns of relu(A B + bias), bfloat16 in, float32 out."""

import triton
import triton.language as tl


@triton.jit
def matmul_bias_relu_rowsum(
    a, b, bias, c, rows, columns, depth, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr
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
    value = tl.maximum(total + tl.load(bias + column)[None, :], 0.0)
    tl.store(c + row * (columns // TILE_N) + tl.program_id(1), tl.sum(value, axis=1), mask=row < rows)


KERNEL = matmul_bias_relu_rowsum
SIGNATURE = {
    "a": "*bf16",
    "b": "*bf16",
    "bias": "*fp32",
    "c": "*fp32",
    "rows": "i32",
    "columns": "i32",
    "depth": "i32",
}
CONSTANTS = {"TILE_M": 128, "TILE_N": 32, "TILE_K": 32}
ALIGNED = ("a", "b", "bias", "c", "columns", "depth")
OPTIONS = {"num_warps": 4, "num_stages": 2}
