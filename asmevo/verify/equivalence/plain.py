"""Terms as the semantics give them, without the normal form: what a certificate is written in.

Owns which rules are left. They are those without which the model of lanes and registers would not be what it is: constants,
a value taken whole, the branch that a constant chooses, and that a lane mask is the ballot of its lanes' bits. Arithmetic and
logic stay as they were, so that a solver, and not the normaliser, has to show that two of them are equal.
"""

from __future__ import annotations

from collections.abc import Hashable

from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.terms import Term

_LANE_RULES = frozenset({"lane_bit", "ballot", "gather"})


class PlainTerms(Normaliser):
    """Builds terms in one table, rewriting next to nothing."""

    def make(self, op: str, bits: int, args: tuple[Term, ...] = (), attr: Hashable = None) -> Term:
        """`op` applied to `args`."""
        if op == "zext" and args[0].bits == bits:
            return args[0]
        if op in _LANE_RULES:
            return super().make(op, bits, args, attr)
        if op == "extract":
            return self.extract(args[0], attr if isinstance(attr, int) else 0, bits)
        return self.table.node(op, bits, args, attr)

    def extract(self, term: Term, low: int, bits: int) -> Term:
        """`bits` bits of `term` from bit `low`."""
        if bits == term.bits:
            return term
        if term.is_const:
            return self.const(bits, term.value >> low)
        return self.table.node("extract", bits, (term,), low)

    def concat(self, high: Term, low: Term) -> Term:
        """`high` above `low`."""
        bits = high.bits + low.bits
        if high.is_const and low.is_const:
            return self.const(bits, high.value << low.bits | low.value)
        return self.table.node("concat", bits, (high, low))

    def ite(self, condition: Term, then: Term, other: Term) -> Term:
        """`then` where `condition` (1 bit) holds, `other` elsewhere."""
        if condition.is_const:
            return then if condition.value else other
        return self.table.node("ite", then.bits, (condition, then, other))

    def both(self, a: Term, b: Term) -> Term:
        """Return the conjunction."""
        if a.is_const or b.is_const:
            return super().both(a, b)
        return self.table.node("and", a.bits, (a, b))
