"""Attention in float64: what every attention kernel computes, before any rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.production.numbers import Array


@dataclass(frozen=True, slots=True)
class Attended:
    """Results for queries, float64: `out` (q, d); `size`, the same mean of |V|; `lse` (q,), the logarithm of the sum."""

    out: Array
    size: Array
    lse: Array


def attend(query: Array, key: Array, value: Array, scale: float, visible: Array | None = None) -> Attended:
    """softmax(Q K' scale) V in float64; shapes (q, d), (k, d), (k, dv), `visible` (q, k) or all."""
    score = scale * (query.astype(np.float64) @ key.astype(np.float64).T)
    if visible is not None:
        score = np.where(visible, score, -np.inf)
    peak = score.max(axis=1, keepdims=True)
    weight = np.exp(score - peak)
    total = weight.sum(axis=1, keepdims=True)
    mean = weight / total
    values = value.astype(np.float64)
    return Attended(mean @ values, mean @ np.abs(values), (peak + np.log(total))[:, 0])
