"""Matrix instructions of the reference interpreter, by the published arithmetic of gfx942 and gfx90a.

* CHAIN (f32, f64): for k in order, acc = fma(a, b, acc), each step to nearest even. INTEGER (i8): exact, modulo 2^32.
* FUSED (f16, bf16, xf32 and the small floats of gfx942): each group of products is one fused step. Products are aligned to the
  largest of their exponents, truncated to 24 fraction bits and added exactly. This sum is floored to 31 fraction bits of the
  exponent it shares with the accumulator, the accumulator to 24, and their sum rounded to nearest even. Small floats: products
  at even and at odd k are summed apart, both sums floored to 24 fraction bits of the larger exponent and added, and an
  accumulator more than 25 binades below is dropped. A zero has the exponent -126. A product of 2^128 or more counts as
  infinite.
* PAIRS (f16, bf16 of gfx90a): subnormal inputs count as +0; the f32 products of a group are added pairwise, the sum then to the
  accumulator, each step to nearest even and a subnormal result to a zero of its sign.

Source: MMA-Sim (arXiv 2511.10909), whose authors checked it against the chips. Infinities and NaN: any NaN product, or
infinities of both signs, give the default NaN. gfx950's sums, sparse ones and scaled ones are not published: here they follow
FUSED, sparse elements in the order A holds them, scales added to the exponents of products; such results are approximate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from asmevo.backend.emulator.reference_floats import FORMATS, Format, exact, is_infinite, is_nan, rounded
from asmevo.ir.semantics.matrix import WAVE, MatrixOperation, Rule
from asmevo.ir.semantics.small_float import SMALL

Registers = npt.NDArray[np.uint32]
Number = Fraction | float
"""A finite value, exactly, or a float that is infinite or NaN."""
_F32 = FORMATS["f32"]
_DEFAULT_NAN = _F32.infinity | _F32.quiet
_PRODUCT_BITS, _SUM_BITS, _ACCUMULATOR_BITS, _DROP = 24, 31, 24, 25
_LEAST = -126
_BEYOND = Fraction(2) ** 128


def _element(registers: Registers, lane: int, element: int, bits: int) -> int:
    """Element `element` of `bits` bits of a lane; registers have shape (registers, 64)."""
    first, shift = divmod(element * bits, 32)
    word = int(registers[first, lane])
    if shift + bits > 32:
        word |= int(registers[first + 1, lane]) << 32
    return word >> shift & ((1 << bits) - 1)


def small_value(bits: int, kind: str) -> Number:
    """The value of a small float."""
    small = SMALL[kind]
    size = bits & ((1 << (small.bits - 1)) - 1)
    negative = bits >> (small.bits - 1)
    if bits == small.nan and not small.signed_nan:
        return math.nan
    if small.signed_nan and small.nan is not None and size > small.largest:
        return (-math.inf if negative else math.inf) if small.has_infinity and size == small.overflow else math.nan
    exponent, fraction = size >> small.fraction, size & ((1 << small.fraction) - 1)
    mantissa = fraction | 1 << small.fraction if exponent else fraction
    value = Fraction(mantissa) * Fraction(2) ** (max(exponent, 1) - small.bias - small.fraction)
    return -value if negative else value


@lru_cache(maxsize=1 << 17)
def _number(bits: int, kind: str) -> Number:
    """The value of an element."""
    if kind in SMALL:
        return small_value(bits, kind)
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
    """The exponent an operand enters the alignment with.

    A subnormal's is that of its format's smallest normal value, a zero's that of f32's.
    """
    if not value:
        return _LEAST
    least = SMALL[kind].least_exponent if kind in SMALL else -14 if kind == "f16" else _LEAST
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
    top = max(exponent for _, exponent in products)
    return sum((_truncate(value, top, _PRODUCT_BITS) for value, _ in products), Fraction(0)), top


def fused_step(products: list[tuple[Fraction, int]], accumulator: int, *, split: bool) -> int:
    """One fused group: f32 bits of the accumulator plus `products` (value, exponent), all finite; `split` as for fp8."""
    if split:
        sums = [_aligned_sum(products[n::2]) for n in (0, 1)]
        top = max(exponent for _, exponent in sums)
        total = sum((_floor(value, top, _PRODUCT_BITS) for value, _ in sums), Fraction(0))
    else:
        total, top = _aligned_sum(products)
    start = exact(accumulator, _F32)
    below = max(_exponent(start), _LEAST) if start else _LEAST
    if split and below < top - _DROP:
        start = Fraction(0)
    common = max(top, below)
    return rounded(_floor(total, common, _SUM_BITS) + _floor(start, common, _ACCUMULATOR_BITS), _F32)


def _special(values: Sequence[Number], accumulator: int) -> int | None:
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


def _product(x: Number, y: Number) -> Number:
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x * y
    # Only signs matter here: a finite value too large for a double must not become infinite.
    x, y = (v if isinstance(v, float) else float((v > 0) - (v < 0)) for v in (x, y))
    return x * y if x and y else math.nan


def _dot_fused(a: list[int], b: list[int], accumulator: int, operation: MatrixOperation, scales: Sequence[int | None]) -> int:
    shape = operation.shape
    for start in range(0, len(a), operation.group):
        xs = [_number(bits, shape.type_a) for bits in a[start : start + operation.group]]
        ys = [_number(bits, shape.type_b) for bits in b[start : start + operation.group]]
        products: list[Number] = [_product(x, y) for x, y in zip(xs, ys, strict=True)]
        scale = scales[start] if scales else 0
        special = _special(products if scale is not None else [math.nan], accumulator)
        if special is not None:
            accumulator = special
            continue
        terms: list[tuple[Fraction, int]] = []
        for x, y in zip(xs, ys, strict=True):
            if isinstance(x, Fraction) and isinstance(y, Fraction):
                exponent = _operand_exponent(x, shape.type_a) + _operand_exponent(y, shape.type_b) + (scale or 0)
                terms.append((x * y * Fraction(2) ** (scale or 0), exponent))
        beyond = {value > 0 for value in products if abs(value) >= _BEYOND}
        if beyond:
            accumulator = _DEFAULT_NAN if len(beyond) > 1 else _F32.infinity | (0 if True in beyond else _F32.sign)
            continue
        accumulator = fused_step(terms, accumulator, split=operation.split)
    return accumulator


def _plain_f32(value: Number, *, negative_zero: bool = False) -> int:
    """A value as f32 by one rounding, a subnormal result as zero of its sign, any NaN the default one."""
    if not isinstance(value, Fraction):
        return _DEFAULT_NAN if math.isnan(value) else _F32.infinity | (_F32.sign if value < 0 else 0)
    bits = rounded(value, _F32, negative_zero=negative_zero)
    return bits if bits & ~_F32.sign >= 1 << _F32.fraction else bits & _F32.sign


def _sum_f32(x: int, y: int) -> int:
    """X + y of f32 bits without subnormals."""
    p, q = _number(x, "f32"), _number(y, "f32")
    if isinstance(p, Fraction) and isinstance(q, Fraction):
        return _plain_f32(p + q, negative_zero=bool(x & y & _F32.sign))
    return _plain_f32(
        math.nan if isinstance(p, float) and isinstance(q, float) and p != q else p if isinstance(p, float) else q
    )


def _tree(terms: list[int]) -> int:
    """The pairwise sum of f32 bits."""
    while len(terms) > 1:
        terms = [_sum_f32(terms[n], terms[n + 1]) for n in range(0, len(terms), 2)]
    return terms[0]


def _without_subnormals(bits: int, kind: str) -> int:
    f = FORMATS[kind]
    return 0 if bits & ~f.sign < 1 << f.fraction else bits


def _dot_pairs(a: list[int], b: list[int], accumulator: int, operation: MatrixOperation) -> int:
    kind = operation.shape.type_a
    total = _without_subnormals(accumulator, "f32")
    for start in range(0, len(a), operation.group):
        products: list[int] = []
        for x, y in zip(a[start : start + operation.group], b[start : start + operation.group], strict=True):
            numbers = [_number(_without_subnormals(bits, kind), kind) for bits in (x, y)]
            products.append(_plain_f32(_product(numbers[0], numbers[1])))
        total = _sum_f32(total, _tree(products))
    return total


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


@dataclass(frozen=True, slots=True)
class Operands:
    """Registers of shape (count, 64), or for C and the scales one constant's bits for all lanes.

    `index` of a sparse instruction; `scales` of A and B of a scaled one.
    """

    a: Registers
    b: Registers
    c: Registers | int
    index: Registers | int = 0
    scales: tuple[Registers | int, Registers | int] = (0, 0)


def _lane_word(value: Registers | int, lane: int) -> int:
    return value if isinstance(value, int) else int(value[0, lane])


def _ks(operation: MatrixOperation, index: Registers | int, block: int, i: int) -> list[int]:
    """The k of each element of a row of A."""
    shape = operation.shape
    if not shape.sparse:
        return list(range(shape.k))
    found: list[int] = []
    for held in range(shape.k_a):
        lane, element = shape.place_a(block, i, held)
        bits = _lane_word(index, lane) >> operation.index_shift
        found.append(held // 2 * 4 + (bits >> 2 * element & 3))
    return found


def _scale(value: Registers | int, byte: int, lane: int) -> int | None:
    """The exponent of a scale; None for NaN."""
    code = _lane_word(value, lane) >> 8 * byte & 255
    return None if code == 255 else code - 127


def _scales(operation: MatrixOperation, operands: Operands, i: int, j: int) -> list[int | None]:
    """For each k the exponent of both scales together; empty without scales."""
    if operation.scale_bytes is None:
        return []
    shape = operation.shape
    found: list[int | None] = []
    for k in range(shape.k):
        lanes = (i + shape.m * (k // 32), j + shape.n * (k // 32))
        pair = [_scale(s, byte, n) for s, byte, n in zip(operands.scales, operation.scale_bytes, lanes, strict=True)]
        found.append(None if pair[0] is None or pair[1] is None else pair[0] + pair[1])
    return found


def multiply(operation: MatrixOperation, operands: Operands, mode: int = 0xF0) -> Registers:
    """D of a matrix instruction, registers of shape (count, 64).

    f32 inputs follow MODE's f32 denormal input bit; everything else never flushes, but for PAIRS.
    """
    shape = operation.shape
    bits, bits_b, words = shape.element_bits, shape.element_bits_b, shape.result_bits // 32
    signs = [(1 << (width - 1)) * on for width, on in zip((bits, bits_b, shape.result_bits), operation.negate, strict=True)]
    result = np.zeros((shape.results_per_lane * words, WAVE), np.uint32)
    for lane in range(WAVE):
        for element in range(shape.results_per_lane):
            block, i, j = shape.place_d(lane, element)
            source = operation.block_of_a(block)
            ks = _ks(operation, operands.index, source, i)
            row = [_element(operands.a, *shape.place_a(source, i, k), bits) ^ signs[0] for k in range(shape.k_a)]
            places = [shape.place_b(block, k, j) for k in ks]
            column = [_element(operands.b, operation.lane_of_b(n), e, bits_b) ^ signs[1] for n, e in places]
            c = operands.c
            start = (c if isinstance(c, int) else _element(c, lane, element, shape.result_bits)) ^ signs[2]
            scales = _scales(operation, operands, i, j)
            value = dot(operation, row, column, start, mode, scales)
            for word in range(words):
                result[element * words + word, lane] = value >> (32 * word) & 0xFFFFFFFF
    return result


def dot(
    operation: MatrixOperation,
    row: list[int],
    column: list[int],
    start: int,
    mode: int = 0xF0,
    scales: Sequence[int | None] = (),
) -> int:
    """The bits of one element of D: a row of A and its partners in B added to `start`; `scales` are exponents by k."""
    kind = operation.shape.type_a
    match operation.rule:
        case Rule.INTEGER:
            return _dot_integer(row, column, start)
        case Rule.CHAIN:
            if kind == "f32":
                row, column = ([_flush(x, mode) for x in side] for side in (row, column))
            return _dot_chain(row, column, start, kind)
        case Rule.PAIRS:
            return _dot_pairs(row, column, start, operation)
        case Rule.FUSED:
            return _dot_fused(row, column, start, operation, scales)


def evaluate(operation: MatrixOperation, sources: dict[str, Any], mode: int = 0xF0) -> Registers:
    """`multiply` with operands by name: src0, src1, src2; of a sparse instruction vdst and idx; scale0 and scale1."""
    c = sources["vdst" if operation.shape.sparse else "src2"]
    scales = (sources.get("scale0", 0), sources.get("scale1", 0))
    return multiply(operation, Operands(sources["src0"], sources["src1"], c, sources.get("idx", 0), scales), mode)
