"""Rewrite rules of sums, products, shifts and fields of bits.

Owns the linear form: a sum is a constant and terms with factors modulo 2^bits, a shift by a constant is a product. Values of 64
bits keep their shape under extraction so that the two halves of a register pair join again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, cast

from asmevo.verify.equivalence.terms import Term

if TYPE_CHECKING:
    from asmevo.verify.equivalence.normal import Normaliser, Rule


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
        return n.make("xor", 1, args)
    return _sum(n, bits, ((a, 1) for a in args))


def _sub(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    if bits == 1:
        return n.make("xor", 1, args)
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


def extract(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    """`bits` bits of a term from bit `attr`."""
    value = args[0]
    low = attr if isinstance(attr, int) else 0
    if bits == value.bits:
        return value
    op = value.op
    if op == "const":
        return n.const(bits, value.value >> low)
    if op == "extract" and isinstance(value.attr, int):
        return extract(n, bits, value.args, value.attr + low)
    if op == "concat":
        high, tail = value.args
        if low >= tail.bits:
            return extract(n, bits, (high,), low - tail.bits)
        if low + bits <= tail.bits:
            return extract(n, bits, (tail,), low)
        upper = extract(n, low + bits - tail.bits, (high,), 0)
        return n.concat(upper, extract(n, tail.bits - low, (tail,), low))
    if op == "sext" and low + bits <= value.args[0].bits:
        return extract(n, bits, value.args, low)
    if value.bits == 64 or op not in _TAKEN_APART or (op == "sum" and (low or bits == 1)):
        return n.table.node("extract", bits, (value,), low)
    key = (value.ident, low, bits)
    found = n.taken.get(key)
    if found is None:
        found = n.taken[key] = _of_parts(n, bits, value, low)
    return found


_TAKEN_APART = frozenset({"and", "or", "xor", "not", "ite", "sum"})
"""Operations of which a field is made of their arguments' fields (of a sum, the lowest)."""


def _of_parts(n: Normaliser, bits: int, value: Term, low: int) -> Term:
    if value.op == "ite":
        condition, then, other = value.args
        return n.ite(condition, extract(n, bits, (then,), low), extract(n, bits, (other,), low))
    if value.op == "sum":
        constant, factors = _sum_attr(value)
        parts = [(extract(n, bits, (a,), 0), f) for a, f in zip(value.args, factors, strict=True)]
        return _sum(n, bits, [*parts, (n.const(bits, constant), 1)])
    return n.make(value.op, bits, tuple(extract(n, bits, (a,), low) for a in value.args))


def concat(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    """The first term above the second."""
    high, low = args
    if high.op == "const" and low.op == "const":
        return n.const(bits, high.value << low.bits | low.value)
    if low.op == "concat":
        return concat(n, bits, (n.concat(high, low.args[0]), low.args[1]), None)
    above, joined = (high.args[0], high.args[1]) if high.op == "concat" else (None, high)
    merged: Term | None = None
    if joined.op == "const" and low.op == "const":
        merged = n.const(joined.bits + low.bits, joined.value << low.bits | low.value)
    elif joined.op == "extract" and isinstance(joined.attr, int):
        start = low.attr if low.op == "extract" and low.args[0] is joined.args[0] else 0 if low is joined.args[0] else None
        if isinstance(start, int) and joined.attr == start + low.bits:
            merged = extract(n, joined.bits + low.bits, (joined.args[0],), start)
    if merged is not None:
        return merged if above is None else n.concat(above, merged)
    return n.table.node("concat", bits, (high, low))


ARITHMETIC: dict[str, Rule] = {
    "add": _add, "sub": _sub, "mul": _mul, "shl": _shl, "lshr": _lshr, "ashr": _ashr, "zext": _zext, "sext": _sext,
    "extract": extract, "concat": concat,
}  # fmt: skip
"""By operation."""
