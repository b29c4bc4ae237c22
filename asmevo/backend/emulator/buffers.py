"""Native code of the buffer rules: descriptor fields, range checks, loads to LDS.

Source: CDNA3 ISA guide 9.1.5. Raw: a dword is out of range when its offset, with soffset, reaches num_records. With an index
and a stride: when the index reaches num_records. Out of range loads give 0 and stores are dropped.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from asmevo.backend.emulator import layout, race_codegen
from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.faulting import check, fault
from asmevo.backend.emulator.irkit import I32, I64, Value, const, splat
from asmevo.backend.emulator.layout import ENTRY, LANES
from asmevo.backend.emulator.lds_codegen import check_races, mark_written, place
from asmevo.backend.emulator.memory_codegen import transfer
from asmevo.backend.emulator.queue_codegen import new_entry
from asmevo.ir.semantics.expr import Extend, MemoryOp


@dataclass(frozen=True, slots=True)
class Range:
    """Active lanes whose first byte is in range, active lanes out of range, the first address beyond.

    `structured`: the range was checked by index, so whole elements are in or out.
    """

    mask: Value
    out: Value
    end: Value
    structured: Value


def resolve_addresses(m: Emitter, memory: MemoryOp, offsets: Value, mask: Value, lanes: int) -> Range:
    """Replaces byte offsets by addresses, and checks them against the descriptor."""
    f, b = m.f, m.f.b
    assert memory.resource is not None
    at = m.slot(m.places[memory.resource].slot)
    words = [f.load(I32, f.at(at, 4 * n), 4) for n in range(4)]
    high = b.zext(b.and_(words[1], const(32, 0xFFFF)), I64)
    base = b.or_(b.zext(words[0], I64), b.shl(high, const(64, 32)))
    stride = b.zext(b.and_(b.lshr(words[1], const(32, 16)), const(32, 0x3FFF)), I64)
    records = b.zext(words[2], I64)
    odd = b.or_(b.and_(words[1], const(32, 1 << 31)), b.and_(words[3], const(32, 1 << 23)))
    with f.when(b.icmp_unsigned("!=", odd, const(32, 0)), likely=False):
        f.ret(fault(f, m.state, "unsupported", const(32, 0), base))
    soffset = const(64, 0)
    if memory.soffset is not None:
        soffset = b.zext(m.emit(memory.soffset), I64)
    kind = ir.VectorType(I64, lanes)
    inside = f.local(I64)
    f.store(const(64, 0), inside, 8)
    structured = const(1, 0)
    if memory.index is not None:
        structured = b.icmp_unsigned("!=", stride, const(64, 0))
    with f.loop(LANES, lanes) as lane:
        here = f.item(offsets, lane, 8)
        offset = f.load(kind, here, 8)
        ok = b.icmp_unsigned("<", b.add(offset, splat(f, soffset, lanes)), splat(f, records, lanes))
        if memory.index is not None:
            c = m.chunk(lanes, lane)
            index = b.zext(c.emit(memory.index), kind)
            offset = b.add(offset, b.mul(index, splat(f, stride, lanes)))
            raw = b.icmp_unsigned("<", b.add(offset, splat(f, soffset, lanes)), splat(f, records, lanes))
            ok = b.select(splat(f, structured, lanes), b.icmp_unsigned("<", index, splat(f, records, lanes)), raw)
        address = b.add(b.add(offset, splat(f, soffset, lanes)), splat(f, base, lanes))
        f.store(address, here, 8)
        bits = b.zext(b.bitcast(ok, ir.IntType(lanes)), I64)
        f.store(b.or_(f.load(I64, inside, 8), b.shl(bits, lane)), inside, 8)
    good = f.load(I64, inside, 8)
    return Range(b.and_(mask, good), b.and_(mask, b.not_(good)), b.add(base, records), structured)


def _clear(m: Emitter, row: Value, mask: Value) -> None:
    with m.f.each_lane(mask) as lane:
        m.f.store(const(32, 0), m.f.item(row, lane, 4), 4)


def clear_rows(m: Emitter, rows: Value, count: int, mask: Value) -> None:
    """Zeroes `count` rows in the lanes of `mask`."""
    for row in range(count):
        _clear(m, m.f.at(rows, 4 * LANES * row), mask)


def transfer_rows(m: Emitter, kind: str, addresses: Value, span: Range, rows: Value, count: int, strict: bool) -> None:
    """Moves `count` dwords a lane; when some lane's last dwords are out of range, each dword is checked by itself."""
    f, b = m.f, m.f.b
    beyond = f.local(I64)
    f.store(const(64, 0), beyond, 8)
    last = b.sub(span.end, const(64, 4 * count - 3))
    with f.each_lane(b.select(span.structured, const(64, 0), span.mask)) as lane:
        out = b.icmp_signed(">", f.load(I64, f.item(addresses, lane, 8), 8), last)
        f.store(b.or_(f.load(I64, beyond, 8), b.shl(b.zext(out, I64), lane)), beyond, 8)
    with b.if_else(b.icmp_unsigned("==", f.load(I64, beyond, 8), const(64, 0)), likely=True) as (whole, split):
        with whole:
            check(f, transfer(f, kind, 4 * count, strict, [m.state, addresses, span.mask, rows]))
        with split:
            _split(m, kind, addresses, span, rows, count, strict)


