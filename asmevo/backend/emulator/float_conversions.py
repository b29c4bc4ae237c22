"""Float formats, their bits, and conversions between them, as native code that gives the same bits on every host.

Owns denormal flushing by MODE, NaN results and every rounding from one format to another. NaN payloads are written explicitly,
because what a host's instruction returns depends on operand order, which an optimiser may change.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llvmlite import ir

from asmevo.backend.emulator.irkit import I1, Value, const
from asmevo.diagnostics import fail
from asmevo.ir.semantics.small_float import FP16_OVFL

if TYPE_CHECKING:
    from asmevo.backend.emulator.codegen import Emitter


@dataclass(frozen=True, slots=True)
class Format:
    """A binary float format: widths in bits, and the lowest MODE bit of its denormal control."""

    name: str
    bits: int
    fraction: int
    denormal_bit: int

    @property
    def exponent_mask(self) -> int:
        """Infinity's bits."""
        return ((1 << (self.bits - 1)) - 1) & ~((1 << self.fraction) - 1)

    @property
    def quiet(self) -> int:
        """The quiet bit of a NaN."""
        return 1 << (self.fraction - 1)

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.bits - 1)

    @property
    def default_nan(self) -> int:
        """What an invalid operation returns."""
        return self.exponent_mask | self.quiet


FORMATS = {
    "f16": Format("f16", 16, 10, 6),
    "bf16": Format("bf16", 16, 7, 4),
    "f32": Format("f32", 32, 23, 4),
    "f64": Format("f64", 64, 52, 6),
}
_INTEGERS = {f"{sign}{bits}": (bits, sign == "i") for sign in "iu" for bits in (8, 16, 32, 64)}


