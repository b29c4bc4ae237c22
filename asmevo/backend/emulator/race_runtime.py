"""Native functions for races on global memory: who last wrote and read each byte, and what orders two waves.

For every dword of a buffer that may be written two shadow words hold the segment of its last writer and of its last reader, with
the bits MANY, GROUPS and COHERENT. Once an access covers a part of a dword, or one of its bytes has to be looked at closely, the
dword's word is SPLIT, and each of its bytes has two shadow words of its own. A segment is a stretch of one wave between barriers and releases. Segments are numbered in
the order of the run, and work-groups run one after another, their waves mostly too between barriers, so that a number tells by
itself (the segments of a wave that was stopped so that others could run are told by the wave that they name):

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

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.faulting import check, fault
from asmevo.backend.emulator.irkit import I8, I32, I64, PTR, Function, Value, const, splat
from asmevo.backend.emulator.layout import ENTRY, LOG, QUEUE_SLOTS, RACE, SEGMENT, STATE
from asmevo.backend.emulator.race_codegen import (
    CLASH_TYPE,
    PENDING_TYPE,
    PIECE,
    READ_TYPE,
    SPLIT_TYPE,
    STATE_TYPE,
    SYNC_TYPE,
    WATCH_TYPE,
    WRITE_TYPE,
)

_NUMBER = (1 << layout.SEGMENT_BITS) - 1
_NULL = ir.Constant(PTR, None)


def build(module: ir.Module, sizes: tuple[int, ...]) -> None:
    """All functions of this module; accesses have one of `sizes`, or are PIECE bytes of a wide one."""
    _build_segment(module)
    _build_clash(module)
    _build_split(module)
    for size in sizes:
        _build_read_bytes(module, size)
        _build_write_bytes(module, size)
    for size in (*sizes, PIECE):
        _build_note_read(module, size)
        _build_note_write(module, size)
    _build_outstanding(module)
    _build_sync(module)
    _build_own_pending(module)
    _build_watch(module)


def _race(f: Function, state: Value) -> Value:
    return f.pointer(STATE, state, "race")


def _segment(f: Function, state: Value, number: Value) -> Value:
    return f.item(f.pointer(RACE, _race(f, state), "segments"), number, SEGMENT.itemsize)


def _word(f: Function, state: Value, which: str, place: Value) -> Value:
    """The address of the shadow word of the byte at host address `place`."""
    b = f.b
    return b.inttoptr(b.add(f.get(STATE, state, which), b.shl(b.ptrtoint(place, I64), const(64, 2))), PTR)


def _dword(f: Function, state: Value, which: str, place: Value) -> Value:
    """The address of the shadow word of the dword at host address `place`."""
    b = f.b
    return b.inttoptr(b.add(f.get(STATE, state, which), b.ptrtoint(place, I64)), PTR)


def _build_segment(module: ir.Module) -> None:
    """`asm_segment(state)`: the number of the wave's segment, begun when it has none; 0, with a fault, when none is left."""
    f = Function(module, "asm_segment", STATE_TYPE)
    (state,) = f.args
    b = f.b
    known = f.get(STATE, state, "segment")
    with f.when(b.icmp_unsigned("!=", known, const(32, 0)), likely=True):
        f.ret(known)
    race = _race(f, state)
    number = f.get(RACE, race, "next")
    with f.when(b.icmp_unsigned(">=", number, const(32, layout.SEGMENT_LIMIT)), likely=False):
        fault(f, state, "unsupported", const(32, 0), const(64, 0))
        f.ret(0)
    segment = _segment(f, state, number)
    f.put(SEGMENT, segment, "group", f.get(RACE, race, "group"))
    for name in ("wave", "epoch"):
        f.put(SEGMENT, segment, name, f.get(STATE, state, name))
    f.put(SEGMENT, segment, "released", 0)
    f.put(RACE, race, "next", b.add(number, const(32, 1)))
    f.put(STATE, state, "segment", number)
    f.put(STATE, state, "plain", 0)
    f.ret(number)


def _vector(f: Function, state: Value, name: str, size: int, less: int = 0) -> Value:
    value = f.get(STATE, state, name)
    return splat(f, f.b.sub(value, const(32, less)) if less else value, size)


def _numbers(f: Function, words: Value, size: int) -> Value:
    return f.b.and_(words, splat(f, const(32, _NUMBER), size))