def _split(m: Emitter, kind: str, addresses: Value, span: Range, rows: Value, count: int, strict: bool) -> None:
    f, b = m.f, m.f.b
    moved = f.local(I64, LANES)
    inside = f.local(I64)
    for part in range(count):
        f.store(const(64, 0), inside, 8)
        with f.each_lane(span.mask) as lane:
            address = b.add(f.load(I64, f.item(addresses, lane, 8), 8), const(64, 4 * part))
            f.store(address, f.item(moved, lane, 8), 8)
            ok = b.zext(b.icmp_unsigned("<", address, span.end), I64)
            f.store(b.or_(f.load(I64, inside, 8), b.shl(ok, lane)), inside, 8)
        mask = f.load(I64, inside, 8)
        row = f.at(rows, 4 * LANES * part)
        if kind == "load":
            _clear(m, row, b.and_(span.mask, b.not_(mask)))
        check(f, transfer(f, kind, 4, strict, [m.state, moved, mask, row]))


def load_to_lds(m: Emitter, memory: MemoryOp, addresses: Value, mask: Value, span: Range | None, strict: bool) -> None:
    """Loads a dword or more for each lane and writes LDS at the base plus as many bytes times the lane's number.

    It is visible only when vmcnt covers it.
    """
    f, b = m.f, m.f.b
    assert memory.to_lds is not None
    base = b.zext(m.emit(memory.to_lds), I64)
    step = max(4, memory.bytes)
    count = max(1, memory.bytes // 4)
    rows = f.local(I32, LANES * count)
    everyone = mask if span is None else b.or_(mask, span.out)
    if span is not None:
        clear_rows(m, rows, count, span.out)
    if span is not None and count > 1:
        transfer_rows(m, "load", addresses, span, rows, count, strict)
    else:
        check(f, transfer(f, "load", memory.bytes, strict, [m.state, addresses, mask, rows]))
    entry = new_entry(f, m.state, "vm") if strict else None
    flying = const(32, layout.WAVE_DMA << layout.EPOCH_BITS | layout.IN_FLIGHT)
    with f.each_lane(everyone) as lane:
        for part in range(count):
            address = b.add(b.add(base, b.mul(lane, const(64, step))), const(64, 4 * part))
            at, address = place(f, m.state, address, lane, 4)
            if entry is not None:
                race_codegen.watch_one(f, m.state, address, const(64, 4), const(32, 1))
                check_races(f, m.state, "lds_writer", address, lane, 4)
                check_races(f, m.state, "lds_reader", address, lane, 4)
                mark_written(f, m.state, address, 4, flying)
            value = f.load(I32, f.item(f.at(rows, 4 * LANES * part), lane, 4), 4)
            if memory.extend is Extend.SIGN:
                value = b.sext(b.trunc(value, ir.IntType(8 * memory.bytes)), I32)
            f.store(value, at, 4)
        if entry is not None:
            to = f.item(f.field(ENTRY, entry, "address"), lane, 4)
            f.store(b.trunc(b.add(base, b.mul(lane, const(64, step))), I32), to, 4)
    if entry is not None:
        f.put(ENTRY, entry, "kind", layout.ENTRY_STORE)
        f.put(ENTRY, entry, "mask", everyone)
        f.put(ENTRY, entry, "points", 1)
        f.put(ENTRY, entry, "bytes", step)
