"""Concrete evaluation of terms on a random state of all 64 lanes.

Owns the exact meaning of interpreted operations, cross-lane ones included. Uninterpreted functions get pseudo-random values
that depend only on their name and argument values, so a difference that it shows is one no proof by congruence can close;
whether it is a real difference is for the caller to judge.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import cast

from asmevo.verify.equivalence.terms import IDENTITY_OPS, MEMORY_OPS, Term, cone

LANES = 64
Value = tuple[int, ...]
"""One value a lane; a uniform term has one entry only."""

_CORNERS = (0, 1, 2, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x3F800000, 0x7F800000, 0xFF, 0xFFFF0000)
_MIX = 0x9E3779B97F4A7C15


class Evaluator:
    """Evaluates terms on one state. `seed` chooses it; `fixed` sets entry units by hand (64 entries for a vector register)."""

    def __init__(self, seed: int, fixed: Mapping[object, Value] | None = None) -> None:
        self._seed = seed
        self._fixed = dict(fixed or {})
        self._values: dict[int, Value] = {}

    def value(self, term: Term) -> Value:
        """Return the term's value, one entry or 64."""
        if term.ident not in self._values:
            self.evaluate((term,))
        return self._values[term.ident]

    def evaluate(self, roots: Iterable[Term]) -> None:
        """Compute the values of all terms that `roots` are made of."""
        values = self._values
        for term in cone(roots):
            if term.ident not in values:
                values[term.ident] = self._one(term, [values[a.ident] for a in term.args])

    def difference(self, a: Term, b: Term) -> int | None:
        """Return the first lane in which two terms differ; None when they agree everywhere."""
        x, y = self.value(a), self.value(b)
        if x == y:
            return None
        width = max(len(x), len(y))
        return next((k for k in range(width) if x[k % len(x)] != y[k % len(y)]), None)

    def signature(self, term: Term) -> Value:
        """Return the term's value, one entry where it is the same in all lanes: equal for terms that agree on this state."""
        value = self.value(term)
        return value[:1] if len(set(value)) == 1 else value

    def _one(self, term: Term, args: list[Value]) -> Value:
        op = term.op
        if op == "const":
            return (term.value,)
        if op == "var":
            return self._variable(term)
        if op == "lane":
            return tuple(range(LANES))
        if op == "ballot":
            return (sum(bit << k for k, bit in enumerate(_wide(args[0]))),)
        if op == "lane_bit":
            return tuple(args[0][0] >> k & 1 for k in range(LANES))
        if op == "gather":
            source, index = _wide(args[0]), args[1]
            return tuple(source[k % LANES] for k in index)
        if op in MEMORY_OPS:
            return (_digest(op, repr(term.attr), *args),)
        if op in IDENTITY_OPS:
            return self._opaque(term, args)
        mask = (1 << term.bits) - 1
        operation = _OPERATIONS.get(op)
        if operation is None:
            return self._uninterpreted(term, args)
        rows = zip(*(_wide(a) for a in args), strict=True) if term.varying else (tuple(a[0] for a in args),)
        return tuple(operation(term, row) & mask for row in rows)

    def _variable(self, term: Term) -> Value:
        known = self._fixed.get(term.attr)
        if known is not None:
            return known
        source = random.Random(f"{self._seed}/{term.attr}")
        mask = (1 << term.bits) - 1
        corners = self._seed % 3 == 1

        def draw() -> int:
            return (source.choice(_CORNERS) if corners and source.random() < 0.5 else source.getrandbits(32)) & mask

        return tuple(draw() for _ in range(LANES if term.varying else 1))

    def _opaque(self, term: Term, args: list[Value]) -> Value:
        """Of a memory version or whole registers, and for a load also of the lane's own address."""
        mask = (1 << term.bits) - 1
        name = repr((term.op, term.attr))
        if term.op != "load":
            base = _digest(name, *args)
            return tuple(_mix(base, k) & mask for k in range(LANES if term.varying else 1))
        rows = zip(*(_wide(a) for a in args), strict=True) if term.varying else (tuple(a[0] for a in args),)
        base = zlib.crc32(name.encode())
        return tuple(_mix(base, *row) & mask for row in rows)

    def _uninterpreted(self, term: Term, args: list[Value]) -> Value:
        mask = (1 << term.bits) - 1
        base = zlib.crc32(repr((term.op, term.attr, term.bits)).encode())
        rows = zip(*(_wide(a) for a in args), strict=True) if term.varying else (tuple(a[0] for a in args),)
        return tuple(_mix(base, *row) & mask for row in rows)


def _wide(value: Value) -> Value:
    return value if len(value) == LANES else value * LANES


def _digest(name: str, *values: object) -> int:
    data = repr((name, values)).encode()
    return zlib.crc32(data) << 32 | zlib.adler32(data)


def _mix(base: int, *values: int) -> int:
    state = base ^ _MIX
    for value in values:
        state = (state ^ value ^ (value >> 64)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
        state = (state ^ state >> 29) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 32
    return state


# Interpreted operations: (term, argument values) -> value, cut to the term's width by the caller ------------------------------

Operation = Callable[[Term, tuple[int, ...]], int]


def _signed(value: int, bits: int) -> int:
    return value - (value >> (bits - 1) << bits)


def _sum(term: Term, row: tuple[int, ...]) -> int:
    constant, factors = cast("tuple[int, tuple[int, ...]]", term.attr)
    return constant + sum(f * v for f, v in zip(factors, row, strict=True))


def _all(row: tuple[int, ...]) -> int:
    out = -1
    for value in row:
        out &= value
    return out


def _any(row: tuple[int, ...]) -> int:
    out = 0
    for value in row:
        out |= value
    return out


def _parity(row: tuple[int, ...]) -> int:
    out = 0
    for value in row:
        out ^= value
    return out


def _low(term: Term) -> int:
    return term.attr if isinstance(term.attr, int) else 0


def _reverse(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)


_OPERATIONS: dict[str, Operation] = {
    "sum": _sum,
    "add": lambda t, r: r[0] + r[1],
    "sub": lambda t, r: r[0] - r[1],
    "zext": lambda t, r: r[0],
    "mul": lambda t, r: r[0] * r[1],
    "udiv": lambda t, r: r[0] // r[1] if r[1] else -1,
    "urem": lambda t, r: r[0] % r[1] if r[1] else r[0],
    "and": lambda t, r: _all(r),
    "or": lambda t, r: _any(r),
    "xor": lambda t, r: _parity(r),
    "not": lambda t, r: ~r[0],
    "shl": lambda t, r: r[0] << r[1] if r[1] < t.bits else 0,
    "lshr": lambda t, r: r[0] >> r[1] if r[1] < t.bits else 0,
    "ashr": lambda t, r: _signed(r[0], t.bits) >> min(r[1], t.bits),
    "extract": lambda t, r: r[0] >> _low(t),
    "concat": lambda t, r: r[0] << t.args[1].bits | r[1],
    "sext": lambda t, r: _signed(r[0], t.args[0].bits),
    "eq": lambda t, r: r[0] == r[1],
    "ult": lambda t, r: r[0] < r[1],
    "slt": lambda t, r: _signed(r[0], t.args[0].bits) < _signed(r[1], t.args[1].bits),
    "ite": lambda t, r: r[1] if r[0] else r[2],
    "popcount": lambda t, r: f"{r[0]:b}".count("1"),
    "clz": lambda t, r: t.args[0].bits - r[0].bit_length(),
    "ctz": lambda t, r: (r[0] & -r[0]).bit_length() - 1 if r[0] else t.args[0].bits,
    "bitrev": lambda t, r: _reverse(r[0], t.bits),
}