def _since_barrier(f: Function, state: Value, numbers: Value, size: int) -> Value:
    """Other waves of the work-group since the last barrier, as bits."""
    b = f.b
    first = _vector(f, state, "epoch_first", size)
    return b.icmp_unsigned("<", b.sub(numbers, first), b.sub(_vector(f, state, "own_first", size), first))


def _is_own_earlier(f: Function, state: Value, number: Value) -> Value:
    """Whether a segment since the last barrier is this wave's own, from before other waves ran."""
    b = f.b
    since = b.icmp_unsigned(">=", number, f.get(STATE, state, "epoch_first"))
    own = b.icmp_unsigned("==", f.get(SEGMENT, _segment(f, state, number), "wave"), f.get(STATE, state, "wave"))
    return b.and_(since, own)


def _others_since_barrier(f: Function, state: Value, numbers: Value, size: int) -> Value:
    """As `_since_barrier`, also where this wave was stopped and resumed since the barrier."""
    b = f.b
    kind = ir.VectorType(I32, size)
    kept = f.local(kind)
    f.store(numbers, kept)
    with f.when(b.icmp_unsigned("!=", f.get(STATE, state, "resumed"), const(32, 0)), likely=False), f.loop(size) as n:
        at = f.item(kept, n, 4)
        own = _is_own_earlier(f, state, f.load(I32, at, 4))
        f.store(b.select(own, const(32, 0), f.load(I32, at, 4)), at, 4)
    return _since_barrier(f, state, f.load(kind, kept), size)


def _other_groups(f: Function, state: Value, numbers: Value, size: int) -> Value:
    one = splat(f, const(32, 1), size)
    return f.b.icmp_unsigned("<", f.b.sub(numbers, one), _vector(f, state, "group_first", size, less=1))


def _any(f: Function, bits: Value, size: int) -> Value:
    return f.b.icmp_unsigned("!=", f.b.bitcast(bits, ir.IntType(size)), const(size, 0))


def _has(f: Function, words: Value, bit: int, size: int) -> Value:
    return f.b.icmp_unsigned("!=", f.b.and_(words, splat(f, const(32, bit), size)), splat(f, const(32, 0), size))


def _map(f: Function, state: Value, place: Value) -> Value:
    return f.at(place, f.get(STATE, state, "map_delta"))


def _repeated(bits: int, size: int) -> Value:
    return const(8 * size, int.from_bytes(bytes([bits] * size), "little"))


def _is_marked(f: Function, shadow: Value, bits: int, size: int) -> Value:
    wide = ir.IntType(8 * size)
    return f.b.icmp_unsigned("!=", f.b.and_(f.load(wide, shadow), _repeated(bits, size)), const(8 * size, 0))


def _clash(f: Function, arguments: list[Value]) -> None:
    check(f, f.b.call(f.external("asm_clash", I32, *CLASH_TYPE.args), arguments))


def _build_split(module: ir.Module) -> None:
    """`asm_split(state, place, size)`: every dword that has one of the bytes gets a shadow word for each of its bytes."""
    f = Function(module, "asm_split", SPLIT_TYPE)
    state, place, size = f.args
    b = f.b
    kind = ir.VectorType(I32, 4)
    number = b.ptrtoint(place, I64)
    first = b.and_(number, const(64, -4))
    with f.loop(b.sub(b.add(number, size), first), 4) as n:
        at = b.inttoptr(b.add(first, n), PTR)
        writer = f.load(I32, _dword(f, state, "writers", at), 4)
        with f.when(b.icmp_unsigned("!=", writer, const(32, layout.SPLIT))):
            reader = f.load(I32, _dword(f, state, "readers", at), 4)
            f.store(splat(f, writer, 4), _word(f, state, "byte_writers", at), 4)
            f.store(splat(f, reader, 4), _word(f, state, "byte_readers", at), 4)
            f.store(const(32, layout.SPLIT), _dword(f, state, "writers", at), 4)
    f.ret(0)


