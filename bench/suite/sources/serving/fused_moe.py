"""Triton: mixture of experts, one projection: rows gathered by a sorted list, each tile with one expert's weights, float16."""

import triton
import triton.language as tl


@triton.jit
def fused_moe(
    tokens,
    weights,
    out,
    routing,
    sorted_ids,
    tile_experts,
    slots,
    columns,
    depth,
    top_k,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
    TILE_K: tl.constexpr,
):
    """One program TILE_M places of the list by TILE_N columns.

    A place holds a slot, token * top_k + choice, or `slots` where it is padding; the tile's expert is in `tile_experts`.
    Weights are (expert, column, depth). The result, by slot, is scaled by `routing`.
    """
    tile = tl.program_id(0)
    slot = tl.load(sorted_ids + tile * TILE_M + tl.arange(0, TILE_M))
    inside = slot < slots
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    inner = tl.arange(0, TILE_K)
    expert = tl.load(tile_experts + tile)
    left_at = tokens + (slot // top_k)[:, None] * depth + inner[None, :]
    right_at = weights + expert * columns * depth + column[None, :] * depth + inner[:, None]
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for start in range(0, depth, TILE_K):
        left = tl.load(left_at + start, mask=inside[:, None], other=0.0)
        total = tl.dot(left, tl.load(right_at + start), total)
    share = tl.load(routing + slot, mask=inside, other=0.0)
    result = (total * share[:, None]).to(tl.float16)
    tl.store(out + slot[:, None] * columns + column[None, :], result, mask=inside[:, None])


KERNEL = fused_moe
SIGNATURE = {
    "tokens": "*fp16",
    "weights": "*fp16",
    "out": "*fp16",
    "routing": "*fp32",
    "sorted_ids": "*i32",
    "tile_experts": "*i32",
    "slots": "i32",
    "columns": "i32",
    "depth": "i32",
    "top_k": "i32",
}
CONSTANTS = {"TILE_M": 32, "TILE_N": 64, "TILE_K": 64}
ALIGNED = ("tokens", "weights", "out", "routing", "sorted_ids", "tile_experts", "columns", "depth")
OPTIONS = {"num_warps": 4, "num_stages": 2}
