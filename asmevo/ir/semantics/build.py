"""Constructors of semantic expressions: they check widths and fold constants, and do nothing else.

Every function returns a node of the width its comment in `expr.Op` gives; ValueError on widths that do not fit. Folding is kept
to operations whose arguments are all constants, and to neutral elements, so that equal forms give equal programs.
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo.ir.semantics.expr import Expr, Op

SPECIAL_BITS = {"scc": 1, "exec": 64, "vcc": 64, "m0": 32, "mode": 32, "pc": 64}
FLOAT_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
INTEGER_BITS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64}


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def const(bits: int, value: int) -> Expr:
    """`value` modulo 2^bits."""
    return Expr(Op.CONST, bits, (), value & ((1 << bits) - 1))


def src(name: str, bits: int) -> Expr:
    """The low `bits` bits of a source operand, without its modifiers."""
    return Expr(Op.SRC, bits, (), name)


def imm(name: str, bits: int) -> Expr:
    """The value of an integer modifier, 0 where the instruction has none; negative ones in two's complement."""
    return Expr(Op.IMM, bits, (), name)


def special(name: str) -> Expr:
    """Special state by name."""
    return Expr(Op.SPECIAL, SPECIAL_BITS[name], (), name)


def old(name: str, bits: int) -> Expr:
    """A destination's value before the write."""
    return Expr(Op.OLD, bits, (), name)


def lane() -> Expr:
    """This lane's number."""
    return Expr(Op.LANE, 32)


def lane_bit(mask: Expr) -> Expr:
    """This lane's bit of a 64-bit mask."""
    _require(mask.bits == 64, "a wave mask has 64 bits")
    return Expr(Op.LANE_BIT, 1, (mask,))


def gather(name: str, index: Expr, bits: int = 32) -> Expr:
    """The low `bits` bits, 32 or 64, of operand `name` of lane `index` (taken modulo 64)."""
    _require(index.bits == 32, "a lane index has 32 bits")
    _require(bits in (32, 64), "another lane's value has 32 or 64 bits")
    return Expr(Op.GATHER, bits, (index,), name)


def lane_active(index: Expr) -> Expr:
    """EXEC's bit of lane `index` (taken modulo 64)."""
    _require(index.bits == 32, "a lane index has 32 bits")
    return Expr(Op.LANE_ACTIVE, 1, (index,))


def _constants(*args: Expr) -> tuple[int, ...] | None:
    values: list[int] = []
    for arg in args:
        if arg.op is not Op.CONST or not isinstance(arg.attr, int):
            return None
        values.append(arg.attr)
    return tuple(values)


def _binary(op: Op, fold: Callable[[int, int, int], int], neutral: int | None = None) -> Callable[[Expr, Expr], Expr]:
    def build(a: Expr, b: Expr) -> Expr:
        _require(a.bits == b.bits, f"{op.value} of {a.bits} and {b.bits} bits")
        values = _constants(a, b)
        if values:
            return const(a.bits, fold(values[0], values[1], a.bits))
        if neutral is not None and _constants(b) == (neutral & ((1 << a.bits) - 1),):
            return a
        return Expr(op, a.bits, (a, b))

    build.__doc__ = f"`{op.value}` of two values of one width."
    return build


def _shift_left(a: int, n: int, bits: int) -> int:
    return a << n if n < bits else 0


def _shift_right(a: int, n: int, bits: int) -> int:
    return a >> n if n < bits else 0


add = _binary(Op.ADD, lambda a, b, _: a + b, 0)
sub = _binary(Op.SUB, lambda a, b, _: a - b, 0)
mul = _binary(Op.MUL, lambda a, b, _: a * b, 1)
and_ = _binary(Op.AND, lambda a, b, _: a & b, -1)
or_ = _binary(Op.OR, lambda a, b, _: a | b, 0)
xor = _binary(Op.XOR, lambda a, b, _: a ^ b, 0)
shl = _binary(Op.SHL, _shift_left, 0)
lshr = _binary(Op.LSHR, _shift_right, 0)
ashr = _binary(Op.ASHR, lambda a, n, bits: _signed(a, bits) >> min(n, bits - 1), 0)


