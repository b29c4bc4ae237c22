"""The normaliser: builds terms in a form in which equal integer expressions are mostly the same object.

Owns which rule an operation has (see `arithmetic` and `logic`). Each rule is an identity of bit vectors of any value in any
lane: none assumes an EXEC mask, a MODE or a range, and no float operation is ever rearranged.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from asmevo.verify.equivalence.arithmetic import ARITHMETIC, concat, extract
from asmevo.verify.equivalence.logic import LOGIC, ballot, choose, conjunction, lane_bit
from asmevo.verify.equivalence.terms import Table, Term

Rule = Callable[["Normaliser", int, tuple[Term, ...], Hashable], Term]


class Normaliser:
    """Builds normalised terms in one table."""

    def __init__(self) -> None:
        self.table = Table()
        self.taken: dict[tuple[int, int, int], Term] = {}
        """Fields of terms that are made of their arguments' fields, by term, lowest bit and width: each is made once."""
        self._constants: dict[tuple[int, int], Term] = {}

    def const(self, bits: int, value: int) -> Term:
        """Return the constant `value` modulo 2^bits."""
        value &= (1 << bits) - 1
        found = self._constants.get((bits, value))
        if found is None:
            found = self._constants[bits, value] = self.table.node("const", bits, (), value)
        return found

    def make(self, op: str, bits: int, args: tuple[Term, ...] = (), attr: Hashable = None) -> Term:
        """`op` applied to `args` in normal form; an operation without rules becomes a plain node."""
        rule = _RULES.get(op)
        return self.table.node(op, bits, args, attr) if rule is None else rule(self, bits, args, attr)

    # Shorthands for the executor.
    def extract(self, term: Term, low: int, bits: int) -> Term:
        """`bits` bits of `term` from bit `low`."""
        return extract(self, bits, (term,), low)

    def concat(self, high: Term, low: Term) -> Term:
        """`high` above `low`."""
        return concat(self, high.bits + low.bits, (high, low), None)

    def ite(self, condition: Term, then: Term, other: Term) -> Term:
        """`then` where `condition` (1 bit) holds, `other` elsewhere."""
        return choose(self, then.bits, (condition, then, other), None)

    def both(self, a: Term, b: Term) -> Term:
        """Return the conjunction."""
        return conjunction(self, a.bits, (a, b), None)

    def lane_bit(self, mask: Term) -> Term:
        """Return this lane's bit of a wave mask."""
        return lane_bit(self, 1, (mask,), None)

    def ballot(self, body: Term) -> Term:
        """Return the wave mask of a lane's bit."""
        return ballot(self, 64, (body,), None)


_RULES: dict[str, Rule] = ARITHMETIC | LOGIC
