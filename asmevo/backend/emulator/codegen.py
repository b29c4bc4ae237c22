"""Turns semantic expressions into native code, for one value or for a chunk of lanes.

Owns the translation of every integer and leaf operation; float operations stand in `floats`. It must not know opcodes.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from llvmlite import ir

from asmevo.backend.emulator import floats, layout
from asmevo.backend.emulator.irkit import I1, I32, I64, PTR, Function, Value, const, mangled, splat
from asmevo.backend.emulator.lane_patterns import Pattern, pattern
from asmevo.diagnostics import fail
from asmevo.ir.registers import EXEC, EXECZ, M0, MODE, SCC, VCC, VCCZ
from asmevo.ir.semantics.expr import Expr, Op

_BINARY = {Op.ADD: "add", Op.SUB: "sub", Op.MUL: "mul", Op.AND: "and_", Op.OR: "or_", Op.XOR: "xor"}
_SHIFT = {Op.SHL: "shl", Op.LSHR: "lshr", Op.ASHR: "ashr"}
_SPECIALS = {"scc": (SCC, 1), "exec": (EXEC, 64), "vcc": (VCC, 64), "m0": (M0, 32), "mode": (MODE, 32)}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operand lies: its slot in the decoded operation, and `v` (vector row), `s` (scalar), or `-` (no register)."""

    slot: int
    kind: str
    bits: int


