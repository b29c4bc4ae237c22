"""Values over the iterations of loops: registers that move by a constant step, and how often a loop runs.

Owns the step from the symbols that `values` makes at loop headers to  start + step * counter.  A register counts only when
every back edge moves it by the same constant; a trip count only when an exit that is tested each time round compares such a
register with a constant.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loop, Loops
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.values.fixpoint import Values
from asmevo.ir.analysis.values.value import (
    Comparison,
    Kind,
    Place,
    Symbol,
    Table,
    Terms,
    Value,
    add_tables,
    add_terms,
    same,
    scale_terms,
    too_large,
)
from asmevo.ir.isa.model import OpcodeDef
from asmevo.ir.kernel import Kernel
from asmevo.ir.semantics.expr import Op

_MAX_ROUNDS = 8
_MAX_TRIPS = 1 << 14


@dataclass(frozen=True, slots=True)
class Step:
    """A register, or a pair of them, that is `start` on entering the loop and `step` more each time round."""

    start: Value
    step: int


@dataclass(frozen=True, slots=True)
class Trips:
    """How often a loop's header runs for each entry of the loop, None where that is not known.

    `exact` holds for loops with one exit; with more exits the number that one of them gives is only `at_most`.
    """

    exact: int | None = None
    at_most: int | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """A form without the symbols of counted loops; `assumes_no_wrap` when 32-bit sums in it must not wrap for it to hold."""

    const: int
    terms: Terms
    table: Table | None
    assumes_no_wrap: bool


@dataclass(frozen=True, slots=True)
class Inductions:
    """Induction registers and trip counts; each answer is found when asked for."""

    counters: dict[str, Symbol]
    _values: Values
    _flow: Flow
    _loops: dict[str, Loop]
    _steps: dict[tuple[str, int, bool], Step | None] = field(default_factory=dict[tuple[str, int, bool], "Step | None"])

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Inductions:
        """The tables that answers need."""
        del kernel
        loops = {loop.header: loop for loop in manager.get(Loops).loops}
        counters = {header: Symbol(Kind.COUNTER, f"trip of {header}", 0, None, False, 0, header) for header in loops}
        return cls(counters, manager.get(Values), manager.get(Flow), loops)

    def step(self, label: str, unit: int, pair: bool = False) -> Step | None:
        """How a register, or the pair from `unit` on, moves round the loop with this header; None when not by a constant."""
        key = (label, unit, pair)
        if key not in self._steps:
            self._steps[key] = self._find(label, unit, pair)
        return self._steps[key]

    def _find(self, label: str, unit: int, pair: bool) -> Step | None:
        loop = self._loops.get(label)
        if loop is None:
            return None
        reader = self._values.reader
        here = self._values.entries[label]
        read = reader.pair if pair else reader.unit
        mine = read(here, unit)
        starts = self._starts(loop, unit, pair=pair)
        if not starts or mine.terms is None or any(not same(starts[0], other) for other in starts[1:]):
            return None
        steps: set[int] = set()
        for latch in loop.latches:
            moved = self._values.reader.domain.add(read(self._values.exits[latch], unit), mine, -1)
            if not moved.is_constant:
                return None
            steps.add(moved.const - (1 << moved.bits) if moved.const >> (moved.bits - 1) else moved.const)
        return Step(starts[0], steps.pop()) if len(steps) == 1 else None

    def pointer_before(self, label: str, unit: int) -> Value | None:
        """The pair of registers on entering the loop, where each round only adds to it; else None."""
        loop = self._loops.get(label)
        if loop is None:
            return None
        reader = self._values.reader
        mine = reader.pair(self._values.entries[label], unit)
        for latch in loop.latches:
            moved = reader.pair(self._values.exits[latch], unit)
            if mine.terms is None or moved.terms is None or not set(mine.terms) <= set(moved.terms):
                return None
        starts = self._starts(loop, unit, pair=True)
        return starts[0] if starts and all(same(starts[0], other) for other in starts[1:]) else None

    def _starts(self, loop: Loop, unit: int, *, pair: bool) -> list[Value]:
        reader = self._values.reader
        read = reader.pair if pair else reader.unit
        outside = [s for s in self._flow.predecessors[loop.header] if s not in loop.blocks and s in self._values.exits]
        starts = [read(self._values.exits[s], unit) for s in outside]
        if loop.header in self._flow.roots:
            starts.append(read(reader.start(), unit))
        return starts

    def resolve(self, value: Value) -> Resolved | None:
        """The value's form with counted registers replaced by their counters; None when it has none."""
        if value.terms is None:
            return None
        const, terms, table, assumed = value.const, value.terms, value.table, False
        for _ in range(_MAX_ROUNDS):
            changed = False
            for symbol, factor in terms:
                if not isinstance(symbol.detail, Place):
                    continue
                label, unit = symbol.detail.label, symbol.detail.unit
                other = self._upper(terms, label, unit, factor)
                step = self.step(label, unit, other is not None)
                if step is None or step.start.terms is None or too_large(step.start.table, factor):
                    continue
                removed = ((symbol, factor),) if other is None else ((symbol, factor), (other, factor << 32))
                terms = add_terms(terms, removed, -1)
                terms = add_terms(terms, scale_terms(step.start.terms, factor))
                terms = add_terms(terms, ((self.counters[label], factor * step.step),)) if step.step else terms
                table = add_tables(table, step.start.table, factor)
                const += factor * step.start.const
                assumed = assumed or (other is None and value.bits > 32)
                changed = True
                break
            if not changed:
                break
        return Resolved(const, terms, table, assumed)

    def _upper(self, terms: Terms, label: str, unit: int, factor: int) -> Symbol | None:
        """The symbol of the register above, where it stands for the upper half of the same 64-bit value."""
        for symbol, f in terms:
            if symbol.detail == Place(label, unit + 1) and f == factor << 32:
                return symbol
        return None

    def trips(self, header: str) -> Trips:
        """How often the loop with this header runs."""
        loop = self._loops[header]
        exits = [
            (label, target)
            for label in loop.blocks
            for target in self._flow.blocks[label].successors
            if target not in loop.blocks
        ]
        best: int | None = None
        for label, target in exits:
            # The exit must be tested each time round.
            if all(self._dominates(label, latch) for latch in loop.latches):
                found = self._trips_by(loop, label, target)
                if found is not None:
                    best = found if best is None else min(best, found)
        return Trips(best if len(exits) == 1 else None, best)

    def _dominates(self, label: str, latch: str) -> bool:
        return self._values.dominates(label, latch)

    def _trips_by(self, loop: Loop, label: str, target: str) -> int | None:
        condition = self._values.conditions.get(label)
        block = self._flow.blocks[label]
        definition = block.instructions[-1].definition
        if (
            condition is None
            or condition.bits != 1
            or condition.terms is None
            or len(condition.terms) != 1
            or definition is None
        ):
            return None
        symbol, _ = condition.terms[0]
        test = symbol.detail
        if not isinstance(test, Comparison):
            return None
        first, second = self._along(loop, test.first), self._along(loop, test.second)
        if first is None or second is None or (first[1] == 0) == (second[1] == 0):
            return None
        leaves_when = _holds_at_branch(definition, taken=block.successors[0] == target) ^ bool(condition.const & 1)
        return _first_trip(test.operation, test.first.bits, first, second, leaves_when)

    def _along(self, loop: Loop, value: Value) -> tuple[int, int] | None:
        """(start, step) of a number over the iterations of the loop."""
        if value.is_constant:
            return value.const, 0
        if value.terms is None or value.table is not None or len(value.terms) != 1:
            return None
        symbol, factor = value.terms[0]
        place = symbol.detail
        if not isinstance(place, Place) or place.label != loop.header:
            return None
        step = self.step(loop.header, place.unit)
        if step is None or not step.start.is_constant:
            return None
        return value.const + factor * step.start.const, factor * step.step


def _holds_at_branch(definition: OpcodeDef, *, taken: bool) -> bool:
    """The value of SCC with which s_cbranch_scc0 or scc1 goes that way."""
    return definition.mnemonic.endswith("scc1") == taken


def _first_trip(operation: Op, bits: int, first: tuple[int, int], second: tuple[int, int], leaves_when: bool) -> int | None:
    """The number, from 1, of the iteration in which the comparison first has the value `leaves_when`."""
    mask, sign = (1 << bits) - 1, 1 << (bits - 1)
    for trip in range(_MAX_TRIPS):
        a, b = ((start + step * trip) & mask for start, step in (first, second))
        if operation is Op.SLT:
            a, b = a ^ sign, b ^ sign
        if (a == b if operation is Op.EQ else a < b) == leaves_when:
            return trip + 1
    return None
