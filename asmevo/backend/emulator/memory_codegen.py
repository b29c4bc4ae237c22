"""Native functions that move bytes between registers and the buffer table, with every access checked.

Owns bounds, alignment, definedness and write permission of global memory. LDS is `lds_codegen`'s, order of completion
`queue_codegen`'s.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.irkit import I1, I8, I32, I64, PTR, Function, Value, const, splat
from asmevo.backend.emulator.layout import BUFFER, KIND, LANES, STATE

SIZES = (1, 2, 4, 8, 12, 16)
"""Bytes a lane moves at once."""
_CHUNK = 16
FAULT_TYPE = ir.FunctionType(I32, (PTR, I32, I32, I64))
RESOLVE_TYPE = ir.FunctionType(PTR, (PTR, I64, I64, I64, I32))
TRANSFER_TYPE = ir.FunctionType(I32, (PTR, PTR, I64, PTR))


def fault(f: Function, state: Value, kind: Value | str, lane: Value, address: Value) -> Value:
    """Records a fault; the status to return."""
    number = const(32, KIND[kind]) if isinstance(kind, str) else kind
    lane32 = lane if lane.type == I32 else f.b.trunc(lane, I32)
    return f.b.call(f.external("asm_fault", I32, *FAULT_TYPE.args), [state, number, lane32, address])


def build_fault(module: ir.Module) -> None:
    """`asm_fault(state, kind, lane, address)`: the first fault stays."""
    f = Function(module, "asm_fault", FAULT_TYPE)
    state, kind, lane, address = f.args
    f.put(STATE, state, "fault", kind)
    f.put(STATE, state, "fault_lane", lane)
    f.put(STATE, state, "fault_address", address)
    f.ret(layout.FAULT)


def transfer_name(kind: str, size: int, strict: bool) -> str:
    """The name of a transfer function: `load` or `store`, `lds_load` or `lds_store`."""
    return f"asm_{kind}_{size}_{'strict' if strict else 'fast'}"


def transfer(f: Function, kind: str, size: int, strict: bool, arguments: list[Value]) -> Value:
    """Calls a transfer function with (state, addresses, lane mask, rows); its status."""
    function = f.external(transfer_name(kind, size, strict), I32, *TRANSFER_TYPE.args)
    return f.b.call(function, arguments)


def check(f: Function, status: Value) -> None:
    """Returns from the function when a call failed."""
    with f.when(f.b.icmp_unsigned("!=", status, const(32, 0)), likely=False):
        f.b.ret(status)


def region(f: Function, state: Value, address: Value) -> tuple[Value, Value]:
    """The buffer index that `address` falls to, and whether there is such a buffer."""
    b = f.b
    moved = b.sub(address, const(64, layout.REGION_PAD))
    index = b.sub(b.lshr(moved, const(64, layout.REGION_SHIFT)), const(64, 1))
    return index, b.icmp_unsigned("<", index, f.get(STATE, state, "buffers"))


def build_resolve(module: ir.Module) -> None:
    """`asm_resolve(state, address, size, lane, write)`: the host address of a checked access, or null with a fault set.

    Bit 0 of `write`: a store. Bit 1: the bytes read must be defined.
    """
    f = Function(module, "asm_resolve", RESOLVE_TYPE)
    state, address, size, lane, write = f.args
    b = f.b
    null = ir.Constant(PTR, None)

    def refuse(condition: Value, kind: str) -> None:
        with f.when(condition, likely=False):
            fault(f, state, kind, lane, address)
            b.ret(null)

    index, known = region(f, state, address)
    refuse(b.not_(known), "out-of-bounds")
    buffer = f.item(f.pointer(STATE, state, "table"), index, BUFFER.itemsize)
    at = b.sub(address, f.get(BUFFER, buffer, "base"))
    end = f.get(BUFFER, buffer, "size")
    outside = b.or_(b.icmp_unsigned(">", at, end), b.icmp_unsigned(">", size, b.sub(end, at)))
    refuse(outside, "out-of-bounds")
    stores = b.trunc(write, I1)
    readonly = b.icmp_unsigned("==", f.get(BUFFER, buffer, "writable"), const(64, 0))
    refuse(b.and_(stores, readonly), "write-to-readonly")
    place = f.at(f.pointer(BUFFER, buffer, "data"), at)
    strict = b.trunc(b.lshr(write, const(32, 1)), I1)
    shadow = f.at(place, f.get(STATE, state, "map_delta"))
    with f.when(strict), f.loop(size) as n:
        defined = b.trunc(f.load(I8, f.at(shadow, n)), I1)
        refuse(b.not_(defined), "uninitialised-memory")
    with b.if_else(stores) as (written, read):
        with written, f.loop(size) as n:
            f.store(const(8, layout.MAP_DEFINED | layout.MAP_WRITTEN), f.at(shadow, n))
        with read, f.when(b.not_(readonly)), f.loop(size) as n:
            at = f.at(shadow, n)
            f.store(b.or_(f.load(I8, at), const(8, layout.MAP_READ)), at)
    b.ret(place)


def resolve(f: Function, state: Value, address: Value, size: int, lane: Value, *, write: bool, defined: bool) -> Value:
    """Calls asm_resolve and returns from the function on a fault; the host address."""
    flags = const(32, int(write) | int(defined) << 1)
    function = f.external("asm_resolve", PTR, *RESOLVE_TYPE.args)
    wide = lane if lane.type == I64 else f.b.zext(lane, I64)
    place = f.b.call(function, [state, address, const(64, size), wide, flags])
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
    align = min(size & -size, 4)
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
        if align > 1:
            odd = b.and_(address, splat(f, const(64, align - 1), _CHUNK))
            wrong = b.or_(wrong, b.icmp_unsigned("!=", odd, splat(f, const(64, 0), _CHUNK)))
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


def _misaligned(f: Function, state: Value, address: Value, lane: Value, size: int) -> None:
    align = min(size & -size, 4)
    if align > 1:
        odd = f.b.and_(address, const(64, align - 1))
        with f.when(f.b.icmp_unsigned("!=", odd, const(64, 0)), likely=False):
            f.ret(fault(f, state, "misaligned", lane, address))


def _careful(
    f: Function, state: Value, addresses: Value, mask: Value, rows: Value, size: int, strict: bool, write: bool
) -> None:
    """One lane after another through asm_resolve, which names the faulty one."""
    with f.each_lane(mask) as lane:
        address = f.load(I64, f.item(addresses, lane, 8), 8)
        _misaligned(f, state, address, lane, size)
        place = resolve(f, state, address, size, lane, write=write, defined=strict and not write)
        if write:
            store_bytes(f, read_rows(f, rows, lane, size), place, size)
        else:
            write_rows(f, rows, lane, place, size)


def build_load(module: ir.Module, size: int, strict: bool) -> None:
    """Loads `size` bytes for each lane of the mask into rows of 64; other lanes of the rows keep what they hold."""
    f = Function(module, transfer_name("load", size, strict), TRANSFER_TYPE)
    state, addresses, mask, rows = f.args
    b = f.b
    with f.when(b.icmp_unsigned("==", mask, const(64, 0))):
        f.ret(0)
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
            for part in range(4):
                _note_read(f, f.at(f.at(place, delta), 64 * part), 64)
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
        with f.when(writable), f.each_lane(mask) as lane:
            place = f.at(data, b.sub(f.load(I64, f.item(addresses, lane, 8), 8), base))
            _note_read(f, f.at(place, delta), size)
        f.ret(0)
    _careful(f, state, addresses, mask, rows, size, strict, False)
    f.ret(0)


def _note_read(f: Function, shadow: Value, size: int) -> None:
    bits = const(8 * size, int.from_bytes(bytes([layout.MAP_READ] * size), "little"))
    f.store(f.b.or_(f.load(element(size), shadow), bits), shadow)


def build_store(module: ir.Module, size: int, strict: bool) -> None:
    """Stores `size` bytes for each lane of the mask, lowest lane first, so that the highest lane wins a shared address."""
    f = Function(module, transfer_name("store", size, strict), TRANSFER_TYPE)
    state, addresses, mask, rows = f.args
    b = f.b
    with f.when(b.icmp_unsigned("==", mask, const(64, 0))):
        f.ret(0)
    inside, base, buffer, contiguous = _all_inside(f, state, addresses, mask, size, True)
    data = f.pointer(BUFFER, buffer, "data")
    delta = f.get(STATE, state, "map_delta")
    mark = bytes([layout.MAP_DEFINED | layout.MAP_WRITTEN])
    with f.when(inside, likely=True):
        if size == 4:
            with f.when(contiguous):
                place = f.at(data, b.sub(f.load(I64, addresses, 8), base))
                kind = ir.VectorType(I32, 16)
                marks = const(512, int.from_bytes(mark * 64, "little"))
                for part in range(4):
                    f.store(f.load(kind, f.at(rows, 64 * part), 4), f.at(place, 64 * part))
                    f.store(marks, f.at(f.at(place, delta), 64 * part))
                f.ret(0)
        with f.each_lane(mask) as lane:
            place = f.at(data, b.sub(f.load(I64, f.item(addresses, lane, 8), 8), base))
            store_bytes(f, read_rows(f, rows, lane, size), place, size)
            f.store(const(8 * size, int.from_bytes(mark * size, "little")), f.at(place, delta))
        f.ret(0)
    _careful(f, state, addresses, mask, rows, size, strict, True)
    f.ret(0)
