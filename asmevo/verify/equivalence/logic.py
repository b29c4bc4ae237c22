"""Rewrite rules of logic, selection, comparison and of what relates lanes.

Owns flat, ordered `and`, `or` and `xor`, and lane masks as the ballot of their lanes' bits. Of floats it compares what does not
depend on MODE: whether one is a NaN, and that equality has no order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from asmevo.verify.equivalence.terms import Term

if TYPE_CHECKING:
    from asmevo.verify.equivalence.normal import Normaliser, Rule


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
        return n.make("sub", bits, (n.const(bits, -1), value))
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


def conjunction(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    """Every bit that all terms have."""
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


def choose(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    """The second term where the first holds, the third elsewhere."""
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


def lane_bit(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    """This lane's bit of a wave mask."""
    mask = args[0]
    if mask.op == "ballot":
        return mask.args[0]
    if mask.op == "const" and mask.value in (0, (1 << 64) - 1):
        return n.const(1, mask.value & 1)
    if mask.op in ("and", "or", "xor", "not"):
        return n.make(mask.op, 1, tuple(lane_bit(n, 1, (a,), None) for a in mask.args))
    if mask.op == "ite" and not mask.varying:
        condition, then, other = mask.args
        return n.ite(condition, n.lane_bit(then), n.lane_bit(other))
    return n.table.node("lane_bit", 1, (mask,), None, True)


def ballot(n: Normaliser, bits: int, args: tuple[Term, ...], attr: Hashable) -> Term:
    """The wave mask of a lane's bit."""
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


LOGIC: dict[str, Rule] = {
    "not": _not, "and": conjunction, "or": _or, "xor": _xor, "ite": choose, "eq": _eq, "ult": _ult, "slt": _slt,
    "funo": _unordered, "feq": _float_equal, "lane_bit": lane_bit, "ballot": ballot, "gather": _gather,
}  # fmt: skip
"""By operation."""
