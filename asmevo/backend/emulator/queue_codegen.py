"""Native functions for what has been issued and not yet waited for: entries, delivery, s_waitcnt.

Owns the order of completion: vector memory in order, LDS in order, scalar loads only at zero. Nothing is delivered before the
wait that covers it, so a missing wait shows as a pending register or an LDS byte in flight.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from llvmlite import ir

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.faulting import check
from asmevo.backend.emulator.irkit import I16, I32, I64, PTR, Function, Value, const
from asmevo.backend.emulator.layout import ENTRY, LANES, OP, QUEUE_SLOTS, RACE, STATE
from asmevo.backend.emulator.lds_codegen import complete
from asmevo.backend.emulator.memory_codegen import lane_mask
from asmevo.ir.registers import VGPR0

_LIMITS = {"vm": layout.VM_LIMIT, "lds": layout.LGKM_LIMIT, "smem": layout.QUEUE_SLOTS - 1}
COVER_TYPE = ir.FunctionType(I32, (PTR, I32))
ENTRY_TYPE = ir.FunctionType(PTR, (PTR,))
POP_TYPE = ir.FunctionType(I32, (PTR,))
_CHUNK = 16


def new_entry(f: Function, state: Value, queue: str) -> Value:
    """A fresh entry at the end of a queue; the oldest is delivered first when the counter is full, as issue stalls then."""
    entry = f.b.call(f.external(f"asm_entry_{queue}", PTR, PTR), [state])
    with f.when(f.b.icmp_unsigned("==", entry, ir.Constant(PTR, None)), likely=False):
        f.ret(layout.FAULT)
    return entry


def build_entry(module: ir.Module, queue: str) -> None:
    """`asm_entry_QUEUE(state)`: an entry to fill, counted as outstanding; null when delivering the oldest one faulted."""
    f = Function(module, f"asm_entry_{queue}", ENTRY_TYPE)
    (state,) = f.args
    b = f.b
    full = b.icmp_unsigned(">=", f.get(STATE, state, f"{queue}_count"), const(32, _LIMITS[queue]))
    with f.when(full, likely=False):
        status = b.call(f.external(f"asm_pop_{queue}", I32, PTR), [state])
        with f.when(b.icmp_unsigned("!=", status, const(32, 0)), likely=False):
            b.ret(ir.Constant(PTR, None))
    count = f.get(STATE, state, f"{queue}_count")
    place = b.and_(b.add(f.get(STATE, state, f"{queue}_head"), count), const(32, QUEUE_SLOTS - 1))
    f.put(STATE, state, f"{queue}_count", b.add(count, const(32, 1)))
    entry = f.item(f.field(STATE, state, f"{queue}_queue"), place, ENTRY.itemsize)
    f.put(ENTRY, entry, "op", f.get(STATE, state, "at"))
    f.put(ENTRY, entry, "epoch", f.get(STATE, state, "epoch"))
    f.put(ENTRY, entry, "points", 0)
    f.put(ENTRY, entry, "atomic", 0)
    f.put(ENTRY, entry, "covered", 0)
    f.put(ENTRY, entry, "changes", f.get(RACE, f.pointer(STATE, state, "race"), "lds_changes"))
    b.ret(entry)


def fill_load(f: Function, state: Value, entry: Value, kind: int, dest: Value, rows: int, mask: Value) -> None:
    """Makes `rows` registers from unit `dest` pending in the lanes of `mask`."""
    b = f.b
    f.put(ENTRY, entry, "kind", kind)
    f.put(ENTRY, entry, "dest", dest)
    f.put(ENTRY, entry, "rows", rows)
    f.put(ENTRY, entry, "mask", mask)
    start = b.mul(b.zext(dest, I64), const(64, 8))
    for row in range(rows):
        valid = f.at(f.at(f.field(STATE, state, "valid"), start), 8 * row)
        pending = f.at(f.at(f.field(STATE, state, "pending"), start), 8 * row)
        f.store(b.and_(f.load(I64, valid, 8), b.not_(mask)), valid, 8)
        f.store(b.or_(f.load(I64, pending, 8), mask), pending, 8)


def build_pop(module: ir.Module, queue: str) -> None:
    """`asm_pop_QUEUE(state)`: delivers the oldest entry; a status."""
    f = Function(module, f"asm_pop_{queue}", POP_TYPE)
    (state,) = f.args
    b = f.b
    head = f.get(STATE, state, f"{queue}_head")
    entry = f.item(f.field(STATE, state, f"{queue}_queue"), head, ENTRY.itemsize)
    f.put(STATE, state, f"{queue}_head", b.and_(b.add(head, const(32, 1)), const(32, QUEUE_SLOTS - 1)))
    f.put(STATE, state, f"{queue}_count", b.sub(f.get(STATE, state, f"{queue}_count"), const(32, 1)))
    kind = f.get(ENTRY, entry, "kind")
    mask = f.get(ENTRY, entry, "mask")
    if queue != "smem":
        check(f, complete(f, state, entry))
        with f.when(b.icmp_unsigned("==", kind, const(32, layout.ENTRY_STORE))):
            f.ret(0)
    dest = b.zext(f.get(ENTRY, entry, "dest"), I64)
    rows = b.zext(f.get(ENTRY, entry, "rows"), I64)
    data = f.field(ENTRY, entry, "data")
    if queue == "smem":
        target = f.item(f.field(STATE, state, "scalar"), dest, 4)
        with f.loop(rows) as row:
            f.store(f.load(I32, f.item(data, row, 4), 4), f.item(target, row, 4), 4)
    else:
        if queue == "vm":
            with f.when(b.icmp_unsigned("!=", f.get(ENTRY, entry, "covered"), const(32, 0)), likely=False):
                _deliver_covered(f, state, entry)
                f.ret(0)
        first = f.item(f.field(STATE, state, "vector"), b.sub(dest, const(64, VGPR0)), 4 * LANES)
        kind16 = ir.VectorType(I32, _CHUNK)
        with f.loop(rows) as row, f.loop(LANES, _CHUNK) as lane:
            target = f.item(f.item(first, row, 4 * LANES), lane, 4)
            value = f.load(kind16, f.item(f.item(data, row, 4 * LANES), lane, 4), 4)
            old = f.load(kind16, target, 4)
            f.store(b.select(lane_mask(f, mask, lane, _CHUNK), value, old), target, 4)
    with f.loop(rows) as row:
        unit = b.add(dest, row)
        valid = f.item(f.field(STATE, state, "valid"), unit, 8)
        pending = f.item(f.field(STATE, state, "pending"), unit, 8)
        f.store(b.or_(f.load(I64, valid, 8), mask), valid, 8)
        f.store(b.and_(f.load(I64, pending, 8), b.not_(mask)), pending, 8)
    f.ret(0)


def _deliver_covered(f: Function, state: Value, entry: Value) -> None:
    """Delivers a vector load some of whose registers later loads, still outstanding, will get: those stay pending."""
    b = f.b
    dest, rows, mask = (f.get(ENTRY, entry, name) for name in ("dest", "rows", "mask"))
    left = f.local(I64)
    with f.loop(b.zext(rows, I64)) as row:
        unit = b.add(dest, b.trunc(row, I32))
        f.store(mask, left, 8)
        with _entries(f, state, "vm") as other, f.when(_holds(f, other, unit)):
            f.store(b.and_(f.load(I64, left, 8), b.not_(f.get(ENTRY, other, "mask"))), left, 8)
        lanes = f.load(I64, left, 8)
        target = f.item(f.field(STATE, state, "vector"), b.sub(unit, const(32, VGPR0)), 4 * LANES)
        data = f.item(f.field(ENTRY, entry, "data"), row, 4 * LANES)
        with f.each_lane(lanes) as lane:
            f.store(f.load(I32, f.item(data, lane, 4), 4), f.item(target, lane, 4), 4)
        valid, pending = (f.item(f.field(STATE, state, table), unit, 8) for table in ("valid", "pending"))
        f.store(b.or_(f.load(I64, valid, 8), lanes), valid, 8)
        f.store(b.and_(f.load(I64, pending, 8), b.not_(lanes)), pending, 8)


@contextmanager
def _entries(f: Function, state: Value, queue: str) -> Generator[Value, None, None]:
    """Visits the entries of a queue, oldest first."""
    b = f.b
    head = f.get(STATE, state, f"{queue}_head")
    with f.loop(b.zext(f.get(STATE, state, f"{queue}_count"), I64)) as n:
        place = b.and_(b.add(head, b.trunc(n, I32)), const(32, QUEUE_SLOTS - 1))
        yield f.item(f.field(STATE, state, f"{queue}_queue"), place, ENTRY.itemsize)


def _holds(f: Function, entry: Value, unit: Value) -> Value:
    """Whether an entry is a load to a register."""
    b = f.b
    loads = b.icmp_unsigned("!=", f.get(ENTRY, entry, "kind"), const(32, layout.ENTRY_STORE))
    return b.and_(loads, b.icmp_unsigned("<", b.sub(unit, f.get(ENTRY, entry, "dest")), f.get(ENTRY, entry, "rows")))


def build_cover(module: ir.Module) -> None:
    """`asm_cover(state, unit)`: 1 when all that a register waits for returns in order; its entries are then covered."""
    f = Function(module, "asm_cover", COVER_TYPE)
    state, unit = f.args
    b = f.b
    for queue in ("lds", "smem"):
        with _entries(f, state, queue) as entry, f.when(_holds(f, entry, unit)):
            f.ret(0)
    with _entries(f, state, "vm") as entry, f.when(_holds(f, entry, unit)):
        op = f.item(f.pointer(STATE, state, "ops"), f.get(ENTRY, entry, "op"), OP.itemsize)
        with f.when(b.icmp_unsigned("==", f.get(OP, op, "in_order"), const(32, 0)), likely=False):
            f.ret(0)
        f.put(ENTRY, entry, "covered", 1)
    b.ret(const(32, 1))


def build_wait(module: ir.Module) -> None:
    """`asm_wait(state, op)`: delivers what vmcnt (imm 0) and lgkmcnt (imm 1) cover; all ones where a count is not waited on.

    LDS operations complete in order, so at most lgkmcnt of them remain whatever scalar loads are outstanding; a scalar load
    is certain only at lgkmcnt(0).
    """
    f = Function(module, "asm_wait")
    state, op = f.args
    b = f.b
    for position, queue in ((0, "vm"), (1, "lds"), (1, "smem")):
        allowed = f.load(I64, f.at(op, layout.offset(OP, "imm") + 8 * position), 8)
        if queue == "smem":
            allowed = b.select(b.icmp_unsigned("==", allowed, const(64, 0)), const(64, 0), const(64, 1 << 20))
        count = b.zext(f.get(STATE, state, f"{queue}_count"), I64)
        more = b.icmp_unsigned(">", count, allowed)
        with f.loop(b.select(more, b.sub(count, allowed), const(64, 0))):
            check(f, b.call(f.external(f"asm_pop_{queue}", I32, PTR), [state]))
    f.ret(0)


__all__ = ["I16", "build_cover", "build_entry", "build_pop", "build_wait", "fill_load", "new_entry"]
