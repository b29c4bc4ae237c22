"""Native code that writes an instruction's results: scalars, lanes under EXEC, and what stays pending until a wait.

Owns the order of computing and writing, and what strict mode marks. It must not know mnemonics or memory.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from asmevo.backend.emulator import floats, layout
from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.faulting import check, fault
from asmevo.backend.emulator.form import nodes
from asmevo.backend.emulator.irkit import I1, I16, I32, I64, Function, Value, const
from asmevo.backend.emulator.layout import ENTRY, LANES, STATE
from asmevo.backend.emulator.memory_codegen import lane_mask
from asmevo.backend.emulator.queue_codegen import fill_load, new_entry
from asmevo.diagnostics import fail
from asmevo.ir.registers import EXEC, M0, MODE, SCC, VCC, VGPR0
from asmevo.ir.semantics.build import concat, extract
from asmevo.ir.semantics.expr import Expr, Op, Write

CHUNK = 16
_WIDE_ROWS = 4
_SPECIALS = {"scc": (SCC, 32), "vcc": (VCC, 64), "exec": (EXEC, 64), "m0": (M0, 32), "mode": (MODE, 32)}


def defer(m: Emitter, name: str, queue: str) -> None:
    """Makes a register that has just been written pending until the wait that covers it."""
    f, b = m.f, m.f.b
    place = m.places[name]
    entry = new_entry(f, m.state, queue)
    count = place.bits // 32
    vector = place.kind == "v"
    with f.loop(count * (LANES if vector else 1)) as n:
        f.store(f.load(I32, f.item(m.slot(place.slot), n, 4), 4), f.item(f.field(ENTRY, entry, "data"), n, 4), 4)
    mask = f.load(I64, f.at(m.state, layout.unit_offset(EXEC)), 4) if vector else const(64, -1)
    kind = layout.ENTRY_LOAD if vector else layout.ENTRY_SCALAR
    fill_load(f, m.state, entry, kind, dest_unit(m, name), count, mask)
    b.comment(f"{name} is pending")


def _target(m: Emitter, name: str) -> tuple[Value, str, int]:
    """A written place: its address, kind and bits."""
    place = m.places.get(name)
    if place is not None and place.kind != "-":
        return m.slot(place.slot), place.kind, place.bits
    if name not in _SPECIALS:
        fail("E0507", f"the emulator cannot write '{name}'")
    unit, bits = _SPECIALS[name]
    return m.f.at(m.state, layout.unit_offset(unit)), "s", bits


def scalar_writes(m: Emitter, writes: tuple[Write, ...]) -> None:
    """Computes every value, then writes them: one result a wave each."""
    b = m.f.b
    values = [(w, m.emit(w.value), m.emit(w.enable) if w.enable is not None else None) for w in writes]
    for write, value, enable in values:
        address, _, _ = _target(m, write.target)
        width = max(32, (write.value.bits + 31) // 32 * 32)
        wide = value if write.value.bits == width else b.zext(value, ir.IntType(width))
        if enable is not None:
            wide = b.select(enable, wide, m.f.load(ir.IntType(width), address, 4))
        m.f.store(wide, address, 4)


@dataclass(frozen=True, slots=True)
class _Results:
    """Where a lane program's results go, one entry a write.

    `targets` are address, kind and bits; `rows` counts registers; `held` are rows to keep results in until all lanes are
    computed, None where they may be written at once; `masks` gather the lanes written, or the bits of a mask result.
    """

    writes: tuple[Write, ...]
    targets: list[tuple[Value, str, int]]
    rows: list[int]
    held: list[Value]
    masks: list[Value]
    execs: Value

    def values(self, c: Emitter) -> tuple[list[Value], list[Value]]:
        """Values and enables of a chunk; what has many registers is computed row by row, and None here."""
        values = [None if n > _WIDE_ROWS else c.emit(w.value) for w, n in zip(self.writes, self.rows, strict=True)]
        return values, [c.emit(w.enable) if w.enable is not None else None for w in self.writes]

    def active(self, c: Emitter) -> Value:
        """EXEC's bits of a chunk."""
        return c.f.b.trunc(c.f.b.lshr(self.execs, c.base), I16)

    def store(self, c: Emitter, values: list[Value], enables: list[Value]) -> None:
        """Writes a chunk's results."""
        f, b = c.f, c.f.b
        active = self.active(c)
        for k, write in enumerate(self.writes):
            bits = active if enables[k] is None else b.and_(active, b.bitcast(enables[k], I16))
            if self.targets[k][1] == "v":
                self._store_rows(c, k, values[k], bits)
            else:
                bits = b.and_(active, b.bitcast(values[k], I16))
                if write.value.bits != 1:
                    fail("E0507", f"a lane program writes {write.value.bits} bits to scalar '{write.target}'")
            f.store(b.or_(f.load(I64, self.masks[k], 8), b.shl(b.zext(bits, I64), c.base)), self.masks[k], 8)

    def _store_rows(self, c: Emitter, k: int, value: Value, bits: Value) -> None:
        f, b = c.f, c.f.b
        write = self.writes[k]
        for row in range(self.rows[k]):
            if value is None:
                part = c.emit(_slice(write.value, 32 * row, 32))
            else:
                part = _part(c, value, write.value.bits, row)
            if self.held[k] is not None:
                f.store(part, f.item(f.at(self.held[k], 4 * LANES * row), c.base, 4), 4)
                continue
            at = f.item(f.at(self.targets[k][0], 4 * LANES * row), c.base, 4)
            lanes = b.bitcast(bits, ir.VectorType(I1, CHUNK))
            f.store(b.select(lanes, part, f.load(ir.VectorType(I32, CHUNK), at, 4)), at, 4)


