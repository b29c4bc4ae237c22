"""Backward attention: fmha_v3_bwd, bfloat16, with float32 atomic additions for dQ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from examples.references.arithmetic import F32, exp2, fma
from examples.references.matrix import BF16, multiply_add
from tests.production.flash import LOG2_E
from tests.production.numbers import Array, bf16_away, bf16_nearest
from tests.production.trial import Given, Wanted, near

FLIP = 2.0**-7
"""How far a weight or a change moves where v_exp_f32's 1 ULP takes it over the edge between two bfloat16, as a share."""


@dataclass(frozen=True, slots=True)
class Gradients:
    """dQ, dK and dV of one head as float32, and how far a chip's may lie from them."""

    values: tuple[Array, Array, Array]
    rooms: tuple[Array, Array, Array]


def _head(query: Array, key: Array, value: Array, gradient: Array, lse: Array, sums: Array, visible: Array) -> Gradients:
    """The kernel's steps: chains of MFMAs over a head's width, weights and changes in bfloat16, chains over tokens.

    Weights and changes are rounded with ties away from zero where heads are 128 wide, else to even, like the results.

    dK and dV take queries upward. dQ is summed over keys in an order of its own, not followed here: its float64 sum of the same
    terms is rounded once.
    """
    (queries, width), keys = query.shape, len(key)
    scale = F32(width**-0.5)
    blank = np.zeros((queries, keys), F32)
    score, inner = multiply_add(query, key.T, blank, BF16), multiply_add(gradient, value.T, blank, BF16)
    weight = np.where(visible, exp2(fma(score, scale * LOG2_E, -(lse * LOG2_E)[:, None])), F32(0))
    change = weight * (inner - sums[:, None])
    ties = bf16_away if width == 128 else bf16_nearest
    narrow_weight, narrow_change = ties(weight), ties(change)
    padding = np.zeros((-queries % 8, keys), F32), np.zeros((-queries % 8, width), F32)
    side = np.zeros((keys, width), F32)
    dv = multiply_add(np.vstack([narrow_weight, padding[0]]).T, np.vstack([gradient, padding[1]]), side, BF16)
    dk = multiply_add(np.vstack([narrow_change, padding[0]]).T, np.vstack([query, padding[1]]), side, BF16) * scale
    dq = (narrow_change.astype(np.float64) @ key * scale).astype(F32)
    size_v, size_k = (np.abs(x).T.astype(np.float64) @ np.abs(y) for x, y in ((weight, gradient), (change, query)))
    size_q = np.abs(change).astype(np.float64) @ np.abs(key) * scale
    rooms = FLIP * size_q, FLIP * (size_k * scale + np.abs(dk)), FLIP * (size_v + np.abs(dv))
    return Gradients((dq, bf16_nearest(dk), bf16_nearest(dv)), rooms)


def backward(
    given: Given, batch: int, heads: int, group: int, queries: int, keys: int, width: int, *, causal: bool = False
) -> Wanted:
    """From Q, K, V, dO, the logarithms of sums and the row sums of O dO: dQ, dK and dV, the latter for each query head.

    Tensors are (batch, tokens, heads, width). dQ is the accumulator (batch, heads, queries, width), which starts at zero.
    A causal query sees the keys up to its own number.
    """
    kv_heads = heads // group
    query, gradient = (given(name, batch, queries, heads, width) for name in ("query", "gradient"))
    key, value = (given(name, batch, keys, kv_heads, width) for name in ("key", "value"))
    lse, sums = (given(name, batch, heads, queries) for name in ("lse", "sums"))
    visible = np.arange(keys) <= np.arange(queries)[:, None] if causal else np.ones((queries, keys), bool)
    wide = {"dq": (batch, heads, queries, width), "dk": (batch, keys, heads, width), "dv": (batch, keys, heads, width)}
    values, rooms = ({name: np.zeros(shape) for name, shape in wide.items()} for _ in range(2))
    for b in range(batch):
        for h in range(heads):
            q, k, v, o = query[b, :, h], key[b, :, h // group], value[b, :, h // group], gradient[b, :, h]
            head = _head(q, k, v, o, lse[b, h], sums[b, h], visible)
            for name, result, room in zip(wide, head.values, head.rooms, strict=True):
                place = (b, h) if name == "dq" else (b, slice(None), h)
                values[name][place], rooms[name][place] = result, room
    return Wanted({name: near(values[name], rooms[name]) for name in wide})
