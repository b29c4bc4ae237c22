"""Reads the operands of matrix instructions: registers into panels of values, or of significands and exponents.

Owns element formats and where elements lie; the layouts themselves are `ir.semantics.matrix`'s. It must not know sums.
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
from asmevo.ir.registers import MODE
from asmevo.ir.semantics.matrix import MatrixOperation, MatrixShape, Rule
from asmevo.ir.semantics.small_float import SMALL, SmallFloat

_LOWEST = -126
ZERO_EXPONENT = -126
"""Exponent of a zero."""
NO_SCALE = 1 << 13
"""What the exponent of a pair of scales with a NaN exceeds."""
F32, F64 = ir.FloatType(), ir.DoubleType()


@dataclass(frozen=True, slots=True)
class Panel:
    """An unpacked operand: element [block][k][i] at (block * K + k) * size + i; significands and exponents, or values."""

    values: Value
    exponents: Value | None


@dataclass(frozen=True, slots=True)
class Panels:
    """Both operands. `ks`: for each element of a sparse A, at the same place, which k it is. `scales`: exponents by lane."""

    a: Panel
    b: Panel
    ks: Value | None
    scales: tuple[Value, Value] | None


@dataclass(frozen=True, slots=True)
class Packing:
    """How registers hold an operand of `elements` elements a lane, `bits` wide; its panel has `size` elements.

    For element e and chunk c of lanes, `places` at [e * chunks + c] is the panel's index of the chunk's first lane, and `lanes`
    at [c] the first lane to read.
    """

    elements: int
    bits: int
    size: int
    places: tuple[int, ...]
    lanes: tuple[int, ...]


def _chunked(where: dict[tuple[int, int], int], elements: int, w: int) -> tuple[int, ...]:
    return tuple(where[lane, element] for element in range(elements) for lane in range(0, LANES, w))


def packing_of_a(shape: MatrixShape, w: int) -> Packing:
    """The packing of A for chunks of `w` lanes."""
    where = {
        shape.place_a(block, i, k): (block * shape.k_a + k) * shape.m + i
        for block in range(shape.blocks)
        for k in range(shape.k_a)
        for i in range(shape.m)
    }
    per = shape.per_lane_a
    size = shape.blocks * shape.k_a * shape.m
    return Packing(per, shape.element_bits, size, _chunked(where, per, w), tuple(range(0, LANES, w)))


def packing_of_b(operation: MatrixOperation, w: int) -> Packing:
    """The packing of B for chunks of `w` lanes, with the lanes that blgp names."""
    shape = operation.shape
    where = {
        shape.place_b(block, k, j): (block * shape.k + k) * shape.n + j
        for block in range(shape.blocks)
        for k in range(shape.k)
        for j in range(shape.n)
    }
    lanes = tuple(operation.lane_of_b(lane) for lane in range(0, LANES, w))
    size = shape.blocks * shape.k * shape.n
    return Packing(shape.per_lane, shape.element_bits_b, size, _chunked(where, shape.per_lane, w), lanes)


class MatrixOperands:
    """One matrix handler under construction; chunks of `w` columns."""

    def __init__(self, m: Emitter, operation: MatrixOperation) -> None:
        shape = operation.shape
        self.m, self.f, self.b, self.shape, self.operation = m, m.f, m.f.b, shape, operation
        self.w = min(16, shape.n, shape.m)

    def vector(self, kind: Value) -> Value:
        """The type of a chunk."""
        return ir.VectorType(kind, self.w)

    def splat(self, value: Value) -> Value:
        """One value for the whole chunk."""
        return splat(self.f, value, self.w)

    def number(self, kind: Value, value: float) -> Value:
        """A constant for the whole chunk."""
        return ir.Constant(self.vector(kind), [value] * self.w)

    def call(self, name: str, *a: Value) -> Value:
        """An LLVM intrinsic of a chunk's type."""
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

    def panels(self) -> Panels:
        """Both operands unpacked."""
        shape, operation = self.shape, self.operation
        packed = packing_of_a(shape, self.w)
        a = self.unpack("src0", shape.type_a, packed, negate=operation.negate[0])
        b = self.unpack("src1", shape.type_b, packing_of_b(operation, self.w), negate=operation.negate[1])
        ks = self._indices(packed) if shape.sparse else None
        scales = None
        if operation.scale_bytes is not None:
            scales = (self._scale("scale0", operation.scale_bytes[0]), self._scale("scale1", operation.scale_bytes[1]))
        return Panels(a, b, ks, scales)

    def _indices(self, packed: Packing) -> Value:
        """Which k each element of a sparse A is."""
        b, f, shape = self.b, self.f, self.shape
        chunks = LANES // self.w
        places = self.table("idx.place", packed.places)
        starts = self.table("idx.start", [place // shape.m % shape.k_a // 2 * 4 for place in packed.places])
        found = f.local(I32, packed.size)
        source = self.m.slot(self.m.places["idx"].slot)
        for p in range(packed.elements):
            with f.loop(chunks) as chunk:
                word = f.load(self.vector(I32), f.item(source, b.mul(chunk, const(64, self.w)), 4), 4)
                moved = b.lshr(word, self.number(I32, self.operation.index_shift + 2 * p))
                entry = b.add(const(64, p * chunks), chunk)
                start = f.load(I32, f.item(starts, entry, 4), 4)
                k = b.add(b.and_(moved, self.number(I32, 3)), self.splat(start))
                f.store(k, f.item(found, f.load(I32, f.item(places, entry, 4), 4), 4), 4)
        return found

    def _scale(self, name: str, byte: int) -> Value:
        """The exponents that a scale operand names, by lane; beyond NO_SCALE for NaN."""
        b, f = self.b, self.f
        found = f.local(I32, LANES)
        place = self.m.places[name]
        source = self.m.slot(place.slot)
        with f.loop(LANES, self.w) as lane:
            if place.kind == "v":
                word = f.load(self.vector(I32), f.item(source, lane, 4), 4)
            else:
                word = self.splat(f.load(I32, source, 4))
            code = b.and_(b.lshr(word, self.number(I32, 8 * byte)), self.number(I32, 255))
            exponent = b.sub(code, self.number(I32, 127))
            nan = b.icmp_unsigned("==", code, self.number(I32, 255))
            f.store(b.select(nan, self.number(I32, 2 * NO_SCALE), exponent), f.item(found, lane, 4), 4)
        return found

    def unpack(self, name: str, kind: str, packing: Packing, *, negate: bool) -> Panel:
        """Reads an operand's registers into a panel laid out as `packing` says."""
        b, f = self.b, self.f
        chunks = LANES // self.w
        table = self.table(f"{name}.place", packing.places)
        origin = self.table(f"{name}.lane", packing.lanes)
        element = I64 if kind == "f64" else I32
        values = f.local(element, packing.size)
        exponents = f.local(I32, packing.size) if self.operation.rule is Rule.FUSED else None
        source = self.m.slot(self.m.places[name].slot)
        for p in range(packing.elements):
            with f.loop(chunks) as chunk:
                lane = b.zext(f.load(I32, f.item(origin, chunk, 4), 4), I64)
                place = f.load(I32, f.item(table, b.add(const(64, p * chunks), chunk), 4), 4)
                word = self.packed(source, lane, p * packing.bits, packing.bits)
                if negate:
                    word = b.xor(word, self.splat(const(packing.bits, 1 << (packing.bits - 1))))
                if kind == "f64":
                    f.store(word, f.item(values, place, 8), 8)
                    continue
                value, exponent = self.decode(kind, word)
                f.store(b.bitcast(value, self.vector(I32)), f.item(values, place, 4), 4)
                if exponents is not None:
                    f.store(exponent, f.item(exponents, place, 4), 4)
        return Panel(values, exponents)

    def packed(self, source: Value, lane: Value, at: int, bits: int) -> Value:
        """The `bits` bits from bit `at` of a chunk's registers, as i32 with zeros above, or as i64."""
        b, f = self.b, self.f
        first, shift = divmod(at, 32)
        row = f.item(f.at(source, first * 4 * LANES), lane, 4)
        word = f.load(self.vector(I32), row, 4)
        if shift + bits > 32:
            wide = self.vector(I64)
            high = f.load(self.vector(I32), f.at(row, 4 * LANES), 4)
            pair = b.or_(b.zext(word, wide), b.shl(b.zext(high, wide), self.number(I64, 32)))
            if bits == 64:
                return pair
            word = b.trunc(b.lshr(pair, self.number(I64, shift)), self.vector(I32))
        elif shift:
            word = b.lshr(word, self.number(I32, shift))
        return word if bits == 32 else b.and_(word, self.number(I32, (1 << bits) - 1))

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
        if kind in SMALL:
            return self._decode_small(word, SMALL[kind])
        pairs = self.operation.rule is Rule.PAIRS
        if pairs:
            word = self.without_subnormals(word, 15, 10 if kind == "f16" else 7)
        if kind == "f16":
            value = b.fpext(b.bitcast(b.trunc(word, self.vector(ir.IntType(16))), self.vector(ir.HalfType())), self.vector(F32))
            return value, None if pairs else self._split(value, -14)[1]
        if kind == "bf16":
            value = b.bitcast(b.shl(word, self.number(I32, 16)), self.vector(F32))
            return (value, None) if pairs else self._split(value, _LOWEST)
        nan = b.icmp_unsigned(">", b.and_(word, self.number(I32, 0x7FFFFFFF)), self.number(I32, 0x7F800000))
        cut = b.select(nan, self.number(I32, 0x7FC00000), b.and_(word, self.number(I32, -(1 << 13))))
        return self._split(b.bitcast(cut, self.vector(F32)), _LOWEST)

    def without_subnormals(self, word: Value, sign: int, fraction: int) -> Value:
        """+0 for subnormals and zeros of a format whose sign is bit `sign`."""
        b = self.b
        size = b.and_(word, self.number(I32, (1 << sign) - 1))
        return b.select(b.icmp_unsigned("<", size, self.number(I32, 1 << fraction)), self.number(I32, 0), word)

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
        return scaled, b.select(zero, self.number(I32, ZERO_EXPONENT), exponent)

    def _decode_small(self, word: Value, small: SmallFloat) -> tuple[Value, Value]:
        """Value and exponent of a small float."""
        b = self.b
        size = b.and_(word, self.number(I32, (1 << (small.bits - 1)) - 1))
        mantissa = b.and_(word, self.number(I32, (1 << small.fraction) - 1))
        raw = b.lshr(size, self.number(I32, small.fraction))
        normal = b.icmp_unsigned("!=", raw, self.number(I32, 0))
        exponent = b.sub(b.select(normal, raw, self.number(I32, 1)), self.number(I32, small.bias))
        whole = b.or_(mantissa, b.select(normal, self.number(I32, 1 << small.fraction), self.number(I32, 0)))
        value = b.fmul(b.sitofp(whole, self.vector(F32)), self.power(b.sub(exponent, self.number(I32, small.fraction))))
        top = self.number(I32, 1 << (small.bits - 1))
        sign = b.shl(b.and_(word, top), self.number(I32, 32 - small.bits))
        bits = b.or_(b.bitcast(value, self.vector(I32)), sign)
        if small.nan is not None:
            special = self.number(I32, 0x7FC00000)
            if small.has_infinity:
                infinite = b.icmp_unsigned("==", size, self.number(I32, small.largest + 1))
                special = b.select(infinite, b.or_(sign, self.number(I32, 0x7F800000)), special)
            if small.signed_nan:
                odd = b.icmp_unsigned(">", size, self.number(I32, small.largest))
            else:
                odd = b.icmp_unsigned("==", word, self.number(I32, small.nan))
            bits = b.select(odd, special, bits)
        zero = b.icmp_unsigned("==", size, self.number(I32, 0))
        if not small.signed_nan:
            zero = b.icmp_unsigned("==", word, self.number(I32, 0))
        return b.bitcast(bits, self.vector(F32)), b.select(zero, self.number(I32, ZERO_EXPONENT), exponent)

    def power(self, exponent: Value) -> Value:
        """2^exponent as f32, 0 far below; exponent at most 127."""
        b = self.b
        field = self.call("llvm.smax", b.add(exponent, self.number(I32, 127)), self.number(I32, 0))
        return b.bitcast(b.shl(field, self.number(I32, 23)), self.vector(F32))
