"""What one round of a loop takes at least: by its longest recurrence, by each unit it issues to, and by its matrix chains.

Owns the bounds for one wave alone. They follow registers only: waits, memory order, barriers and other waves can only make a
round longer. Figures are those of the target's chip in `isa.chips`.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loop, Loops
from asmevo.ir.analysis.cost.costs import Port, Timed, decoder
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.isa.chips import Chip, chip_for
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import units

Site = tuple[str, int]
_ROUNDS = 6
"""Rounds followed: the first half lets values from before the loop die away."""


@dataclass(frozen=True, slots=True)
class MatrixChains:
    """The matrix instructions of one round.

    `longest` of them in a row each need the one before as accumulator; `latency_cycles` is what that chain takes when nothing
    else does, `issue_cycles` the time the matrix unit is taken. Bound by latency when the former is longer.
    """

    instructions: int
    longest: int
    latency_cycles: int
    issue_cycles: int

    @property
    def is_latency_bound(self) -> bool:
        """True when more independent accumulators would help."""
        return self.latency_cycles > self.issue_cycles


@dataclass(frozen=True, slots=True)
class LoopBound:
    """The bounds of one innermost loop, in cycles of one wave.

    `recurrence_cycles` grows per round along `recurrence`, the instructions of the cycle that limits it, in order.
    `issue_cycles` by port name is the time each unit is taken. `branches`: the body has branches inside, and every block of it
    is counted once, as if all were taken.
    """

    header: str
    instructions: int
    branches: bool
    recurrence_cycles: int
    recurrence: tuple[Site, ...]
    issue_cycles: dict[str, int]
    matrix: MatrixChains

    @property
    def resource_cycles(self) -> int:
        """The time the busiest unit is taken."""
        return max(self.issue_cycles.values(), default=0)

    @property
    def bound_cycles(self) -> int:
        """No round of one wave is shorter (with `branches`: no round through every block)."""
        return max(self.resource_cycles, self.recurrence_cycles)


@dataclass(frozen=True, slots=True)
class LoopChains:
    """The matrix chains of the innermost loops, by header, in the order of the headers."""

    chains: dict[str, MatrixChains]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> LoopChains:
        """The chains of `kernel`."""
        chip = chip_for(kernel.target)
        flow, loops = manager.get(Flow), manager.get(Loops)
        return cls({loop.header: _chains(_body(flow, _labels(flow, loop), chip)) for loop in _innermost(flow, loops)})


@dataclass(frozen=True, slots=True)
class LoopBounds:
    """Bounds of the innermost loops, in the order of their headers."""

    loops: tuple[LoopBound, ...]
    chip: str

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> LoopBounds:
        """The bounds for `kernel`."""
        chip = chip_for(kernel.target)
        flow, loops, chains = manager.get(Flow), manager.get(Loops), manager.get(LoopChains).chains
        bounds = tuple(_bound(flow, loop, chains[loop.header], chip) for loop in _innermost(flow, loops))
        return cls(bounds, chip.name)


def _innermost(flow: Flow, loops: Loops) -> list[Loop]:
    headers = {loop.header for loop in loops.loops}
    inner = [loop for loop in loops.loops if not any(h != loop.header and h in loop.blocks for h in headers)]
    rank = {label: position for position, label in enumerate(flow.order)}
    return sorted(inner, key=lambda loop: rank[loop.header])


def _labels(flow: Flow, loop: Loop) -> list[str]:
    return [label for label in flow.order if label in loop.blocks]


def _body(flow: Flow, labels: list[str], chip: Chip) -> list[Timed]:
    timed = decoder(chip, 1)
    return [timed(instruction) for label in labels for instruction in flow.blocks[label].instructions]


def _bound(flow: Flow, loop: Loop, matrix: MatrixChains, chip: Chip) -> LoopBound:
    labels = _labels(flow, loop)
    branches = any(sum(target in loop.blocks for target in flow.successors[label]) > 1 for label in labels)
    sites = [(label, index) for label in labels for index in range(len(flow.blocks[label].instructions))]
    body = _body(flow, labels, chip)
    issue: dict[str, int] = {}
    for timed in body:
        name = timed.port.name.lower()
        issue[name] = issue.get(name, 0) + timed.busy_cycles
    # A wave issues one instruction a slot, whatever the unit.
    issue["wave"] = sum(max(timed.hold, chip.slot.value) for timed in body)
    cycles, recurrence = _recurrence(body)
    return LoopBound(
        loop.header, len(body), branches, cycles, tuple(sites[n] for n in recurrence), issue, matrix
    )  # fmt: skip


def _recurrence(body: list[Timed]) -> tuple[int, tuple[int, ...]]:
    """Cycles by which some register's ready time grows each round with every unit free, and the positions of that cycle.

    Runs the body's dataflow for a few rounds and takes the mean growth over the second half, which is
    exact for recurrences of one round.
    """
    first = _first_of_class(body)
    reads = [tuple(units(timed.reads & first)) for timed in body]
    sources = [tuple(units(timed.accumulator & first)) for timed in body]
    writes = [tuple(units(timed.writes & first)) for timed in body]
    ready: dict[int, tuple[int, int, int]] = {}
    """Unit to when it may be read as an accumulator of the same registers, and otherwise, and the event that wrote it."""
    cause: list[int] = []
    middle: dict[int, int] = {}
    for round_ in range(_ROUNDS):
        for position, timed in enumerate(body):
            start, before = 0, -1
            for unit in reads[position]:
                found = ready.get(unit)
                if found is not None and found[1] > start:
                    start, before = found[1], found[2]
            for unit in sources[position]:
                found = ready.get(unit)
                if found is not None:
                    known = body[found[2] % len(body)].writes == timed.accumulator
                    at = found[0] if known else found[1]
                    if at > start:
                        start, before = at, found[2]
            event = round_ * len(body) + position
            cause.append(before)
            if timed.matrix is not None:
                entry = (start + timed.matrix.same_accumulator, start + timed.matrix.result, event)
            else:
                done = start + timed.result_cycles
                entry = (done, done, event)
            for unit in writes[position]:
                ready[unit] = entry
        if round_ == _ROUNDS // 2 - 1:
            middle = {unit: entry[0] for unit, entry in ready.items()}
    rounds = _ROUNDS - _ROUNDS // 2
    growth = {unit: (entry[0] - middle[unit]) // rounds for unit, entry in ready.items() if unit in middle}
    worst = max(growth, key=lambda unit: (growth[unit], -unit), default=None)
    if worst is None or growth[worst] <= 0:
        return 0, ()
    return growth[worst], _cycle(ready[worst][2], cause, len(body))


def _first_of_class(body: list[Timed]) -> int:
    """The lowest unit of each class of units that always stand together, as a unit set: the others fare as it does."""
    sets_of: dict[int, list[int]] = {}
    for number, mask in enumerate({mask for timed in body for mask in (timed.reads, timed.accumulator, timed.writes)}):
        for unit in units(mask):
            sets_of.setdefault(unit, []).append(number)
    lowest: dict[tuple[int, ...], int] = {}
    for unit, sets in sets_of.items():
        key = tuple(sets)
        lowest[key] = min(unit, lowest.get(key, unit))
    return sum(1 << unit for unit in lowest.values())


def _cycle(event: int, cause: list[int], size: int) -> tuple[int, ...]:
    """The positions met on the way back from `event` until one is met again, from the first in the body on."""
    path: list[int] = []
    seen: dict[int, int] = {}
    while event >= 0 and event % size not in seen:
        seen[event % size] = len(path)
        path.append(event % size)
        event = cause[event]
    if event < 0:
        return ()
    found = path[seen[event % size] :][::-1]
    first = found.index(min(found))
    return tuple(found[first:] + found[:first])


def _chains(body: list[Timed]) -> MatrixChains:
    length: dict[int, tuple[int, int]] = {}
    longest = (0, 0)
    count = busy = results = 0
    for timed in body:
        if timed.port is not Port.MATRIX or timed.matrix is None:
            if timed.writes & results:
                for unit in units(timed.writes & results):
                    length.pop(unit, None)
                results &= ~timed.writes
            continue
        count += 1
        busy += timed.matrix.busy
        before = max((length.get(unit, (0, 0)) for unit in units(timed.accumulator)), default=(0, 0))
        mine = (before[0] + 1, before[1] + timed.matrix.same_accumulator)
        longest = max(longest, mine)
        results |= timed.writes
        for unit in units(timed.writes):
            length[unit] = mine
    return MatrixChains(count, longest[0], longest[1], busy)
