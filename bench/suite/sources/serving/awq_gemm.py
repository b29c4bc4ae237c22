"""Triton: C = A W with 4-bit weights, eight to a word in AWQ's order, a scale and a zero for each 128 of depth; float16."""

import triton
import triton.language as tl


@triton.jit
def awq_gemm(
    a,
    packed,
    scales,
    zeros,
    c,
    rows,
    columns,
    depth,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    TILE_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    """One program a tile; rows are ragged (masked), columns a multiple of TILE_N, depth of GROUP.

    `packed` is (depth, columns / 8), `zeros` (depth / GROUP, columns / 8), `scales` (depth / GROUP, columns).
    Column 8 w + i of word w stands at bit 4 * (i / 2 + 4 * (i % 2)).
    """
    row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    word = column // 8
    shift = ((column % 8) // 2 + (column % 2) * 4) * 4
    inner = tl.arange(0, TILE_K)
    inside = row[:, None] < rows
    words = columns // 8
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for start in range(0, depth, TILE_K):
        step = start + inner
        group = start // GROUP
        left = tl.load(a + row[:, None] * depth + step[None, :], mask=inside, other=0.0)
        quad = (tl.load(packed + step[:, None] * words + word[None, :]) >> shift[None, :]) & 15
        zero = (tl.load(zeros + group * words + word) >> shift) & 15
        scale = tl.load(scales + group * columns + column)
        right = (quad - zero[None, :]).to(tl.float16) * scale[None, :]
        total = tl.dot(left, right, total)
    tl.store(c + row[:, None] * columns + column[None, :], total.to(tl.float16), mask=inside)


KERNEL = awq_gemm
SIGNATURE = {
    "a": "*fp16",
    "packed": "*i32",
    "scales": "*fp16",
    "zeros": "*i32",
    "c": "*fp16",
    "rows": "i32",
    "columns": "i32",
    "depth": "i32",
}
CONSTANTS = {"TILE_M": 32, "TILE_N": 64, "TILE_K": 32, "GROUP": 128}
ALIGNED = ("a", "packed", "scales", "zeros", "c", "columns", "depth")
OPTIONS = {"num_warps": 4, "num_stages": 2}
