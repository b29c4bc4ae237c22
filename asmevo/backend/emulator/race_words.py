"""Shadow words of global memory, as the race check's native functions read them: where they lie, and what a segment tells.

Owns the words' fields and the order that segment numbers stand for, see `race_runtime`. It must not decide what is a race.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.irkit import I64, PTR, Function, Value, const, splat
from asmevo.backend.emulator.layout import RACE, SEGMENT, STATE

NUMBER = (1 << layout.SEGMENT_BITS) - 1
"""The bits of a shadow word that are its segment's number."""


def race_of(f: Function, state: Value) -> Value:
    """The RACE record of a wave's thread."""
    return f.pointer(STATE, state, "race")


def segment_at(f: Function, state: Value, number: Value) -> Value:
    """The SEGMENT record of a number."""
    return f.item(f.pointer(RACE, race_of(f, state), "segments"), number, SEGMENT.itemsize)


def byte_word(f: Function, state: Value, which: str, place: Value) -> Value:
    """The address of the shadow word of the byte at host address `place`."""
    b = f.b
    return b.inttoptr(b.add(f.get(STATE, state, which), b.shl(b.ptrtoint(place, I64), const(64, 2))), PTR)


def dword_word(f: Function, state: Value, which: str, place: Value) -> Value:
    """The address of the shadow word of the dword at host address `place`."""
    b = f.b
    return b.inttoptr(b.add(f.get(STATE, state, which), b.ptrtoint(place, I64)), PTR)


def spread_field(f: Function, state: Value, name: str, size: int, less: int = 0) -> Value:
    """A field of the wave's state, less a number, in `size` lanes."""
    value = f.get(STATE, state, name)
    return splat(f, f.b.sub(value, const(32, less)) if less else value, size)


def numbers_of(f: Function, words: Value, size: int) -> Value:
    """The segments of shadow words."""
    return f.b.and_(words, splat(f, const(32, NUMBER), size))


def since_barrier(f: Function, state: Value, numbers: Value, size: int) -> Value:
    """Other waves of the work-group since the last barrier, as bits."""
    b = f.b
    first = spread_field(f, state, "epoch_first", size)
    return b.icmp_unsigned("<", b.sub(numbers, first), b.sub(spread_field(f, state, "own_first", size), first))


def is_own_earlier(f: Function, state: Value, number: Value) -> Value:
    """Whether a segment since the last barrier is this wave's own, from before other waves ran."""
    b = f.b
    since = b.icmp_unsigned(">=", number, f.get(STATE, state, "epoch_first"))
    own = b.icmp_unsigned("==", f.get(SEGMENT, segment_at(f, state, number), "wave"), f.get(STATE, state, "wave"))
    return b.and_(since, own)


def other_groups(f: Function, state: Value, numbers: Value, size: int) -> Value:
    """Segments of other work-groups, as bits."""
    one = splat(f, const(32, 1), size)
    return f.b.icmp_unsigned("<", f.b.sub(numbers, one), spread_field(f, state, "group_first", size, less=1))


def any_of(f: Function, bits: Value, size: int) -> Value:
    """Whether any of `size` bits is set."""
    return f.b.icmp_unsigned("!=", f.b.bitcast(bits, ir.IntType(size)), const(size, 0))


def has_bit(f: Function, words: Value, bit: int, size: int) -> Value:
    """Words that have a bit of MANY, GROUPS, COHERENT or SPLIT, as bits."""
    return f.b.icmp_unsigned("!=", f.b.and_(words, splat(f, const(32, bit), size)), splat(f, const(32, 0), size))


def map_entry(f: Function, state: Value, place: Value) -> Value:
    """The address of a byte's map entry."""
    return f.at(place, f.get(STATE, state, "map_delta"))


def repeated(bits: int, size: int) -> Value:
    """Map bits of `size` bytes."""
    return const(8 * size, int.from_bytes(bytes([bits] * size), "little"))


def is_marked(f: Function, shadow: Value, bits: int, size: int) -> Value:
    """Whether any of `size` map entries has one of `bits`."""
    wide = ir.IntType(8 * size)
    return f.b.icmp_unsigned("!=", f.b.and_(f.load(wide, shadow), repeated(bits, size)), const(8 * size, 0))
