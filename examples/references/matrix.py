"""gfx942's narrow-float matrix arithmetic in NumPy, by its published rule: bit for bit.

A dot product runs over groups of products. A group is one step:

1. Each product has the exponent of its factors, added; a denormal factor has that of the smallest normal number.
2. Products are cut toward zero at 24 bits below the largest of these exponents, and added exactly.
3. The sum is rounded down at 31 bits below the larger of that exponent and the accumulator's, the accumulator at 24 bits.
4. Their sum is rounded to float32, to nearest even.

A product of 2^128 or more counts as infinite.

FP8 takes step 2 apart for products at even and at odd k. Both sums are rounded down at 24 bits below the larger of their
exponents and added; an accumulator more than 25 binades below that exponent counts as zero.

Source: measurements of AMD matrix cores published with the rule ("MMA"); the same rule serves the emulator, from other code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

PRODUCT_BITS, SUM_BITS, ACCUMULATOR_BITS, DROP = 24, 31, 24, 25
BEYOND = 2.0**128
NONE = -(1 << 12)
"""Exponent of what is zero: below every other."""


@dataclass(frozen=True, slots=True)
class Factors:
    """A factor's format: the exponent of its smallest normal number, products in a step, and whether FP8's rule holds."""

    smallest_exponent: int
    group: int
    apart: bool = False


F16 = Factors(-14, 8)
BF16 = Factors(-126, 8)
FP8 = Factors(-7, 16, apart=True)
"""E4M3 FNUZ."""


def _exponent(x: Array) -> Array:
    """floor(log2 |x|); NONE for zero. Any number where x is not finite."""
    return np.where(x == 0, NONE, np.frexp(x)[1] - 1)


def multiply_add(a: Array, b: Array, c: Array, factors: Factors = F16) -> Array:
    """Sums of c and a b as a chain of MFMA forms them, k upward; float32 (m, n).

    a is (m, k), b (k, n), both hold numbers of the format; c is float32 (m, n), k a multiple of the format's group.
    """
    left, right = a.astype(np.float64), b.astype(np.float64)
    exponents = [np.where(x == 0, NONE, np.maximum(_exponent(x), factors.smallest_exponent)) for x in (left, right)]
    total = c.astype(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, a.shape[1], factors.group):
            k = range(start, start + factors.group)
            products = [(left[:, i, None] * right[None, i], exponents[0][:, i, None] + exponents[1][None, i]) for i in k]
            total = _group(products, total, factors.apart)
    return total


def _cut_sum(products: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The exact sum of the cut products, and the largest exponent; NONE or less where all are zero."""
    top = np.maximum.reduce([exponent for _, exponent in products])
    scale = np.where(top > NONE // 2, top, 0)
    cut = sum(np.trunc(np.ldexp(value, PRODUCT_BITS - scale)) for value, _ in products)
    return np.ldexp(cut, scale - PRODUCT_BITS), top


def _group(products: list[tuple[Array, Array]], accumulator: Array, apart: bool) -> Array:
    """One step over all results: products with their exponents onto the accumulator."""
    start = accumulator.astype(np.float64)
    if apart:
        (even, even_top), (odd, odd_top) = _cut_sum(products[::2]), _cut_sum(products[1::2])
        top = np.maximum(even_top, odd_top)
    else:
        even, top = _cut_sum(products)
        odd = np.zeros_like(even)
    live = top > NONE // 2
    top = np.where(live, top, 0)
    if apart:
        even, odd = (np.ldexp(np.floor(np.ldexp(part, PRODUCT_BITS - top)), top - PRODUCT_BITS) for part in (even, odd))
        kept = np.where(_exponent(start) < top - DROP, 0.0, start)
    else:
        kept = start
    common = np.maximum(top, _exponent(kept))
    low = np.floor(np.ldexp(even + odd, SUM_BITS - common))
    high = np.floor(np.ldexp(kept, ACCUMULATOR_BITS - common))
    result = np.ldexp(low + np.ldexp(high, SUM_BITS - ACCUMULATOR_BITS), common - SUM_BITS) + 0.0
    # Infinities and NaN follow IEEE: any NaN, or infinities of both signs, give NaN. Then come products that are too large.
    plain = sum((value for value, _ in products), start)
    beyond = sum(np.where(np.abs(value) < BEYOND, 0.0, value * np.inf) for value, _ in products)
    finite = np.where(beyond == 0, np.where(live, result, start), beyond)
    return np.where(np.isfinite(plain), finite, plain).astype(np.float32)
