"""One instruction's results as z3 expressions of the symbolic lane, and their values on a concrete state."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import z3
from z3 import z3core

from asmevo.ir.instruction import Instruction
from asmevo.ir.registers import VGPR0
from asmevo.ir.semantics import program_of, source_bits
from asmevo.verify.equivalence.execute import Executor, Programs, refusal
from asmevo.verify.equivalence.machine import Machine as Symbolic
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.operands import UnmodelledError
from asmevo.verify.equivalence.solver import _Encoder, _ident
from asmevo.verify.equivalence.terms import Term, cone
from machines import Machine

LANE_BITS = 6

_UNDERSTOOD = frozenset(
    {"const", "var", "lane", "sum", "mul", "and", "or", "xor", "not", "ite", "lane_bit", "extract", "eq", "ult", "slt", "sext"}
    | {"concat", "shl", "lshr", "ashr", "udiv", "urem"}
)
"""What the encoding computes; all else is a function of which only equality is known."""


@dataclass(frozen=True)
class Part:
    """A written unit; `is_ballot`: the symbolic lane's bit of a mask that begins at it."""

    unit: int
    is_ballot: bool


@dataclass(frozen=True)
class Encoded:
    """The values of one or two written units in the symbolic lane, the first one's in the lower bits of `expression`."""

    parts: tuple[Part, ...]
    expression: Any
    names: tuple[Any, ...]
    """z3's names of the lane and of each unit that the values depend on."""
    units: tuple[int, ...]
    """Those units."""

    def values(self, machine: Machine, lanes: Iterable[int]) -> Iterator[tuple[int, ...]]:
        """The parts' values in each lane of a state: z3 puts numbers for names and simplifies.

        Through z3's C functions, since its Python objects take ten times as long as z3 does.
        """
        context = z3.main_ctx().ref()
        count, expression = len(self.names), self.expression.as_ast()
        replaced, sorts = _objects(self.names)
        value = ctypes.c_ulonglong()
        for lane in lanes:
            held = [int(machine.vector[unit - VGPR0, lane] if unit >= VGPR0 else machine.scalar[unit]) for unit in self.units]
            kept: list[Any] = []
            for number, sort in zip((lane, *held), sorts, strict=True):
                kept.append(z3core.Z3_mk_unsigned_int64(context, number, sort))
                z3core.Z3_inc_ref(context, kept[-1])
            kept.append(z3core.Z3_substitute(context, expression, count, replaced, (z3core.Ast * count)(*kept)))
            z3core.Z3_inc_ref(context, kept[-1])
            kept.append(z3core.Z3_simplify(context, kept[-1]))
            z3core.Z3_inc_ref(context, kept[-1])
            assert z3core.Z3_get_numeral_uint64(context, kept[-1], ctypes.byref(value)), "z3 computed no number"
            for ast in kept:
                z3core.Z3_dec_ref(context, ast)
            yield tuple(value.value >> 32 * n & 0xFFFFFFFF for n in range(len(self.parts)))


@lru_cache(maxsize=64)
def _objects(names: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """The C library's objects of names, and of their sorts."""
    return (z3core.Ast * len(names))(*(name.as_ast() for name in names)), [name.sort().ast for name in names]


def encoded_results(i: Instruction, target: str) -> list[Encoded]:
    """The units that `i` writes and z3 can compute; none for what is an opaque function there, or not executed."""
    programs = Programs(lambda other: program_of(other, target), source_bits)
    if refusal(i, programs) is not None:
        return []
    machine = Symbolic(Normaliser())
    try:
        Executor(machine, programs).run(i)
    except UnmodelledError:
        return []
    before = Symbolic(machine.normaliser)
    found: list[tuple[Part, Term]] = []
    for unit in sorted(machine.units):
        term = machine.unit(unit)
        if term is before.unit(unit):
            continue
        mask = _ballot_of(term)
        if mask is not None and unit >= VGPR0:
            continue
        body = term if mask is None else mask
        if mask is not None and unit - 1 in machine.units and _ballot_of(machine.unit(unit - 1)) is mask:
            continue  # the upper half of a mask
        if all(t.op in _UNDERSTOOD for t in cone((body,))):
            found.append((Part(unit, mask is not None), body))
    return [_encoded(found[n : n + 2]) for n in range(0, len(found), 2)]


def _ballot_of(term: Term) -> Term | None:
    """The bit that a half of a wave mask collects; None for other values."""
    if term.op == "extract" and term.args[0].op == "ballot":
        return term.args[0].args[0]
    return None


def _encoded(written: list[tuple[Part, Term]]) -> Encoded:
    terms = tuple(term for _, term in written)
    encoder = _Encoder(_ident, multiply=True)
    encoder.encode(terms)
    inputs = [(encoder.of(t), t.attr) for t in cone(terms) if t.op == "var" and isinstance(t.attr, int)]
    names = (z3.BitVec("lane", LANE_BITS), *(name for name, _ in inputs))
    values = [encoder.of(term) for term in terms]
    wide = [z3.ZeroExt(32 - value.size(), value) for value in values]
    expression = z3.Concat(*reversed(wide)) if len(wide) > 1 else wide[0]
    return Encoded(tuple(part for part, _ in written), expression, names, tuple(number for _, number in inputs))
