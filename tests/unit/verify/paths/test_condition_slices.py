"""Conditions asked slice by slice are answered as when asked together, and asked once."""

import random

import pytest

from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.solver import satisfiable
from asmevo.verify.equivalence.terms import Term
from asmevo.verify.paths import condition_slices
from asmevo.verify.paths.condition_slices import ConditionSlices, independent

EFFORT = 3_000_000


def variable(n: Normaliser, name: str, bits: int = 8) -> Term:
    return n.table.node("var", bits, (), name)


def equals(n: Normaliser, a: Term, number: int) -> Term:
    return n.make("eq", 1, (a, n.const(a.bits, number)))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []

    def counted(conditions: list[Term], effort: int) -> bool | None:
        calls.append(len(conditions))
        return satisfiable(conditions, effort)

    monkeypatch.setattr(condition_slices, "satisfiable", counted)
    return calls


def test_a_contradiction_is_seen_beside_what_has_nothing_to_do_with_it() -> None:
    n = Normaliser()
    x, y = variable(n, "x"), variable(n, "y")
    slices = ConditionSlices(EFFORT)
    assert slices.satisfiable([equals(n, y, 3), equals(n, x, 1), equals(n, x, 2)]) is False
    assert slices.satisfiable([equals(n, y, 3), equals(n, x, 1)]) is True
    assert slices.satisfiable([]) is True


def test_conditions_are_apart_only_where_they_share_nothing() -> None:
    n = Normaliser()
    x, y, z = (variable(n, name) for name in "xyz")
    first, second, link = equals(n, x, 1), equals(n, y, 1), n.make("eq", 1, (n.make("xor", 8, (x, y)), z))
    assert len(independent([first, second])) == 2
    assert len(independent([first, second, link])) == 1


def test_functions_without_meaning_keep_conditions_together() -> None:
    """popcount is not interpreted: of equal arguments it has equal values, in whichever condition it stands."""
    n = Normaliser()
    x, y = variable(n, "x", 32), variable(n, "y", 32)
    counts = [n.table.node("popcount", 32, (v,)) for v in (x, y)]
    conditions = [equals(n, counts[0], 3), equals(n, counts[1], 4), equals(n, x, 7), equals(n, y, 7)]
    assert len(independent(conditions)) == 1
    assert ConditionSlices(EFFORT).satisfiable(conditions) is False


def test_the_same_question_by_other_names_is_asked_once(asked: list[int]) -> None:
    slices = ConditionSlices(EFFORT)
    for names in ("ab", "cd"):
        n = Normaliser()
        a, b = (variable(n, name) for name in names)
        assert slices.satisfiable([n.make("ult", 1, (a, b)), n.make("ult", 1, (b, a))]) is False
    assert asked == [2]


def test_a_question_with_another_number_is_another(asked: list[int]) -> None:
    slices = ConditionSlices(EFFORT)
    n = Normaliser()
    a = variable(n, "a")
    below = n.make("ult", 1, (a, n.const(8, 5)))
    assert slices.satisfiable([below, equals(n, a, 4)]) is True
    assert slices.satisfiable([below, equals(n, a, 5)]) is False
    assert len(asked) == 2


def test_what_takes_too_much_is_not_known() -> None:
    n = Normaliser()
    a, b = variable(n, "a", 64), variable(n, "b", 64)
    hard = equals(n, n.make("mul", 64, (a, b)), (1 << 61) - 1)
    big = [n.make("not", 1, (n.make("ult", 1, (v, n.const(64, 2))),)) for v in (a, b)]
    x = variable(n, "x")
    slices = ConditionSlices(1000)
    assert slices.satisfiable([hard, *big, equals(n, x, 1)]) is None
    assert slices.satisfiable([hard, *big, equals(n, x, 1), equals(n, x, 2)]) is False


@pytest.mark.parametrize("seed", range(8))
def test_slices_answer_as_the_whole(seed: int) -> None:
    chance = random.Random(seed)
    slices = ConditionSlices(EFFORT)
    answers: set[bool | None] = set()
    for _ in range(25):
        n = Normaliser()
        variables = [variable(n, name, 4) for name in "abcd"]
        conditions: list[Term] = []
        for _ in range(chance.randint(1, 6)):
            a, b = chance.choice(variables), chance.choice([*variables, n.const(4, chance.randrange(16))])
            if chance.random() < 0.4:
                a = n.make(chance.choice(["and", "xor", "mul"]), 4, (a, chance.choice(variables)))
            one = n.make(chance.choice(["eq", "ult", "slt"]), 1, (a, b))
            conditions.append(one if chance.random() < 0.5 else n.make("not", 1, (one,)))
        answers.add(slices.satisfiable(conditions))
        assert slices.satisfiable(conditions) == satisfiable(conditions, EFFORT)
    assert answers == {True, False}