class Conversions:
    """Bits, host floats and formats, at one emitter's position."""

    def __init__(self, emitter: Emitter) -> None:
        self.m = emitter
        self.b = emitter.f.b

    def kind(self, name: str) -> Value:
        """The host type of a format."""
        one = {"f16": ir.HalfType(), "f32": ir.FloatType(), "f64": ir.DoubleType()}[name]
        return ir.VectorType(one, self.m.lanes) if self.m.lanes else one

    def ints(self, value: Value, bits: int) -> Value:
        """A host float's bits."""
        return self.b.bitcast(value, self.m.kind(bits))

    def real(self, bits: Value, name: str) -> Value:
        """The host float of `bits`; bf16 widens to f32 exactly."""
        if name == "bf16":
            wide = self.b.shl(self.b.zext(bits, self.m.kind(32)), self.m.number(32, 16))
            return self.b.bitcast(wide, self.kind("f32"))
        return self.b.bitcast(bits, self.kind(name))

    def number(self, name: str, value: float) -> Value:
        """A constant as a host float."""
        pattern = {"f16": "<e", "f32": "<f", "f64": "<d"}[name]
        raw = int.from_bytes(struct.pack(pattern, value), "little")
        return self.b.bitcast(self.m.number(FORMATS[name].bits, raw), self.kind(name))

    def magnitude(self, bits: Value, fmt: Format) -> Value:
        """Bits without the sign."""
        return self.b.and_(bits, self.m.number(fmt.bits, fmt.sign - 1))

    def is_nan(self, bits: Value, fmt: Format) -> Value:
        """Whether bits are a NaN."""
        return self.b.icmp_unsigned(">", self.magnitude(bits, fmt), self.m.number(fmt.bits, fmt.exponent_mask))

    def flush(self, bits: Value, fmt: Format, *, output: bool, always: bool = False) -> Value:
        """Denormals become zeros of their sign where MODE (or `always`) says so."""
        small = self.b.icmp_unsigned("<", self.magnitude(bits, fmt), self.m.number(fmt.bits, 1 << fmt.fraction))
        zero = self.b.and_(bits, self.m.number(fmt.bits, fmt.sign))
        if not always:
            position = fmt.denormal_bit + (1 if output else 0)
            allowed = self.b.trunc(self.b.lshr(self.m.mode, const(32, position)), I1)
            small = self.b.and_(small, self.m.spread(self.b.not_(allowed)))
        return self.b.select(small, zero, bits)

    def bounded(
        self, result: Value, inputs: list[Value], fmt: Format, given: Format | None = None, *, poles: bool = False
    ) -> Value:
        """An f16 that overflowed is the largest instead where MODE's FP16_OVFL says so; exact infinities stay.

        An infinity is exact where an input (of format `given`, if not that of the result) is infinite, or with `poles` zero.
        """
        if fmt.name != "f16":
            return result
        given = given or fmt
        over = self.b.icmp_unsigned("==", self.magnitude(result, fmt), self.m.number(16, fmt.exponent_mask))
        for bits in inputs:
            size = self.magnitude(bits, given)
            for exact in (0, given.exponent_mask) if poles else (given.exponent_mask,):
                over = self.b.and_(over, self.b.icmp_unsigned("!=", size, self.m.number(given.bits, exact)))
        keeps = self.b.trunc(self.b.lshr(self.m.mode, const(32, FP16_OVFL)), I1)
        over = self.b.and_(over, self.m.spread(keeps))
        return self.b.select(over, self.b.sub(result, self.m.number(16, 1)), result)

    def quiet_nan(self, result: Value, inputs: list[Value], fmt: Format) -> Value:
        """`result`, but a NaN becomes the first NaN input quieted, else the default NaN."""
        chosen = self.m.number(fmt.bits, fmt.default_nan)
        for bits in reversed(inputs):
            quiet = self.b.or_(bits, self.m.number(fmt.bits, fmt.quiet))
            chosen = self.b.select(self.is_nan(bits, fmt), quiet, chosen)
        return self.b.select(self.is_nan(result, fmt), chosen, result)

    def fabs(self, value: Value) -> Value:
        """A host float without its sign."""
        return self.m.call("llvm.fabs", [value])

    # conversions

    def narrow_odd(self, value: Value) -> Value:
        """f64 to f32 rounded to odd, so that a later rounding to fewer bits is the only one."""
        near = self.b.fptrunc(value, self.kind("f32"))
        back = self.b.fpext(near, self.kind("f64"))
        bits = self.ints(near, 32)
        inexact = self.b.fcmp_ordered("!=", back, value)
        even = self.b.icmp_unsigned("==", self.b.and_(bits, self.m.number(32, 1)), self.m.number(32, 0))
        short = self.b.fcmp_ordered("<", self.fabs(back), self.fabs(value))
        step = self.b.select(short, self.m.number(32, 1), self.m.number(32, -1))
        moved = self.b.add(bits, step)
        return self.b.bitcast(self.b.select(self.b.and_(inexact, even), moved, bits), self.kind("f32"))

    def to_f64(self, bits: Value, name: str) -> Value:
        """The value as a host double, exactly."""
        value = self.real(bits, name)
        if name == "f64":
            return value
        if name == "f16":
            value = self.b.fpext(value, self.kind("f32"))
        return self.b.fpext(value, self.kind("f64"))

    def from_f64(self, value: Value, name: str) -> Value:
        """Bits of `value` rounded once to the nearest, ties to even."""
        if name == "f64":
            return self.ints(value, 64)
        if name == "f32":
            return self.ints(self.b.fptrunc(value, self.kind("f32")), 32)
        return self.from_f32(self.narrow_odd(value), name)

    def from_f32(self, value: Value, name: str) -> Value:
        """Bits of a host float rounded once to the nearest, ties to even."""
        if name == "f16":
            return self.ints(self.b.fptrunc(value, self.kind("f16")), 16)
        bits = self.ints(value, 32)
        if name == "f32":
            return bits
        odd = self.b.and_(self.b.lshr(bits, self.m.number(32, 16)), self.m.number(32, 1))
        rounded = self.b.add(bits, self.b.add(odd, self.m.number(32, 0x7FFF)))
        quiet = self.b.or_(bits, self.m.number(32, 0x400000))
        chosen = self.b.select(self.is_nan(bits, FORMATS["f32"]), quiet, rounded)
        return self.b.trunc(self.b.lshr(chosen, self.m.number(32, 16)), self.m.kind(16))

    def convert(self, bits: Value, source: str, target: str) -> Value:
        """Rounds to nearest even; NaN keeps its sign and upper payload, quieted."""
        a, z = FORMATS[source], FORMATS[target]
        if source == target:
            return self.quiet_nan(bits, [bits], a)
        if source == "f64" or target == "f64":
            result = self.from_f64(self.to_f64(bits, source), target)
        else:
            value = self.real(bits, source)
            wide = self.b.fpext(value, self.kind("f32")) if source == "f16" else value
            result = self.from_f32(wide, target)
        result = self.bounded(result, [bits], z, a)
        return self.b.select(self.is_nan(bits, a), self.carry_nan(bits, a, z), result)

    def carry_nan(self, bits: Value, a: Format, z: Format) -> Value:
        """A NaN of one format as a quiet NaN of another: sign and upper payload stay."""
        sign_up = self.resize(self.b.lshr(bits, self.m.number(a.bits, a.bits - 1)), z.bits)
        sign = self.b.shl(sign_up, self.m.number(z.bits, z.bits - 1))
        payload = self.b.and_(bits, self.m.number(a.bits, (1 << a.fraction) - 1))
        if a.fraction >= z.fraction:
            payload = self.resize(self.b.lshr(payload, self.m.number(a.bits, a.fraction - z.fraction)), z.bits)
        else:
            payload = self.b.shl(self.resize(payload, z.bits), self.m.number(z.bits, z.fraction - a.fraction))
        return self.b.or_(self.b.or_(sign, payload), self.m.number(z.bits, z.default_nan))

    def resize(self, value: Value, bits: int) -> Value:
        """An integer of another width, cut or with zeros above."""
        kind = value.type
        width = kind.element.width if self.m.lanes else kind.width
        if width == bits:
            return value
        return self.b.trunc(value, self.m.kind(bits)) if width > bits else self.b.zext(value, self.m.kind(bits))

    def toward_zero(self, bits: Value, source: str, target: str) -> Value:
        """Conversion that truncates; what does not fit becomes the largest finite value, infinity stays."""
        a, z = FORMATS[source], FORMATS[target]
        near = self.convert(bits, source, target)
        back = self.to_f64(near, target)
        value = self.to_f64(bits, source)
        grew = self.b.fcmp_ordered(">", self.fabs(back), self.fabs(value))
        down = self.b.sub(near, self.m.number(z.bits, 1))
        result = self.b.select(grew, down, near)
        return self.b.select(self.is_nan(bits, a), near, result)

    def to_integer(self, bits: Value, source: str, target: str) -> Value:
        """Truncates, saturates, and turns NaN into 0."""
        width, signed = _INTEGERS[target]
        value = self.to_f64(self.flush(bits, FORMATS[source], output=False), source)
        lowest, highest = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
        if width > 32:
            fail("E0507", f"the emulator cannot convert {source} to {target}")
        # Clamped first: a conversion out of range is undefined, and the saturating intrinsic goes lane by lane.
        value = self.b.select(self.b.fcmp_unordered("uno", value, value), self.number("f64", 0.0), value)
        for bound, side in ((lowest, "<"), (highest, ">")):
            limit = self.number("f64", float(bound))
            value = self.b.select(self.b.fcmp_ordered(side, value, limit), limit, value)
        return self.b.trunc(self.b.fptosi(value, self.m.kind(64)), self.m.kind(width))

    def from_integer(self, value: Value, source: str, target: str) -> Value:
        """The nearest float of an integer."""
        width, signed = _INTEGERS[source]
        value = self.resize(value, width)
        if width == 64 and target == "f64":
            real = self.b.sitofp(value, self.kind("f64")) if signed else self.b.uitofp(value, self.kind("f64"))
            return self.ints(real, 64)
        if width == 64:
            fail("E0507", f"the emulator cannot convert {source} to {target}")
        real = self.b.sitofp(value, self.kind("f64")) if signed else self.b.uitofp(value, self.kind("f64"))
        return self.bounded(self.from_f64(real, target), [], FORMATS[target])
