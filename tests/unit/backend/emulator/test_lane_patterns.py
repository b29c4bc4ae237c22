"""Patterns of cross-lane reads: each one stands for the table of lanes that it was made from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from asmevo.backend.emulator.lane_patterns import pattern
from asmevo.ir.semantics import build as b
from asmevo.ir.semantics.expr import Expr

LANE, FIFTEEN = b.lane(), b.const(32, 15)
ROW = b.and_(LANE, b.const(32, 48))


def added(n: int) -> Expr:
    return b.add(LANE, b.const(32, n))


INDICES: dict[str, tuple[Expr, Callable[[int], int]]] = {
    "row_mirror": (b.xor(LANE, FIFTEEN), lambda n: n ^ 15),
    "row_shl": (added(3), lambda n: n + 3),
    "row_shr": (b.sub(LANE, b.const(32, 5)), lambda n: n - 5),
    "row_bcast 15": (b.sub(ROW, b.const(32, 1)), lambda n: (n & 48) - 1),
    "row_bcast 31": (b.const(32, 31), lambda _: 31),
    "wave_ror": (b.and_(b.sub(LANE, b.const(32, 1)), b.const(32, 63)), lambda n: n - 1),
}


@pytest.mark.parametrize("name", INDICES)
def test_a_pattern_gives_the_lanes_of_its_expression(name: str):
    index, lane_of = INDICES[name]
    found = pattern(index, 16)
    assert found is not None
    for lane in range(64):
        chunk, place = lane // 16, found.mask[lane % 16]
        source = found.first if place < 16 else found.second
        if not found.absolute:
            source += chunk
        assert source % 4 * 16 + place % 16 == lane_of(lane) % 64


@pytest.mark.parametrize("index", [b.src("v", 32), b.add(LANE, b.src("v", 32)), b.mul(LANE, b.const(32, 5)), b.popcount(LANE)])
def test_other_reads_have_none(index: Expr):
    assert pattern(index, 16) is None
