"""Refutation by running: both windows are executed in the emulator on one state, and what ends different is shown.

Owns the order in which states and places are tried. Which differences count is for `settled`, what is reported for
`divergence`. A state on which a window faults shows nothing.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction
from asmevo.ir.registers import MODE, UNIT_COUNT, VGPR0, unit_name, units
from asmevo.verify.equivalence.concrete import MemoryFault, WaveState, WindowRunner
from asmevo.verify.equivalence.divergence import Divergence, Faulting, Place, divergence, faulting
from asmevo.verify.equivalence.execute import Programs
from asmevo.verify.equivalence.facts import Facts
from asmevo.verify.equivalence.machine import AddressUse
from asmevo.verify.equivalence.settled import Documented, Grade, Settling
from asmevo.verify.equivalence.states import EntryStates
from asmevo.verify.equivalence.terms import Term
from asmevo.verify.equivalence.variation import Varied, lasting

_REGISTERS = (1 << UNIT_COUNT) - 1
_MOST_PLACES = 24
"""How many differing places of one state are looked at."""
_MOST_LANES = 4
UNDOCUMENTED = "the runs differ in nothing but bits that no source documents"
_MOST_VARIED = 4
"""On how many states undocumented bits are varied."""


class Comparison:
    """What of two final states counts: the units of `live_out` that a window writes, and memory where one may store."""

    def __init__(self, live_out: int, written: int, stores: bool) -> None:
        compared = list(units(live_out & written & ~(1 << MODE)))
        self._scalars = np.array([unit for unit in compared if unit < VGPR0], np.intp)
        self._rows = np.array([unit - VGPR0 for unit in compared if unit >= VGPR0], np.intp)
        self._stores = stores

    def places(self, one: WaveState, other: WaveState) -> Iterator[Place]:
        """Yield what differs, registers before memories: some lanes of each register, one byte of each memory."""
        scalars, rows = self._scalars, self._rows
        for unit in scalars[one.scalar[scalars] != other.scalar[scalars]]:
            yield Place(unit_name(int(unit)), int(unit), 0, int(one.scalar[unit]), int(other.scalar[unit]))
        differs = one.vector[rows] != other.vector[rows]
        for k in np.flatnonzero(differs.any(1)):
            row = int(rows[k])
            unit = row + VGPR0
            for lane in np.flatnonzero(differs[k])[:_MOST_LANES]:
                yield Place(unit_name(unit), unit, int(lane), int(one.vector[row, lane]), int(other.vector[row, lane]))
        if not self._stores:
            return
        for space, x, y in (("memory", one.memory, other.memory), ("lds", one.lds, other.lds)):
            for byte in np.flatnonzero(x != y)[:1]:
                yield Place(space, None, int(byte), int(x[byte]), int(y[byte]))


class Replay:
    """Replays one pair of windows. `uses` are the addresses of both; `live_out` the units that count."""

    def __init__(
        self,
        windows: tuple[Sequence[Instruction], Sequence[Instruction]],
        live_out: int,
        uses: Iterable[AddressUse],
        programs: Programs,
        facts: Facts,
        target: str,
    ) -> None:
        self._runners = (WindowRunner(windows[0], target), WindowRunner(windows[1], target))
        needed, written = touched(windows)
        self._comparison = Comparison(live_out, written, any(runner.stores for runner in self._runners))
        self._states = EntryStates(uses, facts, needed)
        self._documented = Documented(self._runners, programs)
        self._settling = tuple(Settling(runner, programs) for runner in self._runners)
        self._varied = (Varied(self._runners[0], programs), Varied(self._runners[1], programs))
        self._only_the_edit = False
        self._ended = self._explained = self._faulted = 0
        self.problem = self._runners[0].problem or self._runners[1].problem

    def find(
        self,
        terms: Callable[[int | str], tuple[Term, Term] | None],
        wanted: Sequence[Mapping[int, tuple[int, ...]]],
        attempts: Iterable[int],
        may_go_on: Callable[[], bool],
    ) -> Divergence | Faulting | None:
        """Return the first confirmed difference; None when no state showed one.

        `terms` gives the final terms of a differing unit or of memory ("memory", "lds"), None where they are the same term.
        `attempts` number the states; the first ones, from 0, take the values `wanted`. `may_go_on` is asked before each.
        """
        if self.problem is not None:
            return None
        kinds = [0, 0]  # of memory: how many more states ended than faulted, without pointers in it and with them
        pointers = False
        varied = 0
        grades: dict[int | str, Grade] = {}
        for attempt in attempts:
            if not may_go_on():
                return None
            values = wanted[attempt] if attempt < len(wanted) else None
            state = self._states.state(attempt, values, pointers)
            places = self.places(state)
            kinds[pointers] += 1 if places is not None else -1
            pointers = kinds[1] >= kinds[0] if pointers else kinds[1] > kinds[0]
            if places is None:
                fault = self.fault_of_the_edit()
                if fault is not None:
                    return faulting(self._runners[1], fault, state)
            doubtful: list[Place] = []
            for place in places or ():
                key = place.space if place.unit is None else place.unit
                if key not in grades:
                    pair = terms(key)
                    grades[key] = Grade.UNSETTLED if pair is None else self._documented.grade(pair)
                if grades[key] is Grade.UNSETTLED:
                    continue
                if grades[key] is Grade.EXACT and all(s.is_settled(state, place.unit, place.lane) for s in self._settling):
                    return divergence(self._runners, state, place)
                doubtful.append(place)
            if doubtful and varied < _MOST_VARIED:
                varied += 1
                place = lasting(self._varied, state, doubtful)
                if place is not None:
                    return divergence(self._runners, state, place)
                self._explained += 1
        return None

    @property
    def summary(self) -> str:
        """What came of the states that were tried."""
        if self.problem is not None:
            return f"no run is possible: {self.problem}"
        if self._explained:
            return UNDOCUMENTED
        if not self._ended:
            return (
                f"on each of {self._faulted} states an access of the original faults"
                if self._faulted
                else "there was no time for a run"
            )
        return f"{self._ended} runs end the same"

    def places(self, state: WaveState) -> list[Place] | None:
        """Run both windows. Return the first differing places, registers before memories; None when a window faults."""
        one, other = self._runners[0].run(state), self._runners[1].run(state)
        self._only_the_edit = one is not None and other is None
        if one is None or other is None:
            self._faulted += 1
            return None
        self._ended += 1
        return list(islice(self._comparison.places(one, other), _MOST_PLACES))

    def fault_of_the_edit(self) -> MemoryFault | None:
        """Return what ended the edited window in the last run, when the original reached its end."""
        return self._runners[1].memory_fault() if self._only_the_edit else None


def touched(windows: Iterable[Sequence[Instruction]]) -> tuple[int, int]:
    """Return the units that any of the windows reads or writes, and those that any writes."""
    reads = writes = 0
    for window in windows:
        for i in window:
            effect = effects(i)
            reads |= effect.reads
            writes |= effect.writes
    return (reads | writes) & _REGISTERS, writes & _REGISTERS
