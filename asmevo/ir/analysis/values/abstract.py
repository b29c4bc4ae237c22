"""The abstract interpreter of semantic expressions: evaluates the same programs as the emulator, on abstract values.

Integer operations go to `domain`; float operations, divisions and reads of other lanes give values without form. Owns the walk
over an expression; it must not know opcodes, registers or paths.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from asmevo.ir.analysis.values.domain import Domain, pointwise, table_of
from asmevo.ir.analysis.values.value import LANES, Table, Value, concrete, constant, make, trailing_zeros, unknown
from asmevo.ir.semantics import build
from asmevo.ir.semantics.expr import Expr, Op

_LANE = concrete(32, np.arange(LANES, dtype=np.int64))


class Leaves(Protocol):
    """Where an expression's leaves get their values: the operands and special state of one instruction."""

    def source(self, name: str, bits: int) -> Value:
        """The low `bits` bits of operand `name`."""
        ...

    def any_lane(self, name: str, bits: int) -> Value | None:
        """The operand when its value holds for every lane, active or not; None when that is not known."""
        ...

    def immediate(self, name: str, bits: int) -> Value:
        """An integer modifier."""
        ...

    def special(self, name: str, bits: int) -> Value:
        """scc, exec, vcc, m0, mode, pc."""
        ...

    def lane_bit(self, mask: Expr) -> Value | None:
        """This lane's bit of a wave mask, in active lanes; None when nothing is known."""
        ...


class Evaluation:
    """Evaluates the expressions of one instruction."""

    def __init__(self, domain: Domain, leaves: Leaves) -> None:
        self.domain = domain
        self.leaves = leaves

    def value(self, e: Expr) -> Value:
        """The value of `e` in every active lane."""
        handler = _HANDLERS.get(e.op)
        return unknown(e.bits, self._divergent(e)) if handler is None else handler(self, e)

    def _divergent(self, e: Expr) -> bool:
        if e.op in (Op.LANE, Op.GATHER, Op.LANE_ACTIVE, Op.LANE_BIT):
            return True
        if e.op in (Op.SRC, Op.OLD, Op.SPECIAL):
            return self.value(e).divergent
        return any(self._divergent(a) for a in e.args)


def _const(run: Evaluation, e: Expr) -> Value:
    assert isinstance(e.attr, int)
    return constant(e.bits, e.attr)


def _source(run: Evaluation, e: Expr) -> Value:
    return run.leaves.source(str(e.attr), e.bits)


def _immediate(run: Evaluation, e: Expr) -> Value:
    return run.leaves.immediate(str(e.attr), e.bits)


def _special(run: Evaluation, e: Expr) -> Value:
    return run.leaves.special(str(e.attr), e.bits)


def _lane(run: Evaluation, e: Expr) -> Value:
    return _LANE


def _lane_bit(run: Evaluation, e: Expr) -> Value:
    found = run.leaves.lane_bit(e.args[0])
    return unknown(1, True) if found is None else found


def _gather(run: Evaluation, e: Expr) -> Value:
    found = run.leaves.any_lane(str(e.attr), e.bits)
    if found is None or not found.divergent:
        return unknown(e.bits, True) if found is None else found
    # The lane that is read may be known, and then its part of the form.
    lane = run.value(e.args[0])
    if not lane.is_constant or found.terms is None or found.table is None or any(s.divergent for s, _ in found.terms):
        return unknown(e.bits, True)
    return make(e.bits, found.const + int(found.table[lane.const % LANES]), found.terms)


def _arithmetic(run: Evaluation, e: Expr) -> Value:
    a, b = run.value(e.args[0]), run.value(e.args[1])
    domain = run.domain
    if a.is_constant and b.is_constant:
        return _fold(e, a.const, b.const)
    if a.is_concrete and b.is_concrete and e.op in _POINTWISE and e.bits <= 32:
        return pointwise(_POINTWISE[e.op], a, b)
    match e.op:
        case Op.ADD:
            return domain.add(a, b)
        case Op.SUB:
            return domain.add(a, b, -1)
        case Op.MUL:
            return domain.multiply(a, b)
        case Op.AND:
            return domain.and_(a, b)
        case Op.OR:
            return domain.or_(a, b)
        case _:
            return domain.xor(a, b)


def _shift(run: Evaluation, e: Expr) -> Value:
    a, count = run.value(e.args[0]), run.value(e.args[1])
    if a.is_constant and count.is_constant:
        return _fold(e, a.const, count.const)
    if not count.is_constant:
        if a.is_concrete and count.is_concrete and e.op is Op.LSHR and e.bits <= 32:
            amounts = np.minimum(table_of(count), 62)
            return concrete(e.bits, table_of(a) >> amounts)
        high = a.high >> count.low if e.op is Op.LSHR else None
        return unknown(e.bits, a.divergent or count.divergent, high=high)
    if e.op is Op.SHL:
        return run.domain.shift_left(a, count.const)
    if e.op is Op.LSHR or a.high < 1 << (a.bits - 1):
        return run.domain.shift_right(a, count.const)
    if count.const >= a.bits - 1:
        return run.domain.sign(a)
    kept = max(a.bits - min(count.const, a.bits - 1), 1)
    return run.domain.sext(run.domain.extract(a, a.bits - kept, kept), a.bits)


