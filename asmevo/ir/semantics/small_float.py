"""The 8-, 6- and 4-bit float formats: their layouts, and conversions from and to f32 as expressions.

`fp8` and `bf8` are gfx942's E4M3 and E5M2 (bias 8 and 16, no infinities, no negative zero, 0x80 the only NaN). `e4m3` and
`e5m2` are gfx950's, by the OCP 8-bit specification: e4m3 has no infinities and the NaN 0x7f of either sign, e5m2 is the upper
half of an f16. `e2m3`, `e3m2` and `e2m1` (OCP microscaling formats) have neither infinities nor NaN.

A value beyond the largest becomes NaN (e5m2: infinity), or with MODE's FP16_OVFL bit (23) the largest; the formats without NaN
always take the largest. A NaN becomes the format's NaN, in OCP formats with its sign, and the largest where there is none.
Source: CDNA3 and CDNA4 ISA guides, "Float conversions"; the guides do not say what an infinity becomes in e4m3, here it goes
the way of an overflow.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.semantics import build as b
from asmevo.ir.semantics.expr import Expr
from asmevo.ir.semantics.modifiers import float_const

FP16_OVFL = 23
_INFINITY, _QUIET = 0x7F800000, 0x400000


@dataclass(frozen=True, slots=True)
class SmallFloat:
    """A float format of `bits` bits: fraction bits, exponent bias, the code of the largest magnitude, and of what is above.

    `overflow` is the magnitude that an overflow gives, `nan` the code of a NaN; None where it is the largest.
    `signed_nan`: NaN has a sign, and so has zero.
    """

    bits: int
    fraction: int
    bias: int
    largest: int
    overflow: int | None
    nan: int | None
    signed_nan: bool = True

    @property
    def exponent_bits(self) -> int:
        """Width of the exponent field."""
        return self.bits - 1 - self.fraction

    @property
    def least_exponent(self) -> int:
        """The exponent of the smallest normal value, and of every subnormal."""
        return 1 - self.bias

    @property
    def has_infinity(self) -> bool:
        """Whether the top exponent with fraction 0 is an infinity."""
        return self.overflow is not None and self.overflow != self.nan


SMALL = {
    "fp8": SmallFloat(8, 3, 8, 0x7F, 0x80, 0x80, signed_nan=False),
    "bf8": SmallFloat(8, 2, 16, 0x7F, 0x80, 0x80, signed_nan=False),
    "e4m3": SmallFloat(8, 3, 7, 0x7E, 0x7F, 0x7F),
    "e5m2": SmallFloat(8, 2, 15, 0x7B, 0x7C, 0x7E),
    "e2m3": SmallFloat(6, 3, 1, 0x1F, None, None),
    "e3m2": SmallFloat(6, 2, 3, 0x1F, None, None),
    "e2m1": SmallFloat(4, 1, 1, 0x7, None, None),
}
_OF_TARGET = {"fp8": "e4m3", "bf8": "e5m2", "fp6": "e2m3", "bf6": "e3m2", "fp4": "e2m1"}


def format_of(name: str, target: str) -> str:
    """The format that a mnemonic's `fp8`, `bf8`, `fp6`, `bf6` or `fp4` means on a target."""
    return _OF_TARGET[name] if target == "gfx950" or name not in ("fp8", "bf8") else name


def from_small(fmt: str, value: Expr) -> Expr:
    """The f32 equal to a small float."""
    small = SMALL[fmt]
    sign = b.extract(value, small.bits - 1, 1)
    fraction = b.zext(b.extract(value, 0, small.fraction), 32)
    exponent = b.zext(b.extract(value, small.fraction, small.exponent_bits), 32)
    biased = b.add(exponent, b.const(32, 127 - small.bias))
    normal = b.or_(b.shl(biased, b.const(32, 23)), b.shl(fraction, b.const(32, 23 - small.fraction)))
    lowest = b.itof("u32", "f32", fraction)
    denormal = b.fmul("f32", lowest, float_const("f32", 2.0 ** (small.least_exponent - small.fraction)))
    size = b.ite(b.is_zero(exponent), denormal, normal)
    if small.has_infinity:
        top = b.or_(b.const(32, _INFINITY), b.shl(fraction, b.const(32, 23 - small.fraction)))
        quiet = b.ite(b.is_zero(fraction), top, b.or_(top, b.const(32, _QUIET)))
        size = b.ite(b.eq(exponent, b.const(32, (1 << small.exponent_bits) - 1)), quiet, size)
    signed = b.or_(size, b.shl(b.zext(sign, 32), b.const(32, 31)))
    if small.nan is None or small.has_infinity:
        return signed
    quiet = b.const(32, _INFINITY | _QUIET)
    if not small.signed_nan:
        return b.ite(b.eq(value, b.const(8, small.nan)), quiet, signed)
    nan = b.eq(b.extract(value, 0, small.bits - 1), b.const(small.bits - 1, small.nan))
    return b.ite(nan, b.or_(quiet, b.shl(b.zext(sign, 32), b.const(32, 31))), signed)


