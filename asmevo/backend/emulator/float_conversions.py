"""Float formats, their bits, and conversions between them, as native code that gives the same bits on every host.

Owns denormal flushing by MODE, NaN results and every rounding from one format to another. NaN payloads are written explicitly,
because what a host's instruction returns depends on operand order, which an optimiser may change.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import struct
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llvmlite import ir

from asmevo.backend.emulator.irkit import I1, I32, Value, const, mangled
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
    def bias(self) -> int:
        """The exponent bias."""
        return (self.exponent_mask >> self.fraction) >> 1

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
        self.rounds = emitter.rounds

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

    def _is_odd(self, bits: Value, fmt: Format) -> Value:
        """As `is_nan`, by one instruction where the host has the format."""
        if fmt.name not in ("f32", "f64"):
            return self.is_nan(bits, fmt)
        value = self.real(bits, fmt.name)
        return self.b.fcmp_unordered("uno", value, value)

    def flush(self, bits: Value, fmt: Format, *, output: bool, always: bool = False) -> Value:
        """Denormals become zeros of their sign where MODE (or `always`) says so."""
        if self.m.doubts is not None and not always:
            self.m.assumed_mode |= 1 << fmt.denormal_bit + (1 if output else 0)
            return bits
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
        if self.m.doubts is not None:
            self.m.doubts.append(self._is_odd(result, fmt))
            return result
        chosen = self.m.number(fmt.bits, fmt.default_nan)
        for bits in reversed(inputs):
            quiet = self.b.or_(bits, self.m.number(fmt.bits, fmt.quiet))
            chosen = self.b.select(self.is_nan(bits, fmt), quiet, chosen)
        return self.b.select(self.is_nan(result, fmt), chosen, result)

    def fabs(self, value: Value) -> Value:
        """A host float without its sign."""
        return self.m.call("llvm.fabs", [value])

    # rounding

    def direction(self, name: str) -> Value:
        """MODE's rounding of a format: 0 to nearest even, 1 up, 2 down, 3 toward zero."""
        return self.b.and_(self.b.lshr(self.m.mode, const(32, 2 if name in ("f16", "f64") else 0)), const(32, 3))

    def directed(self, operation: str, name: str, a: list[Value]) -> Value:
        """A host float operation whose result, of format f32 or f64, is rounded as MODE says."""
        if not self.rounds:
            plain = {"fadd": self.b.fadd, "fsub": self.b.fsub, "fmul": self.b.fmul}
            if operation == "fptrunc":
                return self.b.fptrunc(a[0], self.kind(name))
            return plain[operation](*a) if operation in plain else self.m.call(f"llvm.{operation}", a)
        f = self.m.f
        target = self.kind(name)
        kinds = [x.type for x in a]
        overload = [target, *kinds] if operation == "fptrunc" else [target]
        full = ".".join([f"llvm.experimental.constrained.{operation}", *(mangled(kind) for kind in overload)])
        text = ir.MetaDataType()
        function = f.intrinsic(full, target, *kinds, text, text)
        words = [ir.MetaDataString(f.module, word) for word in ("round.dynamic", "fpexcept.ignore")]
        with self.switched(name):
            return self.b.call(function, [*a, *words])

    @contextmanager
    def switched(self, name: str) -> Generator[None, None, None]:
        """Lets the host round as MODE says for a format, where it may say other than to nearest.

        LLVM numbers directions as 0 toward zero, 1 to nearest, 2 up, 3 down.
        """
        if not self.rounds:
            yield
            return
        switch = self.m.f.intrinsic("llvm.set.rounding", ir.VoidType(), I32)
        self.b.call(switch, [self.b.and_(self.b.add(self.direction(name), const(32, 1)), const(32, 3))])
        yield
        self.b.call(switch, [const(32, 1)])

    def narrow(self, value: Value, name: str) -> Value:
        """Bits of a host f32 as f16 or bf16, rounded as MODE says; infinities and NaN as a conversion to nearest gives them."""
        fmt, m, b = FORMATS[name], self.m, self.b
        bits = self.ints(value, 32)
        size = b.and_(bits, m.number(32, 0x7FFFFFFF))
        negative = b.icmp_signed("<", bits, m.number(32, 0))
        exponent = b.lshr(size, m.number(32, 23))
        least = m.number(32, 128 - fmt.bias)
        small = b.icmp_unsigned("<", exponent, least)
        # A denormal f32 has no leading one and counts as of exponent 1.
        lead = b.icmp_unsigned("!=", exponent, m.number(32, 0))
        whole = b.or_(b.and_(size, m.number(32, 0x7FFFFF)), b.shl(b.zext(lead, m.kind(32)), m.number(32, 23)))
        floor = b.select(lead, exponent, m.number(32, 1))
        below = b.select(small, b.sub(least, floor), m.number(32, 0))
        amount = m.call("llvm.umin", [b.add(below, m.number(32, 23 - fmt.fraction)), m.number(32, 25)])
        kept = b.lshr(whole, amount)
        rest = b.sub(whole, b.shl(kept, amount))
        inexact = b.icmp_unsigned("!=", rest, m.number(32, 0))
        half = b.shl(m.number(32, 1), b.sub(amount, m.number(32, 1)))
        odd = b.trunc(kept, m.kind(1))
        tie = b.and_(b.icmp_unsigned("==", rest, half), odd)
        nearest = b.or_(b.icmp_unsigned(">", rest, half), tie)
        way = self.direction(name)

        def when(number: int) -> Value:
            return m.spread(b.icmp_unsigned("==", way, const(32, number)))

        away = b.or_(b.and_(when(1), b.not_(negative)), b.and_(when(2), negative))
        up = b.select(when(0), nearest, b.and_(away, inexact))
        field = b.select(small, m.number(32, 0), b.shl(b.sub(exponent, least), m.number(32, fmt.fraction)))
        magnitude = b.add(b.add(field, kept), b.zext(up, m.kind(32)))
        top = m.number(32, fmt.exponent_mask)
        over = b.icmp_unsigned(">=", magnitude, top)
        beyond = b.select(b.or_(when(0), away), top, b.sub(top, m.number(32, 1)))
        magnitude = b.select(over, beyond, magnitude)
        sign = b.select(negative, m.number(fmt.bits, fmt.sign), m.number(fmt.bits, 0))
        result = b.or_(self.resize(magnitude, fmt.bits), sign)
        special = b.icmp_unsigned(">=", size, m.number(32, 0x7F800000))
        return b.select(special, self.nearest_f32(value, name), result)

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
        """Bits of `value` rounded once."""
        if name == "f64":
            return self.ints(value, 64)
        if name == "f32":
            return self.ints(self.directed("fptrunc", "f32", [value]), 32)
        return self.from_f32(self.narrow_odd(value), name)

    def from_f32(self, value: Value, name: str) -> Value:
        """Bits of a host float rounded once."""
        return self.narrow(value, name) if self.rounds and name != "f32" else self.nearest_f32(value, name)

    def nearest_f32(self, value: Value, name: str) -> Value:
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
        """Rounds once; NaN keeps its sign and upper payload, quieted."""
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
        if self.m.doubts is not None:
            self.m.doubts.append(self._is_odd(bits, a))
            return result
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
        self.rounds = False
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
        """The float of an integer, rounded once."""
        width, signed = _INTEGERS[source]
        value = self.resize(value, width)
        if width == 64 and target == "f64":
            real = self.b.sitofp(value, self.kind("f64")) if signed else self.b.uitofp(value, self.kind("f64"))
            return self.ints(real, 64)
        if width == 64:
            fail("E0507", f"the emulator cannot convert {source} to {target}")
        real = self.b.sitofp(value, self.kind("f64")) if signed else self.b.uitofp(value, self.kind("f64"))
        return self.bounded(self.from_f64(real, target), [], FORMATS[target])
