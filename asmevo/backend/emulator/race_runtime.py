"""Native functions for races on global memory: who last wrote and read each byte, and what orders two waves.

For every dword of a buffer that may be written two shadow words hold the segment of its last writer and of its last reader,
with the bits MANY, GROUPS and COHERENT. Once an access covers a part of a dword, or one of its bytes has to be looked at
closely, the dword's word is SPLIT, and each of its bytes has two shadow words of its own. A segment is a stretch of one wave
between barriers and releases. Segments are numbered in the order of the run, and work-groups run one after another, their
waves mostly too between barriers, so that a number tells by itself (the segments of a wave that was stopped so that others
could run are told by the wave that they name):

- from `own_first` on: this wave, since the last barrier;
- from `epoch_first` on: another wave of the work-group, since the last barrier: not ordered;
- from `group_first` on: this work-group, before the last barrier: ordered;
- below: another work-group: ordered only if it was released and this wave has acquired since.

The order that is assumed is that of the compiler's memory model (LLVM, AMDGPUUsage, gfx90a and gfx942): vector memory accesses
of one wave are done in order; waves of a work-group share a cache, so that a barrier orders them without a wait; to other
work-groups a wave releases, by an atomic or coherent store, what it has waited for and what barriers put before. All atomics
and coherent accesses count as one synchronisation object. Two atomic or coherent accesses never conflict, and neither do two
writes of the same value. Owns this order alone; bounds and definedness are `memory_codegen`'s.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import layout, race_notes
from asmevo.backend.emulator.faulting import check, fault
from asmevo.backend.emulator.irkit import I8, I32, I64, PTR, Function, Value, const
from asmevo.backend.emulator.layout import ENTRY, LOG, QUEUE_SLOTS, RACE, SEGMENT, STATE
from asmevo.backend.emulator.race_codegen import CLASH_TYPE, PENDING_TYPE, STATE_TYPE, SYNC_TYPE, WATCH_TYPE
from asmevo.backend.emulator.race_words import (
    NUMBER,
    byte_word,
    dword_word,
    is_marked,
    is_own_earlier,
    map_entry,
    race_of,
    segment_at,
)

_NULL = ir.Constant(PTR, None)


def build(module: ir.Module, sizes: tuple[int, ...]) -> None:
    """All functions of the race check; accesses have one of `sizes`."""
    race_notes.build(module, sizes)
    _build_segment(module)
    _build_clash(module)
    _build_outstanding(module)
    _build_sync(module)
    _build_own_pending(module)
    _build_watch(module)


def _build_segment(module: ir.Module) -> None:
    """`asm_segment(state)`: the number of the wave's segment, begun when it has none; 0, with a fault, when none is left."""
    f = Function(module, "asm_segment", STATE_TYPE)
    (state,) = f.args
    b = f.b
    known = f.get(STATE, state, "segment")
    with f.when(b.icmp_unsigned("!=", known, const(32, 0)), likely=True):
        f.ret(known)
    race = race_of(f, state)
    number = f.get(RACE, race, "next")
    with f.when(b.icmp_unsigned(">=", number, const(32, layout.SEGMENT_LIMIT)), likely=False):
        fault(f, state, "unsupported", const(32, 0), const(64, 0))
        f.ret(0)
    segment = segment_at(f, state, number)
    f.put(SEGMENT, segment, "group", f.get(RACE, race, "group"))
    for name in ("wave", "epoch"):
        f.put(SEGMENT, segment, name, f.get(STATE, state, name))
    f.put(SEGMENT, segment, "released", 0)
    f.put(RACE, race, "next", b.add(number, const(32, 1)))
    f.put(STATE, state, "segment", number)
    f.put(STATE, state, "plain", 0)
    f.ret(number)