def _extract(run: Evaluation, e: Expr) -> Value:
    assert isinstance(e.attr, int)
    return run.domain.extract(run.value(e.args[0]), e.attr, e.bits)


def _concat(run: Evaluation, e: Expr) -> Value:
    return run.domain.concat(run.value(e.args[0]), run.value(e.args[1]))


def _zext(run: Evaluation, e: Expr) -> Value:
    return run.domain.zext(run.value(e.args[0]), e.bits)


def _sext(run: Evaluation, e: Expr) -> Value:
    return run.domain.sext(run.value(e.args[0]), e.bits)


def _not(run: Evaluation, e: Expr) -> Value:
    a = run.value(e.args[0])
    return run.domain.xor(a, constant(e.bits, -1))


def _compare(run: Evaluation, e: Expr) -> Value:
    a, b = run.value(e.args[0]), run.value(e.args[1])
    if a.is_constant and b.is_constant:
        return _fold(e, a.const, b.const)
    return run.domain.compare(e.op, a, b)


def _ite(run: Evaluation, e: Expr) -> Value:
    condition = run.value(e.args[0])
    if condition.is_constant:
        return run.value(e.args[1 if condition.const else 2])
    return run.domain.choose(condition, run.value(e.args[1]), run.value(e.args[2]))


def _count(run: Evaluation, e: Expr) -> Value:
    a = run.value(e.args[0])
    if a.is_constant:
        return _fold(e, a.const)
    if e.op is Op.POPCOUNT and a.is_concrete:
        return concrete(e.bits, np.array([int(x).bit_count() for x in table_of(a)], np.int64))
    if e.op is Op.CTZ and (a.ones & -a.ones) - 1 & ~a.zeros == 0 and a.ones:
        return constant(e.bits, trailing_zeros(a.ones))
    if e.op is Op.BITREV:
        return unknown(e.bits, a.divergent)
    return unknown(e.bits, a.divergent, high=a.bits)


_POINTWISE: dict[Op, Callable[[Table, Table], Table]] = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.AND: np.bitwise_and,
    Op.OR: np.bitwise_or,
    Op.XOR: np.bitwise_xor,
}
_FOLDS: dict[Op, Callable[..., Expr]] = {
    Op.ADD: build.add, Op.SUB: build.sub, Op.MUL: build.mul, Op.AND: build.and_, Op.OR: build.or_, Op.XOR: build.xor,
    Op.SHL: build.shl, Op.LSHR: build.lshr, Op.ASHR: build.ashr, Op.EQ: build.eq, Op.ULT: build.ult, Op.SLT: build.slt,
}  # fmt: skip
_COUNTS: dict[Op, Callable[[int, int], int]] = {
    Op.POPCOUNT: lambda a, _: a.bit_count(),
    Op.CLZ: lambda a, bits: bits - a.bit_length(),
    Op.CTZ: lambda a, bits: (a & -a).bit_length() - 1 if a else bits,
    Op.BITREV: lambda a, bits: int(format(a, f"0{bits}b")[::-1], 2),
}


def _fold(e: Expr, *numbers: int) -> Value:
    """The value of an operation on constants, by the constructors' own folding where they have it."""
    if e.op in _COUNTS:
        return constant(e.bits, _COUNTS[e.op](numbers[0], e.bits))
    folded = _FOLDS[e.op](*(build.const(arg.bits, number) for arg, number in zip(e.args, numbers, strict=True)))
    assert isinstance(folded.attr, int)
    return constant(e.bits, folded.attr)


_HANDLERS: dict[Op, Callable[[Evaluation, Expr], Value]] = {
    Op.CONST: _const, Op.SRC: _source, Op.OLD: _source, Op.IMM: _immediate, Op.SPECIAL: _special, Op.LANE: _lane,
    Op.LANE_BIT: _lane_bit, Op.GATHER: _gather,
    Op.ADD: _arithmetic, Op.SUB: _arithmetic, Op.MUL: _arithmetic, Op.AND: _arithmetic, Op.OR: _arithmetic, Op.XOR: _arithmetic,
    Op.SHL: _shift, Op.LSHR: _shift, Op.ASHR: _shift,
    Op.EXTRACT: _extract, Op.CONCAT: _concat, Op.ZEXT: _zext, Op.SEXT: _sext, Op.NOT: _not,
    Op.EQ: _compare, Op.ULT: _compare, Op.SLT: _compare, Op.ITE: _ite,
    Op.POPCOUNT: _count, Op.CLZ: _count, Op.CTZ: _count, Op.BITREV: _count,
}  # fmt: skip
"""Operations without an entry (floats, division, other lanes' EXEC) have no form."""
INTEGER_OPS = frozenset(_HANDLERS)
