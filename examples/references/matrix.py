"""gfx942's float16 matrix arithmetic in NumPy, by its published rule: bit for bit.

A dot product runs over groups of 8 products. A group is one step:

1. Each product has the exponent of its factors, added; a denormal factor has that of the smallest normal number.
2. Products are cut toward zero at 24 bits below the largest of these exponents, and added exactly.
3. The sum is rounded down at 31 bits below the larger of that exponent and the accumulator's, the accumulator at 24 bits.
4. Their sum is rounded to float32, to nearest even.

Source: measurements of AMD matrix cores published with the rule ("MMA"); the same rule serves the emulator, from other code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

GROUP, PRODUCT_BITS, SUM_BITS, ACCUMULATOR_BITS = 8, 24, 31, 24
SMALLEST_EXPONENT = -14
NONE = -(1 << 12)
"""Exponent of what is zero: below every other."""


def _exponent(x: Array) -> Array:
    """floor(log2 |x|); NONE for zero. Any number where x is not finite."""
    return np.where(x == 0, NONE, np.frexp(x)[1] - 1)


def _factor_exponent(x: Array) -> Array:
    return np.where(x == 0, NONE, np.maximum(_exponent(x), SMALLEST_EXPONENT))


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    """Sums of c and a b as a chain of MFMA forms them, k upward; float32 (m, n).

    a is float16 (m, k), b float16 (k, n), c float32 (m, n), k a multiple of 8.
    """
    left, right = a.astype(np.float64), b.astype(np.float64)
    left_exponent, right_exponent = _factor_exponent(left), _factor_exponent(right)
    total = c.astype(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, a.shape[1], GROUP):
            k = range(start, start + GROUP)
            products = [(left[:, i, None] * right[None, i], left_exponent[:, i, None] + right_exponent[None, i]) for i in k]
            total = _group(products, total)
    return total


def _group(products: list[tuple[Array, Array]], accumulator: Array) -> Array:
    """One step over all results: 8 products with their exponents onto the accumulator."""
    start = accumulator.astype(np.float64)
    top = np.maximum.reduce([exponent for _, exponent in products])
    live = top > NONE // 2
    top = np.where(live, top, 0)
    cut = sum(np.trunc(np.ldexp(value, PRODUCT_BITS - top)) for value, _ in products)
    common = np.maximum(top, _exponent(start))
    low = np.floor(np.ldexp(cut, SUM_BITS - PRODUCT_BITS + top - common))
    high = np.floor(np.ldexp(start, ACCUMULATOR_BITS - common))
    result = np.ldexp(low + np.ldexp(high, SUM_BITS - ACCUMULATOR_BITS), common - SUM_BITS) + 0.0
    # Infinities and NaN follow IEEE: any NaN, or infinities of both signs, give NaN.
    plain = sum((value for value, _ in products), start)
    return np.where(np.isfinite(plain), np.where(live, result, start), plain).astype(np.float32)