def _build_clash(module: ir.Module) -> None:
    """`asm_clash(state, place, size, lane, address, word, write, data)`: decides byte by byte; a race fault, or 0."""
    f = Function(module, "asm_clash", CLASH_TYPE)
    state, place, size, lane, address, word, write, data = f.args
    b = f.b
    writes = b.icmp_unsigned("!=", write, const(32, 0))
    acquired = f.get(STATE, state, "acquired")
    epoch_first, group_first = (f.get(STATE, state, name) for name in ("epoch_first", "group_first"))

    def unordered(number: Value) -> Value:
        own = b.or_(b.icmp_unsigned(">=", number, f.get(STATE, state, "own_first")), is_own_earlier(f, state, number))
        ordered = b.and_(b.icmp_unsigned(">=", number, group_first), b.icmp_unsigned("<", number, epoch_first))
        released = f.get(SEGMENT, segment_at(f, state, number), "released")
        seen = b.and_(b.icmp_unsigned("!=", released, const(32, 0)), b.icmp_unsigned("<=", released, acquired))
        harmless = b.or_(b.or_(own, ordered), b.or_(seen, b.icmp_unsigned("==", number, const(32, 0))))
        return b.not_(harmless)

    def conflicts(recorded: Value, more: Value) -> Value:
        both = b.icmp_unsigned("!=", b.and_(b.and_(recorded, word), const(32, layout.COHERENT)), const(32, 0))
        return b.and_(b.not_(both), b.or_(unordered(b.and_(recorded, const(32, NUMBER))), more))

    def report(recorded: Value, n: Value) -> None:
        f.put(STATE, state, "fault_other", b.and_(recorded, const(32, NUMBER)))
        check(f, fault(f, state, "race", lane, b.add(address, n)))
        f.ret(0)

    with f.loop(size) as n:
        at = f.at(place, n)
        writer = f.load(I32, byte_word(f, state, "byte_writers", at), 4)
        compared = f.choose(
            b.icmp_unsigned("!=", data, _NULL),
            lambda at=at, n=n: b.icmp_unsigned("==", f.load(I8, at), f.load(I8, f.at(data, n))),
            lambda: const(1, 0),
        )
        with f.when(b.and_(conflicts(writer, const(1, 0)), b.not_(compared)), likely=False):
            report(writer, n)
        with f.when(writes):
            reader = f.load(I32, byte_word(f, state, "byte_readers", at), 4)
            number = b.and_(reader, const(32, NUMBER))
            recent = b.icmp_unsigned(">=", number, epoch_first)
            many = b.and_(recent, b.icmp_unsigned("!=", b.and_(reader, const(32, layout.MANY)), const(32, 0)))
            groups = b.icmp_unsigned("!=", b.and_(reader, const(32, layout.GROUPS)), const(32, 0))
            groups = b.and_(groups, b.icmp_unsigned("==", acquired, const(32, 0)))
            with f.when(conflicts(reader, b.or_(many, groups)), likely=False):
                report(reader, n)
    f.ret(0)


def _build_outstanding(module: ir.Module) -> None:
    """`asm_outstanding(state)`: how many plain stores and write-backs of the wave no wait has covered."""
    f = Function(module, "asm_outstanding", STATE_TYPE)
    (state,) = f.args
    b = f.b
    found = f.local(I32)
    f.store(const(32, 0), found, 4)
    head = f.get(STATE, state, "vm_head")
    with f.loop(b.zext(f.get(STATE, state, "vm_count"), I64)) as n:
        slot = b.and_(b.add(head, b.trunc(n, I32)), const(32, QUEUE_SLOTS - 1))
        entry = f.item(f.field(STATE, state, "vm_queue"), slot, ENTRY.itemsize)
        stores = b.icmp_unsigned("==", f.get(ENTRY, entry, "kind"), const(32, layout.ENTRY_STORE))
        moves = b.icmp_unsigned("!=", f.get(ENTRY, entry, "mask"), const(64, 0))
        # What lands in LDS has points; it is no store to global memory.
        plain = b.icmp_unsigned("==", b.or_(f.get(ENTRY, entry, "atomic"), f.get(ENTRY, entry, "points")), const(32, 0))
        fence = b.icmp_unsigned("==", f.get(ENTRY, entry, "atomic"), const(32, layout.FENCE))
        counted = b.zext(b.and_(stores, b.or_(fence, b.and_(moves, plain))), I32)
        f.store(b.add(f.load(I32, found, 4), counted), found, 4)
    f.ret(f.load(I32, found, 4))


