"""Builds the native handler of one program form: register writes, and memory operations in their modes.

A form is a program with the kinds of its operands; instructions that differ only in register numbers, constants and offsets
share it. Owns the order of reading, computing and writing. It must not know mnemonics.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from llvmlite import ir

from asmevo.backend.emulator import atomics, buffers, layout, scalar_memory
from asmevo.backend.emulator.codegen import Emitter, Place
from asmevo.backend.emulator.faulting import check, fault, refuse
from asmevo.backend.emulator.irkit import I1, I16, I32, I64, Function, Value, const, splat
from asmevo.backend.emulator.layout import ENTRY, LANES, STATE
from asmevo.backend.emulator.memory_codegen import lane_mask, transfer
from asmevo.backend.emulator.queue_codegen import fill_load, new_entry
from asmevo.diagnostics import fail
from asmevo.ir.registers import EXEC, M0, MODE, SCC, VCC, VGPR0
from asmevo.ir.semantics.build import concat, extract
from asmevo.ir.semantics.expr import Domain, Expr, Extend, MemoryOp, Op, Program, Write
from asmevo.ir.semantics.form import PRIVATE_APERTURE, SHARED_APERTURE

CHUNK = 16
_WIDE_ROWS = 4
_SPECIALS = {"scc": (SCC, 32), "vcc": (VCC, 64), "exec": (EXEC, 64), "m0": (M0, 32), "mode": (MODE, 32)}
_HALVES = frozenset({Extend.D16_LO, Extend.D16_HI, Extend.D16_LO_SIGN, Extend.D16_HI_SIGN})


@dataclass(frozen=True, slots=True)
class Form:
    """A program with its operands' places (by name) and the indices of the modifiers it reads as integers."""

    program: Program
    places: tuple[tuple[str, Place], ...]
    modifiers: tuple[str, ...]
    space: str
    """`lds`, `buffer`, `global`, `flat`, `scalar`, `scratch`, or empty when memory is not touched."""
    deferred: str = ""
    """The queue (`lds` or `smem`) that delivers results which no memory operation gives: permutes, the clock."""
    selects: bool = False
    """Whether a lane needs only that one of src0 and src1 which it takes."""
    rounds: bool = False
    """Whether MODE may ask for another rounding than to nearest even."""


def expressions(program: Program) -> Iterator[Expr]:
    """The roots of a program's expressions."""
    for write in program.writes:
        yield write.value
        if write.enable is not None:
            yield write.enable
    memory = program.memory
    if memory is not None:
        yield from memory.addresses
        yield from (e for e in (memory.index, memory.soffset, memory.to_lds) if e is not None)