def lane_writes(m: Emitter, writes: tuple[Write, ...], strict: bool) -> None:
    """Computes the results of all lanes, chunk by chunk, and writes those of active ones; masks become scalars."""
    f = m.f
    execs = f.load(I64, f.at(m.state, layout.unit_offset(EXEC)), 4)
    crosses = any(e.op is Op.GATHER for w in writes for e in nodes([w.value]))
    targets = [_target(m, w.target) for w in writes]
    rows = [(w.value.bits + 31) // 32 for w in writes]
    held = [f.local(I32, LANES * n) if crosses and t[1] == "v" else None for n, t in zip(rows, targets, strict=True)]
    masks = [f.local(I64) for _ in writes]
    for mask in masks:
        f.store(const(64, 0), mask, 8)
    results = _Results(writes, targets, rows, held, masks, execs)
    if _has_usual(m, results):
        _usual_then_all(m, results)
    else:
        with f.loop(LANES, CHUNK) as base:
            c = m.chunk(CHUNK, base)
            results.store(c, *results.values(c))
    for k, (address, place, _) in enumerate(targets):
        if place != "v":
            f.store(f.load(I64, masks[k], 8), address, 4)
        elif held[k] is not None:
            mask = f.load(I64, masks[k], 8)
            for row in range(rows[k]):
                blend(f, f.at(address, 4 * LANES * row), f.at(held[k], 4 * LANES * row), mask)
        if strict and place == "v" and writes[k].enable is not None:
            _validate(m, writes[k].target, rows[k], f.load(I64, masks[k], 8))


def _has_usual(m: Emitter, results: _Results) -> bool:
    """Whether the values are float results that are much shorter to compute where they are no NaN and nothing is flushed."""
    roots = [e for w in results.writes for e in (w.value, w.enable) if e is not None]
    used = {e.op for e in nodes(roots)} & floats.FLOAT_OPS
    return bool(used) and used <= floats.USUAL and not m.rounds and max(results.rows) <= _WIDE_ROWS


def _usual_then_all(m: Emitter, results: _Results) -> None:
    """Computes chunks as if all were as usual, and by all rules from the first on that has an active lane which is not."""
    b = m.f.b
    names = ("usual", "usual_chunk", "usual_store", "full", "full_chunk", "computed")
    usual, usual_chunk, usual_store, full, full_chunk, done = (b.append_basic_block(name) for name in names)
    start = b.block
    b.position_at_end(usual)
    base = b.phi(I64)
    base.add_incoming(const(64, 0), start)
    b.cbranch(b.icmp_unsigned("<", base, const(64, LANES)), usual_chunk, done)
    b.position_at_end(usual_chunk)
    c = m.chunk(CHUNK, base, usual=True)
    found = results.values(c)
    doubt = ir.Constant(ir.VectorType(I1, CHUNK), [0] * CHUNK)
    for lanes in c.doubts or ():
        doubt = b.or_(doubt, lanes)
    unusual = b.icmp_unsigned("!=", b.and_(b.bitcast(doubt, I16), results.active(c)), const(16, 0))
    b.cbranch(unusual, full, usual_store).set_weights([1, 99])
    tested = b.block
    b.position_at_end(usual_store)
    results.store(c, *found)
    base.add_incoming(b.add(base, const(64, CHUNK)), b.block)
    b.branch(usual)
    b.position_at_end(start)
    assumed = b.and_(m.mode, const(32, c.assumed_mode))
    b.cbranch(b.icmp_unsigned("==", assumed, const(32, c.assumed_mode)), usual, full)
    b.position_at_end(full)
    rest = b.phi(I64)
    rest.add_incoming(const(64, 0), start)
    rest.add_incoming(base, tested)
    b.cbranch(b.icmp_unsigned("<", rest, const(64, LANES)), full_chunk, done)
    b.position_at_end(full_chunk)
    c = m.chunk(CHUNK, rest)
    results.store(c, *results.values(c))
    rest.add_incoming(b.add(rest, const(64, CHUNK)), b.block)
    b.branch(full)
    b.position_at_end(done)


def _slice(value: Expr, low: int, bits: int) -> Expr:
    """Some bits of a value, taken from the parts it is put together from."""
    if value.op is not Op.CONCAT:
        return extract(value, low, bits)
    high, rest = value.args
    if low >= rest.bits:
        return _slice(high, low - rest.bits, bits)
    if low + bits <= rest.bits:
        return _slice(rest, low, bits)
    here = rest.bits - low
    return concat(_slice(high, 0, bits - here), _slice(rest, low, here))


def _validate(m: Emitter, name: str, rows: int, mask: Value) -> None:
    """Marks the lanes that a masked write reached; the dispatch loop marks whole writes."""
    f = m.f
    for row in range(rows):
        valid = f.at(f.item(f.field(STATE, m.state, "valid"), dest_unit(m, name), 8), 8 * row)
        f.store(f.b.or_(f.load(I64, valid, 8), mask), valid, 8)


def blend(f: Function, target: Value, source: Value, mask: Value) -> None:
    """Copies the lanes of `mask` from one row to another."""
    kind = ir.VectorType(I32, CHUNK)
    with f.loop(LANES, CHUNK) as base:
        at = f.item(target, base, 4)
        value = f.load(kind, f.item(source, base, 4), 4)
        f.store(f.b.select(lane_mask(f, mask, base, CHUNK), value, f.load(kind, at, 4)), at, 4)


def _part(c: Emitter, value: Value, bits: int, row: int) -> Value:
    """Row `row` of a value, as i32 lanes."""
    b = c.f.b
    if bits <= 32:
        return value if bits == 32 else b.zext(value, c.kind(32))
    moved = b.lshr(value, c.number(bits, 32 * row)) if row else value
    return b.trunc(moved, c.kind(32))


def dest_unit(m: Emitter, name: str) -> Value:
    """The unit number of a register operand, from its slot, as i32."""
    f, b = m.f, m.f.b
    place = m.places[name]
    at = f.load(I32, f.at(m.op, layout.offset(layout.OP, "slot") + 4 * place.slot), 4)
    if place.kind != "v":
        return b.lshr(at, const(32, 2))
    row = b.sub(at, const(32, layout.offset(STATE, "vector")))
    return b.add(b.lshr(row, const(32, 8)), const(32, VGPR0))


def check_selected(m: Emitter, write: Write) -> None:
    """A fault where a lane takes a source that is not valid there; the source it does not take may be anything."""
    f, b = m.f, m.f.b
    (condition,) = {e for e in nodes([write.value]) if e.op is Op.LANE_BIT}
    chosen = m.emit(condition.args[0])
    active = f.load(I64, f.at(m.state, layout.unit_offset(EXEC)), 4)
    for name, taken in (("src0", b.not_(chosen)), ("src1", chosen)):
        if m.places[name].kind != "v":
            continue
        unit = dest_unit(m, name)
        lanes = b.and_(active, taken)
        bad = b.and_(lanes, b.not_(f.load(I64, f.item(f.field(STATE, m.state, "valid"), unit, 8), 8)))
        with f.when(b.icmp_unsigned("!=", bad, const(64, 0)), likely=False):
            lane = b.call(f.intrinsic("llvm.cttz.i64", I64, I64, I1), [bad, const(1, 0)])
            f.put(STATE, m.state, "fault_unit", unit)
            pending = b.and_(bad, f.load(I64, f.item(f.field(STATE, m.state, "pending"), unit, 8), 8))
            waits = b.icmp_unsigned("!=", pending, const(64, 0))
            numbers = [const(32, layout.KIND[kind]) for kind in ("pending-read", "uninitialised-register")]
            check(f, fault(f, m.state, b.select(waits, *numbers), lane, const(64, 0)))
