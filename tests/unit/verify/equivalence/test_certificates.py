"""Certificates: an independent solver finds no model either."""

import pytest

from asmevo.ir.registers import VGPR0
from asmevo.verify.equivalence.certificates import Certificate, ask, certify, holds
from asmevo.verify.equivalence.facts import Facts
from asmevo.verify.verdict import Outcome
from windows import judge, live, window

SMALL = {VGPR0 + k: (0xFFFF0000, 0) for k in (1, 2)}
PROVED = [
    ("v_mul_lo_u32 v0, v1, v2", "v_mul_u32_u24_e32 v0, v1, v2", "v0", SMALL),
    ("v_cmp_lt_i32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v2, v1, vcc", "v_min_i32_e32 v0, v1, v2", "v0", {}),
    ("v_ashrrev_i32_e32 v0, 3, v1", "v_lshrrev_b32_e32 v0, 3, v1", "v0", SMALL),
    ("v_lshl_or_b32 v0, v1, 16, v2", "v_lshl_add_u32 v0, v1, 16, v2", "v0", SMALL),
    ("s_cmp_eq_u32 s6, 0", "s_cmp_lt_u32 s6, 1", "scc", {}),
]


def answer(query: str) -> str:
    """What cvc5 says of one query."""
    (said,) = ask("cvc5", Certificate("query", "plain", (query,)).text, 20.0)
    return said


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


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_a_file_is_checked_by_either_solver(solver: str) -> None:
    before, after, needed, _ = PROVED[1]
    certificate = certify("one", window(before), window(after), live(needed))
    assert certificate is not None
    assert certificate.form == "plain"
    assert certificate.queries
    answers = ask(solver, certificate.text)
    assert holds(answers, certificate.text)
    wrong = certificate.text.replace("bvslt", "bvult", 1)
    assert "sat" in ask(solver, wrong)
    assert not holds(ask(solver, wrong), wrong)
    assert not holds(answers[1:], certificate.text)


def test_what_is_not_proved_has_no_certificate() -> None:
    assert certify("one", window("v_mov_b32_e32 v0, v1"), window("v_mov_b32_e32 v0, v2"), live("v0")) is None