def _note_bytes(f: Function, size: int, data: Value | None) -> None:
    """Looks at an access byte by byte and returns."""
    state, place, lane, address, word = f.args[:5]
    b = f.b
    b.call(f.external("asm_split", I32, *SPLIT_TYPE.args), [state, place, const(64, size)])
    step = min(size, 16)
    what = "read" if data is None else "write"
    function = f.external(f"asm_{what}_bytes_{step}", I32, *(READ_TYPE if data is None else WRITE_TYPE).args)
    with f.loop(size, step) as n:
        here = [state, f.at(place, n), b.add(lane, b.lshr(n, const(64, 2))), b.add(address, n), word]
        if data is not None:
            here.append(b.select(b.icmp_unsigned("==", data, _NULL), _NULL, f.at(data, n)))
        check(f, b.call(function, here))
    f.ret(0)


def _build_note_read(module: ir.Module, size: int) -> None:
    """`asm_note_read_SIZE(state, place, lane, address, word)`: a status. Lanes of a piece have a dword each."""
    f = Function(module, f"asm_note_read_{size}", READ_TYPE)
    state, place, _, _, word = f.args
    if size < 4:
        _note_bytes(f, size, None)
        return
    b = f.b
    count = size // 4
    writers = f.load(ir.VectorType(I32, count), _dword(f, state, "writers", place), 4)
    numbers = _numbers(f, writers, count)
    doubtful = b.or_(_since_barrier(f, state, numbers, count), _other_groups(f, state, numbers, count))
    doubtful = b.or_(doubtful, _has(f, writers, layout.SPLIT, count))
    with f.when(b.or_(_is_odd(f, place), _any(f, doubtful, count)), likely=False):
        _note_bytes(f, size, None)
    _record_read(f, state, place, word, _dword(f, state, "readers", place), count, size)
    f.ret(0)


def _build_note_write(module: ir.Module, size: int) -> None:
    """`asm_note_write_SIZE(state, place, lane, address, word, data)`: a status. Lanes of a piece have a dword each."""
    f = Function(module, f"asm_note_write_{size}", WRITE_TYPE)
    state, place, _, _, word, data = f.args
    if size < 4:
        _note_bytes(f, size, data)
        return
    b = f.b
    count = size // 4
    kind = ir.VectorType(I32, count)
    shadow = _map(f, state, place)
    writer = _dword(f, state, "writers", place)
    with f.when(_is_odd(f, place), likely=False):
        _note_bytes(f, size, data)
    with f.when(_is_marked(f, shadow, layout.MAP_WRITTEN | layout.MAP_READ, size)):
        writers = f.load(kind, writer, 4)
        doubtful = b.or_(_has(f, writers, layout.SPLIT, count), _doubtful_readers(f, state, place, count))
        numbers = _numbers(f, writers, count)
        doubtful = b.or_(doubtful, b.or_(_since_barrier(f, state, numbers, count), _other_groups(f, state, numbers, count)))
        with f.when(_any(f, doubtful, count), likely=False):
            _note_bytes(f, size, data)
    f.store(splat(f, word, count), writer, 4)
    f.store(_repeated(layout.MAP_DEFINED | layout.MAP_WRITTEN, size), shadow)
    f.ret(0)


def _doubtful_readers(f: Function, state: Value, place: Value, count: int, *, table: str = "readers") -> Value:
    """Words whose readers may conflict with a write, as bits."""
    b = f.b
    at = _dword(f, state, table, place) if table == "readers" else _word(f, state, table, place)
    read = f.load(ir.VectorType(I32, count), at, 4)
    numbers = _numbers(f, read, count)
    doubtful = b.or_(_since_barrier(f, state, numbers, count), _other_groups(f, state, numbers, count))
    recent = b.icmp_unsigned(">=", numbers, _vector(f, state, "epoch_first", count))
    shared = b.or_(b.and_(recent, _has(f, read, layout.MANY, count)), _has(f, read, layout.GROUPS, count))
    return b.or_(doubtful, shared)


def _is_odd(f: Function, place: Value) -> Value:
    """Whether an address is not a dword's."""
    return f.b.icmp_unsigned("!=", f.b.and_(f.b.ptrtoint(place, I64), const(64, 3)), const(64, 0))


