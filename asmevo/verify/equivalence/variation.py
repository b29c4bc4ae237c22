"""Differences that stay whatever undocumented bits are: both windows run again with these bits changed.

Owns what such bits are changed to, and when a difference is larger than what they explain. Results of approximate instructions
move by one unit in the last place, matrix and dot products by a thousandth of the largest (the order of their additions is not
published, and their error far below that), payloads of NaNs and the signs of zeros that `min` and `max` choose are replaced.
Equal results change alike, in both windows and wherever they are computed: each variation is a machine of its own.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction
from asmevo.ir.registers import EXEC, VECTOR_MASK, VGPR0, units
from asmevo.verify.equivalence.concrete import WaveState, WindowRunner
from asmevo.verify.equivalence.divergence import Place
from asmevo.verify.equivalence.execute import Programs
from asmevo.verify.equivalence.settled import is_full, result_format, suspicion

VARIATIONS = (1, 2, 3)
"""Up, down, and up or down as the value's bits have it."""
_SLACK = 2
"""How many times what the variations change a difference must be."""
_PART = 2.0**-10
_FORMATS: dict[str | None, tuple[type[Any], int]] = {
    "f64": (np.uint64, 52),
    "f32": (np.uint32, 23),
    "bf16": (np.uint16, 7),
    "f16": (np.uint16, 10),
}
"""Words that hold a value, and the bits of its fraction. Of smaller formats the lowest bits are changed as they are."""
_MIX = 0x9E3779B1

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Suspect:
    """An instruction some of whose result's bits may be undocumented. `rows` are the vector registers it writes."""

    rows: npt.NDArray[np.intp]
    fmt: str | None
    approximate: bool
    sums: bool
    chooses_zero: bool
    every_lane: bool


class Varied:
    """One window, run with its undocumented bits changed."""

    def __init__(self, runner: WindowRunner, programs: Programs) -> None:
        self._runner = runner
        self._suspects: dict[int, _Suspect] = {}
        self._acting: set[int] = set()
        self._moves: set[int] = set()
        for n, i in enumerate(runner.instructions):
            ops = suspicion(i, programs)
            if ops is None:
                continue
            if i.mnemonic.startswith("v_accvgpr"):
                self._moves.add(n)
            elif effects(i).writes & VECTOR_MASK:
                self._suspects[n] = _suspect(i, ops, programs)

    def values(self, state: WaveState, variation: int, places: Sequence[Place]) -> list[int] | None:
        """Return what is at the places in the end; None when the window cannot be run, or moves AGPRs under a partial EXEC.

        Variations of one state begin with 1, which looks for the instructions that have undocumented bits there.
        """
        if not variation:
            final = self._runner.run(state)
            return None if final is None else [_at(final, place) for place in places]
        if variation == VARIATIONS[0]:
            self._acting = {*self._suspects}
        last = len(self._runner.instructions) - 1
        for n, after in self._runner.trace(state, sorted({*self._acting, *self._moves, last})):
            if n in self._moves and not is_full(after):
                return None
            if n in self._acting and not _change(after, self._suspects[n], variation):
                self._acting.discard(n)
            if n == last:
                return [_at(after, place) for place in places]
        return None


def lasting(varied: tuple[Varied, Varied], state: WaveState, places: Sequence[Place]) -> Place | None:
    """Return the first of the `places` that differ on `state` whose difference no variation explains; None when all are."""
    before: list[list[int]] = [[] for _ in places]
    after: list[list[int]] = [[] for _ in places]
    left = list(range(len(places)))
    for variation in (0, *VARIATIONS):
        one, other = (window.values(state, variation, places) for window in varied)
        if one is None or other is None:
            return None
        for k in left:
            before[k].append(one[k])
            after[k].append(other[k])
        left = [k for k in left if _lasts(places[k], before[k], after[k])]
        if not left:
            return None
    return places[left[0]]


def _lasts(place: Place, before: Sequence[int], after: Sequence[int]) -> bool:
    is_scalar = place.unit is not None and place.unit < VGPR0
    return _is_apart_in_bits(before, after) if is_scalar else _is_apart(before, after)


def _is_apart_in_bits(before: Sequence[int], after: Sequence[int]) -> bool:
    """Whether some bit is the same in all runs of a window, and another one in those of the other: lane masks are bits."""
    either = before[0] ^ after[0]
    for values in (before, after):
        for value in values:
            either &= ~(value ^ values[0])
    return either != 0


def _is_apart(before: Sequence[int], after: Sequence[int]) -> bool:
    """Whether two registers' values lie further apart than the variations move each."""
    nan = [all(v & 0x7FFFFFFF > 0x7F800000 for v in values) for values in (before, after)]
    if any(nan):
        return not all(nan) and not any(v & 0x7FFFFFFF > 0x7F800000 for v in (after if nan[0] else before))
    ordered = [[(v & 0x7FFFFFFF) * (-1 if v >> 31 else 1) for v in values] for values in (before, after)]
    spread = sum(max(values) - min(values) for values in ordered)
    gap = max(min(ordered[0]) - max(ordered[1]), min(ordered[1]) - max(ordered[0]))
    return gap > _SLACK * spread


