"""References of the kernels that use the matrix cores."""

from __future__ import annotations

import numpy as np

from .arithmetic import F32, Array, as_float, exp2, fma, pair
from .expected import Expected, Values, between, exact
from .matrix import multiply_add

HEAD, TILE_K = 128, 64
_FUSED_INSIDE = (list(range(9)), [*range(1, 11), 15])
_FUSED_LAST = (list(range(8)), list(range(2, 10)))
"""Scores of a lane that are scaled and lowered by one fused step, by tile of 32 keys; elsewhere the product is rounded first.

The compiler chose them, and not alike inside the loop and after it.
"""


def matmul(v: Values) -> dict[str, Expected]:
    """The product of float16 matrices, depth upward in steps of 8."""
    rows, columns, depth = v["arg3"], v["arg4"], v["arg5"]
    a, b = v["a"].reshape(rows, depth), v["b"].reshape(depth, columns)
    return {"c": exact(multiply_add(a, b, np.zeros((rows, columns), F32)).ravel())}


def _keys(first: list[int], second: list[int]) -> Array:
    """Which of a tile's 64 keys the compiler gave a fused multiply-add; shape (64,) bool.

    A lane has 16 scores of each 32 keys, `first` and `second` number the fused ones. Score e of half h of the lanes belongs to
    key 8 (e // 4) + 4 h + e % 4.
    """
    chosen = np.zeros((2, 16), bool)
    chosen[0, first] = chosen[1, second] = True
    return np.repeat(chosen.reshape(2, 4, 1, 4), 2, axis=2).ravel()


def _lane_sum(weight: Array) -> Array:
    """Sums of (queries, 64) weights in the kernel's order; shape (queries, 1).

    Each lane adds its even and its odd scores by trees of neighbours, then the two; then the halves of the wave add theirs.
    """
    scores = weight.reshape(-1, 2, 4, 2, 2, 2).transpose(0, 3, 5, 1, 2, 4)  # query, half, parity, tile of 32, group, pair
    return pair(pair(pair(scores.reshape(-1, 2, 2, 16))))[:, None]


def _attention_head(query: Array, key: Array, value: Array, scale: Array) -> tuple[Array, Array]:
    """One head's output as float32, and how far a chip's may lie from it."""
    fused_inside, fused_last = _keys(*_FUSED_INSIDE), _keys(*_FUSED_LAST)
    highest = np.full((query.shape[0], 1), -np.inf, F32)
    weight_sum = np.zeros((query.shape[0], 1), F32)
    total = np.zeros((query.shape[0], HEAD), F32)
    size = np.zeros((query.shape[0], HEAD))
    for start in range(0, key.shape[0], TILE_K):
        keys, values = key[start : start + TILE_K], value[start : start + TILE_K]
        product = multiply_add(query, keys.T, np.zeros((query.shape[0], TILE_K), F32))
        score = product * scale
        # v_max3_f32 prefers a number to a NaN.
        peak = np.fmax(highest, np.fmax.reduce(score, axis=1, keepdims=True))
        fused = fused_last if start + TILE_K == key.shape[0] else fused_inside
        weight = exp2(np.where(fused, fma(product, scale, -peak), score - peak))
        decay = exp2(highest - peak)
        weight_sum = fma(weight_sum, decay, _lane_sum(weight))
        total = multiply_add(weight.astype(np.float16), values, total * decay)
        size = size * decay + weight.astype(np.float64) @ np.abs(values).astype(np.float64)
        highest = peak
    return total / weight_sum, size / weight_sum


def attention(v: Values) -> dict[str, Expected]:
    """softmax(Q K' * scale) V of each head, the scale given times log2(e), with a running maximum and sum.

    Steps of 1 ULP: v_exp_f32, once for each weight and once a tile for the decay. Where that moves a weight over the edge
    between two float16, the weight moves by 2^-10 of itself: at worst all do, and the result by 2^-10 of the weighted mean of
    |V|, plus its own rounding to float16. Quotients are rounded exactly.
    """
    shape = (-1, v["arg4"], HEAD)
    heads = zip(*(v[name].reshape(shape) for name in ("query", "key", "value")), strict=True)
    results = [_attention_head(query, key, value, as_float(v["arg5"])) for query, key, value in heads]
    out = np.concatenate([result.ravel() for result, _ in results]).astype(np.float16)
    slack = 2.0**-10 * np.concatenate([size.ravel() for _, size in results]) + np.spacing(np.abs(out)).astype(np.float64)
    return {"out": between(out - slack, out, out + slack)}