def not_(a: Expr) -> Expr:
    """The complement of every bit."""
    values = _constants(a)
    return const(a.bits, ~values[0]) if values else Expr(Op.NOT, a.bits, (a,))


def neg(a: Expr) -> Expr:
    """Two's complement negation."""
    return sub(const(a.bits, 0), a)


def extract(a: Expr, low: int, bits: int) -> Expr:
    """`bits` bits of `a` from bit `low`."""
    _require(bits > 0 and low >= 0 and low + bits <= a.bits, f"bits {low}+{bits} of {a.bits}")
    if bits == a.bits:
        return a
    values = _constants(a)
    return const(bits, values[0] >> low) if values else Expr(Op.EXTRACT, bits, (a,), low)


def concat(high: Expr, low: Expr) -> Expr:
    """`high` above `low`."""
    values = _constants(high, low)
    bits = high.bits + low.bits
    return const(bits, values[0] << low.bits | values[1]) if values else Expr(Op.CONCAT, bits, (high, low))


def zext(a: Expr, bits: int) -> Expr:
    """`a` with zeros above."""
    _require(bits >= a.bits, "zext cannot narrow")
    if bits == a.bits:
        return a
    values = _constants(a)
    return const(bits, values[0]) if values else Expr(Op.ZEXT, bits, (a,))


def sext(a: Expr, bits: int) -> Expr:
    """`a` with its sign above."""
    _require(bits >= a.bits, "sext cannot narrow")
    if bits == a.bits:
        return a
    values = _constants(a)
    return const(bits, _signed(values[0], a.bits)) if values else Expr(Op.SEXT, bits, (a,))


def extend(a: Expr, bits: int, *, signed: bool) -> Expr:
    """`a` widened by sign or zeros."""
    return sext(a, bits) if signed else zext(a, bits)


def _compare(op: Op, a: Expr, b: Expr, fold: Callable[[int, int], bool]) -> Expr:
    _require(a.bits == b.bits, f"{op.value} of {a.bits} and {b.bits} bits")
    values = _constants(a, b)
    return const(1, fold(*values)) if values else Expr(op, 1, (a, b))


def eq(a: Expr, b: Expr) -> Expr:
    """1 where equal."""
    return _compare(Op.EQ, a, b, lambda x, y: x == y)


def ne(a: Expr, b: Expr) -> Expr:
    """1 where different."""
    return not_(eq(a, b))


def ult(a: Expr, b: Expr) -> Expr:
    """1 where less, unsigned."""
    return _compare(Op.ULT, a, b, lambda x, y: x < y)


def slt(a: Expr, b: Expr) -> Expr:
    """1 where less, signed."""
    return _compare(Op.SLT, a, b, lambda x, y: _signed(x, a.bits) < _signed(y, a.bits))


def less(a: Expr, b: Expr, *, signed: bool) -> Expr:
    """1 where less, signed or not."""
    return slt(a, b) if signed else ult(a, b)


def is_zero(a: Expr) -> Expr:
    """1 where all bits are 0."""
    return eq(a, const(a.bits, 0))


def nonzero(a: Expr) -> Expr:
    """1 where any bit is 1."""
    return not_(is_zero(a))


def ite(condition: Expr, then: Expr, other: Expr) -> Expr:
    """`then` where the condition bit is 1."""
    _require(condition.bits == 1 and then.bits == other.bits, f"ite of {condition.bits}, {then.bits} and {other.bits} bits")
    values = _constants(condition)
    if values:
        return then if values[0] else other
    return then if then == other else Expr(Op.ITE, then.bits, (condition, then, other))


def _unary(op: Op, a: Expr) -> Expr:
    return Expr(op, a.bits, (a,))


def popcount(a: Expr) -> Expr:
    """How many bits are 1."""
    return _unary(Op.POPCOUNT, a)


def clz(a: Expr) -> Expr:
    """Leading zeros; the width for 0."""
    return _unary(Op.CLZ, a)


def ctz(a: Expr) -> Expr:
    """Trailing zeros; the width for 0."""
    return _unary(Op.CTZ, a)


