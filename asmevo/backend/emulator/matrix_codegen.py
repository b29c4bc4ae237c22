"""Builds the handlers of dense matrix instructions, bit for bit by the published rules of gfx942.

f64 and f32: one fused multiply-add after another in order of k. i8: exact, wrapping. f16, bf16, fp8, bf8 and xf32: k in groups
(8, 8, 16, 16, 4). In a group each product is aligned to the largest sum of its operands' exponents and truncated to 24 fraction
bits, and the aligned products are added exactly; that sum floored to 31 and the accumulator floored to 24 fraction bits below
the larger of their exponents are added and rounded once to the nearest f32. For fp8 and bf8 products at even and odd k are
summed apart, then combined; an accumulator more than 25 binades below is dropped. A group of zero products leaves the
accumulator as it is. A NaN result is the default NaN. EXEC is ignored, rounding is to nearest even, f32 inputs flush
denormals by MODE.
Source: MMA-Sim (arXiv 2511.10909) for the sums, CDNA3 ISA guide section 7 for the modes.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.codegen import Emitter, mangled
from asmevo.backend.emulator.irkit import I32, I64, PTR, Value, const, splat
from asmevo.backend.emulator.layout import LANES
from asmevo.diagnostics import fail
from asmevo.ir.registers import MODE
from asmevo.ir.semantics.matrix import MatrixShape

_GROUP = {"f16": 8, "bf16": 8, "xf32": 4, "fp8": 16, "bf8": 16}
_FRACTION, _SUM_FRACTION = 24, 31
_LOWEST = -126
_NOTHING = -300
"""The largest exponent of products that are all zero."""
_ZERO_EXPONENT = -1000
"""Exponent given to a zero, so that its product never is the largest."""
_DROP = 25
F32, F64 = ir.FloatType(), ir.DoubleType()


@dataclass(frozen=True, slots=True)
class _Panel:
    """An unpacked operand: element [block][k][i] at (block * K + k) * size + i; significands and exponents, or values."""

    values: Value
    exponents: Value | None


class _Matrix:
    """One matrix handler under construction; chunks of `w` columns."""

    def __init__(self, m: Emitter, shape: MatrixShape) -> None:
        self.m, self.f, self.b, self.shape = m, m.f, m.f.b, shape
        self.w = min(16, shape.n, shape.m)
        self.by_significand = shape.type_a in ("bf16", "xf32")

    def vector(self, kind: Value) -> Value:
        return ir.VectorType(kind, self.w)

    def splat(self, value: Value) -> Value:
        return splat(self.f, value, self.w)

    def number(self, kind: Value, value: float) -> Value:
        return ir.Constant(self.vector(kind), [value] * self.w)

    def call(self, name: str, *a: Value) -> Value:
        full = f"{name}.{mangled(a[0].type)}"
        return self.b.call(self.f.intrinsic(full, a[0].type, *(x.type for x in a)), list(a))

    def table(self, name: str, numbers: Sequence[int | float], kind: Value = I32) -> Value:
        """A constant array of the module."""
        array = ir.ArrayType(kind, len(numbers))
        found = ir.GlobalVariable(self.f.module, array, f"{self.f.function.name}.{name}")
        found.global_constant = True
        found.linkage = "internal"
        setattr(found, "initializer", ir.Constant(array, list(numbers)))  # noqa: B010 - declared as None by the library
        return self.b.bitcast(found, PTR)

    # operands

    def unpack(self, name: str, kind: str, places: list[int], size: int) -> _Panel:
        """Reads an operand's registers; `places[element * chunks + chunk]` is where a chunk of w lanes goes."""
        shape, b, f = self.shape, self.b, self.f
        chunks = LANES // self.w
        table = self.table(f"{name}.place", places)
        element = I64 if kind == "f64" else I32
        values = f.local(element, shape.blocks * shape.k * size)
        exponents = f.local(I32, shape.blocks * shape.k * size) if kind in _GROUP else None
        source = self.m.slot(self.m.places[name].slot)
        bits = shape.element_bits
        for p in range(shape.per_lane):
            with f.loop(chunks) as chunk:
                lane = b.mul(chunk, const(64, self.w))
                at = f.item(f.at(source, p * bits // 32 * 4 * LANES), lane, 4)
                word = f.load(self.vector(I32), at, 4)
                place = f.load(I32, f.item(table, b.add(const(64, p * chunks), chunk), 4), 4)
                if kind == "f64":
                    high = f.load(self.vector(I32), f.at(at, 4 * LANES), 4)
                    wide = self.vector(I64)
                    pair = b.or_(b.zext(word, wide), b.shl(b.zext(high, wide), self.number(I64, 32)))
                    f.store(pair, f.item(values, place, 8), 8)
                    continue
                if bits < 32:
                    word = b.lshr(word, self.number(I32, p * bits % 32))
                    word = b.and_(word, self.number(I32, (1 << bits) - 1))
                value, exponent = self.decode(kind, word)
                f.store(b.bitcast(value, self.vector(I32)), f.item(values, place, 4), 4)
                if exponents is not None:
                    f.store(exponent, f.item(exponents, place, 4), 4)
        return _Panel(values, exponents)

    def decode(self, kind: str, word: Value) -> tuple[Value, Value | None]:
        """Value, or significand and exponent, of packed elements."""
        b = self.b
        if kind == "i8":
            narrow = b.trunc(word, self.vector(ir.IntType(8)))
            return b.sext(narrow, self.vector(I32)), None
        if kind == "f32":
            small = b.icmp_unsigned("<", b.and_(word, self.number(I32, 0x7FFFFFFF)), self.number(I32, 1 << 23))
            mode = self.f.load(I32, self.f.at(self.m.state, layout.unit_offset(MODE)), 4)
            flush = self.splat(b.icmp_unsigned("==", b.and_(mode, const(32, 1 << 4)), const(32, 0)))
            zero = b.and_(word, self.number(I32, -0x80000000))
            return b.select(b.and_(small, flush), zero, word), None
        if kind in ("fp8", "bf8"):
            return self._decode_fnuz(word, *((3, 8) if kind == "fp8" else (2, 16)))
        if kind == "f16":
            value = b.fpext(b.bitcast(b.trunc(word, self.vector(ir.IntType(16))), self.vector(ir.HalfType())), self.vector(F32))
            return value, self._split(value, -14)[1]
        if kind == "bf16":
            return self._split(b.bitcast(b.shl(word, self.number(I32, 16)), self.vector(F32)), _LOWEST)
        nan = b.icmp_unsigned(">", b.and_(word, self.number(I32, 0x7FFFFFFF)), self.number(I32, 0x7F800000))
        cut = b.select(nan, self.number(I32, 0x7FC00000), b.and_(word, self.number(I32, -(1 << 13))))
        return self._split(b.bitcast(cut, self.vector(F32)), _LOWEST)

    def _split(self, value: Value, lowest: int) -> tuple[Value, Value]:
        """Significand in [1, 2), below 1 for a subnormal of the source format, and exponent."""
        b = self.b
        bits = b.bitcast(value, self.vector(I32))
        raw = b.and_(b.lshr(bits, self.number(I32, 23)), self.number(I32, 255))
        exponent = self.call("llvm.smax", b.sub(raw, self.number(I32, 127)), self.number(I32, lowest))
        finite = b.icmp_unsigned("<", raw, self.number(I32, 255))
        # In two halves, since 2^-exponent may itself not be a normal number.
        half = b.ashr(exponent, self.number(I32, 1))
        rest = b.sub(exponent, half)
        scaled = value
        for part in (half, rest):
            scaled = b.fmul(scaled, self.power(b.sub(self.number(I32, 0), part)))
        scaled = b.select(finite, scaled, value)
        zero = b.icmp_unsigned("==", b.and_(bits, self.number(I32, 0x7FFFFFFF)), self.number(I32, 0))
        return scaled, b.select(zero, self.number(I32, _ZERO_EXPONENT), exponent)

    def _decode_fnuz(self, word: Value, fraction: int, bias: int) -> tuple[Value, Value]:
        b = self.b
        mantissa = b.and_(word, self.number(I32, (1 << fraction) - 1))
        raw = b.lshr(b.and_(word, self.number(I32, 127)), self.number(I32, fraction))
        normal = b.icmp_unsigned("!=", raw, self.number(I32, 0))
        exponent = b.sub(b.select(normal, raw, self.number(I32, 1)), self.number(I32, bias))
        whole = b.or_(mantissa, b.select(normal, self.number(I32, 1 << fraction), self.number(I32, 0)))
        value = b.fmul(b.sitofp(whole, self.vector(F32)), self.power(b.sub(exponent, self.number(I32, fraction))))
        sign = b.shl(b.and_(word, self.number(I32, 128)), self.number(I32, 24))
        bits = b.or_(b.bitcast(value, self.vector(I32)), sign)
        nan = b.icmp_unsigned("==", word, self.number(I32, 128))
        zero = b.icmp_unsigned("==", word, self.number(I32, 0))
        bits = b.select(nan, self.number(I32, 0x7FC00000), bits)
        return b.bitcast(bits, self.vector(F32)), b.select(zero, self.number(I32, _ZERO_EXPONENT), exponent)

    def power(self, exponent: Value) -> Value:
        """2^exponent as f32, 0 far below; exponent at most 127."""
        b = self.b
        field = self.call("llvm.smax", b.add(exponent, self.number(I32, 127)), self.number(I32, 0))
        return b.bitcast(b.shl(field, self.number(I32, 23)), self.vector(F32))

    # arithmetic

    def fused(self, a: list[tuple[Value, Value]], bs: list[tuple[Value, Value]], acc: Value, kind: str) -> Value:
        """One group: elements and exponents of both sides, and the accumulator's bits; the result's bits."""
        b = self.b
        products = [b.fmul(x[0], y[0]) for x, y in zip(a, bs, strict=True)]
        exponents = [b.add(x[1], y[1]) for x, y in zip(a, bs, strict=True)]
        if kind in ("fp8", "bf8"):
            sums = [self.aligned(products[n::2], exponents[n::2]) for n in (0, 1)]
            top = self.call("llvm.smax", sums[0][1], sums[1][1])
            total64 = b.add(*(self.widened(s, b.sub(top, e)) for s, e in sums))
        else:
            total, top = self.aligned(products, exponents)
            total64 = self.widened(total, self.number(I32, 0))
        field = b.and_(b.lshr(acc, self.number(I32, 23)), self.number(I32, 255))
        own = b.sub(self.call("llvm.smax", field, self.number(I32, 1)), self.number(I32, 127))
        hidden = b.select(b.icmp_unsigned("!=", field, self.number(I32, 0)), self.number(I32, 1 << 23), self.number(I32, 0))
        whole = b.or_(b.and_(acc, self.number(I32, (1 << 23) - 1)), hidden)
        negative = b.icmp_signed("<", acc, self.number(I32, 0))
        whole = b.select(negative, b.sub(self.number(I32, 0), whole), whole)
        high = self.call("llvm.smax", top, own)
        below = b.sub(high, own)
        kept = b.ashr(b.shl(whole, self.number(I32, 1)), self.call("llvm.umin", below, self.number(I32, 31)))
        if kind in ("fp8", "bf8"):
            kept = b.select(b.icmp_unsigned(">", below, self.number(I32, _DROP)), self.number(I32, 0), kept)
        wide = self.vector(I64)
        gap = b.zext(self.call("llvm.umin", b.sub(high, top), self.number(I32, 63)), wide)
        extra = self.number(I64, _SUM_FRACTION - _FRACTION)
        exact = b.add(b.ashr(total64, gap), b.shl(b.sext(kept, wide), extra))
        scale = b.add(b.sext(high, wide), self.number(I64, 1023 - _SUM_FRACTION))
        power = b.bitcast(b.shl(scale, self.number(I64, 52)), self.vector(F64))
        result = b.fptrunc(b.fmul(b.sitofp(exact, self.vector(F64)), power), self.vector(F32))
        plain = b.bitcast(acc, self.vector(F32))
        for product in products:
            plain = b.fadd(plain, product)
        bits = b.bitcast(result, self.vector(I32))
        odd = b.and_(b.bitcast(plain, self.vector(I32)), self.number(I32, 0x7F800000))
        special = b.icmp_unsigned("==", odd, self.number(I32, 0x7F800000))
        bits = b.select(b.icmp_signed("==", top, self.number(I32, _NOTHING)), acc, bits)
        return b.select(special, self.clean_nan(b.bitcast(plain, self.vector(I32))), bits)

    def aligned(self, products: list[Value], exponents: list[Value]) -> tuple[Value, Value]:
        """The exact sum of products truncated to 24 fraction bits below the largest exponent, and that exponent."""
        b = self.b
        top = self.number(I32, _NOTHING)
        for exponent in exponents:
            top = self.call("llvm.smax", top, exponent)
        total = self.number(I32, 0)
        # Values of the narrow formats are products themselves; elsewhere these are of significands, each to be scaled.
        common = self.power(b.sub(self.number(I32, _FRACTION), self.call("llvm.smax", top, self.number(I32, -80))))
        for product, exponent in zip(products, exponents, strict=True):
            scale = self.power(b.add(b.sub(exponent, top), self.number(I32, _FRACTION))) if self.by_significand else common
            moved = b.fmul(product, scale)
            total = b.add(total, b.fptosi(moved, self.vector(I32)))  # fits but for infinities and NaN, which `fused` replaces
        return total, top

    def widened(self, value: Value, amount: Value) -> Value:
        """An aligned sum with 31 fraction bits, divided by 2^amount and floored."""
        b = self.b
        wide = self.vector(I64)
        moved = b.shl(b.sext(value, wide), self.number(I64, _SUM_FRACTION - _FRACTION))
        return b.ashr(moved, b.zext(self.call("llvm.umin", amount, self.number(I32, 63)), wide))

    def clean_nan(self, bits: Value) -> Value:
        b = self.b
        nan = b.icmp_unsigned(">", b.and_(bits, self.number(I32, 0x7FFFFFFF)), self.number(I32, 0x7F800000))
        return b.select(nan, self.number(I32, 0x7FC00000), bits)

    def step(self, kind: str, a: _Panel, bs: _Panel, start: Value, row: Value, column: Value, acc: Value) -> Value:
        """Accumulates all of k for one row and chunk; `start` is block * K."""
        shape, b, f = self.shape, self.b, self.f

        def element(panel: _Panel, k: int, size: int, inner: Value, *, one: bool) -> tuple[Value, Value]:
            index = b.add(b.mul(b.add(start, const(64, k)), const(64, size)), inner)
            width = 8 if kind == "f64" else 4
            held = I64 if kind == "f64" else I32
            real = {"f64": F64, "i8": I32}.get(kind, F32)
            shapes = held if one else self.vector(held)
            raw = f.load(shapes, f.item(panel.values, index, width), width)
            value = self.splat(raw) if one else raw
            exponent: Value = None
            if panel.exponents is not None:
                low = f.load(I32 if one else self.vector(I32), f.item(panel.exponents, index, 4), 4)
                exponent = self.splat(low) if one else low
            return b.bitcast(value, self.vector(real)), exponent

        group = min(_GROUP.get(kind, 1), shape.k)
        for first in range(0, shape.k, group):
            left = [element(a, first + n, shape.m, row, one=True) for n in range(group)]
            right = [element(bs, first + n, shape.n, column, one=False) for n in range(group)]
            if kind in _GROUP:
                acc = self.fused(left, right, acc, kind)
            elif kind == "i8":
                acc = b.add(acc, b.mul(left[0][0], right[0][0]))
            else:
                real = self.vector(F64 if kind == "f64" else F32)
                held: Value = acc.type
                acc = b.bitcast(self.call("llvm.fma", left[0][0], right[0][0], b.bitcast(acc, real)), held)
        return acc


def build(m: Emitter, shape: MatrixShape) -> None:
    """The body of a matrix handler: D = A * B + C. E0507 for types without a rule here."""
    kind = shape.type_a
    known = {"f16", "bf16", "xf32", "fp8", "bf8", "f32", "f64", "i8"}
    if kind not in known or ((shape.type_a != shape.type_b) and not {shape.type_a, shape.type_b} <= {"fp8", "bf8"}):
        fail("E0507", f"the emulator has no rule for matrix products of {shape.type_a} and {shape.type_b}")
    x = _Matrix(m, shape)
    f, b = m.f, m.f.b
    a = x.unpack("src0", shape.type_a, _places(shape, x.w, of_a=True), shape.m)
    bs = x.unpack("src1", shape.type_b, _places(shape, x.w, of_a=False), shape.n)
    columns = shape.n // x.w
    table = x.table("result", _results(shape, x.w))
    c = m.places["src2"]
    source = m.slot(c.slot)
    target = m.slot(m.places["vdst"].slot)
    wide = kind == "f64"
    with f.loop(shape.blocks) as block, f.loop(shape.m) as row, f.loop(columns) as column:
        index = b.add(b.mul(b.add(b.mul(block, const(64, shape.m)), row), const(64, columns)), column)
        place = b.zext(f.load(I32, f.item(table, index, 4), 4), I64)
        if c.kind == "v":
            acc = f.load(x.vector(I32), f.at(source, place), 4)
            if wide:
                high = f.load(x.vector(I32), f.at(f.at(source, place), 4 * LANES), 4)
                both = x.vector(I64)
                acc = b.or_(b.zext(acc, both), b.shl(b.zext(high, both), x.number(I64, 32)))
        else:
            acc = x.splat(f.load(I64 if wide else I32, source, 4))
        start = b.mul(block, const(64, shape.k))
        first = b.mul(column, const(64, x.w))
        acc = x.step(kind, a, bs, start, row, first, acc)
        if wide:
            nan = b.fcmp_unordered("uno", b.bitcast(acc, x.vector(F64)), b.bitcast(acc, x.vector(F64)))
            acc = b.select(nan, x.number(I64, 0x7FF8000000000000), acc)
            f.store(b.trunc(acc, x.vector(I32)), f.at(target, place), 4)
            acc = b.trunc(b.lshr(acc, x.number(I64, 32)), x.vector(I32))
            f.store(acc, f.at(f.at(target, place), 4 * LANES), 4)
        else:
            f.store(acc if kind == "i8" else x.clean_nan(acc), f.at(target, place), 4)


def _places(shape: MatrixShape, w: int, *, of_a: bool) -> list[int]:
    """Where each chunk of w lanes of each element goes in the unpacked panel."""
    size = shape.m if of_a else shape.n
    where: dict[tuple[int, int], int] = {}
    for block in range(shape.blocks):
        for k in range(shape.k):
            for i in range(size):
                lane, element = shape.place_a(block, i, k) if of_a else shape.place_b(block, k, i)
                where[lane, element] = (block * shape.k + k) * size + i
    return _chunked(where, shape.per_lane, w)


def _results(shape: MatrixShape, w: int) -> list[int]:
    """For each block, row and chunk of columns: the byte offset of its lanes in the result's registers."""
    words = shape.result_bits // 32
    found: dict[tuple[int, int, int], int] = {}
    for element in range(shape.results_per_lane):
        for lane in range(0, LANES, w):
            found[shape.place_d(lane, element)] = (element * words * LANES + lane) * 4
    return [
        found[block, row, column] for block in range(shape.blocks) for row in range(shape.m) for column in range(0, shape.n, w)
    ]


def _chunked(where: dict[tuple[int, int], int], elements: int, w: int) -> list[int]:
    return [where[lane, element] for element in range(elements) for lane in range(0, LANES, w)]
