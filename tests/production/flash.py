"""Attention in the steps of the fmha_v3 forward kernels: tiles of keys, a running maximum and sum, narrow weights.

Owns the steps of one head. Layouts and launches are `attention`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from examples.references.arithmetic import F32, exp2, fma
from examples.references.matrix import Factors, multiply_add
from tests.production.layouts import chain_order
from tests.production.numbers import Array

LOG2_E = F32(np.log2(np.e))
LOWEST = -np.finfo(F32).max


@dataclass(frozen=True, slots=True)
class Steps:
    """A kernel's own: keys of a tile, factors of its MFMAs, and how weights and results are rounded.

    `weight_ulp` is the largest distance of neighbouring weights as a share of a weight, `weight_least` that of the smallest.
    """

    tile: int
    factors: Factors
    narrow: Callable[[Array], Array]
    last: Callable[[Array], Array]
    weight_ulp: float
    weight_least: float = 0.0


@dataclass(frozen=True, slots=True)
class Head:
    """Results of one head: `out` (q, d) rounded, `room` how far a chip's may lie from it, `lse` (q,)."""

    out: Array
    room: Array
    lse: Array


def _lane_sums(weight: Array) -> Array:
    """Sums of (q, tile) weights as both halves of a wave form them; (q, 2).

    Of each 32 keys half h has keys 8 i + 4 h to 8 i + 4 h + 3; it adds its weights one by one.
    """
    mine = weight.reshape(weight.shape[0], -1, 2, 4).transpose(0, 2, 1, 3).reshape(weight.shape[0], 2, -1)
    total = mine[:, :, 0]
    for n in range(1, mine.shape[2]):
        total = mine[:, :, n] + total
    return total


def forward(
    query: Array,
    key: Array,
    value: Array,
    scales: tuple[float, float, float],
    steps: Steps,
    visible: Array,
    *,
    last_first: bool,
) -> Head:
    """softmax(Q K' scales[0] scales[1]) V scales[2]; shapes (q, d), (k, d), (k, dv), `visible` (q, k).

    Tiles of keys come upward, or from the last to the first.

    Steps of 1 ULP: v_exp_f32 once a weight and once a tile, v_rcp_f32 once a query, v_log_f32 once in the logarithm. Where
    v_exp_f32 moves a weight over the edge between two narrow numbers, the weight moves by its narrow ULP; `room` is for all.
    """
    factor = F32(LOG2_E * F32(scales[0])) * F32(scales[1])
    order = chain_order(query.shape[1], 16 // (1 if steps.factors.apart else 2), 8 if steps.factors.apart else 4, 2)
    count = -(-len(key) // steps.tile) * steps.tile
    key, value = (np.concatenate([x, np.zeros((count - len(x), x.shape[1]), F32)]).astype(F32) for x in (key, value))
    seen = np.zeros((len(query), count), bool)
    seen[:, : visible.shape[1]] = visible
    peak = np.full((len(query), 1), LOWEST, F32)
    sums = np.zeros((len(query), 2), F32)
    total = np.zeros((len(query), value.shape[1]), F32)
    size = np.zeros(total.shape)
    starts = range(0, count, steps.tile)
    for number, start in enumerate(reversed(starts) if last_first else starts):
        keys = slice(start, start + steps.tile)
        score = multiply_add(query[:, order], key[keys][:, order].T, np.zeros((len(query), steps.tile), F32), steps.factors)
        score = np.where(seen[:, keys], score, F32(-np.inf))
        top = np.maximum(peak, score.max(axis=1, keepdims=True))
        decay = exp2((peak - top) * factor) if number else np.ones_like(top)
        with np.errstate(invalid="ignore"):
            weight = exp2(fma(score, factor, -(top * factor)))
        sums = _lane_sums(weight) + decay * sums
        total = multiply_add(steps.narrow(weight), value[keys], total * decay, steps.factors)
        moved = np.where(weight > 0, np.maximum(weight * steps.weight_ulp, steps.weight_least), 0.0)
        size = size * decay + moved @ np.abs(value[keys]).astype(np.float64)
        peak = top
    sum_ = sums[:, :1] + sums[:, 1:]
    inverse = (F32(1) / sum_) * F32(scales[2])
    out = steps.last(total * inverse)
    lse = np.log(sum_.astype(np.float64)) + peak * np.float64(scales[0]) * scales[1]
    return Head(out, size * inverse + 2.0**-7 * np.abs(out), lse[:, 0])
