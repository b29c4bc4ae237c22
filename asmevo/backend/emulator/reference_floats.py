"""Float operations of the reference interpreter, on bit patterns, by exact rational arithmetic and one rounding.

The rules are those stated in `ir.semantics.vector_float`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from asmevo.diagnostics import fail
from asmevo.ir.semantics.build import INTEGER_BITS
from asmevo.ir.semantics.expr import Expr, Op
from asmevo.ir.semantics.small_float import FP16_OVFL


@dataclass(frozen=True, slots=True)
class Format:
    """A binary float format; `denormal_bit` is the lower MODE bit of its denormal control."""

    bits: int
    fraction: int
    denormal_bit: int

    def direction(self, mode: int) -> int:
        """MODE's rounding of the format: 0 to nearest even, 1 up, 2 down, 3 toward zero."""
        return mode >> (self.denormal_bit - 4) & 3

    @property
    def infinity(self) -> int:
        """The bits of plus infinity."""
        return ((1 << (self.bits - 1)) - 1) & ~((1 << self.fraction) - 1)

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.bits - 1)

    @property
    def quiet(self) -> int:
        """The quiet bit."""
        return 1 << (self.fraction - 1)

    @property
    def bias(self) -> int:
        """The exponent bias."""
        return (self.infinity >> self.fraction) >> 1


FORMATS = {"f16": Format(16, 10, 6), "bf16": Format(16, 7, 4), "f32": Format(32, 23, 4), "f64": Format(64, 52, 6)}


def is_nan(bits: int, f: Format) -> bool:
    """Whether the pattern is a NaN."""
    return bits & ~f.sign > f.infinity


def is_infinite(bits: int, f: Format) -> bool:
    """Whether the pattern is an infinity."""
    return bits & ~f.sign == f.infinity


def exact(bits: int, f: Format) -> Fraction:
    """The value of a finite pattern."""
    size = bits & ~f.sign
    exponent, fraction = size >> f.fraction, size & ((1 << f.fraction) - 1)
    mantissa = fraction | 1 << f.fraction if exponent else fraction
    value = Fraction(mantissa) * Fraction(2) ** (max(exponent, 1) - f.bias - f.fraction)
    return -value if bits & f.sign else value


NEAREST, UP, DOWN, ZERO = range(4)
"""MODE's numbers of directions."""


def rounded(value: Fraction, f: Format, *, negative_zero: bool = False, direction: int = NEAREST) -> int:
    """The pattern of `value`: to nearest, ties to even, or in a direction. Where that leads toward zero, none is infinite."""
    sign = f.sign if value < 0 or (value == 0 and negative_zero) else 0
    value = abs(value)
    if value == 0:
        return sign
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    least = 1 - f.bias
    quantum = max(exponent, least) - f.fraction
    scaled = value / Fraction(2) ** quantum
    away = direction == (DOWN if sign else UP)
    mantissa = round(scaled) if direction == NEAREST else math.ceil(scaled) if away else math.floor(scaled)
    bits = ((quantum - (least - f.fraction)) << f.fraction) + mantissa
    return sign | min(bits, f.infinity if away or direction == NEAREST else f.infinity - 1)


def flushed(bits: int, f: Format, mode: int, *, output: bool = False) -> int:
    """A denormal as zero of its sign unless MODE allows it."""
    if mode >> (f.denormal_bit + output) & 1 or bits & ~f.sign >= 1 << f.fraction:
        return bits
    return bits & f.sign


def bounded(bits: int, exact_infinity: bool, f: Format, mode: int) -> int:
    """An f16 that overflowed is the largest instead where MODE's FP16_OVFL says so; exact infinities stay."""
    if f is FORMATS["f16"] and mode >> FP16_OVFL & 1 and is_infinite(bits, f) and not exact_infinity:
        return bits - 1
    return bits


def nan_of(args: list[int], f: Format) -> int:
    """The first NaN operand quieted, or the default NaN."""
    for bits in args:
        if is_nan(bits, f):
            return bits | f.quiet
    return f.infinity | f.quiet


def _negative(bits: int, f: Format) -> bool:
    return bool(bits & f.sign)


def _add(args: list[int], f: Format, direction: int) -> int:
    infinite = [a for a in args if is_infinite(a, f)]
    if infinite:
        return nan_of(args, f) if len({*infinite}) > 1 else infinite[0]
    negative = _negative_zero([_negative(a, f) for a in args], direction)
    return rounded(sum((exact(a, f) for a in args), Fraction(0)), f, negative_zero=negative, direction=direction)


def _negative_zero(signs: list[bool], direction: int) -> bool:
    """Whether a sum of terms with these signs that is exactly 0 is -0."""
    return any(signs) if direction == DOWN else all(signs)


