"""Native code of scalar loads and stores: one address a wave, dwords into consecutive scalar registers.

Owns their alignment, bounds and, in strict mode, their delivery at lgkmcnt(0) only.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import layout, race_codegen
from asmevo.backend.emulator.atomics import combine
from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.irkit import I32, I64, Value, const
from asmevo.backend.emulator.layout import ENTRY
from asmevo.backend.emulator.memory_codegen import DEFINED, SCALAR, STORES, TRACKED, resolve
from asmevo.backend.emulator.queue_codegen import fill_load, new_entry
from asmevo.ir.semantics.expr import MemoryOp


def emit(m: Emitter, memory: MemoryOp, strict: bool) -> None:
    """Loads `memory.bytes` into the destination, or stores the data operand; the two low address bits are ignored.

    An atomic does both; with a descriptor it does nothing, and gives 0, where its last byte is out of range. A descriptor's
    stride counts only for its size.
    """
    f, b = m.f, m.f.b
    address = m.emit(memory.addresses[0])
    if memory.addresses[0].bits < 64:
        address = b.zext(address, I64)
    limit: Value | None = None
    if memory.resource is not None:
        at = m.slot(m.places[memory.resource].slot)
        low = f.load(I64, at, 4)
        records = b.zext(f.load(I32, f.at(at, 8), 4), I64)
        stride = b.zext(b.and_(f.load(I32, f.at(at, 6), 2), const(32, 0x3FFF)), I64)
        limit = b.mul(records, b.select(b.icmp_unsigned("==", stride, const(64, 0)), const(64, 1), stride))
        offset = b.and_(address, const(64, -4))
        base = b.and_(low, const(64, 0xFFFF_FFFF_FFFC))
        address = b.add(base, offset)
        limit = b.sub(limit, offset)
    address = b.and_(address, const(64, -4))
    if memory.atomic is not None:
        _atomic(m, memory, address, limit, strict)
        return
    count = memory.bytes // 4
    lane = const(64, 0)
    reads = DEFINED | TRACKED | SCALAR if strict else 0
    if memory.dest is None:
        source = m.slot(m.places[memory.data[0]].slot)
        place = resolve(f, m.state, address, memory.bytes, lane, STORES | (TRACKED if strict else 0))
        for n in range(count):
            f.store(f.load(I32, f.at(source, 4 * n), 4), f.at(place, 4 * n), 4)
        return
    place_of = m.places[memory.dest]
    entry = new_entry(f, m.state, "smem") if strict else None
    target = m.slot(place_of.slot) if entry is None else f.field(ENTRY, entry, "data")
    if limit is None:
        place = resolve(f, m.state, address, memory.bytes, lane, reads)
        for n in range(count):
            f.store(f.load(I32, f.at(place, 4 * n), 4), f.at(target, 4 * n), 4)
    else:
        for n in range(count):
            f.store(const(32, 0), f.at(target, 4 * n), 4)
            with f.when(b.icmp_signed(">=", limit, const(64, 4 * n + 4))):
                at = b.add(address, const(64, 4 * n))
                place = resolve(f, m.state, at, 4, lane, reads)
                f.store(f.load(I32, place, 4), f.at(target, 4 * n), 4)
    if entry is not None:
        slot = f.load(I32, f.at(m.op, layout.offset(layout.OP, "slot") + 4 * place_of.slot), 4)
        fill_load(f, m.state, entry, layout.ENTRY_SCALAR, b.lshr(slot, const(32, 2)), count, const(64, -1))


def _atomic(m: Emitter, memory: MemoryOp, address: Value, limit: Value | None, strict: bool) -> None:
    f, b = m.f, m.f.b
    size = memory.bytes
    kind = ir.IntType(8 * size)
    place = m.places[memory.data[0]]
    count = max(1, place.bits // (8 * size)) if "cmpswap" in str(memory.atomic) else 1
    given = [f.load(kind, f.at(m.slot(place.slot), size * n), 4) for n in range(count)]
    before = f.local(kind)
    f.store(ir.Constant(kind, 0), before)
    inside = const(1, 1) if limit is None else b.icmp_signed(">=", limit, const(64, size))
    lane = const(64, 0)
    with f.when(inside):
        if strict:
            race_codegen.sync(f, m.state, release=True, acquire=memory.dest is not None)
        at = resolve(f, m.state, address, size, lane, STORES | (DEFINED | TRACKED if strict else 0))
        old = f.load(kind, at)
        f.store(combine(m, str(memory.atomic), old, [given], size), at)
        f.store(old, before)
    if memory.dest is None:
        return
    entry = new_entry(f, m.state, "smem") if strict else None
    target = m.slot(m.places[memory.dest].slot) if entry is None else f.field(ENTRY, entry, "data")
    f.store(f.load(kind, before), target, 4)
    if entry is not None:
        slot = f.load(I32, f.at(m.op, layout.offset(layout.OP, "slot") + 4 * m.places[memory.dest].slot), 4)
        fill_load(f, m.state, entry, layout.ENTRY_SCALAR, b.lshr(slot, const(32, 2)), size // 4, const(64, -1))