def _build_read_bytes(module: ir.Module, size: int) -> None:
    """`asm_read_bytes_SIZE(state, place, lane, address, word)`: as `asm_note_read_SIZE`, of split dwords."""
    f = Function(module, f"asm_read_bytes_{size}", READ_TYPE)
    state, place, lane, address, word = f.args
    b = f.b
    kind = ir.VectorType(I32, size)
    with f.when(_is_marked(f, _map(f, state, place), layout.MAP_WRITTEN, size)):
        numbers = _numbers(f, f.load(kind, _word(f, state, "byte_writers", place), 4), size)
        doubtful = b.or_(_since_barrier(f, state, numbers, size), _other_groups(f, state, numbers, size))
        with f.when(_any(f, doubtful, size), likely=False):
            _clash(f, [state, place, const(64, size), lane, address, word, const(32, 0), _NULL])
    _record_read(f, state, place, word, _word(f, state, "byte_readers", place), size, size)
    f.ret(0)


def _record_read(f: Function, state: Value, place: Value, word: Value, reader: Value, size: int, count: int) -> None:
    """Puts a reader into `size` shadow words at `reader`, for `count` bytes."""
    b = f.b
    kind = ir.VectorType(I32, size)
    shadow = _map(f, state, place)
    wide = ir.IntType(8 * count)
    f.store(b.or_(f.load(wide, shadow), _repeated(layout.MAP_READ, count)), shadow)
    old = f.load(kind, reader, 4)
    numbers = _numbers(f, old, size)
    recent = b.icmp_unsigned(">=", numbers, _vector(f, state, "epoch_first", size))
    many = b.or_(_others_since_barrier(f, state, numbers, size), b.and_(recent, _has(f, old, layout.MANY, size)))
    groups = b.or_(_other_groups(f, state, numbers, size), _has(f, old, layout.GROUPS, size))
    zero = splat(f, const(32, 0), size)
    new = splat(f, word, size)
    plain = b.and_(b.or_(many, groups), b.icmp_unsigned("==", b.and_(old, splat(f, const(32, layout.COHERENT), size)), zero))
    new = b.select(plain, b.and_(new, splat(f, const(32, layout.COHERENT - 1), size)), new)
    for bits, bit in ((many, layout.MANY), (groups, layout.GROUPS)):
        new = b.or_(new, b.select(bits, splat(f, const(32, bit), size), zero))
    f.store(new, reader, 4)


def _build_write_bytes(module: ir.Module, size: int) -> None:
    """`asm_write_bytes_SIZE(state, place, lane, address, word, data)`: as `asm_note_write_SIZE`, of split dwords."""
    f = Function(module, f"asm_write_bytes_{size}", WRITE_TYPE)
    state, place, lane, address, word, data = f.args
    b = f.b
    kind = ir.VectorType(I32, size)
    shadow = _map(f, state, place)
    writer = _word(f, state, "byte_writers", place)
    with f.when(_is_marked(f, shadow, layout.MAP_WRITTEN | layout.MAP_READ, size)):
        numbers = _numbers(f, f.load(kind, writer, 4), size)
        doubtful = b.or_(_since_barrier(f, state, numbers, size), _other_groups(f, state, numbers, size))
        doubtful = b.or_(doubtful, _doubtful_readers(f, state, place, size, table="byte_readers"))
        with f.when(_any(f, doubtful, size), likely=False):
            _clash(f, [state, place, const(64, size), lane, address, word, const(32, 1), data])
    f.store(splat(f, word, size), writer, 4)
    f.store(_repeated(layout.MAP_DEFINED | layout.MAP_WRITTEN, size), shadow)
    f.ret(0)


