"""Native code of the buffer rules: descriptor fields, swizzling, range checks, loads to LDS.

Source: CDNA3 ISA guide 9.1.5. Raw: a dword is out of range when its offset, with soffset, reaches num_records. With an index
and a stride: when the index reaches num_records. Out of range loads give 0 and stores are dropped. A swizzled buffer keeps
elements of 2 to 16 bytes of `index stride` records side by side: element e of record i lies at
(i / n * stride + e * size) * n + i % n * size. With add-thread-id the lane's number is added to the index, and the data format
field holds bits 17:14 of the stride.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from asmevo.backend.emulator import layout, race_codegen
from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.faulting import check
from asmevo.backend.emulator.irkit import I1, I32, I64, Value, const
from asmevo.backend.emulator.layout import ENTRY, LANES
from asmevo.backend.emulator.lds_codegen import check_races, mark_written, note_change, place
from asmevo.backend.emulator.memory_codegen import transfer
from asmevo.backend.emulator.queue_codegen import new_entry
from asmevo.ir.semantics.expr import Extend, MemoryOp


@dataclass(frozen=True, slots=True)
class Range:
    """Active lanes whose first byte is in range, active lanes out of range, and what is needed to place their other dwords.

    Where the range was checked by index, whole elements are in or out. Else `offsets` are the lanes' byte offsets, 64 i64, that
    were compared, and `limit` the first that is out of range.
    """

    mask: Value
    out: Value
    offsets: Value
    limit: Value
    resource: Resource

    @property
    def structured(self) -> Value:
        """Whether the range was checked by index."""
        return self.resource.structured


@dataclass(frozen=True, slots=True)
class Resource:
    """A descriptor's fields and the scalar offset: i64 values, but for the flags `structured` and `swizzled`."""

    base: Value
    records: Value
    soffset: Value
    stride: Value
    structured: Value
    """Whether records are counted, not bytes."""
    swizzled: Value
    index_shift: Value
    """log2 of the records that lie side by side."""
    element_shift: Value
    """log2 of an element's bytes."""
    tid: Value
    """1 where the lane's number is added to the index."""

    def within(self, m: Emitter, offset: Value) -> Value:
        """Where byte `offset` of a record of a swizzled buffer lies, from the record's first."""
        b = m.f.b
        size = b.shl(const(64, 1), self.element_shift)
        inside = b.and_(offset, b.sub(size, const(64, 1)))
        return b.or_(b.shl(b.sub(offset, inside), self.index_shift), inside)


def _resource(m: Emitter, memory: MemoryOp) -> Resource:
    f, b = m.f, m.f.b
    assert memory.resource is not None
    at = m.slot(m.places[memory.resource].slot)
    words = [f.load(I32, f.at(at, 4 * n), 4) for n in range(4)]

    def field(word: int, low: int, bits: int) -> Value:
        return b.zext(b.and_(b.lshr(words[word], const(32, low)), const(32, (1 << bits) - 1)), I64)

    tid = field(3, 23, 1)
    stride = b.or_(field(1, 16, 14), b.mul(b.shl(field(3, 15, 4), const(64, 14)), tid))
    return Resource(
        base=b.or_(field(0, 0, 32), b.shl(field(1, 0, 16), const(64, 32))),
        records=field(2, 0, 32),
        soffset=const(64, 0) if memory.soffset is None else b.zext(m.emit(memory.soffset), I64),
        stride=stride,
        structured=const(1, 0) if memory.index is None else b.icmp_unsigned("!=", stride, const(64, 0)),
        swizzled=b.trunc(field(1, 31, 1), I1),
        index_shift=b.add(field(3, 21, 2), const(64, 3)),
        element_shift=b.add(field(3, 19, 2), const(64, 1)),
        tid=tid,
    )


def resolve_addresses(m: Emitter, memory: MemoryOp, offsets: Value, mask: Value, lanes: int) -> Range:
    """Replaces byte offsets by addresses, and checks them against the descriptor."""
    f, b = m.f, m.f.b
    r = _resource(m, memory)
    inside, kept = f.local(I64), f.local(I64, LANES)
    f.store(const(64, 0), inside, 8)
    unusual = b.or_(r.swizzled, b.icmp_unsigned("!=", r.tid, const(64, 0)))
    with b.if_else(unusual, likely=False) as (odd, plain):
        with odd, f.loop(LANES) as lane:
            _swizzled_address(m, memory, r, lane, f.item(offsets, lane, 8), f.item(kept, lane, 8), inside)
        with plain, f.loop(LANES, lanes) as lane:
            _linear_addresses(m.chunk(lanes, lane), memory, r, f.item(offsets, lane, 8), f.item(kept, lane, 8), inside)
    good = f.load(I64, inside, 8)
    return Range(b.and_(mask, good), b.and_(mask, b.not_(good)), kept, b.sub(r.records, r.soffset), r)


def _linear_addresses(c: Emitter, memory: MemoryOp, r: Resource, here: Value, kept: Value, inside: Value) -> None:
    """One chunk: the offsets at `here` become addresses; `kept` gets the offsets compared, `inside` the lanes in range."""
    f, b = c.f, c.f.b
    records, soffset = c.spread(r.records), c.spread(r.soffset)
    offset = f.load(c.kind(64), here, 8)
    if memory.index is None:
        ok = b.icmp_unsigned("<", b.add(offset, soffset), records)
    else:
        index = b.zext(c.emit(memory.index), c.kind(64))
        offset = b.add(offset, b.mul(index, c.spread(r.stride)))
        raw = b.icmp_unsigned("<", b.add(offset, soffset), records)
        ok = b.select(c.spread(r.structured), b.icmp_unsigned("<", index, records), raw)
    f.store(offset, kept, 8)
    f.store(b.add(b.add(offset, soffset), c.spread(r.base)), here, 8)
    bits = b.zext(b.bitcast(ok, ir.IntType(c.lanes)), I64)
    f.store(b.or_(f.load(I64, inside, 8), b.shl(bits, c.base)), inside, 8)


