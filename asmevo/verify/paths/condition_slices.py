"""Whether conditions can hold together, asked slice by slice: conditions that share nothing do not matter to each other.

Owns the slices and the memory of answers. The paths of a kernel run through the same few branches again and again, so that
nearly all slices were asked about before, by other names of their variables. The solver itself is `equivalence.solver`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from asmevo.verify.equivalence.solver import satisfiable
from asmevo.verify.equivalence.terms import Term, cone

_UNKNOWNS = frozenset({"var", "atom"})
_FUNCTIONS_OF_ARGUMENTS = frozenset(
    {
        *("const", "sum", "mul", "udiv", "urem", "and", "or", "xor", "not", "shl", "lshr", "ashr", "eq", "ult", "slt", "ite"),
        *("extract", "concat", "sext"),
    }
)
"""Operations whose value z3 computes from their arguments alone."""

_OPAQUE = "opaque"
"""What all other operations share: functions that are not interpreted, and the one lane that is looked at."""


class ConditionSlices:
    """Answers for conditions, each list of one table. `effort` bounds one slice, in z3's own resource units."""

    def __init__(self, effort: int) -> None:
        self._effort = effort
        self._known: dict[Hashable, bool | None] = {}

    def satisfiable(self, conditions: Sequence[Term]) -> bool | None:
        """As `equivalence.solver.satisfiable`; None when a slice took too much and no other is impossible."""
        parts = {_key(part): part for part in independent(conditions)}
        if any(self._known.get(key, True) is False for key in parts):
            return False
        answer: bool | None = True
        for key, part in parts.items():
            if key not in self._known:
                self._known[key] = satisfiable(part, self._effort)
            found = self._known[key]
            if found is False:
                return False
            answer = answer if found else None
        return answer


def independent(conditions: Sequence[Term]) -> list[list[Term]]:
    """Return the conditions in groups, no two of which share a variable or an operation without meaning."""
    groups: list[tuple[set[Hashable], list[Term]]] = []
    for condition in conditions:
        shared: set[Hashable] = set()
        for term in cone((condition,)):
            if term.op in _UNKNOWNS:
                shared.add(term.ident)
            elif term.op not in _FUNCTIONS_OF_ARGUMENTS:
                shared.add(_OPAQUE)
        members = [condition]
        apart: list[tuple[set[Hashable], list[Term]]] = []
        for group in groups:
            if group[0].isdisjoint(shared):
                apart.append(group)
            else:
                shared |= group[0]
                members = [*group[1], *members]
        groups = [*apart, (shared, members)]
    return [members for _, members in groups]


def _key(conditions: Sequence[Term]) -> Hashable:
    """What the conditions say, whatever their variables are called."""
    numbers: dict[int, int] = {}
    nodes: list[Hashable] = []
    for condition in conditions:
        for term in cone((condition,)):
            if term.ident not in numbers:
                numbers[term.ident] = len(nodes)
                attr = None if term.op in _UNKNOWNS else term.attr
                nodes.append((term.op, term.bits, attr, term.varying, *(numbers[a.ident] for a in term.args)))
    return tuple(nodes), tuple(numbers[condition.ident] for condition in conditions)
