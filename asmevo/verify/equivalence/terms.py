"""Hash-consed terms: the values of registers and memories as both sides of a check compute them.

Owns the node and the table that makes equal nodes one object. It rewrites nothing (see `normal`) and evaluates nothing.

A term is a value of one wave: the same for all lanes, or, when `varying`, a function of the lane. Two varying terms that are
one object are equal in every lane, which is what cross-lane consumers need; equality at one lane is never enough for them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

IDENTITY_OPS = frozenset({"ballot", "gather", "atom", "load", "store", "advance", "merge"})
"""Operations that see an argument in all lanes at once (or a whole memory), so that lane-value congruence is unsound for it."""

MEMORY_OPS = frozenset({"memory", "store", "advance", "merge"})
"""Operations whose value is a memory version; such terms have zero bits."""

INTERPRETED_OPS = frozenset(
    {
        *("const", "var", "lane", "lane_bit", "ballot", "gather", "ite", "eq", "ult", "slt"),
        *(
            "add",
            "sub",
            "zext",
            "and",
            "or",
            "xor",
            "not",
            "sum",
            "mul",
            "udiv",
            "urem",
            "shl",
            "lshr",
            "ashr",
            "extract",
            "concat",
            "sext",
        ),
        *("popcount", "clz", "ctz", "bitrev"),
    }
)
"""Operations whose value is computed exactly by `evaluate`; all others are uninterpreted functions."""


class Term:
    """One node. `args` are terms, `attr` the static part; identity is equality within a table."""

    __slots__ = ("args", "attr", "bits", "ident", "op", "varying")

    def __init__(self, ident: int, op: str, bits: int, args: tuple[Term, ...], attr: Hashable, varying: bool) -> None:
        self.ident = ident
        self.op = op
        self.bits = bits
        self.args = args
        self.attr = attr
        self.varying = varying

    @property
    def is_const(self) -> bool:
        """True for a constant; its value is then `attr`."""
        return self.op == "const"

    @property
    def value(self) -> int:
        """A constant's value. TypeError for any other term."""
        if isinstance(self.attr, int):
            return self.attr
        raise TypeError(f"{self.op} is not a constant")

    def __repr__(self) -> str:
        attr = "" if self.attr is None else f"<{self.attr}>"
        return f"{self.op}{attr}:{self.bits}({', '.join(f't{a.ident}' for a in self.args)})"


class Table:
    """Makes terms, each once. Shared by both sides of a check; never across checks."""

    __slots__ = ("_nodes",)

    def __init__(self) -> None:
        self._nodes: dict[tuple[object, ...], Term] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def node(self, op: str, bits: int, args: tuple[Term, ...] = (), attr: Hashable = None, varying: bool | None = None) -> Term:
        """Return the term; `varying` None means that it varies when an argument does."""
        key = (op, bits, attr, args)
        found = self._nodes.get(key)
        if found is None:
            if varying is None:
                varying = any(a.varying for a in args)
            found = Term(len(self._nodes), op, bits, args, attr, varying)
            self._nodes[key] = found
        return found


def cone(roots: Iterable[Term]) -> list[Term]:
    """All terms that `roots` are made of, arguments before their users."""
    wanted: dict[int, Term] = {}
    stack = list(roots)
    while stack:
        term = stack.pop()
        if term.ident not in wanted:
            wanted[term.ident] = term
            stack.extend(term.args)
    return [wanted[ident] for ident in sorted(wanted)]
