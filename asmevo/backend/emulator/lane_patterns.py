"""Which lanes a cross-lane read takes its values from, where that is the same whatever registers hold.

Owns the evaluation of expressions of lane numbers and the search for a pattern that all chunks of lanes share. It must not emit
code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asmevo.backend.emulator.layout import LANES
from asmevo.ir.semantics.expr import Expr, Op

_INTEGER: dict[Op, Callable[[int, int], int]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.AND: lambda a, b: a & b,
    Op.OR: lambda a, b: a | b,
    Op.XOR: lambda a, b: a ^ b,
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """Lane n of a chunk takes element `mask[n]` of two chunks laid end to end, `first` and `second`.

    Both count from the chunk itself, modulo the chunks there are, or where `absolute` from the wave's first.
    """

    first: int
    second: int
    mask: tuple[int, ...]
    absolute: bool


def pattern(index: Expr, width: int) -> Pattern | None:
    """The pattern of reads at lane `index` modulo 64 by chunks of `width` lanes; None where there is none of this kind."""
    table = [_at(index, lane) for lane in range(LANES)]
    lanes = [number % LANES for number in table if number is not None]
    if len(lanes) != LANES:
        return None
    chunks = LANES // width
    for absolute in (False, True):
        sources = [(n // width - (0 if absolute else lane // width)) % chunks for lane, n in enumerate(lanes)]
        found = sorted(set(sources))
        if len(found) > 2:
            continue
        places = [found.index(source) * width + n % width for source, n in zip(sources, lanes, strict=True)]
        mask = tuple(places[:width])
        if places == list(mask) * chunks:
            return Pattern(found[0], found[-1], mask, absolute)
    return None


def _at(e: Expr, lane: int) -> int | None:
    """The value of an expression of the lane's number; None where it depends on something else."""
    if e.op is Op.CONST:
        return e.attr if isinstance(e.attr, int) else None
    if e.op is Op.LANE:
        return lane
    operation = _INTEGER.get(e.op)
    if operation is None:
        return None
    left, right = (_at(argument, lane) for argument in e.args)
    return None if left is None or right is None else operation(left, right) & (1 << e.bits) - 1
