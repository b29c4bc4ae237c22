"""Native functions that look at the shadow words of an access of global memory, and record the access in them.

Owns the common case, in which words tell by themselves that nothing conflicts, dword by dword or byte by byte. What is doubtful
is decided in `race_runtime`, which also says what the words hold.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.faulting import check
from asmevo.backend.emulator.irkit import I32, I64, PTR, Function, Value, const, splat
from asmevo.backend.emulator.layout import STATE
from asmevo.backend.emulator.race_codegen import CLASH_TYPE, PIECE, READ_TYPE, SPLIT_TYPE, WRITE_TYPE
from asmevo.backend.emulator.race_words import (
    any_of,
    byte_word,
    dword_word,
    has_bit,
    is_marked,
    is_own_earlier,
    map_entry,
    numbers_of,
    other_groups,
    repeated,
    since_barrier,
    spread_field,
)

_NULL = ir.Constant(PTR, None)


def build(module: ir.Module, sizes: tuple[int, ...]) -> None:
    """All functions of this module; accesses have one of `sizes`, or are PIECE bytes of a wide one."""
    _build_split(module)
    for size in sizes:
        _build_read_bytes(module, size)
        _build_write_bytes(module, size)
    for size in (*sizes, PIECE):
        _build_note_read(module, size)
        _build_note_write(module, size)


def _build_split(module: ir.Module) -> None:
    """`asm_split(state, place, size)`: every dword that has one of the bytes gets a shadow word for each of its bytes."""
    f = Function(module, "asm_split", SPLIT_TYPE)
    state, place, size = f.args
    b = f.b
    number = b.ptrtoint(place, I64)
    first = b.and_(number, const(64, -4))
    with f.loop(b.sub(b.add(number, size), first), 4) as n:
        at = b.inttoptr(b.add(first, n), PTR)
        writer = f.load(I32, dword_word(f, state, "writers", at), 4)
        with f.when(b.icmp_unsigned("!=", writer, const(32, layout.SPLIT))):
            reader = f.load(I32, dword_word(f, state, "readers", at), 4)
            f.store(splat(f, writer, 4), byte_word(f, state, "byte_writers", at), 4)
            f.store(splat(f, reader, 4), byte_word(f, state, "byte_readers", at), 4)
            f.store(const(32, layout.SPLIT), dword_word(f, state, "writers", at), 4)
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
    writers = f.load(ir.VectorType(I32, count), dword_word(f, state, "writers", place), 4)
    numbers = numbers_of(f, writers, count)
    doubtful = b.or_(since_barrier(f, state, numbers, count), other_groups(f, state, numbers, count))
    doubtful = b.or_(doubtful, has_bit(f, writers, layout.SPLIT, count))
    with f.when(b.or_(_is_odd(f, place), any_of(f, doubtful, count)), likely=False):
        _note_bytes(f, size, None)
    _record_read(f, state, place, word, dword_word(f, state, "readers", place), count, size)
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
    shadow = map_entry(f, state, place)
    writer = dword_word(f, state, "writers", place)
    with f.when(_is_odd(f, place), likely=False):
        _note_bytes(f, size, data)
    with f.when(is_marked(f, shadow, layout.MAP_WRITTEN | layout.MAP_READ, size)):
        writers = f.load(kind, writer, 4)
        doubtful = b.or_(has_bit(f, writers, layout.SPLIT, count), _doubtful_readers(f, state, place, count))
        numbers = numbers_of(f, writers, count)
        doubtful = b.or_(doubtful, b.or_(since_barrier(f, state, numbers, count), other_groups(f, state, numbers, count)))
        with f.when(any_of(f, doubtful, count), likely=False):
            _note_bytes(f, size, data)
    f.store(splat(f, word, count), writer, 4)
    f.store(repeated(layout.MAP_DEFINED | layout.MAP_WRITTEN, size), shadow)
    f.ret(0)


def _doubtful_readers(f: Function, state: Value, place: Value, count: int, *, table: str = "readers") -> Value:
    """Words whose readers may conflict with a write, as bits."""
    b = f.b
    at = dword_word(f, state, table, place) if table == "readers" else byte_word(f, state, table, place)
    read = f.load(ir.VectorType(I32, count), at, 4)
    numbers = numbers_of(f, read, count)
    doubtful = b.or_(since_barrier(f, state, numbers, count), other_groups(f, state, numbers, count))
    recent = b.icmp_unsigned(">=", numbers, spread_field(f, state, "epoch_first", count))
    shared = b.or_(b.and_(recent, has_bit(f, read, layout.MANY, count)), has_bit(f, read, layout.GROUPS, count))
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
    with f.when(is_marked(f, map_entry(f, state, place), layout.MAP_WRITTEN, size)):
        numbers = numbers_of(f, f.load(kind, byte_word(f, state, "byte_writers", place), 4), size)
        doubtful = b.or_(since_barrier(f, state, numbers, size), other_groups(f, state, numbers, size))
        with f.when(any_of(f, doubtful, size), likely=False):
            _clash(f, [state, place, const(64, size), lane, address, word, const(32, 0), _NULL])
    _record_read(f, state, place, word, byte_word(f, state, "byte_readers", place), size, size)
    f.ret(0)


def _record_read(f: Function, state: Value, place: Value, word: Value, reader: Value, size: int, count: int) -> None:
    """Puts a reader into `size` shadow words at `reader`, for `count` bytes."""
    b = f.b
    kind = ir.VectorType(I32, size)
    shadow = map_entry(f, state, place)
    wide = ir.IntType(8 * count)
    f.store(b.or_(f.load(wide, shadow), repeated(layout.MAP_READ, count)), shadow)
    old = f.load(kind, reader, 4)
    numbers = numbers_of(f, old, size)
    recent = b.icmp_unsigned(">=", numbers, spread_field(f, state, "epoch_first", size))
    many = b.or_(_others_since_barrier(f, state, numbers, size), b.and_(recent, has_bit(f, old, layout.MANY, size)))
    groups = b.or_(other_groups(f, state, numbers, size), has_bit(f, old, layout.GROUPS, size))
    zero = splat(f, const(32, 0), size)
    new = splat(f, word, size)
    plain = b.and_(b.or_(many, groups), b.icmp_unsigned("==", b.and_(old, splat(f, const(32, layout.COHERENT), size)), zero))
    new = b.select(plain, b.and_(new, splat(f, const(32, layout.COHERENT - 1), size)), new)
    for bits, bit in ((many, layout.MANY), (groups, layout.GROUPS)):
        new = b.or_(new, b.select(bits, splat(f, const(32, bit), size), zero))
    f.store(new, reader, 4)


def _others_since_barrier(f: Function, state: Value, numbers: Value, size: int) -> Value:
    """As `since_barrier`, also where this wave was stopped and resumed since the barrier."""
    b = f.b
    kind = ir.VectorType(I32, size)
    kept = f.local(kind)
    f.store(numbers, kept)
    with f.when(b.icmp_unsigned("!=", f.get(STATE, state, "resumed"), const(32, 0)), likely=False), f.loop(size) as n:
        at = f.item(kept, n, 4)
        own = is_own_earlier(f, state, f.load(I32, at, 4))
        f.store(b.select(own, const(32, 0), f.load(I32, at, 4)), at, 4)
    return since_barrier(f, state, f.load(kind, kept), size)


def _build_write_bytes(module: ir.Module, size: int) -> None:
    """`asm_write_bytes_SIZE(state, place, lane, address, word, data)`: as `asm_note_write_SIZE`, of split dwords."""
    f = Function(module, f"asm_write_bytes_{size}", WRITE_TYPE)
    state, place, lane, address, word, data = f.args
    b = f.b
    kind = ir.VectorType(I32, size)
    shadow = map_entry(f, state, place)
    writer = byte_word(f, state, "byte_writers", place)
    with f.when(is_marked(f, shadow, layout.MAP_WRITTEN | layout.MAP_READ, size)):
        numbers = numbers_of(f, f.load(kind, writer, 4), size)
        doubtful = b.or_(since_barrier(f, state, numbers, size), other_groups(f, state, numbers, size))
        doubtful = b.or_(doubtful, _doubtful_readers(f, state, place, size, table="byte_readers"))
        with f.when(any_of(f, doubtful, size), likely=False):
            _clash(f, [state, place, const(64, size), lane, address, word, const(32, 1), data])
    f.store(splat(f, word, size), writer, 4)
    f.store(repeated(layout.MAP_DEFINED | layout.MAP_WRITTEN, size), shadow)
    f.ret(0)


def _clash(f: Function, arguments: list[Value]) -> None:
    check(f, f.b.call(f.external("asm_clash", I32, *CLASH_TYPE.args), arguments))
