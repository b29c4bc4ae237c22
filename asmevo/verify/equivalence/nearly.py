"""What keeps a check that is not decided from a proof: the windows are compared again with less told apart.

Owns those weaker comparisons. None is a proof: each drops something that counts, and names it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Access, IssueClass
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.terms import Term

_COMMUTE = frozenset({"fadd", "fmul", "ffma"})
_CHOOSE = frozenset({"fmin", "fmax"})
_INFINITIES = frozenset({(16, 0x7C00), (16, 0x7F80), (32, 0x7F800000), (64, 0x7FF << 52)})
"""Width and bits of infinities: what is above, of magnitudes, is a NaN."""

FLOAT_ORDER = (
    "equal but for the NaN, or the sign of a zero, that an operation takes of two: float operands stand in another order"
)
OTHER_WAVES = "equal for one wave alone: only others could miss the barrier or fence that the edit adds, drops or moves"

Equal = Callable[[Sequence[Instruction], Sequence[Instruction], Normaliser], bool]
"""Whether two windows end in the same terms, as the normaliser builds them."""


class CommutingFloats(Normaliser):
    """Takes no float for a NaN, and both zeros for one: sums and products commute, and minima and maxima have no order."""

    def make(self, op: str, bits: int, args: tuple[Term, ...] = (), attr: Hashable = None) -> Term:
        """`op` applied to `args`."""
        if op == "ult" and args[0].is_const and (args[0].bits, args[0].value) in _INFINITIES:
            return self.const(1, 0)
        if op in _CHOOSE:
            return self._chosen(op, bits, args, attr)
        if op in _COMMUTE and args[0].ident > args[1].ident:
            args = (args[1], args[0], *args[2:])
        return super().make(op, bits, args, attr)

    def _chosen(self, op: str, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
        *values, mode = args
        parts: set[Term] = set()
        for value in values:
            inner = value.op == op and value.attr == attr and value.args[-1] is mode
            parts |= set(value.args[:-1]) if inner else {value}
        if len(parts) == 1:
            return next(iter(parts))
        return self.table.node(op, bits, (*sorted(parts, key=_ident), mode), attr)


def _ident(term: Term) -> int:
    return term.ident


def missing(before: Sequence[Instruction], after: Sequence[Instruction], equal: Equal) -> str | None:
    """Return what alone keeps the windows from being equal; None where it is not one of the above."""
    if equal(before, after, CommutingFloats()):
        return FLOAT_ORDER
    alone = [tuple(i for i in window if not _is_for_others(i)) for window in (before, after)]
    if len(alone[0]) == len(before) and len(alone[1]) == len(after):
        return None
    return OTHER_WAVES if equal(alone[0], alone[1], Normaliser()) else None


def _is_for_others(i: Instruction) -> bool:
    d = i.definition
    return d is not None and (d.issue is IssueClass.BARRIER or d.access is Access.FENCE)
