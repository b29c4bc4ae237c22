"""Triton: C = A B' of fp8 with a scale for each 128 of depth: by row of A, by 128 rows of B; float16 out."""

import triton
import triton.language as tl


@triton.jit
def gemm_a8w8_blockscale(
    a, b, a_scale, b_scale, c, rows, columns, depth, TILE_M: tl.constexpr, TILE_N: tl.constexpr, BLOCK: tl.constexpr
):
    """One program a tile; rows are ragged (masked), columns a multiple of TILE_N, depth of BLOCK."""
    row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, BLOCK)
    inside = row < rows
    blocks = depth // BLOCK
    weight_scales = b_scale + (tl.program_id(1) * TILE_N // 128) * blocks
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for block in range(0, blocks):
        step = block * BLOCK + inner
        left = tl.load(a + row[:, None] * depth + step[None, :], mask=inside[:, None], other=0.0)
        right = tl.load(b + column[None, :] * depth + step[:, None])
        scale = tl.load(a_scale + row * blocks + block, mask=inside, other=0.0) * tl.load(weight_scales + block)
        total += tl.dot(left, right) * scale[:, None]
    tl.store(c + row[:, None] * columns + column[None, :], total.to(tl.float16), mask=inside[:, None])


KERNEL = gemm_a8w8_blockscale
SIGNATURE = {
    "a": "*fp8e4b8",
    "b": "*fp8e4b8",
    "a_scale": "*fp32",
    "b_scale": "*fp32",
    "c": "*fp16",
    "rows": "i32",
    "columns": "i32",
    "depth": "i32",
}
CONSTANTS = {"TILE_M": 64, "TILE_N": 64, "BLOCK": 128}
ALIGNED = ("a", "b", "a_scale", "b_scale", "c", "columns", "depth")
OPTIONS = {"num_warps": 4, "num_stages": 2}