def nodes(roots: Iterable[Expr]) -> Iterator[Expr]:
    """Every node under `roots`, each once."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        e = stack.pop()
        if id(e) not in seen:
            seen.add(id(e))
            yield e
            stack.extend(e.args)


def build_handler(module: ir.Module, name: str, form: Form, strict: bool) -> None:
    """Adds `name(state, op) -> status` for a scalar or lane program to `module`."""
    f = Function(module, name)
    state, op = f.args
    places = dict(form.places)
    m = Emitter(
        f,
        state,
        op,
        places,
        {n: k for k, n in enumerate(form.modifiers)},
        rounds=form.rounds,
        ignored_mode=form.program.ignored_mode,
    )
    m.prepare(expressions(form.program))
    memory = form.program.memory
    if form.program.domain is Domain.SCALAR:
        if memory is not None:
            scalar_memory.emit(m, memory, strict)
        _scalar_writes(m, form.program.writes)
    elif form.program.domain is Domain.LANE:
        if strict and form.selects:
            _check_selected(m, form.program.writes[0])
        if memory is not None:
            _vector_memory(m, memory, form.space, strict)
        if form.program.writes:
            _lane_writes(m, form.program.writes, strict)
    else:
        fail("E0507", f"a {form.program.domain.value} program has no handler of its own")
    if strict and form.deferred:
        for write in form.program.writes:
            defer(m, write.target, form.deferred)
    f.ret(layout.CONTINUE)


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


def _scalar_writes(m: Emitter, writes: tuple[Write, ...]) -> None:
    b = m.f.b
    values = [(w, m.emit(w.value), m.emit(w.enable) if w.enable is not None else None) for w in writes]
    for write, value, enable in values:
        address, _, _ = _target(m, write.target)
        width = max(32, (write.value.bits + 31) // 32 * 32)
        wide = value if write.value.bits == width else b.zext(value, ir.IntType(width))
        if enable is not None:
            wide = b.select(enable, wide, m.f.load(ir.IntType(width), address, 4))
        m.f.store(wide, address, 4)


def _lane_writes(m: Emitter, writes: tuple[Write, ...], strict: bool) -> None:
    f, b = m.f, m.f.b
    execs = f.load(I64, f.at(m.state, layout.unit_offset(EXEC)), 4)
    crosses = any(e.op is Op.GATHER for w in writes for e in nodes([w.value]))
    targets = [_target(m, w.target) for w in writes]
    rows = [(w.value.bits + 31) // 32 for w in writes]
    kind = ir.VectorType(I32, CHUNK)
    held = [f.local(I32, LANES * n) if crosses and t[1] == "v" else None for n, t in zip(rows, targets, strict=True)]
    masks = [f.local(I64) for _ in writes]
    for mask in masks:
        f.store(const(64, 0), mask, 8)
    with f.loop(LANES, CHUNK) as base:
        c = m.chunk(CHUNK, base)
        active = b.trunc(b.lshr(execs, base), I16)
        # What has many registers is computed row by row.
        values = [None if n > _WIDE_ROWS else c.emit(w.value) for w, n in zip(writes, rows, strict=True)]
        enables = [c.emit(w.enable) if w.enable is not None else None for w in writes]
        for k, write in enumerate(writes):
            bits = active
            enable = enables[k]
            if enable is not None:
                bits = b.and_(bits, b.bitcast(enable, I16))
            address, place, _ = targets[k]
            if place != "v":
                if write.value.bits != 1:
                    fail("E0507", f"a lane program writes {write.value.bits} bits to scalar '{write.target}'")
                ballot = b.and_(active, b.bitcast(values[k], I16))
                f.store(b.or_(f.load(I64, masks[k], 8), b.shl(b.zext(ballot, I64), base)), masks[k], 8)
                continue
            f.store(b.or_(f.load(I64, masks[k], 8), b.shl(b.zext(bits, I64), base)), masks[k], 8)
            lanes = b.bitcast(bits, ir.VectorType(ir.IntType(1), CHUNK))
            for row in range(rows[k]):
                if values[k] is None:
                    part = c.emit(_slice(write.value, 32 * row, 32))
                else:
                    part = _part(c, values[k], write.value.bits, row)
                if held[k] is not None:
                    f.store(part, f.item(f.at(held[k], 4 * LANES * row), base, 4), 4)
                    continue
                at = f.item(f.at(address, 4 * LANES * row), base, 4)
                f.store(b.select(lanes, part, f.load(kind, at, 4)), at, 4)
    for k, (address, place, _) in enumerate(targets):
        if place != "v":
            f.store(f.load(I64, masks[k], 8), address, 4)
        elif held[k] is not None:
            mask = f.load(I64, masks[k], 8)
            for row in range(rows[k]):
                blend(f, f.at(address, 4 * LANES * row), f.at(held[k], 4 * LANES * row), mask)
        if strict and place == "v" and writes[k].enable is not None:
            _validate(m, writes[k].target, rows[k], f.load(I64, masks[k], 8))


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


def addresses(m: Emitter, memory: MemoryOp) -> list[Value]:
    """The lanes' addresses as arrays of 64 i64."""
    f, b = m.f, m.f.b
    arrays = [f.local(I64, LANES) for _ in memory.addresses]
    with f.loop(LANES, CHUNK) as base:
        c = m.chunk(CHUNK, base)
        for array, e in zip(arrays, memory.addresses, strict=True):
            value = c.emit(e)
            wide = value if e.bits == 64 else b.zext(value, c.kind(64))
            f.store(wide, f.item(array, base, 8), 8)
    return arrays


def _check_selected(m: Emitter, write: Write) -> None:
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


def _scratch_addresses(m: Emitter, offsets: Value, mask: Value, size: int) -> None:
    """Replaces the active lanes' offsets in their own scratch memory by addresses; returns a fault when one leaves it.

    Dwords must be aligned: what holds a lane's bytes apart goes by dwords. A forgiven access gets an address without memory.
    """
    f, b = m.f, m.f.b
    base, limit = (f.get(STATE, m.state, name) for name in ("scratch", "scratch_size"))
    with f.each_lane(mask) as lane:
        at = f.item(offsets, lane, 8)
        offset = f.load(I64, at, 8)
        odd = b.and_(offset, const(64, min(size & -size, 4) - 1))
        refuse(f, m.state, b.icmp_unsigned("!=", odd, const(64, 0)), "misaligned", lane, offset)
        beyond = b.icmp_unsigned(">", b.add(offset, const(64, size)), limit)
        refuse(f, m.state, beyond, "out-of-bounds", lane, offset)
        address = b.add(base, b.add(b.mul(lane, limit), offset))
        f.store(b.select(beyond, const(64, 0), address), at, 8)


