"""Triton: attention forward, float16, head size 128: softmax(Q K' * scale) V with a running maximum and sum, in one pass."""

import triton
import triton.language as tl


@triton.jit
def attention_fwd(query, key, value, out, length, scale_log2, TILE_Q: tl.constexpr, TILE_K: tl.constexpr, HEAD: tl.constexpr):
    """One program a query tile of one head; every tensor is (heads, length, HEAD), length a multiple of TILE_Q.

    `scale_log2` is the softmax scale times log2(e), so that weights are powers of two.
    """
    base = tl.program_id(1) * length * HEAD
    row = tl.program_id(0) * TILE_Q + tl.arange(0, TILE_Q)
    feature = tl.arange(0, HEAD)
    inner = tl.arange(0, TILE_K)
    q = tl.load(query + base + row[:, None] * HEAD + feature[None, :])
    highest = tl.full((TILE_Q,), float("-inf"), dtype=tl.float32)
    weight_sum = tl.zeros((TILE_Q,), dtype=tl.float32)
    total = tl.zeros((TILE_Q, HEAD), dtype=tl.float32)
    for start in range(0, length, TILE_K):
        position = start + inner
        k = tl.load(key + base + feature[:, None] + position[None, :] * HEAD)
        score = tl.dot(q, k) * scale_log2
        peak = tl.maximum(highest, tl.max(score, axis=1))
        decay = tl.exp2(highest - peak)
        weight = tl.exp2(score - peak[:, None])
        weight_sum = weight_sum * decay + tl.sum(weight, axis=1)
        v = tl.load(value + base + position[:, None] * HEAD + feature[None, :])
        total = tl.dot(weight.to(tl.float16), v, total * decay[:, None])
        highest = peak
    result = total / weight_sum[:, None]
    tl.store(out + base + row[:, None] * HEAD + feature[None, :], result.to(tl.float16))


KERNEL = attention_fwd
SIGNATURE = {"query": "*fp16", "key": "*fp16", "value": "*fp16", "out": "*fp16", "length": "i32", "scale_log2": "fp32"}
CONSTANTS = {"TILE_Q": 128, "TILE_K": 64, "HEAD": 128}
ALIGNED = ("query", "key", "value", "out", "length")
OPTIONS = {"num_warps": 4, "num_stages": 2}
