"""Native functions for LDS: data, definedness, and races between waves that no barrier separates.

For every byte two shadow words tell who last wrote and who last read it: wave << 24 | epoch, where the epoch counts the
work-group's barriers and is IN_FLIGHT until the access's own wave has waited for it. An access conflicts with one of another
wave whose epoch is not below the current one; at least one of the two must be a write, and not both atomic. Two writes that
leave the same bytes do not conflict.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from llvmlite import ir

from asmevo.backend.emulator import layout, race_codegen
from asmevo.backend.emulator.faulting import check, fault, refuse
from asmevo.backend.emulator.irkit import I1, I32, I64, PTR, Function, Value, const, splat
from asmevo.backend.emulator.layout import ENTRY, LANES, RACE, STATE
from asmevo.backend.emulator.memory_codegen import (
    SIZES,
    TRANSFER_TYPE,
    element,
    read_rows,
    store_bytes,
    transfer_name,
    write_rows,
)

_EPOCH = layout.IN_FLIGHT
COMPLETE_TYPE = ir.FunctionType(I32, (PTR, PTR))


def _shadow_type(size: int) -> Value:
    return ir.VectorType(I32, size)


def any_set(f: Function, bits: Value, size: int) -> Value:
    """Whether any lane of an i1 vector is set."""
    return f.b.icmp_unsigned("!=", f.b.bitcast(bits, ir.IntType(size)), const(size, 0))


def _foreign(f: Function, state: Value, words: Value, size: int, since: Value) -> Value:
    """Shadow words of other waves, of epoch `since` or later, as bits."""
    b = f.b
    wave = b.lshr(words, splat(f, const(32, layout.EPOCH_BITS), size))
    epoch = b.and_(words, splat(f, const(32, _EPOCH), size))
    other = b.icmp_unsigned("!=", wave, splat(f, f.get(STATE, state, "wave"), size))
    return b.and_(other, b.icmp_unsigned(">=", epoch, splat(f, since, size)))


def shadow(f: Function, state: Value, which: str, address: Value) -> Value:
    """The address of a byte's shadow word."""
    return f.item(f.pointer(STATE, state, which), address, 4)


def stamp(f: Function, state: Value, epoch: Value) -> Value:
    """This wave's shadow word with `epoch`."""
    return f.b.or_(f.b.shl(f.get(STATE, state, "wave"), const(32, layout.EPOCH_BITS)), epoch)


def place(f: Function, state: Value, address: Value, lane: Value, size: int) -> tuple[Value, Value]:
    """The host address and the address of a checked LDS access; returns from the function on a fault.

    A forgiven access beyond the end goes to the bytes behind it, which nothing else uses.
    """
    b = f.b
    align = min(size & -size, 4)
    if align > 1:
        odd = b.icmp_unsigned("!=", b.and_(address, const(64, align - 1)), const(64, 0))
        refuse(f, state, odd, "misaligned", lane, address)
    end = f.get(STATE, state, "lds_size")
    beyond = b.icmp_unsigned(">", b.add(address, const(64, size)), end)
    refuse(f, state, beyond, "out-of-bounds", lane, address)
    inside = b.select(beyond, end, address)
    return f.at(f.pointer(STATE, state, "lds"), inside), inside


def check_defined(f: Function, state: Value, address: Value, lane: Value, size: int) -> None:
    """A fault when one of the bytes was never written."""
    ones = const(8 * size, int.from_bytes(b"\1" * size, "little"))
    got = f.load(element(size), f.at(f.pointer(STATE, state, "lds_defined"), address))
    unknown = f.b.xor(got, ones)
    with f.when(f.b.icmp_unsigned("!=", unknown, const(8 * size, 0)), likely=False):
        check(f, fault(f, state, "uninitialised-memory", lane, _first_byte(f, unknown, address, 8)))