def bitrev(a: Expr) -> Expr:
    """The bits in reverse order."""
    return _unary(Op.BITREV, a)


def _check_float(fmt: str, *args: Expr) -> None:
    for arg in args:
        _require(arg.bits == FLOAT_BITS[fmt], f"{fmt} of {arg.bits} bits")


def fop(op: Op, fmt: str, *args: Expr) -> Expr:
    """A float operation whose result has the width of its format."""
    _check_float(fmt, *args)
    return Expr(op, FLOAT_BITS[fmt], args, fmt)


def fadd(fmt: str, a: Expr, b: Expr) -> Expr:
    """A + b."""
    return fop(Op.FADD, fmt, a, b)


def fmul(fmt: str, a: Expr, b: Expr) -> Expr:
    """A * b."""
    return fop(Op.FMUL, fmt, a, b)


def ffma(fmt: str, a: Expr, b: Expr, c: Expr) -> Expr:
    """A * b + c, rounded once."""
    return fop(Op.FFMA, fmt, a, b, c)


def fmin(fmt: str, a: Expr, b: Expr) -> Expr:
    """The smaller."""
    return fop(Op.FMIN, fmt, a, b)


def fmax(fmt: str, a: Expr, b: Expr) -> Expr:
    """The larger."""
    return fop(Op.FMAX, fmt, a, b)


def _fcompare(op: Op, fmt: str, a: Expr, b: Expr) -> Expr:
    _check_float(fmt, a, b)
    return Expr(op, 1, (a, b), fmt)


def flt(fmt: str, a: Expr, b: Expr) -> Expr:
    """Ordered less."""
    return _fcompare(Op.FLT, fmt, a, b)


def feq(fmt: str, a: Expr, b: Expr) -> Expr:
    """Ordered equal."""
    return _fcompare(Op.FEQ, fmt, a, b)


def funo(fmt: str, a: Expr, b: Expr) -> Expr:
    """1 where either is NaN."""
    return _fcompare(Op.FUNO, fmt, a, b)


def fldexp(fmt: str, a: Expr, amount: Expr) -> Expr:
    """`a` times 2 to the signed 32-bit `amount`."""
    _check_float(fmt, a)
    _require(amount.bits == 32, "an exponent has 32 bits")
    return Expr(Op.FLDEXP, a.bits, (a, amount), fmt)


def frexp_exp(fmt: str, a: Expr) -> Expr:
    """The exponent for a mantissa in [0.5, 1), 32 bits."""
    _check_float(fmt, a)
    return Expr(Op.FREXP_EXP, 32, (a,), fmt)


def fcvt(source: str, target: str, a: Expr, *, toward_zero: bool = False) -> Expr:
    """A float of another format."""
    _check_float(source, a)
    return Expr(Op.FCVT_RTZ if toward_zero else Op.FCVT, FLOAT_BITS[target], (a,), (source, target))


def ftoi(source: str, target: str, a: Expr) -> Expr:
    """The integer toward zero, saturated; NaN is 0."""
    _check_float(source, a)
    return Expr(Op.FTOI, INTEGER_BITS[target], (a,), (source, target))


def itof(source: str, target: str, a: Expr) -> Expr:
    """The float nearest to an integer."""
    _require(a.bits == INTEGER_BITS[source], f"{source} of {a.bits} bits")
    return Expr(Op.ITOF, FLOAT_BITS[target], (a,), (source, target))


def fneg(a: Expr) -> Expr:
    """`a` with its sign changed, NaN included."""
    return xor(a, const(a.bits, 1 << (a.bits - 1)))


def fabs(a: Expr) -> Expr:
    """`a` without its sign."""
    return and_(a, const(a.bits, (1 << (a.bits - 1)) - 1))


def all_of(*bits: Expr) -> Expr:
    """The conjunction."""
    result = bits[0]
    for bit in bits[1:]:
        result = and_(result, bit)
    return result


def any_of(*bits: Expr) -> Expr:
    """The disjunction."""
    result = bits[0]
    for bit in bits[1:]:
        result = or_(result, bit)
    return result
