"""One instruction's results as z3 expressions of the symbolic lane, and their values on a concrete state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
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

LANE_BITS, RESULT_BITS = 6, 64
BATCH = 8


@dataclass(frozen=True)
class Place:
    """A lane of a state."""

    machine: Machine
    lane: int


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


@dataclass(frozen=True, eq=False)
class Encoded:
    """The values of one or two written units in the symbolic lane, the first one's in the lower bits of `expression`."""

    parts: tuple[Part, ...]
    expression: Any
    names: tuple[Any, ...]
    """z3's names of the lane and of each unit that the values depend on."""
    units: tuple[int, ...]
    """Those units."""
    sizes: tuple[int, ...]
    """The names' bits."""

    def values(self, places: Sequence[Place]) -> Iterator[tuple[int, ...]]:
        """The parts' values in each place: z3 puts numbers for names and simplifies.

        Many places at a time, since each number that goes to z3 or comes back takes longer than z3 itself.
        """
        inputs, results = _batch(self)
        slot = sum(self.sizes)
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            number = 0
            for n, place in enumerate(batch):
                number |= self._packed(place) << n * slot
            value = z3.simplify(z3.substitute(results, (inputs, z3.BitVecVal(number, inputs.size())))).as_long()
            for n in range(len(batch)):
                both = value >> n * RESULT_BITS
                yield tuple(both >> 32 * part & 0xFFFFFFFF for part in range(len(self.parts)))

    def _packed(self, place: Place) -> int:
        """The lane's number, then what the units hold there."""
        packed, shift = place.lane, LANE_BITS
        for unit, size in zip(self.units, self.sizes[1:], strict=True):
            held = place.machine.vector[unit - VGPR0, place.lane] if unit >= VGPR0 else place.machine.scalar[unit]
            packed |= (int(held) & (1 << size) - 1) << shift
            shift += size
        return packed


@lru_cache(maxsize=64)
def _batch(encoded: Encoded) -> tuple[Any, Any]:
    """A name for the inputs of `BATCH` places together, and their results together."""
    slot = sum(encoded.sizes)
    inputs = z3.BitVec("inputs", slot * BATCH)
    results: list[Any] = []
    for n in range(BATCH):
        at = n * slot
        given: list[tuple[Any, Any]] = []
        for name in encoded.names:
            given.append((name, z3.Extract(at + name.size() - 1, at, inputs)))
            at += name.size()
        result = z3.substitute(encoded.expression, *given)
        results.append(z3.ZeroExt(RESULT_BITS - result.size(), result))
    return inputs, z3.Concat(*reversed(results))


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
    return Encoded(
        tuple(part for part, _ in written),
        expression,
        names,
        tuple(number for _, number in inputs),
        tuple(name.size() for name in names),
    )
