"""Concrete evaluation with real float operations: whether a difference that rests on floats is one.

Owns which float operations have exact, documented bits. Operations whose bits are not published, results that are NaN (their
payload is not documented) and lanes that see other lanes never confirm a difference.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from asmevo.backend.emulator import reference_floats
from asmevo.ir.registers import MODE
from asmevo.ir.semantics.expr import Expr, Op
from asmevo.verify.equivalence.evaluate import LANES, Evaluator, Value
from asmevo.verify.equivalence.terms import Term, cone

EXACT = {
    op.value: op
    for op in (Op.FADD, Op.FMUL, Op.FFMA, Op.FLT, Op.FEQ, Op.FUNO, Op.FFLOOR, Op.FCEIL, Op.FTRUNC, Op.FRNDNE, Op.FCVT, Op.ITOF)
}
"""Operations whose bits follow from IEEE 754 and MODE, by their name in terms."""

_MOST = 32
"""Exact rational arithmetic is slow: how many float operations are worth it."""

_ENTRY_MODE = 0x3F0
"""Round to nearest even, all denormals, DX10_CLAMP, IEEE: a state that any kernel may be entered with."""


class FloatEvaluator(Evaluator):
    """An evaluator that computes exact float operations, on states with floats of moderate size."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, {MODE: (_ENTRY_MODE,)})
        self.undocumented: dict[int, frozenset[int]] = {}
        """Lanes in which a term's value is a NaN that a float operation made."""

    def _variable(self, term: Term) -> Value:
        value = super()._variable(term)
        if term.bits != 32 or term.attr == MODE:
            return value
        # Exponents near 1.0, where the operands of a sum both count.
        return tuple(v & 0x80FFFFFF | (120 + v % 15) << 23 if k % 2 else v for k, v in enumerate(value))

    def _uninterpreted(self, term: Term, args: list[Value]) -> Value:
        op = EXACT.get(term.op)
        if op is None:
            return super()._uninterpreted(term, args)
        attr = cast("str | tuple[str, str]", term.attr)
        expr = Expr(op, term.bits, tuple(Expr(Op.CONST, a.bits, (), 0) for a in term.args[:-1]), attr)
        count = LANES if term.varying else 1
        lanes = [np.array([a[k % len(a)] for k in range(count)], object) for a in args[:-1]]
        value = tuple(int(v) for v in reference_floats.evaluate(expr, lanes, args[-1][0]))
        made = reference_floats.FORMATS[attr if isinstance(attr, str) else attr[1]]
        if term.bits > 1:
            self.undocumented[term.ident] = frozenset(k for k, v in enumerate(value) if reference_floats.is_nan(v, made))
        return value


def confirm(a: Term, b: Term, seeds: range) -> tuple[FloatEvaluator, int] | None:
    """Return a state and a lane in which `a` and `b` differ by documented bits only; None when none was found.

    The caller has checked that all else they rest on is interpreted or a common input.
    """
    terms = cone((a, b))
    if sum(t.op in EXACT for t in terms) > _MOST or any(t.op in ("gather", "ballot") for t in terms):
        return None
    for seed in seeds:
        state = FloatEvaluator(seed)
        x, y = state.value(a), state.value(b)
        bad = frozenset[int]().union(*(state.undocumented.get(t.ident, frozenset()) for t in terms))
        for lane in range(max(len(x), len(y))):
            if (
                x[lane % len(x)] != y[lane % len(y)]
                and lane not in bad
                and not (0 in bad and any(not t.varying for t in terms))
            ):
                return state, lane
    return None