def _build_clash(module: ir.Module) -> None:
    """`asm_clash(state, place, size, lane, address, word, write, data)`: decides byte by byte; a race fault, or 0."""
    f = Function(module, "asm_clash", CLASH_TYPE)
    state, place, size, lane, address, word, write, data = f.args
    b = f.b
    writes = b.icmp_unsigned("!=", write, const(32, 0))
    acquired = f.get(STATE, state, "acquired")
    epoch_first, group_first = (f.get(STATE, state, name) for name in ("epoch_first", "group_first"))

    def unordered(number: Value) -> Value:
        own = b.or_(b.icmp_unsigned(">=", number, f.get(STATE, state, "own_first")), _is_own_earlier(f, state, number))
        ordered = b.and_(b.icmp_unsigned(">=", number, group_first), b.icmp_unsigned("<", number, epoch_first))
        released = f.get(SEGMENT, _segment(f, state, number), "released")
        seen = b.and_(b.icmp_unsigned("!=", released, const(32, 0)), b.icmp_unsigned("<=", released, acquired))
        harmless = b.or_(b.or_(own, ordered), b.or_(seen, b.icmp_unsigned("==", number, const(32, 0))))
        return b.not_(harmless)

    def conflicts(recorded: Value, more: Value) -> Value:
        both = b.icmp_unsigned("!=", b.and_(b.and_(recorded, word), const(32, layout.COHERENT)), const(32, 0))
        return b.and_(b.not_(both), b.or_(unordered(b.and_(recorded, const(32, _NUMBER))), more))

    def report(recorded: Value, n: Value) -> None:
        f.put(STATE, state, "fault_other", b.and_(recorded, const(32, _NUMBER)))
        check(f, fault(f, state, "race", lane, b.add(address, n)))
        f.ret(0)

    with f.loop(size) as n:
        at = f.at(place, n)
        writer = f.load(I32, _word(f, state, "byte_writers", at), 4)
        compared = f.choose(
            b.icmp_unsigned("!=", data, _NULL),
            lambda at=at, n=n: b.icmp_unsigned("==", f.load(I8, at), f.load(I8, f.at(data, n))),
            lambda: const(1, 0),
        )
        with f.when(b.and_(conflicts(writer, const(1, 0)), b.not_(compared)), likely=False):
            report(writer, n)
        with f.when(writes):
            reader = f.load(I32, _word(f, state, "byte_readers", at), 4)
            number = b.and_(reader, const(32, _NUMBER))
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
    race = _race(f, state)
    with f.when(b.icmp_unsigned("!=", release, const(32, 0))):
        complete = b.icmp_unsigned("==", b.call(f.external("asm_outstanding", I32, PTR), [state]), const(32, 0))
        now = b.add(f.get(RACE, race, "clock"), const(32, 1))
        f.put(RACE, race, "clock", now)
        first, end = f.get(RACE, race, "unreleased"), f.get(RACE, race, "next")
        with f.loop(b.zext(b.sub(end, first), I64)) as n:
            segment = _segment(f, state, b.add(first, b.trunc(n, I32)))
            earlier = b.icmp_unsigned("<", f.get(SEGMENT, segment, "epoch"), f.get(STATE, state, "epoch"))
            own = b.icmp_unsigned("==", f.get(SEGMENT, segment, "wave"), f.get(STATE, state, "wave"))
            may = b.select(own, complete, earlier)
            fresh = b.icmp_unsigned("==", f.get(SEGMENT, segment, "released"), const(32, 0))
            with f.when(b.and_(may, fresh)):
                f.put(SEGMENT, segment, "released", now)
        with f.loop(b.zext(b.sub(end, first), I64)):
            front = f.get(RACE, race, "unreleased")
            done = b.icmp_unsigned("!=", f.get(SEGMENT, _segment(f, state, front), "released"), const(32, 0))
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
    whole = f.load(I32, _dword(f, state, "writers", b.inttoptr(b.and_(b.ptrtoint(place, I64), const(64, -4)), PTR)), 4)
    recorded = f.choose(
        b.icmp_unsigned("!=", whole, const(32, layout.SPLIT)),
        lambda: whole,
        lambda: f.load(I32, _word(f, state, "byte_writers", place), 4),
    )
    number = b.and_(recorded, const(32, _NUMBER))
    here = b.icmp_unsigned(">=", number, f.get(STATE, state, "group_first"))
    own = b.icmp_unsigned("==", f.get(SEGMENT, _segment(f, state, number), "wave"), f.get(STATE, state, "wave"))
    written = _is_marked(f, _map(f, state, place), layout.MAP_WRITTEN, 1)
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
            race = _race(f, state)
            count = f.get(RACE, race, "logged")
            entry = f.item(f.field(RACE, race, "log"), b.and_(count, const(32, layout.LOG_SLOTS - 1)), LOG.itemsize)
            f.put(LOG, entry, "group", f.get(RACE, race, "group"))
            f.put(LOG, entry, "wave", f.get(STATE, state, "wave"))
            f.put(LOG, entry, "op", f.get(STATE, state, "at"))
            f.put(LOG, entry, "write", write)
            f.put(RACE, race, "logged", b.add(count, const(32, 1)))
            f.ret(0)
    f.ret(0)