def _first_byte(f: Function, bits: Value, address: Value, width: int) -> Value:
    """The address of the first byte that has a bit in `bits`, which holds `width` for each byte."""
    kind = bits.type
    found = f.b.call(f.intrinsic(f"llvm.cttz.i{kind.width}", kind, kind, I1), [bits, const(1, 0)])
    number = f.b.zext(found, I64) if kind.width < 64 else f.b.trunc(found, I64) if kind.width > 64 else found
    return f.b.add(address, f.b.udiv(number, const(64, width)))


def check_races(
    f: Function,
    state: Value,
    which: str,
    address: Value,
    lane: Value,
    size: int,
    *,
    atomic: bool = False,
    written: list[Value] | None = None,
) -> None:
    """A race fault when another wave's access in `which` is not separated from this one.

    Where the dwords (or what is less) `written` are there already, there is none.
    """
    b = f.b
    words = f.load(_shadow_type(size), shadow(f, state, which, address), 4)
    foreign = _foreign(f, state, words, size, f.get(STATE, state, "epoch"))
    if atomic:
        wave = b.lshr(words, splat(f, const(32, layout.EPOCH_BITS), size))
        foreign = b.and_(foreign, b.icmp_unsigned("!=", wave, splat(f, const(32, layout.WAVE_ATOMIC), size)))
    _report(f, state, which, foreign, address, lane, size, written)


def _differs(f: Function, state: Value, address: Value, size: int, written: list[Value]) -> Value:
    """Whether a byte that will be written is another one now."""
    b = f.b
    place = f.at(f.pointer(STATE, state, "lds"), address)
    if size < 4:
        kind = element(size)
        return b.icmp_unsigned("!=", f.load(kind, place), b.trunc(written[0], kind))
    result = const(1, 0)
    for row, value in enumerate(written):
        result = b.or_(result, b.icmp_unsigned("!=", f.load(I32, f.at(place, 4 * row)), value))
    return result


def _report(
    f: Function,
    state: Value,
    which: str,
    foreign: Value,
    address: Value,
    lane: Value,
    size: int,
    written: list[Value] | None = None,
) -> None:
    """A race fault at the first byte of `foreign`, with its shadow word."""
    with ExitStack() as stack:
        stack.enter_context(f.when(any_set(f, foreign, size), likely=False))
        if written is not None:
            stack.enter_context(f.when(_differs(f, state, address, size, written)))
        byte = _first_byte(f, f.b.bitcast(foreign, ir.IntType(size)), address, 1)
        f.put(STATE, state, "fault_other", f.load(I32, shadow(f, state, which, byte), 4))
        check(f, fault(f, state, "race", lane, byte))


def mark_written(f: Function, state: Value, address: Value, size: int, word: Value) -> None:
    """Sets the write shadow and the defined bytes."""
    f.store(splat(f, word, size), shadow(f, state, "lds_writer", address), 4)
    ones = const(8 * size, int.from_bytes(b"\1" * size, "little"))
    f.store(ones, f.at(f.pointer(STATE, state, "lds_defined"), address))


def build_lds(module: ir.Module, kind: str, size: int, strict: bool) -> None:
    """`lds_load` and `lds_store`: addresses are i64 byte offsets."""
    f = Function(module, transfer_name(kind, size, strict), TRANSFER_TYPE)
    state, addresses, mask, rows = f.args
    flying = stamp(f, state, const(32, layout.IN_FLIGHT))
    if strict:
        race_codegen.watch(f, state, addresses, mask, size, write=kind == "lds_store")
        if kind == "lds_store":
            note_change(f, state)
    with f.each_lane(mask) as lane:
        at, address = place(f, state, f.load(I64, f.item(addresses, lane, 8), 8), lane, size)
        if kind == "lds_load":
            if strict:
                check_races(f, state, "lds_writer", address, lane, size)
                check_defined(f, state, address, lane, size)
            write_rows(f, rows, lane, at, size)
        else:
            values = read_rows(f, rows, lane, size)
            if strict:
                check_races(f, state, "lds_writer", address, lane, size, written=values)
                check_races(f, state, "lds_reader", address, lane, size)
                mark_written(f, state, address, size, flying)
            store_bytes(f, values, at, size)
    f.ret(0)


