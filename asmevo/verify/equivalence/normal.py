"""The normaliser: builds terms in a form in which equal integer expressions are mostly the same object.

Owns every rewrite rule. Each rule is an identity of bit vectors of any value in any lane: nothing here assumes an EXEC mask, a
MODE or a range, and no float operation is ever rearranged. Sums are linear normal forms modulo 2^bits, `and`, `or` and `xor`
are flat and ordered, adjacent extracts join. Values of 64 bits keep their shape under extraction so that the two halves of a
register pair join again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import cast

from asmevo.verify.equivalence.terms import Table, Term

Rule = Callable[["Normaliser", int, tuple[Term, ...], Hashable], Term]


class Normaliser:
    """Builds normalised terms in one table."""

    def __init__(self) -> None:
        self.table = Table()
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
        return _extract(self, bits, (term,), low)

    def concat(self, high: Term, low: Term) -> Term:
        """`high` above `low`."""
        return _concat(self, high.bits + low.bits, (high, low), None)

    def ite(self, condition: Term, then: Term, other: Term) -> Term:
        """`then` where `condition` (1 bit) holds, `other` elsewhere."""
        return _ite(self, then.bits, (condition, then, other), None)

    def both(self, a: Term, b: Term) -> Term:
        """Return the conjunction."""
        return _and(self, a.bits, (a, b), None)

    def lane_bit(self, mask: Term) -> Term:
        """Return this lane's bit of a wave mask."""
        return _lane_bit(self, 1, (mask,), None)

    def ballot(self, body: Term) -> Term:
        """Return the wave mask of a lane's bit."""
        return _ballot(self, 64, (body,), None)


# Linear form ---------------------------------------------------------------------------------------------------------------


def _linear(term: Term) -> tuple[int, list[tuple[Term, int]]]:
    """Constant and (term, coefficient) pairs of a term as a sum."""
    if term.op == "const":
        return term.value, []
    if term.op == "sum":
        constant, coefficients = _sum_attr(term)
        return constant, list(zip(term.args, coefficients, strict=True))
    if term.op == "not" and term.bits > 1:
        constant, parts = _linear(term.args[0])
        return -constant - 1, [(part, -factor) for part, factor in parts]
    return 0, [(term, 1)]


def _sum_attr(term: Term) -> tuple[int, tuple[int, ...]]:
    return cast("tuple[int, tuple[int, ...]]", term.attr)


def _sum(n: Normaliser, bits: int, weighted: Iterable[tuple[Term, int]]) -> Term:
    constant = 0
    total: dict[Term, int] = {}
    for term, weight in weighted:
        base, parts = _linear(term)
        constant += weight * base
        for part, factor in parts:
            total[part] = total.get(part, 0) + weight * factor
    modulus = 1 << bits
    constant %= modulus
    kept = sorted(((t, f % modulus) for t, f in total.items() if f % modulus), key=_by_ident)
    if not kept:
        return n.const(bits, constant)
    if constant == 0 and len(kept) == 1 and kept[0][1] == 1:
        return kept[0][0]
    if constant == modulus - 1 and len(kept) == 1 and kept[0][1] == modulus - 1:
        return n.table.node("not", bits, (kept[0][0],))
    return n.table.node("sum", bits, tuple(t for t, _ in kept), (constant, tuple(f for _, f in kept)))


def _by_ident(pair: tuple[Term, int]) -> int:
    return pair[0].ident