def rounding_of(exact: Expr, rounding: Expr, dropped: int) -> Expr:
    """What to add before `dropped` bits go: nearest even when `rounding` is the constant 0 of 1 bit, else those random bits."""
    if rounding.bits == 1:
        odd = b.and_(b.lshr(exact, b.const(32, dropped)), b.const(32, 1))
        return b.add(odd, b.const(32, (1 << (dropped - 1)) - 1))
    return b.lshr(rounding, b.const(32, 32 - dropped))


def _magnitude(small: SmallFloat, value: Expr, rounding: Expr) -> Expr:
    """The code of |value| as 32 bits, beyond `largest` where it is too large; `rounding` as for `rounding_of`."""
    dropped = 23 - small.fraction
    size = b.fabs(value)
    exponent = b.lshr(size, b.const(32, 23))
    smallest = b.const(32, 127 + small.least_exponent)
    short = b.ite(b.ult(exponent, smallest), b.sub(smallest, exponent), b.const(32, 0))
    whole = b.or_(b.and_(size, b.const(32, 0x7FFFFF)), b.const(32, 0x800000))
    # A denormal result keeps fewer bits: the mantissa with its leading one is moved down with sticky bits preserved.
    limit = b.const(32, 25)
    amount = b.ite(b.ult(short, limit), short, limit)
    moved = b.lshr(whole, amount)
    lost = b.nonzero(b.and_(whole, b.sub(b.shl(b.const(32, 1), amount), b.const(32, 1))))
    moved = b.or_(moved, b.zext(lost, 32))
    rebased = b.sub(size, b.const(32, (127 - small.bias) << 23))
    exact = b.ite(b.is_zero(short), rebased, moved)
    return b.lshr(b.add(exact, rounding_of(exact, rounding, dropped)), b.const(32, dropped))


def to_small(fmt: str, value: Expr, rounding: Expr | None = None) -> Expr:
    """An f32 as a small float: to nearest even, or with 32 random bits in `rounding`."""
    small = SMALL[fmt]
    bits = small.bits
    size = _magnitude(small, value, b.const(1, 0) if rounding is None else rounding)
    largest = b.const(bits, small.largest)
    beyond: Expr = largest
    if small.overflow is not None:
        keeps = b.extract(b.special("mode"), FP16_OVFL, 1)
        beyond = b.ite(keeps, largest, b.const(bits, small.overflow))
        if small.has_infinity:
            beyond = b.ite(b.eq(b.fabs(value), b.const(32, _INFINITY)), b.const(bits, small.overflow), beyond)
    over = b.ult(b.const(32, small.largest), size)
    magnitude = b.ite(over, beyond, b.extract(size, 0, bits))
    negative = b.concat(b.extract(value, 31, 1), b.const(bits - 1, 0))
    signed = b.or_(magnitude, negative)
    if not small.signed_nan:
        signed = b.ite(b.is_zero(magnitude), magnitude, signed)
    nan: Expr = b.const(bits, small.largest if small.nan is None else small.nan)
    if small.signed_nan:
        nan = b.or_(nan, negative)
    return b.ite(b.ult(b.const(32, _INFINITY), b.fabs(value)), nan, signed)


__all__ = ["FP16_OVFL", "SMALL", "SmallFloat", "format_of", "from_small", "rounding_of", "to_small"]
