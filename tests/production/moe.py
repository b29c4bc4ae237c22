"""Fused mixture-of-experts kernels (fmoe): gate and up product, SiLU, down product, weighted sum over a token's experts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from examples.references.arithmetic import exp2
from examples.references.matrix import FP8, multiply_add
from tests.production.flash import LOG2_E
from tests.production.gemm import blockscale_sum
from tests.production.layouts import chain_order, unshuffled
from tests.production.numbers import Array, bf16_away, bf16_nearest, fp8
from tests.production.trial import Given, Wanted, near

F32 = np.float32
ROWS = 32
"""Tokens of one expert that a work-group takes."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one expert has: its tokens, and the weight of its part in each, (tokens, 1)."""

    tokens: Array
    weights: Array


def shares(given: Given, tokens: int, experts: int) -> list[Share]:
    """Each expert's share, as the launch's tables say: blocks of 32 entries, each block one expert's.

    An entry is a token's number and, 24 bits above, its place among the token's experts; one past the last token is padding.
    """
    blocks = given("block_experts", -1)
    entries, weights = (given(name, len(blocks), ROWS) for name in ("sorted_tokens", "sorted_weights"))
    found: list[Share] = []
    for expert in range(experts):
        token, weight = (x[blocks == expert].ravel() for x in (entries & 0xFFFFFF, weights))
        found.append(Share(token[token < tokens], weight[token < tokens][:, None]))
    return found


def _gated(both: Array) -> Array:
    """Gate by its logistic function by up: (tokens, 2 inner) to (tokens, inner), in the kernels' float32 steps."""
    gate, up = np.split(both, 2, axis=1)
    return gate * (F32(1) / (exp2(-gate * LOG2_E) + F32(1))) * up


def int8(given: Given, tokens: int, width: int, inner: int, experts: int) -> Wanted:
    """int8 with a scale for each token and each row of the weights; the inner activations become int8 again, by their largest.

    The kernel cuts them toward zero. Each expert's part is rounded to bfloat16, ties away from zero, and added by an atomic
    bfloat16 addition, of which two commute.
    """
    x = given("x", tokens, width)
    up, down = (unshuffled(given(name, experts, *shape), 1) for name, shape in _weights(width, inner))
    scale_x = given("scale_x", tokens, 1)
    scale_up, scale_down = given("scale_up", experts, 2 * inner), given("scale_down", experts, width)
    total, room = np.zeros((tokens, width), F32), np.zeros((tokens, width))
    for expert, share in enumerate(shares(given, tokens, experts)):
        token, factor = share.tokens, share.weights
        hidden = _gated((x[token] @ up[expert].T).astype(F32) * scale_x[token] * scale_up[expert])
        scale = F32(1) / np.maximum(np.abs(hidden).max(axis=1, keepdims=True), F32(1e-6)) * F32(127)
        narrow = np.trunc(hidden * scale).astype(np.int64)
        part = bf16_away((narrow @ down[expert].T).astype(F32) * (F32(1) / scale) * scale_down[expert] * factor)
        total[token] = bf16_nearest(total[token] + part)
        step = np.abs(down[expert]).sum(axis=1) / scale * scale_down[expert] * factor
        room[token] += step + 2.0**-7 * (np.abs(part) + np.abs(total[token]))
    return Wanted({"out": near(total, room)})


def _weights(width: int, inner: int) -> tuple[tuple[str, tuple[int, int]], ...]:
    """One expert's weights by name: gate and up together, and down."""
    return ("up", (2 * inner, width)), ("down", (width, inner))


def fp8_blockscale(given: Given, tokens: int, width: int, experts: int) -> Wanted:
    """FP8 with a scale for each token by 128 numbers, and each 128 by 128 block of the weights; 128 inner activations.

    These become FP8 again, by their largest. Each expert's part is rounded and added as in `int8`.
    """
    inner = 128
    x = given("x", tokens, width)
    up, down = (unshuffled(given(name, experts, *shape), 1) for name, shape in _weights(width, inner))
    scale_x = given("scale_x", width // 128, tokens)
    scale_up, scale_down = given("scale_up", experts, 2, width // 128), given("scale_down", experts, width // 128, 1)
    order = chain_order(inner, 16, 8)
    total, room = np.zeros((tokens, width), F32), np.zeros((tokens, width))
    for expert, share in enumerate(shares(given, tokens, experts)):
        token, factor = share.tokens, share.weights
        hidden = _gated(blockscale_sum(x[token], up[expert], scale_x[:, token], scale_up[expert].T))
        scale = F32(1) / np.maximum(np.abs(hidden).max(axis=1, keepdims=True), F32(1e-6)) * F32(240)
        narrow = fp8(hidden * scale)
        zero = np.zeros((len(token), width), F32)
        product = multiply_add(narrow[:, order], down[expert][:, order].T, zero, FP8)
        back = np.repeat(scale_down[expert].T, 128, axis=1) * (F32(1) / scale)
        part = bf16_away(back * product * factor)
        total[token] = bf16_nearest(total[token] + part)
        moved = np.maximum(np.abs(narrow) * 2.0**-3, 2.0**-10) @ np.abs(down[expert]).T
        room[token] += moved * back * factor + 2.0**-7 * (np.abs(part) + np.abs(total[token]))
    return Wanted({"out": near(total, room)})