def _add(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    if bits == 1:
        return _xor(n, 1, args, None)
    return _sum(n, bits, ((a, 1) for a in args))


def _sub(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    if bits == 1:
        return _xor(n, 1, args, None)
    return _sum(n, bits, ((args[0], 1), (args[1], -1)))


def _mul(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    a, b = args
    if a.op == "const":
        a, b = b, a
    if b.op == "const":
        return _sum(n, bits, ((a, b.value),))
    return n.table.node("mul", bits, (a, b) if a.ident <= b.ident else (b, a))


# Shifts and fields ---------------------------------------------------------------------------------------------------------


def _shl(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    value, amount = args
    if amount.op == "const":
        if amount.value >= bits:
            return n.const(bits, 0)
        return _sum(n, bits, ((value, 1 << amount.value),))
    return n.table.node("shl", bits, args)


def _lshr(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    value, amount = args
    if amount.op == "const":
        by = amount.value
        if by >= bits:
            return n.const(bits, 0)
        return value if by == 0 else n.concat(n.const(by, 0), n.extract(value, by, bits - by))
    return n.table.node("lshr", bits, args)


def _ashr(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    value, amount = args
    if amount.op == "const":
        by = min(amount.value, bits - 1)
        return value if by == 0 else _sext(n, bits, (n.extract(value, by, bits - by),), None)
    return n.table.node("ashr", bits, args)


def _zext(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    value = args[0]
    return value if value.bits == bits else n.concat(n.const(bits - value.bits, 0), value)


def _sext(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    value = args[0]
    if value.bits == bits:
        return value
    if value.op == "const":
        sign = value.value >> (value.bits - 1)
        return n.const(bits, value.value - (sign << value.bits))
    if value.op == "sext":
        return _sext(n, bits, value.args, None)
    if value.op == "concat" and value.args[0].op == "const" and value.args[0].value == 0:
        return _zext(n, bits, (value,), None)
    return n.table.node("sext", bits, (value,))


def _extract(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    value = args[0]
    low = attr if isinstance(attr, int) else 0
    if bits == value.bits:
        return value
    op = value.op
    if op == "const":
        return n.const(bits, value.value >> low)
    if op == "extract" and isinstance(value.attr, int):
        return _extract(n, bits, value.args, value.attr + low)
    if op == "concat":
        high, tail = value.args
        if low >= tail.bits:
            return _extract(n, bits, (high,), low - tail.bits)
        if low + bits <= tail.bits:
            return _extract(n, bits, (tail,), low)
        upper = _extract(n, low + bits - tail.bits, (high,), 0)
        return n.concat(upper, _extract(n, tail.bits - low, (tail,), low))
    if op == "sext" and low + bits <= value.args[0].bits:
        return _extract(n, bits, value.args, low)
    if value.bits != 64:
        if op in ("and", "or", "xor", "not"):
            return n.make(op, bits, tuple(_extract(n, bits, (a,), low) for a in value.args))
        if op == "ite":
            condition, then, other = value.args
            return n.ite(condition, _extract(n, bits, (then,), low), _extract(n, bits, (other,), low))
        if op == "sum" and low == 0 and bits > 1:
            constant, factors = _sum_attr(value)
            parts = [(_extract(n, bits, (a,), 0), f) for a, f in zip(value.args, factors, strict=True)]
            return _sum(n, bits, [*parts, (n.const(bits, constant), 1)])
    return n.table.node("extract", bits, (value,), low)


def _concat(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    high, low = args
    if high.op == "const" and low.op == "const":
        return n.const(bits, high.value << low.bits | low.value)
    if low.op == "concat":
        return _concat(n, bits, (n.concat(high, low.args[0]), low.args[1]), None)
    above, joined = (high.args[0], high.args[1]) if high.op == "concat" else (None, high)
    merged: Term | None = None
    if joined.op == "const" and low.op == "const":
        merged = n.const(joined.bits + low.bits, joined.value << low.bits | low.value)
    elif joined.op == "extract" and isinstance(joined.attr, int):
        start = low.attr if low.op == "extract" and low.args[0] is joined.args[0] else 0 if low is joined.args[0] else None
        if isinstance(start, int) and joined.attr == start + low.bits:
            merged = _extract(n, joined.bits + low.bits, (joined.args[0],), start)
    if merged is not None:
        return merged if above is None else n.concat(above, merged)
    return n.table.node("concat", bits, (high, low))


# Logic ---------------------------------------------------------------------------------------------------------------------


def _not(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    value = args[0]
    if value.op == "const":
        return n.const(bits, ~value.value)
    if value.op == "not":
        return value.args[0]
    if value.op == "ballot":
        return n.ballot(_not(n, 1, value.args, None))
    if value.op == "sum":
        return _sum(n, bits, ((value, -1), (n.const(bits, -1), 1)))
    return n.table.node("not", bits, (value,))


def _flat(op: str, args: Iterable[Term]) -> list[Term]:
    out: list[Term] = []
    for arg in args:
        out.extend(arg.args if arg.op == op else (arg,))
    return out


def _masks(n: Normaliser, op: str, args: list[Term]) -> Term | None:
    """Return a lane mask's logic as the ballot of the lanes' logic, when one argument is a ballot."""
    if not any(a.op == "ballot" for a in args) or any(a.varying for a in args):
        return None
    return n.ballot(n.make(op, 1, tuple(n.lane_bit(a) for a in args)))


def _and(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    return _lattice(n, "and", bits, args, (1 << bits) - 1, 0)


def _or(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    return _lattice(n, "or", bits, args, 0, (1 << bits) - 1)


def _lattice(n: Normaliser, op: str, bits: int, args: tuple[Term, ...], neutral: int, absorbing: int) -> Term:
    constant = neutral
    kept: set[Term] = set()
    for arg in _flat(op, args):
        if arg.op == "const":
            constant = constant & arg.value if op == "and" else constant | arg.value
        else:
            kept.add(arg)
    if constant == absorbing or any(a.op == "not" and a.args[0] in kept for a in kept):
        return n.const(bits, absorbing)
    parts = sorted(kept, key=_ident)
    if constant != neutral or not parts:
        parts.append(n.const(bits, constant))
    if len(parts) == 1:
        return parts[0]
    ballot = _masks(n, op, parts) if bits == 64 else None
    return ballot or n.table.node(op, bits, tuple(parts))


def _xor(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    constant = 0
    odd: set[Term] = set()
    for outer in _flat("xor", args):
        arg = outer
        if arg.op == "not":
            constant ^= (1 << bits) - 1
            arg = arg.args[0]
        for part in _flat("xor", (arg,)):
            if part.op == "const":
                constant ^= part.value
            else:
                odd ^= {part}
    parts = sorted(odd, key=_ident)
    if not parts:
        return n.const(bits, constant)
    if constant == (1 << bits) - 1:
        return _not(n, bits, (_xor(n, bits, tuple(parts), None),), None)
    if constant:
        parts.append(n.const(bits, constant))
    if len(parts) == 1:
        return parts[0]
    ballot = _masks(n, "xor", parts) if bits == 64 else None
    return ballot or n.table.node("xor", bits, tuple(parts))


def _ident(term: Term) -> int:
    return term.ident


def _ite(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    condition, then, other = args
    if condition.op == "const":
        return then if condition.value else other
    if condition.op == "not":
        condition, then, other = condition.args[0], other, then
    if then.op == "ite" and then.args[0] is condition:
        then = then.args[1]
    if other.op == "ite" and other.args[0] is condition:
        other = other.args[2]
    if then is other:
        return then
    if bits == 1 and then.op == "const" and other.op == "const":
        return condition if then.value else _not(n, 1, (condition,), None)
    if bits == 1 and other.op == "const" and other.value == 0:
        return n.both(condition, then)
    return n.table.node("ite", bits, (condition, then, other))


def _eq(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    a, b = args
    if a is b:
        return n.const(1, 1)
    if a.op == "const" and b.op == "const":
        return n.const(1, a.value == b.value)
    if a.bits == 1:
        return _not(n, 1, (_xor(n, 1, args, None),), None)
    return n.table.node("eq", 1, (a, b) if a.ident <= b.ident else (b, a))


def _less(n: Normaliser, op: str, args: tuple[Term, ...]) -> Term:
    a, b = args
    if a is b:
        return n.const(1, 0)
    if a.op == "const" and b.op == "const":
        flip = 1 << (a.bits - 1) if op == "slt" else 0
        return n.const(1, (a.value ^ flip) < (b.value ^ flip))
    return n.table.node(op, 1, args)


def _ult(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    return _less(n, "ult", args)


def _slt(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    return _less(n, "slt", args)


_INFINITY: dict[Hashable, int] = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF << 52}


def _unordered(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    """Whether either of two floats is a NaN, whatever MODE is: flushing a denormal makes none."""
    infinity = _INFINITY.get(attr)
    if infinity is None:
        return n.table.node("funo", bits, args, attr)
    width = args[0].bits
    top, rest = n.const(width, infinity), n.const(width, (1 << (width - 1)) - 1)
    sizes = (n.make("and", width, (value, rest)) for value in args[:2])
    return n.make("or", 1, tuple(n.make("ult", 1, (top, size)) for size in sizes))


def _float_equal(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    a, b, *rest = args
    return n.table.node("feq", bits, (a, b, *rest) if a.ident <= b.ident else (b, a, *rest), attr)


# Lanes ---------------------------------------------------------------------------------------------------------------------


def _lane_bit(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    mask = args[0]
    if mask.op == "ballot":
        return mask.args[0]
    if mask.op == "const" and mask.value in (0, (1 << 64) - 1):
        return n.const(1, mask.value & 1)
    if mask.op in ("and", "or", "xor", "not"):
        return n.make(mask.op, 1, tuple(_lane_bit(n, 1, (a,), None) for a in mask.args))
    if mask.op == "ite" and not mask.varying:
        condition, then, other = mask.args
        return n.ite(condition, n.lane_bit(then), n.lane_bit(other))
    return n.table.node("lane_bit", 1, (mask,), None, True)


def _ballot(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    body = args[0]
    if body.op == "const":
        return n.const(64, -body.value)
    if body.op == "lane_bit" and not body.args[0].varying:
        return body.args[0]
    return n.table.node("ballot", 64, (body,), None, False)


def _gather(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    """Register value `args[0]` as it is in lane `args[1]` (modulo 64). A value that is the same in all lanes is that value."""
    source, index = args
    if not source.varying or index.op == "lane":
        return source
    return n.table.node("gather", bits, args, None, index.varying)


_RULES: dict[str, Rule] = {
    "add": _add, "sub": _sub, "mul": _mul, "shl": _shl, "lshr": _lshr, "ashr": _ashr, "zext": _zext, "sext": _sext,
    "extract": _extract, "concat": _concat, "not": _not, "and": _and, "or": _or, "xor": _xor, "ite": _ite, "eq": _eq,
    "ult": _ult, "slt": _slt, "lane_bit": _lane_bit, "ballot": _ballot, "gather": _gather, "funo": _unordered,
    "feq": _float_equal,
}  # fmt: skip