def _vector_memory(m: Emitter, memory: MemoryOp, space: str, strict: bool) -> None:
    f = m.f
    mask = f.load(I64, f.at(m.state, layout.unit_offset(EXEC)), 4)
    arrays = addresses(m, memory)
    span = None
    if space == "scratch":
        _scratch_addresses(m, arrays[0], mask, memory.bytes)
    if memory.resource is not None:
        span = buffers.resolve_addresses(m, memory, arrays[0], mask, CHUNK)
        mask = span.mask
    if space == "flat":
        _flat_access(m, memory, arrays, mask, strict)
    else:
        _access(m, memory, arrays, mask, span, space, strict)


def _access(
    m: Emitter, memory: MemoryOp, arrays: list[Value], mask: Value, span: buffers.Range | None, space: str, strict: bool
) -> None:
    queue = "lds" if space == "lds" else "vm"
    if memory.atomic is not None:
        atomics.emit(m, memory, space, arrays, mask, span.out if span else None, strict)
    elif memory.to_lds is not None:
        buffers.load_to_lds(m, memory, arrays[0], mask, span, strict)
    elif memory.dest is not None:
        _load(m, memory, arrays, mask, span, queue, strict)
    else:
        _store(m, memory, arrays, mask, span, queue, strict)


def _flat_access(m: Emitter, memory: MemoryOp, arrays: list[Value], mask: Value, strict: bool) -> None:
    """Generic addresses: those in LDS's aperture go there, all lanes alike; those in scratch memory's are replaced.

    LDS's part is delivered as any LDS access is, by lgkmcnt.
    """
    f, b = m.f, m.f.b
    here = arrays[0]
    shared, private = f.local(I64), f.local(I64)
    for found in (shared, private):
        f.store(const(64, 0), found, 8)
    with f.loop(LANES, CHUNK) as base:
        high = b.lshr(f.load(ir.VectorType(I64, CHUNK), f.item(here, base, 8), 8), splat(f, const(64, 48), CHUNK))
        for found, aperture in ((shared, SHARED_APERTURE), (private, PRIVATE_APERTURE)):
            bits = b.bitcast(b.icmp_unsigned("==", high, splat(f, const(64, aperture >> 48), CHUNK)), I16)
            f.store(b.or_(f.load(I64, found, 8), b.shl(b.zext(bits, I64), base)), found, 8)
    in_lds, in_scratch = (b.and_(f.load(I64, found, 8), mask) for found in (shared, private))
    with f.each_lane(b.or_(in_lds, in_scratch)) as lane:
        at = f.item(here, lane, 8)
        f.store(b.and_(f.load(I64, at, 8), const(64, 0xFFFFFFFF)), at, 8)
    _scratch_addresses(m, here, in_scratch, memory.bytes)
    with b.if_else(b.icmp_unsigned("!=", in_lds, const(64, 0)), likely=False) as (lds, other):
        with lds:
            refuse(f, m.state, b.icmp_unsigned("!=", in_lds, mask), "unsupported", const(32, 0), const(64, 0))
            _access(m, memory, arrays, mask, None, "lds", strict)
        with other:
            _access(m, memory, arrays, mask, None, "global", strict)


