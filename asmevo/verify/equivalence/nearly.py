"""What keeps a check that is not decided from a proof: the windows are compared again with less told apart.

Owns those weaker comparisons. None is a proof: each drops something that counts, and names it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Access, IssueClass
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.terms import Term

_COMMUTE = frozenset({"fadd", "fmul", "ffma", "fmin", "fmax"})

FLOAT_ORDER = (
    "equal but for the NaN, or the sign of a zero, that an operation takes of two: float operands stand in another order"
)
OTHER_WAVES = "equal for one wave alone: only others could miss the barrier or fence that the edit adds, drops or moves"

Equal = Callable[[Sequence[Instruction], Sequence[Instruction], Normaliser], bool]
"""Whether two windows end in the same terms, as the normaliser builds them."""


class CommutingFloats(Normaliser):
    """Takes a sum or product of floats for the same in either order, which holds but for which NaN, or zero, comes out."""

    def make(self, op: str, bits: int, args: tuple[Term, ...] = (), attr: Hashable = None) -> Term:
        """`op` applied to `args`."""
        if op in _COMMUTE and args[0].ident > args[1].ident:
            args = (args[1], args[0], *args[2:])
        return super().make(op, bits, args, attr)


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
