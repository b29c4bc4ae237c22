"""One instruction's results as z3 expressions of the symbolic lane, and their values on a concrete state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import z3

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

_UNDERSTOOD = frozenset(
    {"const", "var", "lane", "sum", "mul", "and", "or", "xor", "not", "ite", "lane_bit", "extract", "eq", "ult", "slt", "sext"}
    | {"concat", "shl", "lshr", "ashr", "udiv", "urem"}
)
"""What the encoding computes; all else is a function of which only equality is known."""


@dataclass(frozen=True)
class Encoded:
    """A written unit's value in the symbolic lane; `is_ballot`: the lane's bit of a mask that begins at the unit."""

    unit: int
    is_ballot: bool
    expression: Any
    inputs: tuple[tuple[Any, int], ...]
    """z3's name of each unit that the value depends on."""

    def value(self, machine: Machine, lane: int) -> int:
        """The value in a lane of a state."""
        given = [(z3.BitVec("lane", 6), z3.BitVecVal(lane, 6))]
        for name, unit in self.inputs:
            held = machine.vector[unit - VGPR0, lane] if unit >= VGPR0 else machine.scalar[unit]
            given.append((name, z3.BitVecVal(int(held), name.size())))
        return z3.simplify(z3.substitute(self.expression, *given)).as_long()


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
    found: list[Encoded] = []
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
            found.append(_encoded(unit, body, is_ballot=mask is not None))
    return found


def _ballot_of(term: Term) -> Term | None:
    """The bit that a half of a wave mask collects; None for other values."""
    if term.op == "extract" and term.args[0].op == "ballot":
        return term.args[0].args[0]
    return None


def _encoded(unit: int, term: Term, *, is_ballot: bool) -> Encoded:
    encoder = _Encoder(_ident, multiply=True)
    encoder.encode((term,))
    inputs = tuple((encoder.of(t), t.attr) for t in cone((term,)) if t.op == "var" and isinstance(t.attr, int))
    return Encoded(unit, is_ballot, encoder.of(term), inputs)
