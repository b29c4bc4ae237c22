"""Fused mixture-of-experts kernels (fmoe): gate and up product, SiLU, down product, weighted sum over a token's experts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.production.layouts import shuffle_weight
from tests.production.numbers import Array, bf16_nearest, fp8
from tests.production.trial import NULL, Slot, Tensor, Trial, near

F32 = np.float32
INT8_BOUND = "half a step of the inner activations, 1/254 of their largest, times |down weights|, and 2^-8 of each expert's part"
FP8_BOUND = "2^-4 of the inner activations (rounded to FP8) times |down weights|, and 2^-8 of each expert's part"
ROWS = 32
"""Tokens of one expert that a work-group takes."""


@dataclass(frozen=True, slots=True)
class Routing:
    """Which experts tokens go to: `experts` and `weights` (tokens, k), and the tables that kernels read, in blocks of 32."""

    experts: Array
    weights: Array
    sorted_tokens: Array
    sorted_weights: Array
    block_experts: Array

    @property
    def padded(self) -> int:
        return len(self.sorted_tokens)


def route(random: np.random.Generator, tokens: int, experts: int, k: int) -> Routing:
    """Distinct random experts for each token. A table entry is the token's number and, 24 bits above, its place among the k."""
    chosen = np.stack([random.permutation(experts)[:k] for _ in range(tokens)])
    weights = random.uniform(0.2, 0.8, (tokens, k)).astype(F32)
    places: list[int] = []
    shares: list[float] = []
    blocks: list[int] = []
    for expert in range(experts):
        token, place = np.nonzero(chosen == expert)
        padding = -len(token) % ROWS
        places += [*(place << 24 | token).tolist(), *[k << 24 | tokens] * padding]
        shares += [*weights[token, place].tolist(), *[0.0] * padding]
        blocks += [expert] * ((len(token) + padding) // ROWS)
    return Routing(chosen, weights, np.array(places), np.array(shares, F32), np.array(blocks))


def _slots(
    routing: Routing, experts: int, out_name: str, x: Tensor, up: Tensor, down: Tensor, scales: tuple[Tensor, ...],
    strides: tuple[int, int, int], sizes: tuple[int, int],
) -> tuple[Slot, ...]:  # fmt: skip
    """The arguments; `strides` in bytes from expert to expert of the scales of gate and up, of down, and of the smoothing."""
    (tokens, k), (width, inner) = routing.experts.shape, sizes
    return (
        Tensor(out_name, np.zeros((tokens, width)), "bf16", "inout"), x, up, Tensor("padded", np.array([routing.padded]), "i32"),
        down, *scales, NULL, Tensor("sorted_tokens", routing.sorted_tokens, "i32"),
        Tensor("sorted_weights", routing.sorted_weights, "f32"), Tensor("block_experts", routing.block_experts, "i32"),
        width, inner, tokens, experts, width, width, inner, width * 2, 2 * inner * width, inner * width, *strides, k, 0, 1,
    )  # fmt: skip


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def int8(tokens: int, width: int, inner: int, experts: int, k: int, tile: int) -> Trial:
    """int8 with a scale for each token and each row of the weights; the inner activations become int8 again, by their largest."""
    random = np.random.default_rng(11)
    routing = route(random, tokens, experts, k)
    x = random.integers(-127, 128, (tokens, width))
    up = random.integers(-127, 128, (experts, 2 * inner, width))
    down = random.integers(-127, 128, (experts, width, inner))
    scale_x = random.uniform(0.005, 0.02, tokens).astype(F32)
    scale_up = random.uniform(0.0005, 0.001, (experts, 2 * inner)).astype(F32)
    scale_down = random.uniform(0.0005, 0.001, (experts, width)).astype(F32)
    total, room = np.zeros((tokens, width)), np.zeros((tokens, width))
    for token in range(tokens):
        for expert, weight in zip(routing.experts[token], routing.weights[token].astype(np.float64), strict=True):
            both = (up[expert] @ x[token]) * scale_up[expert].astype(np.float64) * scale_x[token]
            hidden = silu(both[:inner]) * both[inner:]
            weights = weight * down[expert] * scale_down[expert].astype(np.float64)[:, None]
            part = weights @ hidden
            total[token] += part
            step = np.repeat(np.abs(hidden).reshape(-1, tile).max(axis=1) / 127, tile)
            room[token] += np.abs(weights) @ (0.5 * step) + 2.0**-8 * np.abs(part)
    scales = (Tensor("scale_x", scale_x, "f32"), Tensor("scale_up", scale_up, "f32"), Tensor("scale_down", scale_down, "f32"))
    slots = _slots(
        routing, experts, "out", Tensor("x", x, "i8"), Tensor("up", shuffle_weight(up, 1), "i8"),
        Tensor("down", shuffle_weight(down, 1), "i8"), scales, (2 * inner * 4, width * 4, inner * 4), (width, inner),
    )  # fmt: skip
    return Trial((inner // tile, len(routing.block_experts), 1), slots, {"out": near(total, room, bf16_nearest)})


def fp8_blockscale(tokens: int, width: int, inner: int, experts: int, k: int, tile: int) -> Trial:
    """FP8 with a scale for each token by 128 numbers, and each 128 by 128 block of the weights."""
    random = np.random.default_rng(12)
    routing = route(random, tokens, experts, k)
    x, up, down = (
        fp8(random.standard_normal(shape)) for shape in ((tokens, width), (experts, 2 * inner, width), (experts, width, inner))
    )
    scale_x = random.uniform(0.5, 1.5, (width // 128, tokens)).astype(F32)
    scale_up = random.uniform(0.01, 0.03, (experts, 2 * inner // 128, width // 128)).astype(F32)
    scale_down = random.uniform(0.01, 0.03, (experts, width // 128, inner // 128)).astype(F32)
    wide_up, wide_down = (
        values * np.repeat(np.repeat(scale, 128, axis=1), 128, axis=2).astype(np.float64)
        for values, scale in ((up, scale_up), (down, scale_down))
    )
    wide_x = x * np.repeat(scale_x.T, 128, axis=1).astype(np.float64)
    total, room = np.zeros((tokens, width)), np.zeros((tokens, width))
    for token in range(tokens):
        for expert, weight in zip(routing.experts[token], routing.weights[token].astype(np.float64), strict=True):
            both = wide_up[expert] @ wide_x[token]
            hidden = silu(both[:inner]) * both[inner:]
            part = weight * (wide_down[expert] @ hidden)
            total[token] += part
            room[token] += weight * (np.abs(wide_down[expert]) @ np.abs(hidden)) * 2.0**-4 + 2.0**-8 * np.abs(part)
    scales = (Tensor("scale_x", scale_x, "f32"), Tensor("scale_up", scale_up, "f32"), Tensor("scale_down", scale_down, "f32"))
    slots = _slots(
        routing, experts, "out", Tensor("x", x, "fp8"), Tensor("up", shuffle_weight(up, 1), "fp8"),
        Tensor("down", shuffle_weight(down, 1), "fp8"), scales, (scale_up[0].size * 4, scale_down[0].size * 4, inner * 4),
        (width, inner),
    )  # fmt: skip
    return Trial((inner // tile, len(routing.block_experts), 1), slots, {"out": near(total, room, bf16_nearest)})