def _load(
    m: Emitter, memory: MemoryOp, arrays: list[Value], mask: Value, span: buffers.Range | None, queue: str, strict: bool
) -> None:
    f, b = m.f, m.f.b
    assert memory.dest is not None
    per = max(1, memory.bytes // 4)
    count = per * len(arrays)
    home = m.slot(m.places[memory.dest].slot)
    sub = memory.extend not in (Extend.NONE, Extend.ZERO)
    everyone = mask if span is None else b.or_(mask, span.out)
    entry = new_entry(f, m.state, queue) if strict else None
    direct = f.field(ENTRY, entry, "data") if entry is not None else home
    rows = f.local(I32, LANES) if sub else direct
    if span is not None:
        buffers.clear_rows(m, rows, count, span.out)
    kind = "lds_load" if queue == "lds" else "load"
    for k, array in enumerate(arrays):
        _move(m, kind, memory.bytes, array, mask, span, f.at(rows, 4 * LANES * per * k), strict)
    if sub:
        extend_rows(m, memory, rows, direct, home, everyone, queued=entry is not None)
    if entry is not None:
        fill_load(f, m.state, entry, layout.ENTRY_LOAD, dest_unit(m, memory.dest), count, everyone)
        if queue == "lds":
            note_addresses(f, entry, arrays, memory.bytes)


def _move(
    m: Emitter, kind: str, size: int, array: Value, mask: Value, span: buffers.Range | None, rows: Value, strict: bool
) -> None:
    if span is not None and size > 4:
        buffers.transfer_rows(m, kind, array, span, rows, size // 4, strict)
    else:
        check(m.f, transfer(m.f, kind, size, strict, [m.state, array, mask, rows]))


def extend_rows(m: Emitter, memory: MemoryOp, rows: Value, target: Value, home: Value, mask: Value, *, queued: bool) -> None:
    """Widens sub-dword values, or merges them into half of the old register."""
    f, b = m.f, m.f.b
    kind = ir.VectorType(I32, CHUNK)
    narrow = ir.VectorType(ir.IntType(8 * memory.bytes), CHUNK)
    signed = memory.extend in (Extend.SIGN, Extend.D16_LO_SIGN, Extend.D16_HI_SIGN)
    with f.loop(LANES, CHUNK) as base:
        value = f.load(kind, f.item(rows, base, 4), 4)
        if signed:
            value = b.sext(b.trunc(value, narrow), kind)
        if memory.extend in _HALVES:
            old = f.load(kind, f.item(home, base, 4), 4)
            low = splat(f, const(32, 0xFFFF), CHUNK)
            if memory.extend in (Extend.D16_LO, Extend.D16_LO_SIGN):
                value = b.or_(b.and_(value, low), b.and_(old, b.not_(low)))
            else:
                value = b.or_(b.shl(value, splat(f, const(32, 16), CHUNK)), b.and_(old, low))
        at = f.item(target, base, 4)
        if not queued:
            value = b.select(lane_mask(f, mask, base, CHUNK), value, f.load(kind, at, 4))
        f.store(value, at, 4)


def note_addresses(f: Function, entry: Value, arrays: list[Value], size: int) -> None:
    """Keeps an LDS access's addresses for its completion."""
    f.put(ENTRY, entry, "points", len(arrays))
    f.put(ENTRY, entry, "bytes", size)
    wide, narrow = ir.VectorType(I64, CHUNK), ir.VectorType(I32, CHUNK)
    for k, array in enumerate(arrays):
        to = f.at(f.field(ENTRY, entry, "address"), 4 * LANES * k)
        with f.loop(LANES, CHUNK) as base:
            value = f.b.trunc(f.load(wide, f.item(array, base, 8), 8), narrow)
            f.store(value, f.item(to, base, 4), 4)


def _store(
    m: Emitter, memory: MemoryOp, arrays: list[Value], mask: Value, span: buffers.Range | None, queue: str, strict: bool
) -> None:
    f = m.f
    kind = "lds_store" if queue == "lds" else "store"
    for k, array in enumerate(arrays):
        rows = store_rows(m, memory, memory.data[k if len(memory.data) > 1 else 0])
        _move(m, kind, memory.bytes, array, mask, span, rows, strict)
    if strict:
        entry = new_entry(f, m.state, queue)
        f.put(ENTRY, entry, "kind", layout.ENTRY_STORE)
        f.put(ENTRY, entry, "mask", mask)
        if queue == "lds":
            note_addresses(f, entry, arrays, memory.bytes)


def store_rows(m: Emitter, memory: MemoryOp, name: str) -> Value:
    """The rows that hold a store's data; a high half is moved down first."""
    f, b = m.f, m.f.b
    rows = m.slot(m.places[name].slot)
    if memory.extend not in (Extend.D16_HI, Extend.D16_HI_SIGN):
        return rows
    moved = f.local(I32, LANES)
    kind = ir.VectorType(I32, CHUNK)
    with f.loop(LANES, CHUNK) as base:
        value = b.lshr(f.load(kind, f.item(rows, base, 4), 4), splat(f, const(32, 16), CHUNK))
        f.store(value, f.item(moved, base, 4), 4)
    return moved