def _product_sign(a: int, b: int, f: Format) -> int:
    return (a ^ b) & f.sign


def _mul(args: list[int], f: Format, direction: int) -> int:
    a, b = args
    sign = _product_sign(a, b, f)
    if is_infinite(a, f) or is_infinite(b, f):
        zero = not a & ~f.sign or not b & ~f.sign
        return nan_of(args, f) if zero else sign | f.infinity
    return rounded(exact(a, f) * exact(b, f), f, negative_zero=bool(sign), direction=direction)


def _fma(args: list[int], f: Format, direction: int) -> int:
    a, b, c = args
    sign = _product_sign(a, b, f)
    if is_infinite(a, f) or is_infinite(b, f):
        zero = not a & ~f.sign or not b & ~f.sign
        opposed = is_infinite(c, f) and (c & f.sign) != sign
        return nan_of(args, f) if zero or opposed else sign | f.infinity
    if is_infinite(c, f):
        return c
    negative = _negative_zero([bool(sign), _negative(c, f)], direction)
    return rounded(exact(a, f) * exact(b, f) + exact(c, f), f, negative_zero=negative, direction=direction)


_ARITHMETIC: dict[Op, Callable[[list[int], Format, int], int]] = {Op.FADD: _add, Op.FMUL: _mul, Op.FFMA: _fma}


def _order(bits: int, f: Format) -> int:
    """An integer that orders like the float, -0 below +0."""
    return -(bits & ~f.sign) - 1 if bits & f.sign else bits


def _extreme(op: Op, args: list[int], f: Format) -> int:
    kept = [a for a in args if not is_nan(a, f)]
    if not kept:
        return nan_of(args, f)
    return (min if op is Op.FMIN else max)(kept, key=lambda a: _order(a, f))


def _compare(op: Op, args: list[int], f: Format) -> int:
    unordered = any(is_nan(a, f) for a in args)
    if op is Op.FUNO or unordered:
        return op is Op.FUNO and unordered
    a, b = (0 if x == f.sign else x for x in args)
    return _order(a, f) < _order(b, f) if op is Op.FLT else a == b


_ROUNDING: dict[Op, Callable[[Fraction], int]] = {
    Op.FFLOOR: math.floor,
    Op.FCEIL: math.ceil,
    Op.FTRUNC: math.trunc,
    Op.FRNDNE: round,
}


def _fract(bits: int, f: Format, direction: int) -> int:
    if is_infinite(bits, f):
        return f.infinity | f.quiet
    value = exact(bits, f)
    below_one = (f.bias << f.fraction) - 1
    return min(rounded(value - math.floor(value), f, direction=direction), below_one)


def _double(bits: int, f: Format) -> float:
    if is_nan(bits, f):
        return math.nan
    if is_infinite(bits, f):
        return -math.inf if bits & f.sign else math.inf
    value = float(exact(bits, f))
    return -0.0 if value == 0 and bits & f.sign else value


def _from_double(value: float, f: Format) -> int:
    if math.isnan(value):
        return f.infinity | f.quiet
    if math.isinf(value):
        return f.infinity | (f.sign if value < 0 else 0)
    return rounded(Fraction(value), f, negative_zero=math.copysign(1, value) < 0)


def _transcendental(op: Op, x: float) -> float:
    with np.errstate(all="ignore"):
        wide = np.float64(x)
        match op:
            case Op.FRCP:
                result = np.float64(1) / wide
            case Op.FSQRT:
                result = np.sqrt(wide)
            case Op.FRSQ:
                result = np.float64(1) / np.sqrt(wide)
            case Op.FEXP2:
                result = np.exp2(wide)
            case Op.FLOG2:
                result = np.log2(wide)
            case _:
                turn = (wide - np.trunc(wide)) * (2 * np.pi)
                result = np.sin(turn) if op is Op.FSIN else np.cos(turn)
    return float(result)


def _approximate(op: Op, bits: int, f: Format, mode: int) -> int:
    if f is FORMATS["f32"]:
        mode &= ~0x30
    x = flushed(bits, f, mode)
    if is_nan(x, f):
        return x | f.quiet
    value = _from_double(_transcendental(op, _double(x, f)), f)
    value = bounded(value, is_infinite(x, f) or not x & ~f.sign, f, mode)
    return flushed(value, f, mode, output=True)


def _frexp(op: Op, bits: int, f: Format) -> int:
    size = bits & ~f.sign
    if size >= f.infinity or size == 0:
        return 0 if op is Op.FREXP_EXP else (bits | f.quiet if is_nan(bits, f) else bits)
    value = abs(exact(bits, f))
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent += value >= Fraction(2) ** exponent
    if op is Op.FREXP_EXP:
        return exponent
    return rounded(value / Fraction(2) ** exponent, f) | bits & f.sign


