"""The chip's float32 steps in NumPy: fused multiply-add, the steps of 1 ULP, and sums in the order of a workgroup.

NumPy's own float32 sum, difference, product and quotient are the chip's too: rounded once, to nearest even, with denormals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
F32 = np.float32
LANES = 64


def as_float(bits: int) -> Array:
    """The float32 whose bits a scalar argument holds; shape ()."""
    return np.array(bits, np.uint32).view(F32)


def fma(a: Array, b: Array, c: Array) -> Array:
    """Product of a and b, plus c, rounded once to float32.

    The product of two float32 is exact in float64, but its sum with c is not. Rounding that sum to odd keeps what the second
    rounding, to float32, must know.
    """
    product, addend = np.broadcast_arrays(np.multiply(a, b, dtype=np.float64), np.asarray(c, np.float64))
    total = product + addend
    back = total - product
    lost = (product - (total - back)) + (addend - back)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    inexact = np.isfinite(total) & (lost != 0) & even
    return np.where(inexact, np.nextafter(total, np.where(lost > 0, np.inf, -np.inf)), total).astype(F32)


def _step(exact: Array, ulps: int) -> Array:
    """float64 results of a 1 ULP instruction: rounded to float32, moved by `ulps`, denormals flushed."""
    result = exact.astype(F32)
    tiny = np.finfo(F32).tiny
    result = np.where(np.abs(result) < tiny, np.copysign(F32(0), result), result)
    if not ulps:
        return result
    moved = np.nextafter(result, F32(ulps) * F32(np.inf))
    return np.where(np.isfinite(result) & (result != 0), moved, result)


def exp2(power: Array, ulps: int = 0) -> Array:
    """v_exp_f32: 2 to a float32 power. The chip's result is within 1 ULP; `ulps` picks one beside the rounded one."""
    return _step(np.exp2(power.astype(np.float64)), ulps)


def rsqrt(x: Array, ulps: int = 0) -> Array:
    """v_rsq_f32: 1 over the square root. The chip's result is within 1 ULP; `ulps` picks one beside the rounded one."""
    flushed = np.where(np.abs(x) < np.finfo(F32).tiny, np.copysign(F32(0), x), x)
    return _step(1.0 / np.sqrt(flushed.astype(np.float64)), ulps)


def halve(x: Array) -> Array:
    """Sums over the last axis, whose length is a power of two: the first half plus the second, again and again."""
    while x.shape[-1] > 1:
        middle = x.shape[-1] // 2
        x = x[..., :middle] + x[..., middle:]
    return x[..., 0]


def pair(x: Array) -> Array:
    """Sums over the last axis, whose length is a power of two: each with its neighbour, again and again."""
    while x.shape[-1] > 1:
        x = x[..., 0::2] + x[..., 1::2]
    return x[..., 0]


def workgroup_sum(items: Array) -> Array:
    """Triton's sum over a workgroup of 4 waves with 4 values an item; shape (rows, 4, 256) to (rows, 1).

    An item adds its values 0 and 2, 1 and 3, and these. A row of 16 lanes halves (DPP row_shr 8, 4, 2, 1), the 4 rows of a wave
    pair (row_bcast), the 4 waves halve (through LDS).
    """
    item = (items[:, 0] + items[:, 2]) + (items[:, 1] + items[:, 3])
    lanes = item.reshape(-1, 4, LANES // 16, 16)
    return halve(pair(halve(lanes)))[:, None]
