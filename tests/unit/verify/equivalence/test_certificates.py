"""Certificates: an independent solver finds no model either."""

import cvc5
import pytest

from asmevo.ir.registers import VGPR0
from asmevo.verify.equivalence.facts import Facts
from asmevo.verify.verdict import Outcome
from windows import judge

SMALL = {VGPR0 + k: (0xFFFF0000, 0) for k in (1, 2)}
PROVED = [
    ("v_mul_lo_u32 v0, v1, v2", "v_mul_u32_u24_e32 v0, v1, v2", "v0", SMALL),
    ("v_cmp_lt_i32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v2, v1, vcc", "v_min_i32_e32 v0, v1, v2", "v0", {}),
    ("v_ashrrev_i32_e32 v0, 3, v1", "v_lshrrev_b32_e32 v0, 3, v1", "v0", SMALL),
    ("v_lshl_or_b32 v0, v1, 16, v2", "v_lshl_add_u32 v0, v1, 16, v2", "v0", SMALL),
    ("s_cmp_eq_u32 s6, 0", "s_cmp_lt_u32 s6, 1", "scc", {}),
]


def answer(text: str) -> str:
    """What cvc5 says of SMT-LIB2 text."""
    solver = cvc5.Solver()
    solver.setOption("tlimit-per", "20000")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, f"(set-logic QF_UFBV)\n{text}", "certificate")
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, parser.getSymbolManager())
    return said.strip()


@pytest.mark.parametrize(("before", "after", "needed", "known"), PROVED)
def test_cvc5_agrees(before: str, after: str, needed: str, known: dict[int, tuple[int, int]]) -> None:
    texts: list[str] = []
    verdict = judge(before, after, needed, facts=Facts(known, assumptions=("ranges",)), record=texts.append)
    assert verdict.outcome is Outcome.PROVED
    for text in texts:
        assert answer(text) == "unsat"
    assert bool(texts) is (verdict.basis[0].method == "z3")


@pytest.mark.parametrize(("before", "after", "needed", "known"), PROVED)
def test_terms_that_nothing_rewrote_are_equal_too(
    before: str, after: str, needed: str, known: dict[int, tuple[int, int]]
) -> None:
    texts: list[str] = []
    facts = Facts(known, assumptions=("ranges",))
    assert judge(before, after, needed, facts=facts, record=texts.append, plain=True).outcome is Outcome.PROVED
    assert texts
    assert [answer(text) for text in texts] == ["unsat"] * len(texts)


def test_a_certificate_that_does_not_hold_is_found_out() -> None:
    texts: list[str] = []
    judge(*PROVED[1][:3], record=texts.append)
    assert texts
    assert "bvslt" in texts[0]
    assert answer(texts[0].replace("bvslt", "bvult", 1)) == "sat"


def test_terms_that_are_the_same_need_no_certificate() -> None:
    texts: list[str] = []
    verdict = judge("v_add_u32_e32 v0, v1, v2", "v_add_u32_e32 v0, v2, v1", "v0", record=texts.append)
    assert verdict.outcome is Outcome.PROVED
    assert texts == []