def convert(bits: int, a: Format, z: Format, direction: int = NEAREST) -> int:
    """A pattern of another format; a NaN keeps its sign and upper payload, quieted."""
    sign = z.sign if bits & a.sign else 0
    if is_nan(bits, a):
        payload = bits & ((1 << a.fraction) - 1)
        shift = z.fraction - a.fraction
        return sign | z.infinity | z.quiet | (payload << shift if shift >= 0 else payload >> -shift)
    if is_infinite(bits, a):
        return sign | z.infinity
    return rounded(exact(bits, a), z, negative_zero=bool(sign), direction=direction)


def _to_integer(bits: int, f: Format, target: str) -> int:
    width = INTEGER_BITS[target]
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if target[0] == "i" else (0, (1 << width) - 1)
    if is_nan(bits, f):
        return 0
    if is_infinite(bits, f):
        return low if bits & f.sign else high
    return max(low, min(high, math.trunc(exact(bits, f))))


def _from_integer(value: int, source: str, f: Format, direction: int) -> int:
    width = INTEGER_BITS[source]
    if source[0] == "i" and value >> (width - 1):
        value -= 1 << width
    return rounded(Fraction(value), f, direction=direction)


def _one(e: Expr, args: list[int], mode: int) -> int:
    if isinstance(e.attr, tuple):
        source, target = e.attr
        if e.op is Op.ITOF:
            z = FORMATS[target]
            return bounded(_from_integer(args[0], source, z, z.direction(mode)), False, z, mode)
        x = flushed(args[0], FORMATS[source], mode)
        if e.op is Op.FTOI:
            return _to_integer(x, FORMATS[source], target)
        if e.op is Op.FCVT_RTZ:
            return convert(x, FORMATS[source], FORMATS[target], ZERO)
        z = FORMATS[target]
        value = bounded(convert(x, FORMATS[source], z, z.direction(mode)), is_infinite(x, FORMATS[source]), z, mode)
        return flushed(value, z, mode, output=True)
    f = FORMATS[str(e.attr)]
    if e.op in (Op.FRCP, Op.FRSQ, Op.FSQRT, Op.FEXP2, Op.FLOG2, Op.FSIN, Op.FCOS):
        return _approximate(e.op, args[0], f, mode)
    if e.op is Op.FLDEXP:
        x = flushed(args[0], f, mode)
        if x & ~f.sign >= f.infinity:
            return x | f.quiet if is_nan(x, f) else x
        amount = args[1] - (1 << 32) if args[1] >> 31 else args[1]
        scaled = exact(x, f) * Fraction(2) ** max(-5000, min(5000, amount))
        value = bounded(rounded(scaled, f, negative_zero=_negative(x, f), direction=f.direction(mode)), False, f, mode)
        return flushed(value, f, mode, output=True)
    values = [flushed(a, f, mode) for a in args]
    if e.op in _ARITHMETIC:
        bits = nan_of(values, f) if any(is_nan(a, f) for a in values) else _ARITHMETIC[e.op](values, f, f.direction(mode))
        bits = bounded(bits, any(is_infinite(a, f) for a in values), f, mode)
        return flushed(bits, f, mode, output=True)
    if e.op in (Op.FMIN, Op.FMAX):
        return flushed(_extreme(e.op, values, f), f, mode, output=True)
    if e.op in (Op.FLT, Op.FEQ, Op.FUNO):
        return int(_compare(e.op, values, f))
    return _single(e, values[0], f, mode)


def _single(e: Expr, x: int, f: Format, mode: int) -> int:
    if e.op in (Op.FREXP_MANT, Op.FREXP_EXP):
        return _frexp(e.op, x, f)
    if is_nan(x, f):
        return x | f.quiet
    if e.op is Op.FRACT:
        return flushed(_fract(x, f, f.direction(mode)), f, mode, output=True)
    if e.op is Op.FCANON:
        return flushed(x, f, mode, output=True)
    if e.op in _ROUNDING:
        if is_infinite(x, f):
            return x
        return rounded(Fraction(_ROUNDING[e.op](exact(x, f))), f, negative_zero=_negative(x, f))
    fail("E0508", f"the reference interpreter has no '{e.op.value}'")


def evaluate(e: Expr, args: list[npt.NDArray[Any]], mode: int) -> npt.NDArray[Any]:
    """A float operation in every lane; arguments and result are bit patterns. E0508 for an operation without rules."""
    result = np.empty(len(args[0]), object)
    for n in range(len(result)):
        result[n] = _one(e, [int(a[n]) for a in args], mode)
    return result
