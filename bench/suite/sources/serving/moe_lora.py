"""Triton: a low-rank adapter for each tile of tokens: out += scale (x A[adapter]') B[adapter]', float16, rank 16."""

import triton
import triton.language as tl


@triton.jit
def moe_lora(
    tokens,
    down,
    up,
    out,
    adapters,
    scales,
    rows,
    columns,
    depth,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    TILE_K: tl.constexpr,
    RANK: tl.constexpr,
):
    """One program TILE_M tokens with one adapter by TILE_N columns; down is (adapter, RANK, depth), up (adapter, column, RANK).

    Rows are ragged (masked), columns a multiple of TILE_N, depth of TILE_K. A negative adapter leaves the tile as it is.
    """
    adapter = tl.load(adapters + tl.program_id(0))
    if adapter >= 0:
        row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
        column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
        inner = tl.arange(0, TILE_K)
        rank = tl.arange(0, RANK)
        inside = row[:, None] < rows
        low = tl.zeros((TILE_M, RANK), dtype=tl.float32)
        for start in range(0, depth, TILE_K):
            step = start + inner
            left = tl.load(tokens + row[:, None] * depth + step[None, :], mask=inside, other=0.0)
            right = tl.load(down + adapter * RANK * depth + rank[None, :] * depth + step[:, None])
            low = tl.dot(left, right, low)
        wide = tl.load(up + adapter * columns * RANK + column[None, :] * RANK + rank[:, None])
        at = out + row[:, None] * columns + column[None, :]
        before = tl.load(at, mask=inside, other=0.0).to(tl.float32)
        result = before + tl.load(scales + adapter) * tl.dot(low.to(tl.float16), wide)
        tl.store(at, result.to(tl.float16), mask=inside)


KERNEL = moe_lora
SIGNATURE = {
    "tokens": "*fp16",
    "down": "*fp16",
    "up": "*fp16",
    "out": "*fp16",
    "adapters": "*i32",
    "scales": "*fp32",
    "rows": "i32",
    "columns": "i32",
    "depth": "i32",
}
CONSTANTS = {"TILE_M": 32, "TILE_N": 64, "TILE_K": 64, "RANK": 16}
ALIGNED = ("tokens", "down", "up", "out", "adapters", "scales", "columns", "depth")
OPTIONS = {"num_warps": 2, "num_stages": 2}
