"""The solver's part: equality of two terms for every state and every lane, by descent and z3.

Owns the z3 encoding and the classes of opaque terms found equal. Integers are bit vectors, floats and other lane-wise functions
uninterpreted functions of lane values. An operation that sees other lanes or a memory (`terms.IDENTITY_OPS`) is never an
uninterpreted function of lane values: it is one unknown a class, and two of them are one class only after every argument was
proved equal in all lanes. Timeouts answer "not proved".
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownParameterType=false
# z3 ships without types; every value taken from it here is an expression.

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from typing import Any

import z3

from asmevo.verify.equivalence.budget import attempts, now
from asmevo.verify.equivalence.terms import MEMORY_OPS, Term, cone

_TRIES = 256
"""How many pairs of terms inside a pair may be tried before it is asked about."""

_CANDIDATES = 3
"""How many terms are tried for one that agrees with all of them."""

_MEMORY_MB = 1024
"""What z3 may use for one query."""

_DEPTH = 150
"""How far a descent goes before it gives up."""


class Prover:
    """Proves terms of one table equal until `deadline` (of `budget.now`).

    `record` receives each query that was shown to have no model, as SMT-LIB2 text. `signature` gives a term's values on some
    states: terms whose values differ are told apart by some interpretation of the uninterpreted functions, so that no query can
    show them equal; those inside a pair whose values agree are likely equal, and are tried first.
    """

    def __init__(
        self, deadline: float, signature: Callable[[Term], Hashable], record: Callable[[str], None] | None = None
    ) -> None:
        self._record = record
        self._deadline = deadline
        self._signature = signature
        self._depth = 0
        self._sweeping = False
        self._proved: dict[tuple[int, int], bool] = {}
        self._class: dict[int, int] = {}
        self._joined: set[int] = set()
        self.queries = 0
        self.models: list[Mapping[int, int]] = []
        """Values of entry units, in one lane, with which a query had no proof: candidates for a refutation."""
        self.timed_out = False

    def equal(self, a: Term, b: Term) -> bool:
        """Return True when `a` and `b` are equal in every lane of every state; False when that was not shown."""
        if a is b or self._root(a) == self._root(b):
            return True
        if a.bits != b.bits or self._depth >= _DEPTH:
            return False
        key = (a.ident, b.ident) if a.ident < b.ident else (b.ident, a.ident)
        if key not in self._proved:
            self._proved[key] = False  # a pair under way is not assumed
            self._depth += 1
            self._proved[key] = self._signature(a) == self._signature(b) and (self._descend(a, b) or self._query(a, b))
            self._depth -= 1
            if self._proved[key]:
                self._join(a, b)
        return self._proved[key]

    def _descend(self, a: Term, b: Term) -> bool:
        """Equal because the same operation is applied to arguments that are equal in all lanes."""
        if a.op != b.op or a.attr != b.attr or len(a.args) != len(b.args) or not a.args or a.varying != b.varying:
            return False
        return all(x is y or self.equal(x, y) for x, y in zip(a.args, b.args, strict=True))

    def _query(self, a: Term, b: Term) -> bool:
        if a.op in MEMORY_OPS or b.op in MEMORY_OPS or not self._budget():
            return False
        self._sweep(a, b)
        # What is known to be equal is first one unknown: that asks least, and mostly is enough.
        for known in (self._joined, frozenset[int]()) if self._joined else (frozenset[int](),):
            for multiply in (False, True):
                encoder = _Encoder(self._root, multiply=multiply, known=known)
                encoder.encode((a, b))
                if multiply and not encoder.multiplies:
                    break
                if encoder.of(a).eq(encoder.of(b)):
                    return True
                if self._has_no_model(a, b, encoder):
                    return True
                if not self._budget():
                    return False
            if known and not encoder.used_known:
                break  # the second round would be the first
        return False

    def _has_no_model(self, a: Term, b: Term, encoder: _Encoder) -> bool:
        if not self._budget():
            return False
        solver = z3.SolverFor("QF_UFBV")
        solver.set("max_memory", _MEMORY_MB)
        solver.add(*encoder.facts, encoder.of(a) != encoder.of(b))
        self.queries += 1
        answer: Any = z3.unknown

        def ask(milliseconds: int) -> bool:
            nonlocal answer
            solver.set("timeout", milliseconds)
            answer = solver.check()
            return bool(answer != z3.unknown)

        attempts(self._deadline, ask)
        if answer == z3.unsat:
            if self._record is not None:
                self._record(solver.to_smt2())
            return True
        self.timed_out = self.timed_out or bool(answer == z3.unknown)
        if answer == z3.sat and not encoder.used_known:
            self.models.append(encoder.units(solver.model(), (a, b)))
        return False

    def _sweep(self, a: Term, b: Term) -> None:
        """Join terms under `a` and `b` that agree on all states and are equal, innermost first."""
        if self._sweeping:
            return
        self._sweeping = True
        left = cone((a,))
        shared = {term.ident for term in left}
        alike: dict[tuple[int, Hashable], list[Term]] = {}
        for term in left:
            if term is not a and not term.is_const:
                alike.setdefault((term.bits, self._signature(term)), []).append(term)
        tries = 0
        for term in cone((b,)):
            if term is b or term.ident in shared or term.is_const:
                continue
            for other in alike.get((term.bits, self._signature(term)), ())[:_CANDIDATES]:
                tries += 1
                if tries > _TRIES or not self._budget() or self.equal(other, term):
                    break
        self._sweeping = False

    def _budget(self) -> int:
        """Milliseconds left."""
        left = int((self._deadline - now()) * 1000)
        if left <= 0:
            self.timed_out = True
        return min(max(left, 0), 1 << 30)

    def _root(self, term: Term) -> int:
        ident = term.ident
        while ident in self._class:
            ident = self._class[ident]
        return ident

    def _join(self, a: Term, b: Term) -> None:
        low, high = sorted((self._root(a), self._root(b)))
        if low != high:
            self._class[high] = low
        # Of a lane mask more is known than that it is one value: its bits.
        if not _is_mask(a) and not _is_mask(b):
            self._joined |= {a.ident, b.ident}


def _is_mask(term: Term) -> bool:
    """Whether a term is made of the bits that lanes gave to a mask."""
    return term.op == "ballot" or (term.op in ("extract", "concat") and any(_is_mask(a) for a in term.args))


def satisfiable(conditions: Sequence[Term], effort: int) -> bool | None:
    """Whether some state makes every condition (1 bit, of one table) hold; None when that took more than `effort`.

    `effort` is in z3's own resource units, so that the answer does not depend on the machine's load. False is certain;
    True may rest on what an operation that is not interpreted would not do.
    """
    for multiply in (False, True):
        encoder = _Encoder(_ident, multiply=multiply)
        encoder.encode(tuple(conditions))
        solver = z3.SolverFor("QF_UFBV")
        solver.set("rlimit", effort)
        solver.add(*encoder.facts, *(encoder.of(condition) == 1 for condition in conditions))
        answer = solver.check()
        if answer == z3.unsat:
            return False
        if not encoder.multiplies or multiply:
            return True if answer == z3.sat else None
    raise AssertionError("the second encoding interprets every multiplication")


def _ident(term: Term) -> int:
    return term.ident


class _Encoder:
    """Terms as z3 expressions of the symbolic lane. `facts` are what must be assumed beside them.

    Terms of `known` are one unknown a class, whatever they are made of; `used_known` tells whether there were such.
    """

    def __init__(self, root: Callable[[Term], int], multiply: bool = False, known: Set[int] = frozenset()) -> None:
        self._root = root
        self._known = known
        self.used_known = False
        self._multiply = multiply
        self._done: dict[int, Any] = {}
        self._functions: dict[object, Any] = {}
        self._lane = z3.BitVec("lane", 6)
        self.facts: list[Any] = []
        self.multiplies = False

    def of(self, term: Term) -> Any:
        return self._done[term.ident]

    def encode(self, roots: tuple[Term, ...]) -> None:
        wanted: dict[int, Term] = {}
        stack = list(roots)
        while stack:
            term = stack.pop()
            if term.ident in wanted or term.ident in self._done:
                continue
            wanted[term.ident] = term
            if term in roots or not self._is_known(term):
                stack.extend(term.args)
        for ident in sorted(wanted):
            term = wanted[ident]
            if term.op in MEMORY_OPS:
                continue
            known = z3.BitVec(f"known!{self._root(term)}", term.bits) if self._is_known(term) else None
            if known is None or term in roots:
                self._done[ident] = self._one(term)
                if known is not None:
                    self.facts.append(known == self._done[ident])
            else:
                self.used_known = True
                self._done[ident] = known

    def _is_known(self, term: Term) -> bool:
        """Whether the term may be one unknown."""
        return term.ident in self._known and term.op != "const" and term.op not in MEMORY_OPS

    def units(self, model: Any, roots: tuple[Term, ...]) -> dict[int, int]:
        """The values that a model gives entry units under `roots`."""
        return {
            term.attr: model.eval(self.of(term), model_completion=True).as_long()
            for term in cone(roots)
            if term.op == "var" and isinstance(term.attr, int)
        }

    def _one(self, term: Term) -> Any:
        op, bits = term.op, term.bits
        if op == "const":
            return z3.BitVecVal(term.value, bits)
        if op in ("var", "atom"):
            return z3.BitVec(f"{op}!{self._root(term)}", bits)
        if op == "lane":
            return z3.ZeroExt(bits - 6, self._lane)
        if op == "ballot":
            mask = z3.BitVec(f"ballot!{self._root(term)}", 64)
            self.facts.append(self._bit(mask) == self.of(term.args[0]))
            return mask
        if op == "gather":
            # A whole register is the function; only the lane number is an argument.
            return self._apply(("gather", self._root(term.args[0])), bits, (term.args[1],))
        if op == "load":
            versions = tuple(self._root(a) for a in term.args if a.op in MEMORY_OPS)
            lanewise = tuple(a for a in term.args if a.op not in MEMORY_OPS)
            return self._apply(("load", term.attr, term.varying, versions), bits, lanewise)
        args = [self.of(a) for a in term.args]
        if op == "mul":
            self.multiplies = True
            return args[0] * args[1] if self._multiply else self._apply(("mul", bits), bits, term.args)
        encoded = self._integer(term, args)
        return self._apply((op, term.attr), bits, term.args) if encoded is None else encoded

    def _bit(self, mask: Any) -> Any:
        return z3.Extract(0, 0, z3.LShR(mask, z3.ZeroExt(58, self._lane)))

    def _apply(self, name: object, bits: int, args: tuple[Term, ...]) -> Any:
        values = [self.of(a) for a in args]
        key = (name, bits, tuple(a.bits for a in args))
        if not values:
            return self._functions.setdefault(key, z3.BitVec(f"c!{len(self._functions)}", bits))
        function = self._functions.get(key)
        if function is None:
            sorts = [*(z3.BitVecSort(a.bits) for a in args), z3.BitVecSort(bits)]
            function = self._functions[key] = z3.Function(f"f!{len(self._functions)}", *sorts)
        return function(*values)

    def _integer(self, term: Term, a: list[Any]) -> Any:
        op, bits = term.op, term.bits
        if op == "sum":
            return _weighted(term, a)
        if op in ("and", "or", "xor"):
            out = a[0]
            for value in a[1:]:
                out = out & value if op == "and" else out | value if op == "or" else out ^ value
            return out
        if op == "ite":
            return z3.If(a[0] == 1, a[1], a[2])
        if op == "lane_bit":
            return self._bit(a[0])
        if op == "extract" and isinstance(term.attr, int):
            return z3.Extract(term.attr + bits - 1, term.attr, a[0])
        if op in ("eq", "ult", "slt"):
            relation = a[0] == a[1] if op == "eq" else z3.ULT(a[0], a[1]) if op == "ult" else a[0] < a[1]
            return z3.If(relation, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
        if op in ("sext", "zext"):
            return (z3.SignExt if op == "sext" else z3.ZeroExt)(bits - term.args[0].bits, a[0])
        if op in _BINARY or op == "not":
            return ~a[0] if op == "not" else _BINARY[op](a[0], a[1])
        return None


def _weighted(term: Term, values: list[Any]) -> Any:
    attr: Any = term.attr
    total = z3.BitVecVal(attr[0], term.bits)
    for factor, value in zip(attr[1], values, strict=True):
        total = total + (value if factor == 1 else value * z3.BitVecVal(factor, term.bits))
    return total


_BINARY: dict[str, Any] = {
    "add": operator.add,
    "sub": operator.sub,
    "concat": z3.Concat,
    "shl": operator.lshift,
    "lshr": z3.LShR,
    "ashr": operator.rshift,
    "udiv": z3.UDiv,
    "urem": z3.URem,
}