def _swizzled_address(m: Emitter, memory: MemoryOp, r: Resource, lane: Value, here: Value, kept: Value, inside: Value) -> None:
    """One lane, as `_linear_addresses`: such buffers are rare."""
    f, b = m.f, m.f.b
    offset = f.load(I64, here, 8)
    given = const(64, 0)
    if memory.index is not None:
        given = b.zext(b.extract_element(m.chunk(1, lane).emit(memory.index), const(32, 0)), I64)
    index = b.add(given, b.mul(lane, r.tid))
    low = b.and_(index, b.sub(b.shl(const(64, 1), r.index_shift), const(64, 1)))
    across = b.mul(b.sub(index, low), r.stride)
    moved = b.add(b.add(across, b.shl(low, r.element_shift)), r.within(m, offset))
    linear = b.add(offset, b.mul(index, r.stride))
    compared = b.select(r.swizzled, offset, linear)
    raw = b.icmp_unsigned("<", b.add(compared, r.soffset), r.records)
    ok = b.select(r.structured, b.icmp_unsigned("<", given, r.records), raw)
    f.store(compared, kept, 8)
    f.store(b.add(b.add(b.select(r.swizzled, moved, linear), r.soffset), r.base), here, 8)
    f.store(b.or_(f.load(I64, inside, 8), b.shl(b.zext(ok, I64), lane)), inside, 8)


def _clear(m: Emitter, row: Value, mask: Value) -> None:
    with m.f.each_lane(mask) as lane:
        m.f.store(const(32, 0), m.f.item(row, lane, 4), 4)


def clear_rows(m: Emitter, rows: Value, count: int, mask: Value) -> None:
    """Zeroes `count` rows in the lanes of `mask`."""
    for row in range(count):
        _clear(m, m.f.at(rows, 4 * LANES * row), mask)


def transfer_rows(m: Emitter, kind: str, addresses: Value, span: Range, rows: Value, count: int, strict: bool) -> None:
    """Moves `count` dwords a lane; when some lane's last dwords are out of range or apart, each dword goes by itself."""
    f, b = m.f, m.f.b
    beyond = f.local(I64)
    f.store(const(64, 0), beyond, 8)
    last = b.sub(span.limit, const(64, 4 * count - 3))
    with f.each_lane(b.select(span.structured, const(64, 0), span.mask)) as lane:
        out = b.icmp_signed(">", f.load(I64, f.item(span.offsets, lane, 8), 8), last)
        f.store(b.or_(f.load(I64, beyond, 8), b.shl(b.zext(out, I64), lane)), beyond, 8)
    together = b.and_(b.icmp_unsigned("==", f.load(I64, beyond, 8), const(64, 0)), b.not_(span.resource.swizzled))
    with b.if_else(together, likely=True) as (whole, split):
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
            offset = f.load(I64, f.item(span.offsets, lane, 8), 8)
            following = b.add(offset, const(64, 4 * part))
            apart = b.sub(span.resource.within(m, following), span.resource.within(m, offset))
            distance = b.select(span.resource.swizzled, apart, const(64, 4 * part))
            address = b.add(f.load(I64, f.item(addresses, lane, 8), 8), distance)
            f.store(address, f.item(moved, lane, 8), 8)
            ok = b.or_(span.structured, b.icmp_signed("<", following, span.limit))
            f.store(b.or_(f.load(I64, inside, 8), b.shl(b.zext(ok, I64), lane)), inside, 8)
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
    if strict:
        note_change(f, m.state)
    flying = const(32, layout.WAVE_DMA << layout.EPOCH_BITS | layout.IN_FLIGHT)
    with f.each_lane(everyone) as lane:
        for part in range(count):
            address = b.add(b.add(base, b.mul(lane, const(64, step))), const(64, 4 * part))
            at, address = place(f, m.state, address, lane, 4)
            value = f.load(I32, f.item(f.at(rows, 4 * LANES * part), lane, 4), 4)
            if memory.extend is Extend.SIGN:
                value = b.sext(b.trunc(value, ir.IntType(8 * memory.bytes)), I32)
            if entry is not None:
                race_codegen.watch_one(f, m.state, address, const(64, 4), const(32, 1))
                check_races(f, m.state, "lds_writer", address, lane, 4, written=[value])
                check_races(f, m.state, "lds_reader", address, lane, 4)
                mark_written(f, m.state, address, 4, flying)
            f.store(value, at, 4)
        if entry is not None:
            to = f.item(f.field(ENTRY, entry, "address"), lane, 4)
            f.store(b.trunc(b.add(base, b.mul(lane, const(64, step))), I32), to, 4)
    if entry is not None:
        f.put(ENTRY, entry, "kind", layout.ENTRY_STORE)
        f.put(ENTRY, entry, "mask", everyone)
        f.put(ENTRY, entry, "points", 1)
        f.put(ENTRY, entry, "bytes", step)
