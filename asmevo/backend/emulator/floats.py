"""Turns float operations into native code that gives the same bits on every host.

Owns rounding, denormal flushing by MODE, NaN results and conversions. NaN payloads are written explicitly, because what a
host's instruction returns depends on operand order, which an optimiser may change.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llvmlite import ir

from asmevo.backend.emulator.irkit import I1, Value, const
from asmevo.diagnostics import fail
from asmevo.ir.semantics.expr import Expr, Op

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
_INTEGERS = {"i8": (8, True), "u8": (8, False), "i16": (16, True), "u16": (16, False), "i32": (32, True), "u32": (32, False)}
_INTEGERS |= {"i64": (64, True), "u64": (64, False)}
_ROUNDERS = {Op.FFLOOR: "llvm.floor", Op.FCEIL: "llvm.ceil", Op.FTRUNC: "llvm.trunc", Op.FRNDNE: "llvm.roundeven"}
_LIBRARY = {Op.FSIN: "sin", Op.FCOS: "cos"}
FLOAT_OPS = frozenset(op for op in Op if op.value.startswith("f") and op is not Op.FTOI) | {Op.FTOI, Op.ITOF, Op.NATIVE}


class _Floats:
    """One float operation being emitted."""

    def __init__(self, emitter: Emitter) -> None:
        self.m = emitter
        self.b = emitter.f.b

    def kind(self, name: str) -> Value:
        one = {"f16": ir.HalfType(), "f32": ir.FloatType(), "f64": ir.DoubleType()}[name]
        return ir.VectorType(one, self.m.lanes) if self.m.lanes else one

    def ints(self, value: Value, bits: int) -> Value:
        return self.b.bitcast(value, self.m.kind(bits))

    def real(self, bits: Value, name: str) -> Value:
        """The host float of `bits`; bf16 widens to f32 exactly."""
        if name == "bf16":
            wide = self.b.shl(self.b.zext(bits, self.m.kind(32)), self.m.number(32, 16))
            return self.b.bitcast(wide, self.kind("f32"))
        return self.b.bitcast(bits, self.kind(name))

    def number(self, name: str, value: float) -> Value:
        pattern = {"f16": "<e", "f32": "<f", "f64": "<d"}[name]
        raw = int.from_bytes(struct.pack(pattern, value), "little")
        return self.b.bitcast(self.m.number(FORMATS[name].bits, raw), self.kind(name))

    def magnitude(self, bits: Value, fmt: Format) -> Value:
        return self.b.and_(bits, self.m.number(fmt.bits, fmt.sign - 1))

    def is_nan(self, bits: Value, fmt: Format) -> Value:
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

    def quiet_nan(self, result: Value, inputs: list[Value], fmt: Format) -> Value:
        """`result`, but a NaN becomes the first NaN input quieted, else the default NaN."""
        chosen = self.m.number(fmt.bits, fmt.default_nan)
        for bits in reversed(inputs):
            quiet = self.b.or_(bits, self.m.number(fmt.bits, fmt.quiet))
            chosen = self.b.select(self.is_nan(bits, fmt), quiet, chosen)
        return self.b.select(self.is_nan(result, fmt), chosen, result)

    # conversions

    def narrow_odd(self, value: Value) -> Value:
        """f64 to f32 rounded to odd, so that a later rounding to fewer bits is the only one."""
        near = self.b.fptrunc(value, self.kind("f32"))
        back = self.b.fpext(near, self.kind("f64"))
        bits = self.ints(near, 32)
        inexact = self.b.fcmp_ordered("!=", back, value)
        even = self.b.icmp_unsigned("==", self.b.and_(bits, self.m.number(32, 1)), self.m.number(32, 0))
        fabs = lambda v: self.m.call("llvm.fabs", [v])  # noqa: E731
        short = self.b.fcmp_ordered("<", fabs(back), fabs(value))
        step = self.b.select(short, self.m.number(32, 1), self.m.number(32, -1))
        moved = self.b.add(bits, step)
        return self.b.bitcast(self.b.select(self.b.and_(inexact, even), moved, bits), self.kind("f32"))

    def to_f64(self, bits: Value, name: str) -> Value:
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
        return self.b.select(self.is_nan(bits, a), self.carry_nan(bits, a, z), result)

    def carry_nan(self, bits: Value, a: Format, z: Format) -> Value:
        sign_up = self.resize(self.b.lshr(bits, self.m.number(a.bits, a.bits - 1)), z.bits)
        sign = self.b.shl(sign_up, self.m.number(z.bits, z.bits - 1))
        payload = self.b.and_(bits, self.m.number(a.bits, (1 << a.fraction) - 1))
        if a.fraction >= z.fraction:
            payload = self.resize(self.b.lshr(payload, self.m.number(a.bits, a.fraction - z.fraction)), z.bits)
        else:
            payload = self.b.shl(self.resize(payload, z.bits), self.m.number(z.bits, z.fraction - a.fraction))
        return self.b.or_(self.b.or_(sign, payload), self.m.number(z.bits, z.default_nan))

    def resize(self, value: Value, bits: int) -> Value:
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
        fabs = lambda v: self.m.call("llvm.fabs", [v])  # noqa: E731
        grew = self.b.fcmp_ordered(">", fabs(back), fabs(value))
        down = self.b.sub(near, self.m.number(z.bits, 1))
        result = self.b.select(grew, down, near)
        return self.b.select(self.is_nan(bits, a), near, result)

    # arithmetic

    def fma(self, a: list[Value], name: str) -> Value:
        if name in ("f32", "f64"):
            return self.ints(self.m.call("llvm.fma", [self.real(x, name) for x in a]), FORMATS[name].bits)
        x, y, z = (self.to_f64(v, name) for v in a)
        product = self.b.fmul(x, y)  # exact: at most 22 significant bits
        total = self.b.fadd(product, z)
        part = self.b.fsub(total, product)
        error = self.b.fadd(self.b.fsub(product, self.b.fsub(total, part)), self.b.fsub(z, part))
        bits = self.ints(total, 64)
        wrong = self.b.fcmp_ordered("!=", error, self.number("f64", 0.0))
        even = self.b.icmp_unsigned("==", self.b.and_(bits, self.m.number(64, 1)), self.m.number(64, 0))
        signs = self.b.xor(bits, self.ints(error, 64))
        step = self.b.select(
            self.b.icmp_signed("<", signs, self.m.number(64, 0)), self.m.number(64, -1), self.m.number(64, 1)
        )
        odd = self.b.select(self.b.and_(wrong, even), self.b.add(bits, step), bits)
        return self.from_f64(self.b.bitcast(odd, self.kind("f64")), name)

    def arithmetic(self, e: Expr, a: list[Value], name: str) -> Value:
        fmt = FORMATS[name]
        a = [self.flush(x, fmt, output=False) for x in a]
        if e.op is Op.FFMA:
            result = self.fma(a, name)
        else:
            wide = "f32" if name in ("f16", "bf16") else name
            x, y = (self.widen(v, name) for v in a)
            value = self.b.fadd(x, y) if e.op is Op.FADD else self.b.fmul(x, y)
            result = self.from_f32(value, name) if wide == "f32" else self.ints(value, 64)
        return self.flush(self.quiet_nan(result, a, fmt), fmt, output=True)

    def widen(self, bits: Value, name: str) -> Value:
        value = self.real(bits, name)
        return self.b.fpext(value, self.kind("f32")) if name == "f16" else value

    def extreme(self, e: Expr, a: list[Value], name: str) -> Value:
        """IEEE-754-2008 minNum and maxNum; -0 is below +0."""
        fmt = FORMATS[name]
        x, y = (self.flush(v, fmt, output=False) for v in a)
        keys = [self.ordered(v, fmt) for v in (x, y)]
        less = self.b.icmp_signed("<", keys[0], keys[1])
        first = less if e.op is Op.FMIN else self.b.not_(less)
        picked = self.b.select(first, x, y)
        picked = self.b.select(self.is_nan(y, fmt), x, picked)
        picked = self.b.select(self.is_nan(x, fmt), y, picked)
        return self.flush(self.quiet_nan(picked, [x, y], fmt), fmt, output=True)

    def ordered(self, bits: Value, fmt: Format) -> Value:
        """A signed integer that orders like the float."""
        negative = self.b.icmp_signed("<", bits, self.m.number(fmt.bits, 0))
        return self.b.select(negative, self.b.xor(bits, self.m.number(fmt.bits, fmt.sign - 1)), bits)

    def compare(self, e: Expr, a: list[Value], name: str) -> Value:
        fmt = FORMATS[name]
        x, y = (self.real(self.flush(v, fmt, output=False), name) for v in a)
        if e.op is Op.FUNO:
            return self.b.fcmp_unordered("uno", x, y)
        return self.b.fcmp_ordered("<" if e.op is Op.FLT else "==", x, y)

    def rounding(self, e: Expr, a: list[Value], name: str) -> Value:
        fmt = FORMATS[name]
        x = self.flush(a[0], fmt, output=False)
        value = self.m.call(_ROUNDERS[e.op], [self.widen(x, name)])
        result = self.from_f32(value, name) if name != "f64" else self.ints(value, 64)
        return self.quiet_nan(result, [x], fmt)

    def fract(self, a: list[Value], name: str) -> Value:
        fmt = FORMATS[name]
        x = self.flush(a[0], fmt, output=False)
        value = self.to_f64(x, name)
        part = self.b.fsub(value, self.m.call("llvm.floor", [value]))
        raw = self.from_f64(part, name)
        below_one = {"f16": 0x3BFF, "f32": 0x3F7FFFFF, "f64": 0x3FEFFFFFFFFFFFFF}[name]
        limit = self.m.number(fmt.bits, below_one)
        over = self.b.and_(
            self.b.icmp_unsigned(">", raw, limit), self.b.icmp_unsigned("<", raw, self.m.number(fmt.bits, fmt.exponent_mask))
        )
        return self.flush(self.quiet_nan(self.b.select(over, limit, raw), [x], fmt), fmt, output=True)

    def each(self, name: str, value: Value) -> Value:
        """A libm function of doubles, lane by lane."""
        double = ir.DoubleType()
        function = self.m.f.external(name, double, double)
        if not self.m.lanes:
            return self.b.call(function, [value])
        result = value
        for n in range(self.m.lanes):
            one = self.b.call(function, [self.b.extract_element(value, const(32, n))])
            result = self.b.insert_element(result, one, const(32, n))
        return result

    def transcendental(self, e: Expr, a: list[Value], name: str) -> Value:
        """Computed in double and rounded once; f32 flushes denormals whatever MODE says, except the seeds of f64."""
        fmt = FORMATS[name]
        always = name == "f32"
        x = self.flush(a[0], fmt, output=False, always=always)
        value = self.to_f64(x, name)
        one = self.number("f64", 1.0)
        match e.op:
            case Op.FRCP:
                value = self.b.fdiv(one, value)
            case Op.FSQRT:
                value = self.m.call("llvm.sqrt", [value])
            case Op.FRSQ:
                value = self.b.fdiv(one, self.m.call("llvm.sqrt", [value]))
            case Op.FEXP2:
                value = self.exp2(value)
            case Op.FLOG2:
                value = self.log2(value)
            case _:
                turn = self.b.fsub(value, self.m.call("llvm.trunc", [value]))
                value = self.each(_LIBRARY[e.op], self.b.fmul(turn, self.number("f64", 2 * math.pi)))
        result = self.quiet_nan(self.from_f64(value, name), [x], fmt)
        return self.flush(result, fmt, output=True, always=always)

    def polynomial(self, x: Value, coefficients: list[float]) -> Value:
        """Horner's rule with fused steps; the highest coefficient first."""
        result = self.number("f64", coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.m.call("llvm.fma", [result, x, self.number("f64", coefficient)])
        return result

    def exp2(self, x: Value) -> Value:
        """2^x of a double to within 2^-50, far more than rounding to f32 or f16 needs; beyond +-1000 as at +-1000."""
        b = self.b
        clamped = x
        for bound, side in ((-1000.0, "<"), (1000.0, ">")):
            limit = self.number("f64", bound)
            clamped = b.select(b.fcmp_ordered(side, clamped, limit), limit, clamped)
        nan = b.fcmp_unordered("uno", x, x)
        clamped = b.select(nan, self.number("f64", 0.0), clamped)
        whole = self.m.call("llvm.roundeven", [clamped])
        rest = b.fsub(clamped, whole)
        series = [math.log(2) ** n / math.factorial(n) for n in reversed(range(14))]
        field = b.add(b.fptosi(whole, self.m.kind(64)), self.m.number(64, 1023))
        scale = b.bitcast(b.shl(field, self.m.number(64, 52)), self.kind("f64"))
        return b.select(nan, x, b.fmul(self.polynomial(rest, series), scale))

    def log2(self, x: Value) -> Value:
        """The base 2 logarithm of a double that is zero or normal, to within 2^-50."""
        b = self.b
        bits = self.ints(x, 64)
        low = b.and_(bits, self.m.number(64, (1 << 52) - 1))
        exponent = b.sub(b.and_(b.lshr(bits, self.m.number(64, 52)), self.m.number(64, 0x7FF)), self.m.number(64, 1023))
        large = b.icmp_unsigned(">", low, self.m.number(64, 0x6A09E667F3BCC))  # sqrt(2): keeps the mantissa around 1
        exponent = b.select(large, b.add(exponent, self.m.number(64, 1)), exponent)
        bias = b.select(large, self.m.number(64, 1022 << 52), self.m.number(64, 1023 << 52))
        mantissa = b.bitcast(b.or_(low, bias), self.kind("f64"))
        one = self.number("f64", 1.0)
        s = b.fdiv(b.fsub(mantissa, one), b.fadd(mantissa, one))
        series = [2 / math.log(2) / n for n in range(23, 0, -2)]
        power = self.polynomial(b.fmul(s, s), series)
        result = self.m.call("llvm.fma", [s, power, b.sitofp(exponent, self.kind("f64"))])
        zero, infinite = self.number("f64", 0.0), self.number("f64", math.inf)
        result = b.select(b.fcmp_ordered("==", x, infinite), infinite, result)
        result = b.select(b.fcmp_ordered("==", x, zero), self.number("f64", -math.inf), result)
        return b.select(b.fcmp_unordered("<", x, zero), self.number("f64", math.nan), result)

    def ldexp(self, a: list[Value], name: str) -> Value:
        """Scaling by 2^n in steps that cannot round twice: the double range holds every product of narrower formats."""
        fmt = FORMATS[name]
        x = self.flush(a[0], fmt, output=False)
        limit = 2200 if name == "f64" else 400
        amount = self.m.call("llvm.smax", [a[1], self.m.number(32, -limit)])
        amount = self.b.select(
            self.b.icmp_signed("<", amount, self.m.number(32, -limit)), self.m.number(32, -limit), a[1]
        )
        value = self.m.f.b.call(self._ldexp(), [self.to_f64(x, name), amount]) if not self.m.lanes else None
        if value is None:
            value = self.to_f64(x, name)
            amounts = amount
            function = self._ldexp()
            for n in range(self.m.lanes):
                one = self.b.extract_element(value, const(32, n))
                scaled = self.b.call(function, [one, self.b.extract_element(amounts, const(32, n))])
                value = self.b.insert_element(value, scaled, const(32, n))
        result = self.quiet_nan(self.from_f64(value, name), [x], fmt)
        return self.flush(result, fmt, output=True)

    def _ldexp(self) -> Value:
        return self.m.f.external("ldexp", ir.DoubleType(), ir.DoubleType(), ir.IntType(32))

    def frexp(self, e: Expr, a: list[Value], name: str) -> Value:
        fmt = FORMATS[name]
        x = self.flush(a[0], fmt, output=False)
        bias = (fmt.exponent_mask >> fmt.fraction) >> 1
        width = fmt.bits
        top = self.magnitude(x, fmt)
        special = self.b.icmp_unsigned(">=", top, self.m.number(width, fmt.exponent_mask))
        zero = self.b.icmp_unsigned("==", top, self.m.number(width, 0))
        fraction = self.b.and_(top, self.m.number(width, (1 << fmt.fraction) - 1))
        small = self.b.icmp_unsigned("<", top, self.m.number(width, 1 << fmt.fraction))
        lead = self.b.sub(self.m.call("llvm.ctlz", [fraction], flag=True), self.m.number(width, width - 1 - fmt.fraction))
        exponent = self.b.sub(self.b.lshr(top, self.m.number(width, fmt.fraction)), self.m.number(width, bias - 1))
        denormal = self.b.sub(self.m.number(width, 2 - bias), lead)
        if e.op is Op.FREXP_EXP:
            chosen = self.b.select(small, denormal, exponent)
            chosen = self.b.select(self.b.or_(special, zero), self.m.number(width, 0), chosen)
            if width < 32:
                return self.b.sext(chosen, self.m.kind(32))
            return self.resize(chosen, 32)
        safe = self.b.select(small, lead, self.m.number(width, 0))
        moved = self.b.and_(self.b.shl(fraction, safe), self.m.number(width, (1 << fmt.fraction) - 1))
        half = self.b.or_(moved, self.m.number(width, (bias - 1) << fmt.fraction))
        half = self.b.or_(half, self.b.and_(x, self.m.number(width, fmt.sign)))
        return self.quiet_nan(self.b.select(self.b.or_(special, zero), x, half), [x], fmt)

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
        width, signed = _INTEGERS[source]
        value = self.resize(value, width)
        if width == 64 and target == "f64":
            real = self.b.sitofp(value, self.kind("f64")) if signed else self.b.uitofp(value, self.kind("f64"))
            return self.ints(real, 64)
        if width == 64:
            fail("E0507", f"the emulator cannot convert {source} to {target}")
        real = self.b.sitofp(value, self.kind("f64")) if signed else self.b.uitofp(value, self.kind("f64"))
        return self.from_f64(real, target)


def emit(emitter: Emitter, e: Expr, a: list[Value]) -> Value:
    """The value of float operation `e` with arguments `a`."""
    n = _Floats(emitter)
    if e.op in (Op.FCVT, Op.FCVT_RTZ):
        assert isinstance(e.attr, tuple)
        source, target = e.attr
        x = n.flush(a[0], FORMATS[source], output=False)
        if e.op is Op.FCVT_RTZ:
            return n.toward_zero(x, source, target)
        return n.flush(n.convert(x, source, target), FORMATS[target], output=True)
    if e.op is Op.FTOI:
        assert isinstance(e.attr, tuple)
        return n.to_integer(a[0], *e.attr)
    if e.op is Op.ITOF:
        assert isinstance(e.attr, tuple)
        return n.from_integer(a[0], *e.attr)
    if e.op is Op.NATIVE:
        fail("E0507", f"the emulator has no native function '{e.attr}'")
    name = str(e.attr)
    fmt = FORMATS[name]
    if e.op in (Op.FADD, Op.FMUL, Op.FFMA):
        return n.arithmetic(e, a, name)
    if e.op in (Op.FMIN, Op.FMAX):
        return n.extreme(e, a, name)
    if e.op in (Op.FLT, Op.FEQ, Op.FUNO):
        return n.compare(e, a, name)
    if e.op in _ROUNDERS:
        return n.rounding(e, a, name)
    if e.op is Op.FRACT:
        return n.fract(a, name)
    if e.op is Op.FLDEXP:
        return n.ldexp(a, name)
    if e.op in (Op.FREXP_MANT, Op.FREXP_EXP):
        return n.frexp(e, a, name)
    if e.op is Op.FCANON:
        x = n.flush(n.flush(a[0], fmt, output=False), fmt, output=True)
        return n.quiet_nan(x, [x], fmt)
    return n.transcendental(e, a, name)