@dataclass(slots=True)
class Emitter:
    """Emits expressions at the builder's position; `lanes` is 0 for one value a wave, else the width of a chunk.

    `base` is the first lane of the chunk. Equal nodes are emitted once; `leaves` hold values that are the same for all
    lanes, loaded before the lane loop.
    """

    f: Function
    state: Value
    op: Value
    places: Mapping[str, Place]
    modifiers: Mapping[str, int]
    lanes: int = 0
    base: Value = None
    leaves: dict[Expr, Value] = field(default_factory=dict)
    memo: dict[int, Value] = field(default_factory=dict)
    keep: list[Expr] = field(default_factory=list)
    mode: Value = None
    rounds: bool = False
    """Whether float operations round as MODE says; else to nearest even, which is all that MODE can say."""
    ignored_mode: int = 0
    """Bits of MODE that are taken as 0."""
    slots: dict[int, Value] = field(default_factory=dict)
    """Addresses of operands that were computed before the lane loop, by slot."""
    doubts: list[Value] | None = None
    """Where float operations may assume the usual: gets a mask for each assumption, of the lanes where it does not hold."""
    assumed_mode: int = 0
    """Bits of MODE that must be set for the values emitted with `doubts`."""

    def chunk(self, lanes: int, base: Value, *, usual: bool = False) -> Emitter:
        """An emitter for a chunk of lanes that shares the leaves; `usual`: float operations assume the usual."""
        return replace(self, lanes=lanes, base=base, memo={}, keep=[], doubts=[] if usual else None, assumed_mode=0)

    def kind(self, bits: int) -> Value:
        """The native type of a value of `bits` bits."""
        one = ir.IntType(bits)
        return ir.VectorType(one, self.lanes) if self.lanes else one

    def spread(self, value: Value) -> Value:
        """A uniform value as this emitter's kind."""
        return splat(self.f, value, self.lanes) if self.lanes else value

    def number(self, bits: int, value: int) -> Value:
        """An integer constant of this emitter's kind."""
        return self.spread(const(bits, value))

    def slot(self, index: int) -> Value:
        """The address of the operand in slot `index`."""
        if index in self.slots:
            return self.slots[index]
        at = self.f.load(I32, self.f.at(self.op, layout.offset(layout.OP, "slot") + 4 * index), 4)
        return self.f.at(self.state, self.f.b.zext(at, I64))

    def prepare(self, expressions: Iterable[Expr]) -> None:
        """Loads everything that is the same for all lanes; must run before the lane loop."""
        seen: set[int] = set()
        for place in self.places.values():
            if place.kind == "v":
                self.slots[place.slot] = self.slot(place.slot)
        stack = list(expressions)
        if self.mode is None:
            mode = self.f.load(I32, self.f.at(self.state, layout.unit_offset(MODE)), 4)
            self.mode = self.f.b.and_(mode, const(32, ~self.ignored_mode)) if self.ignored_mode else mode
        while stack:
            e = stack.pop()
            if id(e) in seen:
                continue
            seen.add(id(e))
            stack.extend(e.args)
            if self._is_uniform(e) and e not in self.leaves:
                self.leaves[e] = self._uniform(e)

    def _is_uniform(self, e: Expr) -> bool:
        if e.op in (Op.IMM, Op.SPECIAL):
            return True
        return e.op in (Op.SRC, Op.OLD) and self.places[str(e.attr)].kind != "v"

    def _uniform(self, e: Expr) -> Value:
        b = self.f.b
        if e.op is Op.IMM:
            index = self.modifiers[str(e.attr)]
            raw = self.f.load(I64, self.f.at(self.op, layout.offset(layout.OP, "imm") + 8 * index), 8)
            return _resize(b, raw, e.bits)
        if e.op is Op.SPECIAL:
            if e.attr not in _SPECIALS:
                fail("E0507", f"the emulator does not model reading '{e.attr}'")
            unit, bits = _SPECIALS[str(e.attr)]
            size = max(bits, 32)
            raw = self.f.load(ir.IntType(size), self.f.at(self.state, layout.unit_offset(unit)), 4)
            return _resize(b, raw, e.bits)
        place = self.places[str(e.attr)]
        if place.kind in ("z", "x"):
            unit = VCC if place.kind == "z" else EXEC
            raw = self.f.load(I64, self.f.at(self.state, layout.unit_offset(unit)), 4)
            return b.zext(b.icmp_unsigned("==", raw, const(64, 0)), ir.IntType(e.bits))
        size = min(_rounded(e.bits), _rounded(place.bits))
        return _resize(b, self.f.load(ir.IntType(size), self.slot(place.slot), 4), e.bits)

    def emit(self, e: Expr) -> Value:
        """The value of `e`."""
        found = self.memo.get(id(e))
        if found is None:
            found = self._emit(e)
            self.memo[id(e)] = found
            self.keep.append(e)
        return found

    def row(self, name: str, row: int, count: int) -> Value:
        """Row `row` of vector operand `name` for this chunk, as i32 lanes."""
        address = self.f.at(self.slot(self.places[name].slot), row * layout.LANES * 4)
        address = self.f.item(address, self.base, 4)
        return self.f.load(ir.VectorType(I32, count), address, 4)

    def vector_source(self, name: str, bits: int) -> Value:
        """A vector operand's `bits` bits for every lane of the chunk."""
        b = self.f.b
        if bits <= 32:
            return _resize(b, self.row(name, 0, self.lanes), bits)
        rows = (bits + 31) // 32
        wide = self.kind(rows * 32)
        result = b.zext(self.row(name, 0, self.lanes), wide)
        for row in range(1, rows):
            part = b.zext(self.row(name, row, self.lanes), wide)
            result = b.or_(result, b.shl(part, self.number(rows * 32, 32 * row)))
        return _resize(b, result, bits)

    def _emit(self, e: Expr) -> Value:
        b = self.f.b
        op = e.op
        if op is Op.CONST:
            assert isinstance(e.attr, int)
            return self.number(e.bits, e.attr)
        if self._is_uniform(e):
            return self.spread(self.leaves[e])
        if op in (Op.SRC, Op.OLD):
            return self.vector_source(str(e.attr), e.bits) if self.lanes else self._refuse_vector(e)
        if op is Op.LANE:
            return self._lane_numbers()
        if op is Op.GATHER:
            return self._gather(e)
        if op is Op.EXTRACT and self.lanes and self._is_wide_source(e.args[0]):
            return self._wide_part(e)
        a = [self.emit(x) for x in e.args]
        if op in _BINARY:
            return getattr(b, _BINARY[op])(*a)
        if op in _SHIFT:
            return self._shift(op, a[0], a[1], e.bits)
        if op is Op.LANE_BIT:
            return self._bit_of(e.args[0], a[0], self._lane_numbers())
        if op is Op.LANE_ACTIVE:
            mask = self.f.load(I64, self.f.at(self.state, layout.unit_offset(EXEC)), 4)
            return self._bit_of(None, self.spread(mask), a[0])
        if op in floats.FLOAT_OPS:
            return floats.emit(self, e, a)
        return self._rest(e, a)

    def _is_wide_source(self, e: Expr) -> bool:
        return e.op in (Op.SRC, Op.OLD) and e.bits > 2 * 64 and self.places[str(e.attr)].kind == "v"

    def _wide_part(self, e: Expr) -> Value:
        """Some bits of a vector operand of many registers: only the rows that hold them are read."""
        b = self.f.b
        assert isinstance(e.attr, int)
        first, last = e.attr // 32, (e.attr + e.bits - 1) // 32
        name = str(e.args[0].attr)
        wide = self.kind(32 * (last - first + 1))
        result = b.zext(self.row(name, first, self.lanes), wide) if last > first else self.row(name, first, self.lanes)
        for row in range(first + 1, last + 1):
            part = b.zext(self.row(name, row, self.lanes), wide)
            result = b.or_(result, b.shl(part, self.number(32 * (last - first + 1), 32 * (row - first))))
        low = e.attr - 32 * first
        moved = b.lshr(result, self.number(32 * (last - first + 1), low)) if low else result
        return _resize(b, moved, e.bits)

    def _refuse_vector(self, e: Expr) -> Value:
        fail("E0507", f"a scalar program reads the vector operand '{e.attr}'")

    def _rest(self, e: Expr, a: list[Value]) -> Value:
        b = self.f.b
        match e.op:
            case Op.UDIV | Op.UREM:
                zero = b.icmp_unsigned("==", a[1], self.number(e.bits, 0))
                safe = b.select(zero, self.number(e.bits, 1), a[1])
                if e.op is Op.UDIV:
                    return b.select(zero, self.number(e.bits, -1), b.udiv(a[0], safe))
                return b.select(zero, a[0], b.urem(a[0], safe))
            case Op.NOT:
                return b.xor(a[0], self.number(e.bits, -1))
            case Op.EXTRACT:
                assert isinstance(e.attr, int)
                width = e.args[0].bits
                moved = b.lshr(a[0], self.number(width, e.attr)) if e.attr else a[0]
                return _resize(b, moved, e.bits)
            case Op.CONCAT:
                low = e.args[1].bits
                high = b.shl(b.zext(a[0], self.kind(e.bits)), self.number(e.bits, low))
                return b.or_(high, b.zext(a[1], self.kind(e.bits)))
            case Op.ZEXT:
                return _resize(b, a[0], e.bits)
            case Op.SEXT:
                return a[0] if e.bits == e.args[0].bits else b.sext(a[0], self.kind(e.bits))
            case Op.EQ:
                return b.icmp_unsigned("==", a[0], a[1])
            case Op.ULT:
                return b.icmp_unsigned("<", a[0], a[1])
            case Op.SLT:
                return b.icmp_signed("<", a[0], a[1])
            case Op.ITE:
                return b.select(a[0], a[1], a[2])
            case Op.POPCOUNT:
                return self.call("llvm.ctpop", a)
            case Op.CLZ:
                return self.call("llvm.ctlz", a, flag=True)
            case Op.CTZ:
                return self.call("llvm.cttz", a, flag=True)
            case Op.BITREV:
                return self.call("llvm.bitreverse", a)
            case _:
                fail("E0507", f"the emulator cannot evaluate '{e.op.value}'")

    def call(self, name: str, a: list[Value], *, flag: bool = False) -> Value:
        """An LLVM intrinsic that is overloaded on its first argument's type."""
        kind = a[0].type
        full = f"{name}.{mangled(kind)}"
        types = [x.type for x in a] + ([I1] if flag else [])
        return self.f.b.call(self.f.intrinsic(full, kind, *types), a + ([const(1, 0)] if flag else []))

    def _shift(self, op: Op, value: Value, amount: Value, bits: int) -> Value:
        b = self.f.b
        limit = self.number(bits, bits - 1)
        over = b.icmp_unsigned(">", amount, limit)
        safe = b.select(over, limit, amount)
        moved = getattr(b, _SHIFT[op])(value, safe)
        return moved if op is Op.ASHR else b.select(over, self.number(bits, 0), moved)

    def _lane_numbers(self) -> Value:
        if not self.lanes:
            return const(32, 0)
        first = splat(self.f, self.f.b.trunc(self.base, I32), self.lanes)
        steps = ir.Constant(ir.VectorType(I32, self.lanes), list(range(self.lanes)))
        return self.f.b.add(first, steps)

    def _bit_of(self, source: Expr | None, mask: Value, lane: Value) -> Value:
        b = self.f.b
        wide = b.zext(lane, self.kind(64))
        wide = b.and_(wide, self.number(64, 63))
        return b.trunc(b.lshr(mask, wide), self.kind(1))

    def _gather(self, e: Expr) -> Value:
        """Another lane's value; the handler stores its results only after all chunks are computed."""
        b = self.f.b
        name = str(e.attr)
        start = self.slot(self.places[name].slot)
        if self.places[name].kind != "v":
            return self.spread(self.f.load(ir.IntType(e.bits), start, 4))
        starts = [self.f.at(start, 4 * layout.LANES * row) for row in range(e.bits // 32)]
        fixed = pattern(e.args[0], self.lanes) if self.lanes else None
        if fixed is not None:
            rows = [self._permuted_row(row, fixed) for row in starts]
        else:
            index = b.and_(self.emit(e.args[0]), self.number(32, 63))
            rows = [self._gathered_row(row, index) for row in starts]
        if len(rows) == 1:
            return rows[0]
        low, high = (b.zext(row, self.kind(64)) for row in rows)
        return b.or_(low, b.shl(high, self.number(64, 32)))

    def _permuted_row(self, row: Value, fixed: Pattern) -> Value:
        b = self.f.b
        kind = ir.VectorType(I32, self.lanes)
        mask = ir.Constant(ir.VectorType(I32, self.lanes), list(fixed.mask))

        def source(chunk: int) -> Value:
            lane = const(64, chunk * self.lanes)
            if not fixed.absolute:
                lane = b.and_(b.add(self.base, lane), const(64, layout.LANES - 1))
            return self.f.load(kind, self.f.item(row, lane, 4), 4)

        return b.shuffle_vector(source(fixed.first), source(fixed.second), mask)

    def _gathered_row(self, row: Value, index: Value) -> Value:
        b = self.f.b
        if not self.lanes:
            return self.f.load(I32, self.f.item(row, index, 4), 4)
        result = ir.Constant(self.kind(32), ir.Undefined)
        for n in range(self.lanes):
            lane = b.extract_element(index, const(32, n))
            value = self.f.load(I32, self.f.item(row, lane, 4), 4)
            result = b.insert_element(result, value, const(32, n))
        return result


def special_kind(unit: int) -> str | None:
    """The place kind of a unit that is computed when it is read: vccz or execz."""
    return {VCCZ: "z", EXECZ: "x"}.get(unit)


def _rounded(bits: int) -> int:
    return max(32, (bits + 31) // 32 * 32)


def _resize(b: ir.IRBuilder, value: Value, bits: int) -> Value:
    kind: Any = value.type
    vector = isinstance(value.type, ir.VectorType)
    width: int = kind.element.width if vector else kind.width
    target: Any = ir.VectorType(ir.IntType(bits), kind.count) if vector else ir.IntType(bits)
    if width == bits:
        return value
    return b.trunc(value, target) if width > bits else b.zext(value, target)


__all__ = ["PTR", "Emitter", "Place", "mangled", "special_kind"]