def complete(f: Function, state: Value, entry: Value) -> Value:
    """Completes the LDS part of a queue entry; a status."""
    return f.b.call(f.external("asm_complete", I32, PTR, PTR), [state, entry])


def build_complete(module: ir.Module) -> None:
    """`asm_complete(state, entry)`: stores become visible now; a load faults when a byte was overwritten meanwhile."""
    f = Function(module, "asm_complete", COMPLETE_TYPE)
    state, entry = f.args
    b = f.b
    points = b.zext(f.get(ENTRY, entry, "points"), I64)
    with f.when(b.icmp_unsigned("==", points, const(64, 0))):
        f.ret(0)
    mask = f.get(ENTRY, entry, "mask")
    size = b.zext(f.get(ENTRY, entry, "bytes"), I64)
    kind = f.get(ENTRY, entry, "kind")
    atomic = b.icmp_unsigned("!=", f.get(ENTRY, entry, "atomic"), const(32, 0))
    epoch = f.get(STATE, state, "epoch")
    shared = b.or_(epoch, const(32, layout.WAVE_ATOMIC << layout.EPOCH_BITS))
    now = b.select(atomic, shared, stamp(f, state, epoch))
    since = f.get(ENTRY, entry, "epoch")
    stores = b.or_(atomic, b.icmp_unsigned("==", kind, const(32, layout.ENTRY_STORE)))
    quiet = b.icmp_unsigned("==", f.get(ENTRY, entry, "changes"), f.get(RACE, f.pointer(STATE, state, "race"), "lds_changes"))
    f.put(STATE, state, "fault_unit", b.add(f.get(ENTRY, entry, "op"), const(32, 1)))
    for width in SIZES:
        with f.when(b.icmp_unsigned("==", size, const(64, width))), b.if_else(stores) as (store, load):
            with store, _addresses(f, state, entry, points, mask, width) as (address, _):
                f.store(splat(f, now, width), shadow(f, state, "lds_writer", address), 4)
            with load:
                with f.when(b.not_(quiet)), _addresses(f, state, entry, points, mask, width) as (address, lane):
                    words = f.load(_shadow_type(width), shadow(f, state, "lds_writer", address), 4)
                    _report(f, state, "lds_writer", _foreign(f, state, words, width, since), address, lane, width)
                with _addresses(f, state, entry, points, mask, width) as (address, _):
                    _note_reader(f, state, address, width, now)
    f.put(STATE, state, "fault_unit", 0)
    f.ret(0)


@contextmanager
def _addresses(
    f: Function, state: Value, entry: Value, points: Value, mask: Value, size: int
) -> Generator[tuple[Value, Value], None, None]:
    """Visits the LDS addresses of an entry, with their lanes; a forgiven one beyond the end is the end."""
    b = f.b
    end = f.get(STATE, state, "lds_size")
    with f.loop(points) as point, f.each_lane(mask) as lane:
        index = b.add(b.mul(point, const(64, LANES)), lane)
        address = b.zext(f.load(I32, f.item(f.field(ENTRY, entry, "address"), index, 4), 4), I64)
        yield b.select(b.icmp_unsigned(">", b.add(address, const(64, size)), end), end, address), lane


def _note_reader(f: Function, state: Value, address: Value, size: int, now: Value) -> None:
    b = f.b
    reader = shadow(f, state, "lds_reader", address)
    old = f.load(_shadow_type(size), reader, 4)
    epoch = f.get(STATE, state, "epoch")
    shared = _foreign(f, state, old, size, epoch)
    many = b.or_(const(32, layout.WAVE_MANY << layout.EPOCH_BITS), epoch)
    f.store(b.select(shared, splat(f, many, size), splat(f, now, size)), reader, 4)


def note_change(f: Function, state: Value) -> None:
    """Counts an operation that changes LDS: a load that was outstanding meanwhile looks whether it was overwritten."""
    race = f.pointer(STATE, state, "race")
    f.put(RACE, race, "lds_changes", f.b.add(f.get(RACE, race, "lds_changes"), const(32, 1)))


__all__ = ["I1", "build_complete", "build_lds", "complete"]
