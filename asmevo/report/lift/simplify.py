"""Short forms of arithmetic whose operands an instruction fixes: constants and offsets are leaves of programs, numbers here.

Owns readability only: what it returns has the value of the operation it replaces.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from llvmlite import ir

from asmevo.backend.emulator.irkit import Value, const
from asmevo.ir.semantics import build
from asmevo.ir.semantics.expr import Expr, Op

_FOLDED: dict[Op, Callable[[Expr, Expr], Expr]] = {
    Op.ADD: build.add,
    Op.SUB: build.sub,
    Op.MUL: build.mul,
    Op.AND: build.and_,
    Op.OR: build.or_,
    Op.XOR: build.xor,
    Op.SHL: build.shl,
    Op.LSHR: build.lshr,
    Op.ASHR: build.ashr,
    Op.CONCAT: build.concat,
}
_NEUTRAL_ZERO = frozenset({Op.ADD, Op.SUB, Op.OR, Op.XOR, Op.SHL, Op.LSHR, Op.ASHR})
_SHIFTS = {Op.SHL: "shl", Op.LSHR: "lshr", Op.ASHR: "ashr"}


def simplified(b: ir.IRBuilder, e: Expr, args: Sequence[Value]) -> Value | None:
    """A shorter value for `e` with its arguments' values; None when the general translation is needed."""
    numbers = [_number(value) for value in args]
    if None not in numbers and (folded := _fold(e, [n for n in numbers if n is not None])) is not None:
        return const(e.bits, folded)
    if len(args) == 2 and e.op in _NEUTRAL_ZERO and numbers[1] == 0:
        return args[0]
    if e.op is Op.ADD and numbers[0] == 0:
        return args[1]
    if e.op in _SHIFTS and (_is_below(e.args[1], e.bits) or (numbers[1] is not None and numbers[1] < e.bits)):
        return getattr(b, _SHIFTS[e.op])(*args)
    return None


def _fold(e: Expr, numbers: list[int]) -> int | None:
    constants = [build.const(a.bits, n) for a, n in zip(e.args, numbers, strict=True)]
    if e.op in _FOLDED:
        result = _FOLDED[e.op](constants[0], constants[1])
    elif e.op is Op.EXTRACT and isinstance(e.attr, int):
        result = build.extract(constants[0], e.attr, e.bits)
    elif e.op in (Op.ZEXT, Op.SEXT):
        result = build.extend(constants[0], e.bits, signed=e.op is Op.SEXT)
    else:
        return None
    return result.attr if isinstance(result.attr, int) else None


def _number(value: Value) -> int | None:
    if not isinstance(value, ir.Constant):
        return None
    constant: Any = value.constant
    width: int = cast("ir.IntType", value.type).width
    return constant & ((1 << width) - 1) if isinstance(constant, int) else None


def _is_below(amount: Expr, bits: int) -> bool:
    """Whether a shift amount is masked to less than the width."""
    while amount.op is Op.ZEXT:
        amount = amount.args[0]
    mask = amount.args[1] if amount.op is Op.AND else None
    return mask is not None and mask.op is Op.CONST and isinstance(mask.attr, int) and mask.attr < bits
