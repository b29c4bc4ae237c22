"""Native code of vector memory operations: addresses of every lane, the access in its space, and its data.

Owns LDS, buffer, global, flat and scratch accesses of a lane program. Register results of other programs are not its concern.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import atomics, buffers, layout
from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.faulting import check, refuse
from asmevo.backend.emulator.irkit import I16, I32, I64, Function, Value, const, splat
from asmevo.backend.emulator.layout import ENTRY, LANES, STATE
from asmevo.backend.emulator.memory_codegen import lane_mask, transfer
from asmevo.backend.emulator.queue_codegen import fill_load, new_entry
from asmevo.backend.emulator.register_writes import CHUNK, dest_unit
from asmevo.ir.registers import EXEC
from asmevo.ir.semantics.expr import Extend, MemoryOp
from asmevo.ir.semantics.form import PRIVATE_APERTURE, SHARED_APERTURE

_HALVES = frozenset({Extend.D16_LO, Extend.D16_HI, Extend.D16_LO_SIGN, Extend.D16_HI_SIGN})


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


def emit(m: Emitter, memory: MemoryOp, space: str, strict: bool) -> None:
    """Makes the access of every active lane in its space; nothing happens where EXEC is 0."""
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