def _build_sync(module: ir.Module) -> None:
    """`asm_sync(state, release, acquire)`: what this wave may release gets the time, and what was released is acquired."""
    f = Function(module, "asm_sync", SYNC_TYPE)
    state, release, acquire = f.args
    b = f.b
    race = race_of(f, state)
    with f.when(b.icmp_unsigned("!=", release, const(32, 0))):
        complete = b.icmp_unsigned("==", b.call(f.external("asm_outstanding", I32, PTR), [state]), const(32, 0))
        now = b.add(f.get(RACE, race, "clock"), const(32, 1))
        f.put(RACE, race, "clock", now)
        first, end = f.get(RACE, race, "unreleased"), f.get(RACE, race, "next")
        with f.loop(b.zext(b.sub(end, first), I64)) as n:
            segment = segment_at(f, state, b.add(first, b.trunc(n, I32)))
            earlier = b.icmp_unsigned("<", f.get(SEGMENT, segment, "epoch"), f.get(STATE, state, "epoch"))
            own = b.icmp_unsigned("==", f.get(SEGMENT, segment, "wave"), f.get(STATE, state, "wave"))
            may = b.select(own, complete, earlier)
            fresh = b.icmp_unsigned("==", f.get(SEGMENT, segment, "released"), const(32, 0))
            with f.when(b.and_(may, fresh)):
                f.put(SEGMENT, segment, "released", now)
        with f.loop(b.zext(b.sub(end, first), I64)):
            front = f.get(RACE, race, "unreleased")
            done = b.icmp_unsigned("!=", f.get(SEGMENT, segment_at(f, state, front), "released"), const(32, 0))
            f.put(RACE, race, "unreleased", b.add(front, b.zext(done, I32)))
        with f.when(b.icmp_unsigned("!=", f.get(STATE, state, "plain"), const(32, 0))):
            f.put(STATE, state, "segment", 0)
            f.put(STATE, state, "plain", 0)
    with f.when(b.icmp_unsigned("!=", acquire, const(32, 0))):
        f.put(STATE, state, "acquired", f.get(RACE, race, "clock"))
    f.ret(0)


def _build_own_pending(module: ir.Module) -> None:
    """`asm_own_pending(state, place, address)`: a status; looks at one byte."""
    f = Function(module, "asm_own_pending", PENDING_TYPE)
    state, place, address = f.args
    b = f.b
    whole = f.load(I32, dword_word(f, state, "writers", b.inttoptr(b.and_(b.ptrtoint(place, I64), const(64, -4)), PTR)), 4)
    recorded = f.choose(
        b.icmp_unsigned("!=", whole, const(32, layout.SPLIT)),
        lambda: whole,
        lambda: f.load(I32, byte_word(f, state, "byte_writers", place), 4),
    )
    number = b.and_(recorded, const(32, NUMBER))
    here = b.icmp_unsigned(">=", number, f.get(STATE, state, "group_first"))
    own = b.icmp_unsigned("==", f.get(SEGMENT, segment_at(f, state, number), "wave"), f.get(STATE, state, "wave"))
    written = is_marked(f, map_entry(f, state, place), layout.MAP_WRITTEN, 1)
    with f.when(b.and_(written, b.and_(here, own)), likely=False):
        waiting = b.call(f.external("asm_outstanding", I32, PTR), [state])
        with f.when(b.icmp_unsigned("!=", waiting, const(32, 0))):
            f.put(STATE, state, "fault_other", number)
            check(f, fault(f, state, "race", const(32, 0), address))
    f.ret(0)


def _build_watch(module: ir.Module) -> None:
    """`asm_watch(state, addresses, mask, size, write)`: logs the access if a lane of it touches the watched byte."""
    f = Function(module, "asm_watch", WATCH_TYPE)
    state, addresses, mask, size, write = f.args
    b = f.b
    wanted = b.sub(f.get(STATE, state, "watch"), const(64, 1))
    with f.each_lane(mask) as lane:
        distance = b.sub(wanted, f.load(I64, f.item(addresses, lane, 8), 8))
        with f.when(b.icmp_unsigned("<", distance, size)):
            race = race_of(f, state)
            count = f.get(RACE, race, "logged")
            entry = f.item(f.field(RACE, race, "log"), b.and_(count, const(32, layout.LOG_SLOTS - 1)), LOG.itemsize)
            f.put(LOG, entry, "group", f.get(RACE, race, "group"))
            f.put(LOG, entry, "wave", f.get(STATE, state, "wave"))
            f.put(LOG, entry, "op", f.get(STATE, state, "at"))
            f.put(LOG, entry, "write", write)
            f.put(RACE, race, "logged", b.add(count, const(32, 1)))
            f.ret(0)
    f.ret(0)
