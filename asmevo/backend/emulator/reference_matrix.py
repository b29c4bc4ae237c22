"""Matrix instructions of the reference interpreter, by gfx942's published arithmetic.

* f32 and f64: for k in order, acc = fma(a, b, acc), each step to nearest even. i8: exact, modulo 2^32.
* f16, bf16, fp8, bf8 and xf32: groups of 8 (fp8 16, xf32 4) products, each group one fused step. Products are aligned to the
  largest of their exponents, truncated to 24 fraction bits and added exactly. This sum is floored to 31 fraction bits of the
  exponent it shares with the accumulator, the accumulator to 24, and their sum rounded to nearest even. fp8: products at even
  and at odd k are summed apart, then combined, and an accumulator more than 25 binades below is dropped.

Source: validated measurements published for AMD matrix cores ("MMA" rules). Infinities and NaN: any NaN product, or infinities
of both signs, give the default NaN. What happens on other targets is not published: results there are approximate.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from asmevo.backend.emulator.reference_floats import FORMATS, Format, convert, exact, is_infinite, is_nan, rounded
from asmevo.ir.semantics.matrix import WAVE, MatrixShape

Registers = npt.NDArray[np.uint32]
_GROUP = {"f16": 8, "bf16": 8, "xf32": 4, "fp8": 16, "bf8": 16}
_F32 = FORMATS["f32"]
_DEFAULT_NAN = _F32.infinity | _F32.quiet
_SMALL = {"fp8": (3, 8), "bf8": (2, 16)}
_PRODUCT_BITS, _SUM_BITS, _ACCUMULATOR_BITS, _DROP = 24, 31, 24, 25


def _element(registers: Registers, lane: int, element: int, bits: int) -> int:
    """Element `element` of `bits` bits of a lane; registers have shape (registers, 64)."""
    position = element * bits
    if bits == 64:
        low, high = registers[position // 32, lane], registers[position // 32 + 1, lane]
        return int(low) | int(high) << 32
    return int(registers[position // 32, lane]) >> (position % 32) & ((1 << bits) - 1)


def _small(bits: int, kind: str) -> Fraction | None:
    """The value of an 8-bit float; None for its NaN."""
    fraction_bits, bias = _SMALL[kind]
    if bits == 0x80:
        return None
    exponent, fraction = (bits & 0x7F) >> fraction_bits, bits & ((1 << fraction_bits) - 1)
    mantissa = fraction | 1 << fraction_bits if exponent else fraction
    value = Fraction(mantissa) * Fraction(2) ** (max(exponent, 1) - bias - fraction_bits)
    return -value if bits & 0x80 else value


def _number(bits: int, kind: str) -> Fraction | float:
    """The value of an element: exact, or a float that is infinite or NaN."""
    if kind in _SMALL:
        value = _small(bits, kind)
        return math.nan if value is None else value
    f: Format = FORMATS["f32" if kind == "xf32" else kind]
    if kind == "xf32":
        bits = bits if is_nan(bits, f) else bits & ~0x1FFF
    if is_nan(bits, f):
        return math.nan
    if is_infinite(bits, f):
        return -math.inf if bits & f.sign else math.inf
    return exact(bits, f)


def _exponent(value: Fraction) -> int:
    """The binade of a nonzero value."""
    value = abs(value)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= value else exponent - 1


def _operand_exponent(value: Fraction, kind: str) -> int:
    """The exponent an operand enters the alignment with: that of its format, denormals at the smallest normal."""
    least = {"f16": -14, "fp8": -7, "bf8": -15}.get(kind, -126)
    return max(_exponent(value), least)


def _truncate(value: Fraction, exponent: int, bits: int) -> Fraction:
    """`value` cut toward zero to a multiple of 2^(exponent - bits)."""
    quantum = Fraction(2) ** (exponent - bits)
    return math.trunc(value / quantum) * quantum


def _floor(value: Fraction, exponent: int, bits: int) -> Fraction:
    quantum = Fraction(2) ** (exponent - bits)
    return math.floor(value / quantum) * quantum


def _aligned_sum(products: list[tuple[Fraction, int]]) -> tuple[Fraction, int]:
    """The exact sum of products truncated at the largest exponent, and that exponent."""
    live = [(value, exponent) for value, exponent in products if value]
    if not live:
        return Fraction(0), -(1 << 20)
    top = max(exponent for _, exponent in live)
    return sum((_truncate(value, top, _PRODUCT_BITS) for value, _ in live), Fraction(0)), top


def fused_step(products: list[tuple[Fraction, int]], accumulator: int, *, split: bool) -> int:
    """One fused group: f32 bits of the accumulator plus `products` (value, exponent), all finite; `split` as for fp8."""
    if split:
        even, odd = _aligned_sum(products[0::2]), _aligned_sum(products[1::2])
        top = max(even[1], odd[1])
        total = even[0] + odd[0]
    else:
        total, top = _aligned_sum(products)
    start = exact(accumulator, _F32)
    # Products that cancel still align: the largest exponent counts, not the sum's.
    live = any(value for value, _ in products)
    if not live:
        return accumulator
    common = top
    if start:
        below = _exponent(start)
        if split and below < top - _DROP:
            start = Fraction(0)
        common = max(top, below)
    return rounded(_floor(total, common, _SUM_BITS) + _floor(start, common, _ACCUMULATOR_BITS), _F32)


def _special(values: list[Fraction | float], accumulator: int) -> int | None:
    """The result when a product or the accumulator is infinite or NaN; None when all are finite."""
    odd = [value for value in values if isinstance(value, float)]
    if is_infinite(accumulator, _F32):
        odd.append(-math.inf if accumulator & _F32.sign else math.inf)
    if is_nan(accumulator, _F32) or any(math.isnan(value) for value in odd):
        return _DEFAULT_NAN
    if not odd:
        return None
    if len(set(odd)) > 1:
        return _DEFAULT_NAN
    return _F32.infinity | (_F32.sign if odd[0] < 0 else 0)


def _product(x: Fraction | float, y: Fraction | float) -> Fraction | float:
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x * y
    return float(x) * float(y) if x and y else math.nan


def _dot_fused(a: list[int], b: list[int], accumulator: int, shape: MatrixShape) -> int:
    size = min(_GROUP[shape.type_a], shape.k)
    for start in range(0, shape.k, size):
        xs = [_number(bits, shape.type_a) for bits in a[start : start + size]]
        ys = [_number(bits, shape.type_b) for bits in b[start : start + size]]
        products = [_product(x, y) for x, y in zip(xs, ys, strict=True)]
        special = _special(products, accumulator)
        if special is not None:
            accumulator = special
            continue
        terms: list[tuple[Fraction, int]] = []
        for x, y in zip(xs, ys, strict=True):
            if isinstance(x, Fraction) and isinstance(y, Fraction) and x and y:
                exponent = _operand_exponent(x, shape.type_a) + _operand_exponent(y, shape.type_b)
                terms.append((x * y, exponent))
            else:
                terms.append((Fraction(0), 0))
        accumulator = fused_step(terms, accumulator, split=shape.type_a in _SMALL)
    return accumulator


def _dot_chain(a: list[int], b: list[int], accumulator: int, kind: str) -> int:
    f = FORMATS[kind]
    for x, y in zip(a, b, strict=True):
        real = [_number(v, kind) for v in (x, y, accumulator)]
        if all(isinstance(v, Fraction) for v in real):
            p, q, r = (Fraction(v) for v in real)
            negative = bool((x ^ y) & accumulator & f.sign)
            accumulator = rounded(p * q + r, f, negative_zero=negative)
        else:
            # Only the signs and kinds matter here: a finite value too large for a double must not become infinite.
            p, q, r = (float(v) if isinstance(v, float) else float((v > 0) - (v < 0)) for v in real)
            value = p * q + r
            nan = math.isnan(value)
            accumulator = f.infinity | f.quiet if nan else f.infinity | (f.sign if value < 0 else 0)
    return accumulator


def _dot_integer(a: list[int], b: list[int], accumulator: int) -> int:
    total = accumulator
    for x, y in zip(a, b, strict=True):
        total += (x - 256 if x & 128 else x) * (y - 256 if y & 128 else y)
    return total & 0xFFFFFFFF


def _flush(bits: int, mode: int) -> int:
    return bits & _F32.sign if not mode >> 4 & 1 and bits & ~_F32.sign < 1 << 23 else bits


def multiply(shape: MatrixShape, a: Registers, b: Registers, c: Registers | int, mode: int = 0xF0) -> Registers:
    """D of a matrix instruction. Registers have shape (count, 64); `c` may be one constant's bits for all elements.

    f32 inputs follow MODE's f32 denormal input bit; everything else never flushes.
    """
    bits = shape.element_bits
    words = shape.result_bits // 32
    result = np.zeros((shape.results_per_lane * words, WAVE), np.uint32)
    for lane in range(WAVE):
        for element in range(shape.results_per_lane):
            block, i, j = shape.place_d(lane, element)
            row = [_element(a, *shape.place_a(block, i, k), bits) for k in range(shape.k)]
            column = [_element(b, *shape.place_b(block, k, j), bits) for k in range(shape.k)]
            start = c if isinstance(c, int) else _element(c, lane, element, shape.result_bits)
            value = _dot(shape, row, column, start, mode)
            for word in range(words):
                result[element * words + word, lane] = value >> (32 * word) & 0xFFFFFFFF
    return result


def _dot(shape: MatrixShape, row: list[int], column: list[int], start: int, mode: int) -> int:
    if shape.type_a == "i8":
        return _dot_integer(row, column, start)
    if shape.type_a == "f32":
        row, column = ([_flush(x, mode) for x in side] for side in (row, column))
    if shape.type_a in ("f32", "f64"):
        return _dot_chain(row, column, start, shape.type_a)
    return _dot_fused(row, column, start, shape)


def as_f32(bits: int, kind: str) -> int:
    """An element's value as f32 bits, for tests."""
    return convert(bits, FORMATS[kind], _F32)


def evaluate(shape: MatrixShape, sources: dict[str, Any], mode: int = 0xF0) -> Registers:
    """`multiply` with operands by name: src0, src1, src2."""
    return multiply(shape, sources["src0"], sources["src1"], sources["src2"], mode)
