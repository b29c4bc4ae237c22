"""Turns float operations into native code: arithmetic, comparison, rounding and transcendental functions.

Owns what each operation computes; the rules are those of `ir.semantics.vector_float`. Formats and conversions are
`float_conversions`'.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from llvmlite import ir

from asmevo.backend.emulator.float_conversions import FORMATS, Conversions, Format
from asmevo.backend.emulator.irkit import Value, const
from asmevo.diagnostics import fail
from asmevo.ir.semantics.expr import Expr, Op

if TYPE_CHECKING:
    from asmevo.backend.emulator.codegen import Emitter

_ROUNDERS = {Op.FFLOOR: "llvm.floor", Op.FCEIL: "llvm.ceil", Op.FTRUNC: "llvm.trunc", Op.FRNDNE: "llvm.roundeven"}
_LIBRARY = {Op.FSIN: "sin", Op.FCOS: "cos"}
ROUNDED = frozenset({Op.FADD, Op.FMUL, Op.FFMA, Op.FRACT, Op.FLDEXP, Op.FCVT, Op.ITOF})
"""Operations whose result may depend on MODE's rounding."""
USUAL = frozenset({Op.FADD, Op.FMUL, Op.FFMA, Op.FMIN, Op.FMAX, Op.FLT, Op.FEQ, Op.FUNO, Op.FCANON, Op.FCVT, Op.FLDEXP})
"""Operations that are much shorter where no result is a NaN and no denormal is flushed."""
FLOAT_OPS = frozenset(op for op in Op if op.value.startswith("f") and op is not Op.FTOI) | {Op.FTOI, Op.ITOF, Op.NATIVE}


