"""Triton: gelu(A B + bias) in its tanh form, float16 in and out."""

import triton
import triton.language as tl


@triton.jit
def matmul_bias_gelu(a, b, bias, c, rows, columns, depth, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
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
    value = total + tl.load(bias + column)[None, :]
    inner_value = 0.7978845608 * (value + 0.044715 * value * value * value)
    result = value * tl.sigmoid(2.0 * inner_value)
    tl.store(c + row[:, None] * columns + column[None, :], result.to(tl.float16), mask=row[:, None] < rows)


KERNEL = matmul_bias_gelu
SIGNATURE = {
    "a": "*fp16",
    "b": "*fp16",
    "bias": "*fp32",
    "c": "*fp16",
    "rows": "i32",
    "columns": "i32",
    "depth": "i32",
}
CONSTANTS = {"TILE_M": 128, "TILE_N": 64, "TILE_K": 32}
ALIGNED = ("a", "b", "bias", "c", "columns", "depth")
OPTIONS = {"num_warps": 4, "num_stages": 2}
