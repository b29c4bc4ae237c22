"""Fused mixture-of-experts kernels (fmoe): gate and up product, SiLU, down product, weighted sum over a token's experts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from examples.references.arithmetic import exp2
from examples.references.matrix import FP8, multiply_add
from tests.production.flash import LOG2_E
from tests.production.gemm import blockscale_sum
from tests.production.layouts import chain_order, shuffle_weight
from tests.production.numbers import Array, bf16_away, bf16_nearest, fp8
from tests.production.trial import NULL, Slot, Tensor, Trial, near

F32 = np.float32
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
    routing: Routing, experts: int, x: Tensor, up: Tensor, down: Tensor, scales: tuple[Tensor, ...],
    strides: tuple[int, int, int], sizes: tuple[int, int],
) -> tuple[Slot, ...]:  # fmt: skip
    """The arguments; `strides` in bytes from expert to expert of the scales of gate and up, of down, and of the smoothing."""
    (tokens, k), (width, inner) = routing.experts.shape, sizes
    return (
        Tensor("out", np.zeros((tokens, width)), "bf16", "inout"), x, up, Tensor("padded", np.array([routing.padded]), "i32"),
        down, *scales, NULL, Tensor("sorted_tokens", routing.sorted_tokens, "i32"),
        Tensor("sorted_weights", routing.sorted_weights, "f32"), Tensor("block_experts", routing.block_experts, "i32"),
        width, inner, tokens, experts, width, width, inner, width * 2, 2 * inner * width, inner * width, *strides, k, 0, 1,
    )  # fmt: skip


def _gated(both: Array) -> Array:
    """Gate by its logistic function by up: (tokens, 2 inner) to (tokens, inner), in the kernels' float32 steps."""
    gate, up = np.split(both, 2, axis=1)
    return gate * (F32(1) / (exp2(-gate * LOG2_E) + F32(1))) * up


def int8(tokens: int, width: int, inner: int, experts: int, k: int) -> Trial:
    """int8 with a scale for each token and each row of the weights; the inner activations become int8 again, by their largest.

    The kernel cuts them toward zero. Each expert's part is rounded to bfloat16, ties away from zero, and added by an atomic
    bfloat16 addition, of which two commute.
    """
    random = np.random.default_rng(11)
    routing = route(random, tokens, experts, k)
    x = random.integers(-127, 128, (tokens, width))
    up = random.integers(-127, 128, (experts, 2 * inner, width))
    down = random.integers(-127, 128, (experts, width, inner))
    scale_x = random.uniform(0.005, 0.02, (tokens, 1)).astype(F32)
    scale_up = random.uniform(0.0005, 0.001, (experts, 2 * inner)).astype(F32)
    scale_down = random.uniform(0.0005, 0.001, (experts, width)).astype(F32)
    total, room = np.zeros((tokens, width), F32), np.zeros((tokens, width))
    for expert in range(experts):
        token, place = np.nonzero(routing.experts == expert)
        hidden = _gated((x[token] @ up[expert].T).astype(F32) * scale_x[token] * scale_up[expert])
        scale = F32(1) / np.maximum(np.abs(hidden).max(axis=1, keepdims=True), F32(1e-6)) * F32(127)
        narrow = np.trunc(hidden * scale).astype(np.int64)
        factor = routing.weights[token, place][:, None]
        part = bf16_away((narrow @ down[expert].T).astype(F32) * (F32(1) / scale) * scale_down[expert] * factor)
        total[token] = bf16_nearest(total[token] + part)
        step = np.abs(down[expert]).sum(axis=1) / scale * scale_down[expert] * factor
        room[token] += step + 2.0**-7 * (np.abs(part) + np.abs(total[token]))
    scales = (Tensor("scale_x", scale_x, "f32"), Tensor("scale_up", scale_up, "f32"), Tensor("scale_down", scale_down, "f32"))
    slots = _slots(
        routing, experts, Tensor("x", x, "i8"), Tensor("up", shuffle_weight(up, 1), "i8"),
        Tensor("down", shuffle_weight(down, 1), "i8"), scales, (2 * inner * 4, width * 4, inner * 4), (width, inner),
    )  # fmt: skip
    return Trial((1, len(routing.block_experts), 1), slots, {"out": near(total, room)})


def fp8_blockscale(tokens: int, width: int, experts: int, k: int) -> Trial:
    """FP8 with a scale for each token by 128 numbers, and each 128 by 128 block of the weights; 128 inner activations.

    These become FP8 again, by their largest. Each expert's part is rounded and added as in `int8`.
    """
    random = np.random.default_rng(12)
    routing, inner = route(random, tokens, experts, k), 128
    x, up, down = (
        fp8(random.standard_normal(shape)) for shape in ((tokens, width), (experts, 2 * inner, width), (experts, width, inner))
    )
    scale_x = random.uniform(0.5, 1.5, (width // 128, tokens)).astype(F32)
    scale_up = random.uniform(0.01, 0.03, (experts, 2 * inner // 128, width // 128)).astype(F32)
    scale_down = random.uniform(0.01, 0.03, (experts, width // 128, 1)).astype(F32)
    order = chain_order(inner, 16, 8)
    total, room = np.zeros((tokens, width), F32), np.zeros((tokens, width))
    for expert in range(experts):
        token, place = np.nonzero(routing.experts == expert)
        hidden = _gated(blockscale_sum(x[token], up[expert], scale_x[:, token], scale_up[expert].T))
        scale = F32(1) / np.maximum(np.abs(hidden).max(axis=1, keepdims=True), F32(1e-6)) * F32(240)
        narrow = fp8(hidden * scale)
        zero = np.zeros((len(token), width), F32)
        product = multiply_add(narrow[:, order], down[expert][:, order].T, zero, FP8)
        factor = routing.weights[token, place][:, None]
        back = np.repeat(scale_down[expert].T, 128, axis=1) * (F32(1) / scale)
        part = bf16_away(back * product * factor)
        total[token] = bf16_nearest(total[token] + part)
        moved = np.maximum(np.abs(narrow) * 2.0**-3, 2.0**-10) @ np.abs(down[expert]).T
        room[token] += moved * back * factor + 2.0**-7 * (np.abs(part) + np.abs(total[token]))
    scales = (Tensor("scale_x", scale_x, "f32"), Tensor("scale_up", scale_up, "f32"), Tensor("scale_down", scale_down, "f32"))
    slots = _slots(
        routing, experts, Tensor("x", x, "fp8"), Tensor("up", shuffle_weight(up, 1), "fp8"),
        Tensor("down", shuffle_weight(down, 1), "fp8"), scales, (scale_up[0].size * 4, scale_down[0].size * 4, inner * 4),
        (width, inner),
    )  # fmt: skip
    return Trial((1, len(routing.block_experts), 1), slots, {"out": near(total, room)})
