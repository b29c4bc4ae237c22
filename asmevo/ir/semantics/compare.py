"""v_cmp and v_cmpx of all types. The result is one bit a lane, written to a mask; v_cmpx writes EXEC as well.

Source: CDNA3 ISA guide, "VOPC".
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo.ir.semantics import build as b
from asmevo.ir.semantics.expr import Domain, Expr, Program, Write
from asmevo.ir.semantics.form import Form, UnsupportedFormError
from asmevo.ir.semantics.modifiers import is_dpp, source
from asmevo.ir.semantics.vector_float import FRACTION, infinity

_Lazy = Callable[[], Expr]


def _float(condition: str, fmt: str, x: Expr, y: Expr) -> Expr:
    def less_equal() -> Expr:
        return b.or_(b.flt(fmt, x, y), b.feq(fmt, x, y))

    def greater_equal() -> Expr:
        return b.or_(b.flt(fmt, y, x), b.feq(fmt, x, y))

    def different() -> Expr:
        return b.or_(b.flt(fmt, x, y), b.flt(fmt, y, x))

    table: dict[str, _Lazy] = {
        "f": lambda: b.const(1, 0),
        "lt": lambda: b.flt(fmt, x, y),
        "eq": lambda: b.feq(fmt, x, y),
        "le": less_equal,
        "gt": lambda: b.flt(fmt, y, x),
        "lg": different,
        "ge": greater_equal,
        "o": lambda: b.not_(b.funo(fmt, x, y)),
        "u": lambda: b.funo(fmt, x, y),
        "nge": lambda: b.not_(greater_equal()),
        "nlg": lambda: b.not_(different()),
        "ngt": lambda: b.not_(b.flt(fmt, y, x)),
        "nle": lambda: b.not_(less_equal()),
        "neq": lambda: b.not_(b.feq(fmt, x, y)),
        "nlt": lambda: b.not_(b.flt(fmt, x, y)),
        "tru": lambda: b.const(1, 1),
    }
    return table[condition]()


def _integer(condition: str, x: Expr, y: Expr, *, signed: bool) -> Expr:
    table: dict[str, _Lazy] = {
        "f": lambda: b.const(1, 0),
        "lt": lambda: b.less(x, y, signed=signed),
        "eq": lambda: b.eq(x, y),
        "le": lambda: b.not_(b.less(y, x, signed=signed)),
        "gt": lambda: b.less(y, x, signed=signed),
        "ne": lambda: b.ne(x, y),
        "ge": lambda: b.not_(b.less(x, y, signed=signed)),
        "t": lambda: b.const(1, 1),
    }
    return table[condition]()


def _class(fmt: str, x: Expr, mask: Expr) -> Expr:
    """Whether the class of `x` is in the mask: sNaN, qNaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf."""
    bits, fraction = x.bits, FRACTION[fmt]
    size = b.fabs(x)
    top = b.const(bits, infinity(fmt))
    negative = b.extract(x, bits - 1, 1)

    def place(below: int, above: int) -> Expr:
        return b.ite(negative, b.const(32, below), b.const(32, above))

    index = place(3, 8)
    index = b.ite(b.ult(size, b.const(bits, 1 << fraction)), place(4, 7), index)
    index = b.ite(b.is_zero(size), place(5, 6), index)
    index = b.ite(b.eq(size, top), place(2, 9), index)
    quiet = b.zext(b.extract(x, fraction - 1, 1), 32)
    index = b.ite(b.ult(top, size), quiet, index)
    return b.extract(b.lshr(mask, index), 0, 1)


def program(form: Form) -> Program | None:
    """The program of a vector compare; None for other instructions."""
    parts = form.name.split("_")
    if parts[1] not in ("cmp", "cmpx"):
        return None
    if is_dpp(form):
        raise UnsupportedFormError("DPP compare")
    condition, kind = parts[2], parts[3]
    bits = int(kind[1:])
    x = source(form, "src0", bits)
    if condition == "class":
        result = _class(kind, x, source(form, "src1"))
    elif kind[0] == "f":
        result = _float(condition, kind, x, source(form, "src1", bits))
    else:
        result = _integer(condition, x, source(form, "src1", bits), signed=kind[0] == "i")
    writes = (Write("sdst", result),)
    if parts[1] == "cmpx":
        writes = (*writes, Write("exec", result))
    return Program(Domain.LANE, writes)
