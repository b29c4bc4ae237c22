"""Native functions that move bytes between registers and the buffer table, with every access checked.

Owns bounds, definedness and write permission of global memory. Any byte will do as an address: drivers of this family switch
unaligned access on (LLVM AMDGPUUsage, unaligned-access-mode); atomics check theirs themselves. LDS is `lds_codegen`'s, order of
completion `queue_codegen`'s, order between waves `race_codegen`'s.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import layout, race_codegen
from asmevo.backend.emulator.faulting import fault
from asmevo.backend.emulator.irkit import I1, I8, I32, I64, PTR, Function, Value, const, splat
from asmevo.backend.emulator.layout import BUFFER, LANES, STATE

SIZES = (1, 2, 4, 8, 12, 16)
"""Bytes a lane moves at once."""
_CHUNK = 16
RESOLVE_TYPE = ir.FunctionType(PTR, (PTR, I64, I64, I64, I32))
TRACK_TYPE = ir.FunctionType(I32, (PTR, PTR, I64, I64, I64, I32))
TRANSFER_TYPE = ir.FunctionType(I32, (PTR, PTR, I64, PTR))


def transfer_name(kind: str, size: int, strict: bool) -> str:
    """The name of a transfer function: `load` or `store`, `lds_load` or `lds_store`."""
    return f"asm_{kind}_{size}_{'strict' if strict else 'fast'}"


def transfer(f: Function, kind: str, size: int, strict: bool, arguments: list[Value]) -> Value:
    """Calls a transfer function with (state, addresses, lane mask, rows); its status."""
    function = f.external(transfer_name(kind, size, strict), I32, *TRANSFER_TYPE.args)
    return f.b.call(function, arguments)


def region(f: Function, state: Value, address: Value) -> tuple[Value, Value]:
    """The buffer index that `address` falls to, and whether there is such a buffer."""
    b = f.b
    moved = b.sub(address, const(64, layout.REGION_PAD))
    index = b.sub(b.lshr(moved, const(64, layout.REGION_SHIFT)), const(64, 1))
    return index, b.icmp_unsigned("<", index, f.get(STATE, state, "buffers"))


STORES, DEFINED, TRACKED, SCALAR = 1, 2, 4, 8
"""What asm_resolve is asked: the access writes; what is there must be defined; races matter; it is scalar."""


def build_resolve(module: ir.Module) -> None:
    """`asm_resolve(state, address, size, lane, flags)`: the host address of a checked access, or null with a fault set.

    Tracked sizes are whole dwords.
    """
    f = Function(module, "asm_resolve", RESOLVE_TYPE)
    state, address, size, lane, flags = f.args
    b = f.b
    null = ir.Constant(PTR, None)

    def report(condition: Value, kind: str, instead: Value | None = None, further: Value | None = None) -> None:
        with f.when(condition, likely=False):
            status = fault(f, state, kind, lane, address if further is None else b.add(address, further))
            with f.when(b.icmp_unsigned("!=", status, const(32, 0)), likely=False):
                b.ret(null)
            if instead is not None:
                b.ret(instead)

    def has(flag: int) -> Value:
        return b.icmp_unsigned("!=", b.and_(flags, const(32, flag)), const(32, 0))

    sink = f.pointer(STATE, state, "sink")
    index, known = region(f, state, address)
    report(b.not_(known), "out-of-bounds", sink)
    buffer = f.item(f.pointer(STATE, state, "table"), index, BUFFER.itemsize)
    at = b.sub(address, f.get(BUFFER, buffer, "base"))
    end = f.get(BUFFER, buffer, "size")
    outside = b.or_(b.icmp_unsigned(">", at, end), b.icmp_unsigned(">", size, b.sub(end, at)))
    report(outside, "out-of-bounds", sink)
    stores = has(STORES)
    readonly = b.icmp_unsigned("==", f.get(BUFFER, buffer, "writable"), const(64, 0))
    report(b.and_(stores, readonly), "write-to-readonly", sink)
    place = f.at(f.pointer(BUFFER, buffer, "data"), at)
    shadow = f.at(place, f.get(STATE, state, "map_delta"))
    with f.when(has(DEFINED)), f.loop(size) as n:
        report(b.not_(b.trunc(f.load(I8, f.at(shadow, n)), I1)), "uninitialised-memory", further=n)
    with f.when(b.and_(has(TRACKED), b.not_(readonly))):
        with f.when(b.icmp_unsigned("==", _track(f, state, place, size, lane, address, flags), const(32, 0)), likely=True):
            b.ret(place)
        b.ret(null)
    with b.if_else(stores) as (written, read):
        with written, f.loop(size) as n:
            f.store(const(8, layout.MAP_DEFINED | layout.MAP_WRITTEN), f.at(shadow, n))
        with read, f.when(b.not_(readonly)), f.loop(size) as n:
            at = f.at(shadow, n)
            f.store(b.or_(f.load(I8, at), const(8, layout.MAP_READ)), at)
    b.ret(place)


def _track(f: Function, state: Value, place: Value, size: Value, lane: Value, address: Value, flags: Value) -> Value:
    return f.b.call(f.external("asm_track", I32, *TRACK_TYPE.args), [state, place, size, lane, address, flags])


def build_track(module: ir.Module) -> None:
    """`asm_track(state, place, size, lane, address, flags)`: checks and records whole dwords; a status."""
    f = Function(module, "asm_track", TRACK_TYPE)
    state, place, size, lane, address, flags = f.args
    b = f.b
    stores, scalar = (b.icmp_unsigned("!=", b.and_(flags, const(32, flag)), const(32, 0)) for flag in (STORES, SCALAR))
    race_codegen.watch_one(f, state, address, size, b.zext(stores, I32))
    word = race_codegen.stamp(f, state)
    with f.loop(size, 4) as n:
        here, there = f.at(place, n), b.add(address, n)
        with b.if_else(stores) as (write, read):
            with write:
                race_codegen.note_write(f, state, here, 4, lane, there, word)
            with read:
                with f.when(scalar):
                    race_codegen.own_pending(f, state, here, there)
                race_codegen.note_read(f, state, here, 4, lane, there, word)
    f.ret(0)


def resolve(f: Function, state: Value, address: Value, size: int, lane: Value, flags: int) -> Value:
    """Calls asm_resolve and returns from the function on a fault; the host address."""
    function = f.external("asm_resolve", PTR, *RESOLVE_TYPE.args)
    wide = lane if lane.type == I64 else f.b.zext(lane, I64)
    place = f.b.call(function, [state, address, const(64, size), wide, const(32, flags)])
    with f.when(f.b.icmp_unsigned("==", place, ir.Constant(PTR, None)), likely=False):
        f.ret(layout.FAULT)
    return place


def element(size: int) -> Value:
    """The native type that holds `size` bytes."""
    return ir.IntType(8 * size)


def read_rows(f: Function, rows: Value, lane: Value, size: int) -> list[Value]:
    """A lane's registers for a store, one i32 each."""
    return [f.load(I32, f.item(f.at(rows, row * LANES * 4), lane, 4), 4) for row in range(max(1, size // 4))]


def write_rows(f: Function, rows: Value, lane: Value, place: Value, size: int) -> None:
    """Loads `size` bytes at a host address into a lane's registers, zero extended."""
    if size < 4:
        value = f.b.zext(f.load(element(size), place), I32)
        f.store(value, f.item(rows, lane, 4), 4)
        return
    for row in range(size // 4):
        value = f.load(I32, f.at(place, 4 * row))
        f.store(value, f.item(f.at(rows, row * LANES * 4), lane, 4), 4)


def store_bytes(f: Function, values: list[Value], place: Value, size: int) -> None:
    """Stores a lane's registers at a host address."""
    if size < 4:
        f.store(f.b.trunc(values[0], element(size)), place)
        return
    for row, value in enumerate(values):
        f.store(value, f.at(place, 4 * row))


def lane_mask(f: Function, mask: Value, base: Value, lanes: int) -> Value:
    """The chunk's lanes of a wave mask, as a vector of bits."""
    bits = f.b.trunc(f.b.lshr(mask, base), ir.IntType(lanes))
    return f.b.bitcast(bits, ir.VectorType(I1, lanes))


def _all_inside(
    f: Function, state: Value, addresses: Value, mask: Value, size: int, write: bool
) -> tuple[Value, Value, Value, Value]:
    """Whether every active lane hits one buffer within its bounds; with that buffer, its base, and contiguity."""
    b = f.b
    first = b.call(f.intrinsic("llvm.cttz.i64", I64, I64, I1), [mask, const(1, 1)])
    index, known = region(f, state, f.load(I64, f.item(addresses, first, 8), 8))
    safe = b.select(known, index, const(64, 0))
    buffer = f.item(f.pointer(STATE, state, "table"), safe, BUFFER.itemsize)
    base = f.get(BUFFER, buffer, "base")
    end = f.get(BUFFER, buffer, "size")
    fits = b.and_(known, b.icmp_unsigned(">=", end, const(64, size)))
    if write:
        fits = b.and_(fits, b.icmp_unsigned("!=", f.get(BUFFER, buffer, "writable"), const(64, 0)))
    limit = splat(f, b.sub(end, const(64, size)), _CHUNK)
    start = splat(f, base, _CHUNK)
    bad = f.local(I64)
    gaps = f.local(I64)
    f.store(const(64, 0), bad, 8)
    f.store(const(64, 0), gaps, 8)
    lead = f.load(I64, addresses, 8)
    kind = ir.VectorType(I64, _CHUNK)
    steps = ir.Constant(kind, [size * n for n in range(_CHUNK)])
    with f.loop(LANES, _CHUNK) as lane:
        address = f.load(kind, f.item(addresses, lane, 8), 8)
        at = b.sub(address, start)
        wrong = b.icmp_unsigned(">", at, limit)
        wrong = b.and_(wrong, lane_mask(f, mask, lane, _CHUNK))
        bits = b.zext(b.bitcast(wrong, ir.IntType(_CHUNK)), I64)
        f.store(b.or_(f.load(I64, bad, 8), bits), bad, 8)
        expected = b.add(splat(f, b.add(lead, b.mul(lane, const(64, size))), _CHUNK), steps)
        apart = b.bitcast(b.icmp_unsigned("!=", address, expected), ir.IntType(_CHUNK))
        f.store(b.or_(f.load(I64, gaps, 8), b.zext(apart, I64)), gaps, 8)
    inside = b.and_(fits, b.icmp_unsigned("==", f.load(I64, bad, 8), const(64, 0)))
    whole = b.icmp_unsigned("==", mask, const(64, -1))
    contiguous = b.and_(whole, b.icmp_unsigned("==", f.load(I64, gaps, 8), const(64, 0)))
    return inside, base, buffer, contiguous


def _careful(
    f: Function, state: Value, addresses: Value, mask: Value, rows: Value, size: int, strict: bool, write: bool
) -> None:
    """One lane after another through asm_resolve, which names the faulty one."""
    flags = (STORES if write else 0) | (DEFINED if strict and not write else 0)
    with f.each_lane(mask) as lane:
        address = f.load(I64, f.item(addresses, lane, 8), 8)
        place = resolve(f, state, address, size, lane, flags)
        if strict:
            nowhere = f.b.icmp_unsigned("==", place, f.pointer(STATE, state, "sink"))
            with f.when(f.b.and_(f.b.not_(nowhere), _is_writable(f, state, address))):
                _note(f, state, place, rows, size, lane, address, race_codegen.stamp(f, state), write)
        if write:
            store_bytes(f, read_rows(f, rows, lane, size), place, size)
        else:
            write_rows(f, rows, lane, place, size)


def _is_writable(f: Function, state: Value, address: Value) -> Value:
    """Whether an address that is known to be inside a buffer is in one that may be written."""
    index, _ = region(f, state, address)
    buffer = f.item(f.pointer(STATE, state, "table"), index, BUFFER.itemsize)
    return f.b.icmp_unsigned("!=", f.get(BUFFER, buffer, "writable"), const(64, 0))


def _note(
    f: Function, state: Value, place: Value, rows: Value, size: int, lane: Value, address: Value, word: Value, write: bool
) -> None:
    if not write:
        race_codegen.note_read(f, state, place, size, lane, address, word)
        return
    data = f.local(I32, 4)
    store_bytes(f, read_rows(f, rows, lane, size), data, size)
    race_codegen.note_write(f, state, place, size, lane, address, word, data)


def _announce(f: Function, state: Value, addresses: Value, mask: Value, size: int, *, write: bool) -> None:
    """What a strict access does before it touches memory."""
    race_codegen.watch(f, state, addresses, mask, size, write=write)
    race_codegen.sync_if_coherent(f, state, write=write)


def build_load(module: ir.Module, size: int, strict: bool) -> None:
    """Loads `size` bytes for each lane of the mask into rows of 64; other lanes of the rows keep what they hold."""
    f = Function(module, transfer_name("load", size, strict), TRANSFER_TYPE)
    state, addresses, mask, rows = f.args
    b = f.b
    with f.when(b.icmp_unsigned("==", mask, const(64, 0))):
        f.ret(0)
    if strict:
        _announce(f, state, addresses, mask, size, write=False)
    inside, base, buffer, contiguous = _all_inside(f, state, addresses, mask, size, False)
    data = f.pointer(BUFFER, buffer, "data")
    delta = f.get(STATE, state, "map_delta")
    writable = b.icmp_unsigned("!=", f.get(BUFFER, buffer, "writable"), const(64, 0))
    ones = const(8 * size, int.from_bytes(bytes([layout.MAP_DEFINED] * size), "little"))

    def wide() -> None:
        place = f.at(data, b.sub(f.load(I64, addresses, 8), base))
        if strict:
            line = ir.IntType(64 * 8)
            bits = const(512, int.from_bytes(bytes([layout.MAP_DEFINED] * 64), "little"))
            for part in range(4):
                got = b.and_(f.load(line, f.at(f.at(place, delta), 64 * part)), bits)
                with f.when(b.icmp_unsigned("!=", got, bits), likely=False):
                    _careful(f, state, addresses, mask, rows, size, strict, False)
                    f.ret(0)
        with f.when(writable):
            if strict:
                _note_wide(f, state, place, addresses, race_codegen.stamp(f, state), None)
            else:
                for part in range(4):
                    _mark_read(f, f.at(f.at(place, delta), 64 * part), 64)
        for part in range(4):
            kind = ir.VectorType(I32, 16)
            f.store(f.load(kind, f.at(place, 64 * part)), f.at(rows, 64 * part), 4)
        f.ret(0)

    with f.when(inside, likely=True):
        if size == 4:
            with f.when(contiguous):
                wide()
        unknown = f.local(element(size))
        f.store(const(8 * size, 0), unknown)
        with f.each_lane(mask) as lane:
            place = f.at(data, b.sub(f.load(I64, f.item(addresses, lane, 8), 8), base))
            if strict:
                got = b.xor(b.and_(f.load(element(size), f.at(place, delta)), ones), ones)
                f.store(b.or_(f.load(element(size), unknown), got), unknown)
            write_rows(f, rows, lane, place, size)
        if strict:
            zero = const(8 * size, 0)
            with f.when(b.icmp_unsigned("!=", f.load(element(size), unknown), zero), likely=False):
                _careful(f, state, addresses, mask, rows, size, strict, False)
                f.ret(0)
        with f.when(writable):
            word = race_codegen.stamp(f, state) if strict else None
            with f.each_lane(mask) as lane:
                address = f.load(I64, f.item(addresses, lane, 8), 8)
                place = f.at(data, b.sub(address, base))
                if word is None:
                    _mark_read(f, f.at(place, delta), size)
                else:
                    _note(f, state, place, rows, size, lane, address, word, False)
        f.ret(0)
    _careful(f, state, addresses, mask, rows, size, strict, False)
    f.ret(0)


def _mark_read(f: Function, shadow: Value, size: int) -> None:
    bits = const(8 * size, int.from_bytes(bytes([layout.MAP_READ] * size), "little"))
    f.store(f.b.or_(f.load(element(size), shadow), bits), shadow)


def _note_wide(f: Function, state: Value, place: Value, addresses: Value, word: Value, rows: Value | None) -> None:
    """A piece at a time of 64 dwords in a row, read or, where `rows` are given, written."""
    first = f.load(I64, addresses, 8)
    size = race_codegen.PIECE
    with f.loop(4 * LANES, size) as at:
        lane = f.b.lshr(at, const(64, 2))
        here, there = f.at(place, at), f.b.add(first, at)
        if rows is None:
            race_codegen.note_read(f, state, here, size, lane, there, word)
        else:
            race_codegen.note_write(f, state, here, size, lane, there, word, f.at(rows, at))


def build_store(module: ir.Module, size: int, strict: bool) -> None:
    """Stores `size` bytes for each lane of the mask, lowest lane first, so that the highest lane wins a shared address."""
    f = Function(module, transfer_name("store", size, strict), TRANSFER_TYPE)
    state, addresses, mask, rows = f.args
    b = f.b
    with f.when(b.icmp_unsigned("==", mask, const(64, 0))):
        f.ret(0)
    if strict:
        _announce(f, state, addresses, mask, size, write=True)
    inside, base, buffer, contiguous = _all_inside(f, state, addresses, mask, size, True)
    data = f.pointer(BUFFER, buffer, "data")
    delta = f.get(STATE, state, "map_delta")
    mark = bytes([layout.MAP_DEFINED | layout.MAP_WRITTEN])
    with f.when(inside, likely=True):
        word = race_codegen.stamp(f, state) if strict else None
        if size == 4:
            with f.when(contiguous):
                place = f.at(data, b.sub(f.load(I64, addresses, 8), base))
                if word is not None:
                    _note_wide(f, state, place, addresses, word, rows)
                kind = ir.VectorType(I32, 16)
                marks = const(512, int.from_bytes(mark * 64, "little"))
                for part in range(4):
                    f.store(f.load(kind, f.at(rows, 64 * part), 4), f.at(place, 64 * part))
                    if word is None:
                        f.store(marks, f.at(f.at(place, delta), 64 * part))
                f.ret(0)
        with f.each_lane(mask) as lane:
            address = f.load(I64, f.item(addresses, lane, 8), 8)
            place = f.at(data, b.sub(address, base))
            if word is not None:
                _note(f, state, place, rows, size, lane, address, word, True)
            store_bytes(f, read_rows(f, rows, lane, size), place, size)
            if word is None:
                f.store(const(8 * size, int.from_bytes(mark * size, "little")), f.at(place, delta))
        f.ret(0)
    _careful(f, state, addresses, mask, rows, size, strict, True)
    f.ret(0)
