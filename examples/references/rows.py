"""References of the kernels that work on elements, rows and bytes."""

from __future__ import annotations

import numpy as np

from .arithmetic import F32, Array, as_float, exp2, fma, halve, rsqrt, workgroup_sum
from .expected import Expected, Values, between, exact

WIDTH = 1024


def vector_add(v: Values) -> dict[str, Expected]:
    """One rounded addition an element."""
    return {"out": exact(v["x"] + v["y"])}


def histogram(v: Values) -> dict[str, Expected]:
    """Counts of byte values."""
    return {"counts": exact(np.bincount(v["data"], minlength=256).astype(np.uint32))}


def reduce_sum(v: Values) -> dict[str, Expected]:
    """Partial sums in the kernel's order: four strided elements an item, then a tree over 256 items."""
    padded = np.zeros(-(-v["data"].size // 1024) * 1024, F32)
    padded[: v["data"].size] = v["data"]
    total = np.zeros((padded.size // 1024, 256), F32)
    for k in range(4):
        total = total + padded.reshape(-1, 4, 256)[:, k]
    return {"partial": exact(halve(total))}


def _widened(rows: Array, fill: float) -> Array:
    """Rows of 1,024, the masked columns filled."""
    wide = np.full((rows.shape[0], WIDTH), fill, F32)
    wide[:, : rows.shape[1]] = rows
    return wide


def softmax(v: Values) -> dict[str, Expected]:
    """exp(x - max) over the sum of these. An item has columns i, i + 256, i + 512 and i + 768.

    Steps of 1 ULP: v_exp_f32, once in the weight and once in each term of the sum. The quotient is rounded exactly, by the
    usual chain of fused steps. All steps are monotone, so the bounds are the quotients of weights and sums moved apart by an
    ULP each: within 4 ULP of the result in the shipped launches.
    """
    columns = v["arg2"]
    logits = _widened(v["source"].reshape(-1, columns), -np.inf)
    # v_max_f32 prefers a number to a NaN.
    power = (logits - np.fmax.reduce(logits, axis=1, keepdims=True)) * F32(np.log2(np.e))

    def weights(ulps: int) -> Array:
        # Small powers are raised by 64 and the results lowered again, as v_exp_f32 flushes denormals.
        small = power < -126
        return np.ldexp(exp2(power + np.where(small, F32(64), F32(0)), ulps), np.where(small, -64, 0))

    low, middle, high = (weights(ulps) for ulps in (-1, 0, 1))
    sums = [workgroup_sum(weight.reshape(-1, 4, 256)) for weight in (low, middle, high)]
    quotients = (low / sums[2], middle / sums[1], high / sums[0])
    return {"target": between(*(quotient[:, :columns].ravel() for quotient in quotients))}


def layer_norm(v: Values) -> dict[str, Expected]:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias. An item has columns 4 i to 4 i + 3.

    One step of 1 ULP: v_rsq_f32. The result is monotone in it, so the results for its two neighbours are the bounds.
    """
    columns, epsilon = v["arg4"], as_float(v["arg5"])
    value = _widened(v["source"].reshape(-1, columns), 0.0)
    inside = np.arange(WIDTH) < columns

    def mean(x: Array) -> Array:
        return workgroup_sum(x.reshape(-1, 256, 4).transpose(0, 2, 1)) / F32(columns)

    centred = np.where(inside, value - mean(value), F32(0))
    variance = mean(centred * centred) + epsilon
    results = (fma((centred * rsqrt(variance, ulps))[:, :columns], v["weight"], v["bias"]).ravel() for ulps in (-1, 0, 1))
    return {"target": between(*results)}