class _Floats(Conversions):
    """One float operation being emitted."""

    def fma(self, a: list[Value], name: str) -> Value:
        if name in ("f32", "f64"):
            return self.ints(self.directed("fma", name, [self.real(x, name) for x in a]), FORMATS[name].bits)
        # f32 holds the product of two f16 (22 significant bits, far from its limits), f64 that of two bf16. The sum, rounded
        # to odd, then has bits enough for the one rounding that counts.
        wide, bits = ("f32", 32) if name == "f16" else ("f64", 64)
        x, y, z = (self.widen(v, name) if name == "f16" else self.to_f64(v, name) for v in a)
        product = self.b.fmul(x, y)
        total = self.b.fadd(product, z)
        part = self.b.fsub(total, product)
        error = self.b.fadd(self.b.fsub(product, self.b.fsub(total, part)), self.b.fsub(z, part))
        raw, one = self.ints(total, bits), self.m.number(bits, 1)
        wrong = self.b.fcmp_ordered("!=", error, self.number(wide, 0.0))
        even = self.b.icmp_unsigned("==", self.b.and_(raw, one), self.m.number(bits, 0))
        signs = self.b.xor(raw, self.ints(error, bits))
        step = self.b.select(self.b.icmp_signed("<", signs, self.m.number(bits, 0)), self.m.number(bits, -1), one)
        odd = self.b.select(self.b.and_(wrong, even), self.b.add(raw, step), raw)
        if self.rounds:
            odd = self._signed_zero(odd, bits, raw, [self.ints(v, bits) for v in (product, z)], name)
        exact = self.b.bitcast(odd, self.kind(wide))
        return self.from_f32(exact, name) if name == "f16" else self.from_f64(exact, name)

    def _signed_zero(self, value: Value, bits: int, total: Value, terms: list[Value], name: str) -> Value:
        """`value`, but an exact sum of 0 is -0 where MODE rounds down and a term is negative."""
        b = self.b
        sign = b.and_(b.or_(*terms), self.m.number(bits, 1 << (bits - 1)))
        zero = b.icmp_unsigned("==", b.shl(total, self.m.number(bits, 1)), self.m.number(bits, 0))
        down = self.m.spread(b.icmp_unsigned("==", self.direction(name), const(32, 2)))
        return b.select(b.and_(zero, down), sign, value)

    def arithmetic(self, e: Expr, a: list[Value], name: str) -> Value:
        fmt = FORMATS[name]
        a = [self.flush(x, fmt, output=False) for x in a]
        if e.op is Op.FFMA:
            result = self.fma(a, name)
        else:
            result = self._two(e.op, a, name)
        result = self.bounded(result, a, fmt)
        return self.flush(self.quiet_nan(result, a, fmt), fmt, output=True)

    def _two(self, op: Op, a: list[Value], name: str) -> Value:
        """A sum or product, rounded once."""
        operation = "fadd" if op is Op.FADD else "fmul"
        if name == "f64":
            return self.ints(self.directed(operation, name, [self.real(v, name) for v in a]), 64)
        x, y = (self.widen(v, name) for v in a)
        if name == "f32":
            return self.ints(self.directed(operation, name, [x, y]), 32)
        if self.rounds and op is Op.FADD:
            # f32 does not hold every sum of two f16, and the nearest f32 may lie on the wrong side.
            one = {"f16": 0x3C00, "bf16": 0x3F80}[name]
            return self.fma([a[0], self.m.number(16, one), a[1]], name)
        return self.from_f32(self.b.fadd(x, y) if op is Op.FADD else self.b.fmul(x, y), name)

    def widen(self, bits: Value, name: str) -> Value:
        value = self.real(bits, name)
        return self.b.fpext(value, self.kind("f32")) if name == "f16" else value

    def extreme(self, e: Expr, a: list[Value], name: str) -> Value:
        """IEEE-754-2008 minNum and maxNum; -0 is below +0."""
        fmt = FORMATS[name]
        x, y = (self.flush(v, fmt, output=False) for v in a)
        if self.m.doubts is not None and name in ("f32", "f64"):
            return self._usual_extreme(e, x, y, name, self.m.doubts)
        keys = [self.ordered(v, fmt) for v in (x, y)]
        less = self.b.icmp_signed("<", keys[0], keys[1])
        first = less if e.op is Op.FMIN else self.b.not_(less)
        picked = self.b.select(first, x, y)
        if self.m.doubts is not None:
            self.m.doubts.extend(self.is_nan(v, fmt) for v in (x, y))
            return picked
        picked = self.b.select(self.is_nan(y, fmt), x, picked)
        picked = self.b.select(self.is_nan(x, fmt), y, picked)
        return self.flush(self.quiet_nan(picked, [x, y], fmt), fmt, output=True)

    def _usual_extreme(self, e: Expr, x: Value, y: Value, name: str, doubts: list[Value]) -> Value:
        """Of two that are no NaN. Zeros of either sign are equal to the host: both choices together have the right one."""
        fmt = FORMATS[name]
        p, q = self.real(x, name), self.real(y, name)
        doubts.append(self.b.fcmp_unordered("uno", p, q))
        side = "<" if e.op is Op.FMIN else ">"
        one, other = (self.ints(self.b.select(self.b.fcmp_ordered(side, *pair), *pair), fmt.bits) for pair in ((p, q), (q, p)))
        return self.b.or_(one, other) if e.op is Op.FMIN else self.b.and_(one, other)

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
        floor = self.m.call("llvm.floor", [value])
        # A narrower format's difference is exact as a double, or so near to 1 that the limit takes its place.
        part = self.directed("fsub", name, [value, floor]) if name == "f64" else self.b.fsub(value, floor)
        # A whole number leaves +0 in every direction.
        raw = self.magnitude(self.from_f64(part, name), fmt)
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
        """Computed in double and rounded once, to nearest; f32 flushes denormals whatever MODE says, f64's seeds do not."""
        self.rounds = False
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
        rounded = self.bounded(self.from_f64(value, name), [x], fmt, poles=True)
        result = self.quiet_nan(rounded, [x], fmt)
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
        """Scaling by 2^n, rounded once: the double range holds every product of narrower formats."""
        fmt = FORMATS[name]
        x = self.flush(a[0], fmt, output=False)
        value = self.to_f64(x, name)
        value = self._scaled(value, a[1]) if name != "f64" else self._ldexp(value, a[1])
        rounded = self.bounded(self.from_f64(value, name), [x], fmt)
        result = self.quiet_nan(rounded, [x], fmt)
        return self.flush(result, fmt, output=True)

    def _scaled(self, value: Value, amount: Value) -> Value:
        """A double that holds a narrower format, times 2^amount; beyond 2^400 either way the narrower result is the same."""
        limited = self.m.call("llvm.smax", [amount, self.m.number(32, -400)])
        limited = self.m.call("llvm.smin", [limited, self.m.number(32, 400)])
        exponent = self.b.add(self.b.sext(limited, self.m.kind(64)), self.m.number(64, 1023))
        factor = self.b.bitcast(self.b.shl(exponent, self.m.number(64, 52)), self.kind("f64"))
        return self.b.fmul(value, factor)

    def _ldexp(self, value: Value, amount: Value) -> Value:
        """The library's function for doubles, lane by lane: a factor of 2^n alone could round twice."""
        function = self.m.f.external("ldexp", ir.DoubleType(), ir.DoubleType(), ir.IntType(32))
        with self.switched("f64"):
            if not self.m.lanes:
                return self.b.call(function, [value, amount])
            for n in range(self.m.lanes):
                place = const(32, n)
                one = self.b.call(function, [self.b.extract_element(value, place), self.b.extract_element(amount, place)])
                value = self.b.insert_element(value, one, place)
        return value

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
