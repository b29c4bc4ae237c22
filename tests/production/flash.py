"""Attention in the steps of the forward kernels: tiles of keys, a running maximum and sum, narrow weights.

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
    """A kernel's own: keys of a tile, factors and groups of lanes of its MFMAs, and how weights and results are rounded.

    `sums` counts the groups of lanes, over all waves that share a tile, that add their weights apart. `held` keys of V are what
    a group of lanes loads together. `weight_ulp` is the largest distance of neighbouring weights as a share of a weight,
    `weight_least` that of the smallest.
    """

    tile: int
    factors: Factors
    groups: int
    sums: int
    held: int
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


def _lane_sums(weight: Array, groups: int) -> Array:
    """Sums of (q, tile) weights as the groups of lanes form them; (q, groups).

    Group g has keys 4 g to 4 g + 3 of every 4 `groups`, and adds its weights one by one.
    """
    mine = weight.reshape(weight.shape[0], -1, groups, 4).transpose(0, 2, 1, 3).reshape(weight.shape[0], groups, -1)
    total = mine[:, :, 0]
    for n in range(1, mine.shape[2]):
        total = mine[:, :, n] + total
    return total


def forward(
    query: Array, key: Array, value: Array, factor: Array, value_scale: float, steps: Steps, visible: Array, *,
    last_first: bool = False,
) -> Head:  # fmt: skip
    """softmax(Q K' factor / log2(e)) V value_scale; shapes (q, d), (k, d), (k, dv), `factor` float32, `visible` (q, k).

    Tiles of keys come upward, or from the last to the first.

    Steps of 1 ULP: v_exp_f32 once a weight and once a tile, v_rcp_f32 once a query, v_log_f32 once in the logarithm. Where
    v_exp_f32 moves a weight over the edge between two narrow numbers, the weight moves by its narrow ULP; `room` is for all.
    """
    item = 1 if steps.factors.apart else 2
    order = chain_order(query.shape[1], 16 // item, 8 // item, steps.groups)
    turn = chain_order(steps.tile, steps.held, 8 // item, steps.groups)
    count = -(-len(key) // steps.tile) * steps.tile
    key, value = (np.concatenate([x, np.zeros((count - len(x), x.shape[1]), F32)]).astype(F32) for x in (key, value))
    seen = np.zeros((len(query), count), bool)
    seen[:, : visible.shape[1]] = visible
    peak = np.full((len(query), 1), LOWEST, F32)
    sums = np.zeros((len(query), steps.sums), F32)
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
        sums = _lane_sums(weight, steps.sums) + decay * sums
        total = multiply_add(steps.narrow(weight)[:, turn], value[keys][turn], total * decay, steps.factors)
        moved = np.where(weight > 0, np.maximum(weight * steps.weight_ulp, steps.weight_least), 0.0)
        size = size * decay + moved @ np.abs(value[keys]).astype(np.float64)
        peak = top
    whole = sums[:, :1]
    for n in range(1, steps.sums):
        whole = whole + sums[:, n : n + 1]
    inverse = (F32(1) / whole) * F32(value_scale)
    out = steps.last(total * inverse)
    lse = np.log(whole.astype(np.float64)) + peak.astype(np.float64) * factor / np.log2(np.e)
    return Head(out, size * inverse + 2.0**-7 * np.abs(out), lse[:, 0])
