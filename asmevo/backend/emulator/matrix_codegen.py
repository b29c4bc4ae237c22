"""Builds the handlers of matrix instructions, bit for bit by the published rules of gfx942 and gfx90a.

The rules, and what is not published, stand in `reference_matrix`. A group of zero products leaves the accumulator as it is. A
NaN result is the default NaN. EXEC is ignored, rounding is to nearest even, f32 inputs flush denormals by MODE.
Source: MMA-Sim (arXiv 2511.10909) for the sums, CDNA3 ISA guide section 7 for the modes.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.irkit import I32, I64, Value, const
from asmevo.backend.emulator.layout import LANES
from asmevo.backend.emulator.matrix_operands import F32, F64, NO_SCALE, MatrixOperands, Panel, Panels
from asmevo.ir.semantics.matrix import MatrixOperation, MatrixShape, Rule

_FRACTION, _SUM_FRACTION = 24, 31
_LOWEST = -(1 << 14)
"""Below every exponent."""
_INFINITY, _NAN = 0x7F800000, 0x7FC00000
_DROP = 25
_OVERFLOWING = ("bf16", "xf32")
"""Types whose products may be beyond f32: they are kept as significands and exponents."""


class _Matrix(MatrixOperands):
    """The sums of one matrix handler."""

    def fused(
        self, a: list[tuple[Value, Value]], bs: list[tuple[Value, Value]], acc: Value, scale: Value | None = None
    ) -> Value:
        """One group: elements and exponents of both sides, and the accumulator's bits; the result's bits.

        `scale` is an exponent for all products of the group, at least NO_SCALE for NaN.
        """
        b = self.b
        products = [b.fmul(x[0], y[0]) for x, y in zip(a, bs, strict=True)]
        exponents = [b.add(x[1], y[1]) for x, y in zip(a, bs, strict=True)]
        if self.operation.split:
            sums = [self.aligned(products[n::2], exponents[n::2]) for n in (0, 1)]
            top = self.call("llvm.smax", sums[0][1], sums[1][1])
            # Floored to 24 fraction bits of the common exponent before they are added.
            total64 = b.add(*(self.widened(b.ashr(s, self.amount(b.sub(top, e)))) for s, e in sums))
        else:
            total, top = self.aligned(products, exponents)
            total64 = self.widened(total)
        if scale is not None:
            top = b.add(top, scale)
        field = b.and_(b.lshr(acc, self.number(I32, 23)), self.number(I32, 255))
        own = b.sub(self.call("llvm.smax", field, self.number(I32, 1)), self.number(I32, 127))
        hidden = b.select(b.icmp_unsigned("!=", field, self.number(I32, 0)), self.number(I32, 1 << 23), self.number(I32, 0))
        whole = b.or_(b.and_(acc, self.number(I32, (1 << 23) - 1)), hidden)
        negative = b.icmp_signed("<", acc, self.number(I32, 0))
        whole = b.select(negative, b.sub(self.number(I32, 0), whole), whole)
        high = self.call("llvm.smax", top, own)
        below = b.sub(high, own)
        kept = b.ashr(b.shl(whole, self.number(I32, 1)), self.call("llvm.umin", below, self.number(I32, 31)))
        if self.operation.split:
            kept = b.select(b.icmp_unsigned(">", below, self.number(I32, _DROP)), self.number(I32, 0), kept)
        wide = self.vector(I64)
        gap = b.zext(self.call("llvm.umin", b.sub(high, top), self.number(I32, 63)), wide)
        extra = self.number(I64, _SUM_FRACTION - _FRACTION)
        exact = b.add(b.ashr(total64, gap), b.shl(b.sext(kept, wide), extra))
        field64 = b.add(b.sext(high, wide), self.number(I64, 1023 - _SUM_FRACTION))
        power = b.bitcast(b.shl(field64, self.number(I64, 52)), self.vector(F64))
        result = b.fptrunc(b.fmul(b.sitofp(exact, self.vector(F64)), power), self.vector(F32))
        plain = b.bitcast(acc, self.vector(F32))
        for product in products:
            plain = b.fadd(plain, product)
        bits = b.bitcast(result, self.vector(I32))
        odd = b.and_(b.bitcast(plain, self.vector(I32)), self.number(I32, 0x7F800000))
        special = b.icmp_unsigned("==", odd, self.number(I32, 0x7F800000))
        if self.shape.type_a in _OVERFLOWING:
            bits = self.overflowed(products, exponents, bits)
        if scale is not None:
            missing = b.icmp_signed(">=", scale, self.number(I32, NO_SCALE))
            bits = b.select(missing, self.number(I32, 0x7FC00000), bits)
            plain = b.select(missing, b.bitcast(self.number(I32, 0x7FC00000), self.vector(F32)), plain)
        return b.select(special, self.clean_nan(b.bitcast(plain, self.vector(I32))), bits)

    def overflowed(self, products: list[Value], exponents: list[Value], bits: Value) -> Value:
        """`bits`, but infinite where a product is 2^128 or more, NaN where such products have both signs."""
        b = self.b
        sides: list[Value] = [self.number(ir.IntType(1), 0)] * 2
        for product, exponent in zip(products, exponents, strict=True):
            raw = b.bitcast(product, self.vector(I32))
            carry = b.and_(b.lshr(raw, self.number(I32, 23)), self.number(I32, 255))
            own = b.add(b.sub(carry, self.number(I32, 127)), exponent)
            beyond = b.icmp_signed(">=", own, self.number(I32, 128))
            negative = b.icmp_signed("<", raw, self.number(I32, 0))
            sides = [b.or_(sides[0], b.and_(beyond, b.not_(negative))), b.or_(sides[1], b.and_(beyond, negative))]
        one = b.select(sides[1], self.number(I32, _INFINITY | 1 << 31), self.number(I32, _INFINITY))
        one = b.select(b.and_(*sides), self.number(I32, _NAN), one)
        return b.select(b.or_(*sides), one, bits)

    def amount(self, value: Value) -> Value:
        """A shift amount below 32."""
        return self.call("llvm.umin", value, self.number(I32, 31))

    def aligned(self, products: list[Value], exponents: list[Value]) -> tuple[Value, Value]:
        """The exact sum of products truncated to 24 fraction bits below the largest exponent, and that exponent."""
        b = self.b
        top = self.number(I32, _LOWEST)
        for exponent in exponents:
            top = self.call("llvm.smax", top, exponent)
        total = self.number(I32, 0)
        by_significand = self.shape.type_a in _OVERFLOWING
        # Values of the narrow formats are products themselves; elsewhere these are of significands, each to be scaled.
        common = self.power(b.sub(self.number(I32, _FRACTION), self.call("llvm.smax", top, self.number(I32, -80))))
        for product, exponent in zip(products, exponents, strict=True):
            scale = self.power(b.add(b.sub(exponent, top), self.number(I32, _FRACTION))) if by_significand else common
            moved = b.fmul(product, scale)
            total = b.add(total, b.fptosi(moved, self.vector(I32)))  # fits but for infinities and NaN, which `fused` replaces
        return total, top

    def widened(self, value: Value) -> Value:
        """An aligned sum as i64 with 31 fraction bits."""
        wide = self.vector(I64)
        return self.b.shl(self.b.sext(value, wide), self.number(I64, _SUM_FRACTION - _FRACTION))

    def clean_nan(self, bits: Value) -> Value:
        b = self.b
        nan = b.icmp_unsigned(">", b.and_(bits, self.number(I32, 0x7FFFFFFF)), self.number(I32, 0x7F800000))
        return b.select(nan, self.number(I32, 0x7FC00000), bits)

    def paired(self, products: list[Value], acc: Value) -> Value:
        """The accumulator's bits plus products, added pairwise, subnormal results being zeros."""
        terms = [self.flushed(self.b.fadd(p, self.number(F32, 0.0))) for p in products]
        while len(terms) > 1:
            terms = [self.flushed(self.b.fadd(terms[n], terms[n + 1])) for n in range(0, len(terms), 2)]
        total = self.flushed(self.b.fadd(self.b.bitcast(acc, self.vector(F32)), terms[0]))
        return self.b.bitcast(total, self.vector(I32))

    def flushed(self, value: Value) -> Value:
        """A subnormal as zero of its sign."""
        b = self.b
        bits = b.bitcast(value, self.vector(I32))
        small = b.icmp_unsigned("<", b.and_(bits, self.number(I32, 0x7FFFFFFF)), self.number(I32, 1 << 23))
        return b.bitcast(b.select(small, b.and_(bits, self.number(I32, -(1 << 31))), bits), self.vector(F32))

    def element(self, panel: Panel, index: Value, *, one: bool) -> tuple[Value, Value]:
        """Element `index` of a panel for the whole chunk, or from `index` on one for each column; and its exponent."""
        b, f = self.b, self.f
        kind = self.shape.type_a
        width = 8 if kind == "f64" else 4
        held = I64 if kind == "f64" else I32
        real = {"f64": F64, "i8": I32}.get(kind, F32)
        raw = f.load(held if one else self.vector(held), f.item(panel.values, index, width), width)
        value = self.splat(raw) if one else raw
        exponent: Value = None
        if panel.exponents is not None:
            low = f.load(I32 if one else self.vector(I32), f.item(panel.exponents, index, 4), 4)
            exponent = self.splat(low) if one else low
        return b.bitcast(value, self.vector(real)), exponent

    def step(self, panels: Panels, blocks: tuple[Value, Value], row: Value, column: Value, acc: Value) -> Value:
        """Accumulates all of k for one row and chunk; `blocks` are those of A and of B."""
        shape, b, operation = self.shape, self.b, self.operation
        starts = [b.mul(block, const(64, k)) for block, k in zip(blocks, (shape.k_a, shape.k), strict=True)]
        for first in range(0, shape.k_a, operation.group):
            left: list[tuple[Value, Value]] = []
            right: list[tuple[Value, Value]] = []
            for k in range(first, first + operation.group):
                at = b.add(b.mul(b.add(starts[0], const(64, k)), const(64, shape.m)), row)
                left.append(self.element(panels.a, at, one=True))
                inner: Value = const(64, k)
                if panels.ks is not None:
                    inner = b.zext(self.f.load(I32, self.f.item(panels.ks, at, 4), 4), I64)
                at = b.add(b.mul(b.add(starts[1], inner), const(64, shape.n)), column)
                right.append(self.element(panels.b, at, one=False))
            acc = self.group(left, right, acc, self.scale(panels, first, row, column))
        return acc

    def accumulator(self, source: Value, place: Value, *, vector: bool) -> Value:
        """C's bits for one chunk."""
        b, f = self.b, self.f
        wide = self.shape.result_bits == 64
        if not vector:
            acc = self.splat(f.load(I64 if wide else I32, source, 4))
        elif wide:
            acc = self.packed(f.at(source, place), const(64, 0), 0, 64)
        else:
            acc = f.load(self.vector(I32), f.at(source, place), 4)
        if self.operation.negate[2]:
            bits = self.shape.result_bits
            acc = b.xor(acc, self.splat(const(bits, 1 << (bits - 1))))
        return self.without_subnormals(acc, 31, 23) if self.operation.rule is Rule.PAIRS else acc

    def deliver(self, acc: Value, target: Value) -> None:
        """Writes one chunk of D, NaN as the default NaN."""
        b, f = self.b, self.f
        if self.shape.result_bits == 64:
            real = b.bitcast(acc, self.vector(F64))
            nan = b.fcmp_unordered("uno", real, real)
            acc = b.select(nan, self.number(I64, 0x7FF8000000000000), acc)
            f.store(b.trunc(acc, self.vector(I32)), target, 4)
            acc = b.trunc(b.lshr(acc, self.number(I64, 32)), self.vector(I32))
            f.store(acc, f.at(target, 4 * LANES), 4)
        else:
            f.store(acc if self.operation.rule is Rule.INTEGER else self.clean_nan(acc), target, 4)

    def scale(self, panels: Panels, k: int, row: Value, column: Value) -> Value | None:
        """The exponent of the scales of the 32 elements around `k`; None without scales."""
        if panels.scales is None:
            return None
        b, f = self.b, self.f
        first, second = panels.scales
        own = f.load(I32, f.item(first, b.add(const(64, k // 32 * self.shape.m), row), 4), 4)
        others = f.load(self.vector(I32), f.item(second, b.add(const(64, k // 32 * self.shape.n), column), 4), 4)
        return b.add(self.splat(own), others)

    def group(
        self, left: list[tuple[Value, Value]], right: list[tuple[Value, Value]], acc: Value, scale: Value | None
    ) -> Value:
        """Accumulates one group of products."""
        b = self.b
        match self.operation.rule:
            case Rule.FUSED:
                return self.fused(left, right, acc, scale)
            case Rule.PAIRS:
                return self.paired([b.fmul(x[0], y[0]) for x, y in zip(left, right, strict=True)], acc)
            case Rule.INTEGER:
                return b.add(acc, b.mul(left[0][0], right[0][0]))
            case Rule.CHAIN:
                real = self.vector(F64 if self.shape.type_a == "f64" else F32)
                held: Value = acc.type
                return b.bitcast(self.call("llvm.fma", left[0][0], right[0][0], b.bitcast(acc, real)), held)


def build(m: Emitter, operation: MatrixOperation) -> None:
    """The body of a matrix handler: D = A * B + C."""
    shape = operation.shape
    x = _Matrix(m, operation)
    f, b = m.f, m.f.b
    panels = x.panels()
    columns = shape.n // x.w
    table = x.table("result", _results(shape, x.w))
    blocks = x.table("block", [operation.block_of_a(block) for block in range(shape.blocks)])
    accumulator = m.places["vdst" if shape.sparse else "src2"]
    target = m.slot(m.places["vdst"].slot)
    with f.loop(shape.blocks) as block, f.loop(shape.m) as row, f.loop(columns) as column:
        index = b.add(b.mul(b.add(b.mul(block, const(64, shape.m)), row), const(64, columns)), column)
        place = b.zext(f.load(I32, f.item(table, index, 4), 4), I64)
        acc = x.accumulator(m.slot(accumulator.slot), place, vector=accumulator.kind == "v")
        source = b.zext(f.load(I32, f.item(blocks, block, 4), 4), I64)
        acc = x.step(panels, (source, block), row, b.mul(column, const(64, x.w)), acc)
        x.deliver(acc, f.at(target, place))


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
