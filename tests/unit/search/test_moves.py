"""Moves change a window as they say, and leave what must stay."""

import random

import pytest

from asmevo.frontend.parser import parse_source
from asmevo.ir.printer import print_instruction
from asmevo.search import moves

K = (
    parse_source("""
k:
  v_mov_b32_e32 v9, v1
  global_load_dword v2, v1, s[2:3]
  v_mul_f32_e32 v4, v1, v3
  s_waitcnt vmcnt(1) lgkmcnt(0)
  v_add_f32_e32 v5, v2, v4
  s_barrier
  v_mov_b32_e32 v4, v5
  v_add_f32_e32 v6, v4, v5
  s_endpgm
""")
    .block("k")
    .instructions
)


def text(members):
    return [print_instruction(i) for i in members]


def results(move, times=200):
    made = (move(K[:8], random.Random(seed), "gfx942") for seed in range(times))
    return [members for members in made if members]


def test_a_shift_keeps_dependences_and_what_cannot_move():
    for members in results(moves.shift):
        lines = text(members)
        assert sorted(lines) == sorted(text(K[:8]))
        order = [i.uid for i in members]
        assert order.index(K[2].uid) < order.index(K[4].uid) < order.index(K[5].uid) < order.index(K[6].uid)
        assert order.index(K[1].uid) < order.index(K[3].uid)
    assert len({tuple(text(members)) for members in results(moves.shift)}) > 1


def test_a_split_wait_waits_for_the_same():
    made = results(moves.split_wait)
    assert {tuple(text(m)[3:5]) for m in made} == {
        ("s_waitcnt vmcnt(1)", "s_waitcnt lgkmcnt(0)"),
        ("s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(1)"),
    }


def test_a_relaxed_wait_waits_for_less():
    assert {text(m)[3] for m in results(moves.relax_wait)} == {"s_waitcnt vmcnt(2) lgkmcnt(0)", "s_waitcnt vmcnt(1) lgkmcnt(1)"}


def test_only_what_commutes_has_its_sources_swapped():
    changed = {(a, b) for m in results(moves.swap_sources) for a, b in zip(text(K[:8]), text(m), strict=True) if a != b}
    assert ("v_mul_f32_e32 v4, v1, v3", "v_mul_f32_e32 v4, v3, v1") in changed
    assert all(before.startswith(("v_mul", "v_add")) for before, _ in changed)


def test_siblings_take_the_same_operands():
    for members in results(moves.sibling):
        ((before, after),) = [(a, b) for a, b in zip(K[:8], members, strict=True) if a != b]
        assert before.operands == after.operands
        assert before.mnemonic != after.mnemonic


@pytest.mark.parametrize("move", [*moves.KEEPING, *moves.DARING])
def test_barriers_stay(move):
    assert all("s_barrier" in text(members) for members in results(move))


def mask(*registers):
    return sum(1 << 256 + n for n in registers)


def test_a_value_gets_a_register_of_its_own_up_to_its_last_use():
    made = moves.renamed(K[:8], 2, mask(10, 20), mask(6))
    assert text(made)[2] == "v_mul_f32_e32 v10, v1, v3"
    assert text(made)[4] == "v_add_f32_e32 v5, v2, v10"
    assert text(made)[6:] == text(K[6:8])


def test_values_that_live_on_or_find_no_register_keep_theirs():
    assert moves.renamed(K[:8], 7, mask(10), mask(6)) is None
    assert moves.renamed(K[:8], 2, 0, mask(6)) is None
    assert moves.renamed(K[:8], 3, mask(10), 0) is None
