"""What an edit changed, line by line and side by side: instructions keep their numbers, so moves are told from changes.

Owns the alignment of two versions of a block. It must not decide whether they do the same.
"""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction

_CONTEXT = 3


class Kind(str, enum.Enum):
    """How a line differs: not, reworded in place, moved away from or to here, removed, added; GAP stands for equal lines."""

    SAME = "same"
    REWORDED = "reworded"
    MOVED_FROM = "moved-from"
    MOVED_TO = "moved-to"
    REMOVED = "removed"
    ADDED = "added"
    GAP = "gap"


@dataclass(frozen=True, slots=True)
class Line:
    """One row: what stood on the left, what stands on the right; for a GAP how many rows were left out."""

    kind: Kind
    left: str
    right: str
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class BlockChange:
    """A changed block, its lines in the order of both sides."""

    label: str
    lines: tuple[Line, ...]


def changes(before: Kernel, after: Kernel) -> Iterator[BlockChange]:
    """The changed blocks of two kernels with the same blocks."""
    for old, new in zip(before.blocks, after.blocks, strict=True):
        if old.instructions != new.instructions:
            yield BlockChange(old.label, _folded(_rows(old.instructions, new.instructions)))


def _rows(old: Sequence[Instruction], new: Sequence[Instruction]) -> list[Line]:
    """Both sides merged: lines that kept their place form the spine, the rest stands between."""
    places = {instruction.uid: place for place, instruction in enumerate(new)}
    kept = _longest_rising([(n, places[i.uid]) for n, i in enumerate(old) if i.uid in places])
    there = {instruction.uid for instruction in old}
    rows: list[Line] = []
    left = right = 0
    for old_place, new_place in [*kept, (len(old), len(new))]:
        lefts = [
            Line(Kind.MOVED_FROM if i.uid in places else Kind.REMOVED, print_instruction(i), "") for i in old[left:old_place]
        ]
        rights = [Line(Kind.MOVED_TO if i.uid in there else Kind.ADDED, "", print_instruction(i)) for i in new[right:new_place]]
        rows += _between(lefts, rights)
        if old_place < len(old):
            one, other = print_instruction(old[old_place]), print_instruction(new[new_place])
            rows.append(Line(Kind.SAME if one == other else Kind.REWORDED, one, other))
        left, right = old_place + 1, new_place + 1
    return rows


def _between(lefts: Sequence[Line], rights: Sequence[Line]) -> Iterator[Line]:
    """Lines of both sides between two that kept their place; what was removed and added in the same words did not change."""
    done = 0
    for line in lefts:
        again = (n for n in range(done, len(rights)) if rights[n].kind is Kind.ADDED and rights[n].right == line.left)
        match = next(again, None) if line.kind is Kind.REMOVED else None
        if match is None:
            yield line
        else:
            yield from rights[done:match]
            yield Line(Kind.SAME, line.left, line.left)
            done = match + 1
    yield from rights[done:]


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest choice of pairs, given with rising first numbers, in which the second rise too (patience sorting)."""
    tops: list[int] = []
    ends: list[int] = []
    previous: list[int | None] = []
    for number, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        previous.append(ends[pile - 1] if pile else None)
        if pile == len(tops):
            tops.append(value)
            ends.append(number)
        else:
            tops[pile], ends[pile] = value, number
    found: list[tuple[int, int]] = []
    at = ends[-1] if ends else None
    while at is not None:
        found.append(pairs[at])
        at = previous[at]
    return found[::-1]


def _folded(rows: Sequence[Line]) -> tuple[Line, ...]:
    """The rows with long stretches of equal ones shortened to what stands around a change."""
    near = [False] * len(rows)
    for place, row in enumerate(rows):
        if row.kind is not Kind.SAME:
            for other in range(max(0, place - _CONTEXT), min(len(rows), place + _CONTEXT + 1)):
                near[other] = True
    found: list[Line] = []
    skipped = 0
    for row, shown in zip(rows, near, strict=True):
        if not shown:
            skipped += 1
            continue
        if skipped:
            found.append(Line(Kind.GAP, "", "", skipped))
        skipped = 0
        found.append(row)
    if skipped:
        found.append(Line(Kind.GAP, "", "", skipped))
    return tuple(found)