def _at(state: WaveState, place: Place) -> int:
    """A register's value, or the dword that a byte is in."""
    if place.unit is not None:
        return place.value(state)
    memory = state.memory if place.space == "memory" else state.lds
    first = place.lane & ~3
    return int.from_bytes(memory[first : first + 4].tobytes(), "little")


# Changing -------------------------------------------------------------------------------------------------------------------


def _suspect(i: Instruction, ops: frozenset[str], programs: Programs) -> _Suspect:
    compiled = programs.of(i)
    approximate = compiled is not None and compiled.program.approximate
    matrix = i.mnemonic.startswith(("v_mfma", "v_smfmac"))
    rows = np.array([unit - VGPR0 for unit in units(effects(i).writes & VECTOR_MASK)], np.intp)
    return _Suspect(
        rows,
        result_format(i.mnemonic),
        approximate,
        matrix or i.mnemonic.startswith("v_dot"),
        not ops.isdisjoint({"fmin", "fmax"}),
        matrix,
    )


def _change(state: WaveState, suspect: _Suspect, variation: int) -> bool:
    """Change the undocumented bits of what an instruction just wrote. False when there are none."""
    old = state.vector[suspect.rows]
    if suspect.fmt in _FORMATS:
        new = _changed(old, *_FORMATS[suspect.fmt], suspect, variation)
    else:
        new = _moved(old, np.ones_like(old, np.bool_), variation) if suspect.approximate else old
    if new is old:
        return False
    if not suspect.every_lane:
        active = np.unpackbits(state.scalar[EXEC : EXEC + 2].view(np.uint8), bitorder="little").view(np.bool_)
        new = np.where(active, new, old)
    state.vector[suspect.rows] = new
    return True


def _changed(old: Array, word: type[Any], fraction: int, suspect: _Suspect, variation: int) -> Array:
    values = _elements(old, word)
    bits = 8 * values.itemsize
    sign = 1 << (bits - 1)
    infinity = (sign - 1) >> fraction << fraction
    magnitude = values & word(sign - 1)
    nan, zero = magnitude > infinity, magnitude == 0
    new = values
    if suspect.approximate:
        finite = magnitude < infinity
        if suspect.sums and suspect.fmt in ("f32", "f64"):
            new = _shifted(values, finite, variation)
        else:
            new = _moved(values, finite & ~zero, variation)
    if suspect.chooses_zero and zero.any():
        new = np.where(zero, word(sign if variation == 2 else 0), new)
    if nan.any():
        quiet = infinity | 1 << (fraction - 1)
        payload = (quiet, sign | quiet | ((1 << fraction) - 1), quiet | 5)[variation - 1]
        new = np.where(nan, word(payload), new)
    return old if new is values else _words(new, old.shape)


def _elements(old: Array, word: type[Any]) -> Array:
    """The values in registers (n, 64): the same shape, pairs of registers as (n / 2, 64), or halves as (n, 64, 2)."""
    if word is np.uint64:
        return old[0::2].astype(np.uint64) | old[1::2].astype(np.uint64) << np.uint64(32)
    return old if word is np.uint32 else old.view(word).reshape(*old.shape, 2)


def _words(values: Array, shape: tuple[int, ...]) -> Array:
    if values.dtype == np.uint64:
        return np.stack((values.astype(np.uint32), (values >> np.uint64(32)).astype(np.uint32)), 1).reshape(shape)
    return np.ascontiguousarray(values).view(np.uint32).reshape(shape)


def _up(values: Array, variation: int) -> Array:
    """Whether each value goes up."""
    if variation < 3:
        return np.full(values.shape, variation == 1)
    return ((values.astype(np.uint64) * np.uint64(_MIX)) >> np.uint64(13) & np.uint64(1)) == 1


def _moved(values: Array, which: Array, variation: int) -> Array:
    """The values, those of `which` moved by one unit in the last place."""
    one = values.dtype.type(1)
    return np.where(which, np.where(_up(values, variation), values + one, values - one), values)


def _shifted(values: Array, finite: Array, variation: int) -> Array:
    """The values, the finite ones moved by a part of the largest."""
    kind = np.float64 if values.dtype == np.uint64 else np.float32
    numbers = np.where(finite, values, values.dtype.type(0)).view(kind)
    step = kind(np.abs(numbers).max() * _PART)
    moved = np.where(_up(values, variation), numbers + step, numbers - step).astype(kind)
    return np.where(finite, moved.view(values.dtype), values)
