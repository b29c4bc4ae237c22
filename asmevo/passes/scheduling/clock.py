"""The list scheduler's picture of one wave: when units, paths and results are free while nodes are issued one by one.

Owns the state of a partial schedule, what a loop's last round leaves behind included. It must not choose nodes; the judge of
an order is the cycle model (backend/timing), which this only approximates from the same costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from asmevo.ir.analysis.cost.costs import Port, Timed, decoder
from asmevo.ir.isa.chips import chip_for
from asmevo.ir.memo import OfText
from asmevo.ir.registers import units
from asmevo.passes.regions import RegionGraph

_PATHS = (Port.LDS, Port.VMEM)
"""Ports behind which all waves' data go one after another."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What a round of a loop leaves for the next one, in cycles from the start of that one.

    `results`: by unit, when its value may be read, as anything and as the same accumulator. `memory`: when each operation of
    a counter that is still outstanding completes, oldest first.
    """

    results: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    vmcnt: tuple[int, ...] = ()
    lgkmcnt: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Costs:
    """A region's nodes as the scheduler sees them.

    `entering` are the units of each node whose value comes from before the region; `outstanding` is, for a barrier, how many
    operations (vmcnt, lgkmcnt) may be outstanding at it. `slot` is what an instruction takes at least, in cycles.
    """

    slot: int
    timed: tuple[Timed, ...]
    entering: tuple[int, ...]
    outstanding: tuple[tuple[int, int] | None, ...]

    @classmethod
    def of(cls, graph: RegionGraph) -> Costs:
        """The costs of a region's nodes."""
        timed = tuple(map(costs_for(graph.kernel.target), graph.nodes))
        written = 0
        entering: list[int] = []
        for cost in timed:
            entering.append((cost.reads | cost.writes | cost.accumulator) & ~written)
            written |= cost.writes
        outstanding = tuple(
            None if bound is None else (len(bound.vmcnt.slots), len(bound.lgkmcnt.slots)) for bound in graph.obligations.bounds
        )
        return cls(chip_for(graph.kernel.target).slot.value, timed, tuple(entering), outstanding)


@dataclass(slots=True)
class Clock:
    """A partial schedule's state. All times are cycles since the region's start."""

    graph: RegionGraph
    costs: Costs
    carried: Carried
    now: int = 0
    _done: dict[int, int] = field(default_factory=dict[int, int])
    _free: list[int] = field(default_factory=lambda: [0] * len(Port))
    _matrix: int = 0
    _vector_shadow: int = 0
    _packed_shadow: int = 0
    _path: dict[Port, int] = field(default_factory=lambda: dict.fromkeys(_PATHS, 0))
    _vmcnt: list[int] = field(init=False)
    _lgkmcnt: list[int] = field(init=False)
    _waited: list[int] = field(default_factory=lambda: [0, 0])
    _place: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])

    def __post_init__(self) -> None:
        self._vmcnt, self._lgkmcnt = list(self.carried.vmcnt), list(self.carried.lgkmcnt)

    def operands_ready(self, node: int) -> int:
        """When everything that the node needs has arrived; its predecessors have been issued."""
        ready = 0
        cost = self.costs.timed[node]
        results = self.carried.results
        if results:
            for unit in units(self.costs.entering[node]):
                known = results.get(unit)
                if known is not None:
                    ready = max(ready, known[1 if cost.accumulator >> unit & 1 else 0])
        for source in self.graph.predecessors[node]:
            if (source, node) in self.graph.data:
                ready = max(ready, self._done[source] + edge_cycles(self.costs.timed, source, node))
        allowed = self.costs.outstanding[node]
        if allowed is not None:
            for queue, left in zip((self._vmcnt, self._lgkmcnt), allowed, strict=True):
                if len(queue) > left:
                    ready = max(ready, *queue[: len(queue) - left])
        return ready

    def port_free(self, node: int) -> int:
        """When the units that the node needs are free."""
        cost = self.costs.timed[node]
        free = self._free[cost.port] if cost.port is not Port.INTERNAL else 0
        if cost.matrix is not None:
            return max(free, self._matrix, self._free[Port.VALU])
        if cost.port is Port.VALU:
            return max(free, self._packed_shadow if cost.packed else self._vector_shadow)
        return free

    def needs_wait(self, node: int) -> bool:
        """Whether a wait has to stand before the node that no earlier wait makes needless."""
        return any(self._place[s][1] >= self._waited[self._place[s][0]] for s in self._loads_before(node))

    def issue(self, node: int, at: int) -> None:
        """Issues the node; `now` is then when the next one may."""
        cost = self.costs.timed[node]
        if self.needs_wait(node):
            at += self.costs.slot
            for source in self._loads_before(node):
                queue, index = self._place[source]
                self._waited[queue] = max(self._waited[queue], index + 1)
        done = at
        if cost.matrix is not None:
            self._matrix = at + cost.matrix.busy
            self._vector_shadow = at + cost.matrix.valu_shadow
            self._packed_shadow = at + cost.matrix.packed_shadow
        elif cost.port is not Port.INTERNAL:
            self._free[cost.port] = at + cost.busy
        if cost.vmcnt or cost.lgkmcnt:
            begin = max(at, self._path.get(cost.port, 0))
            if cost.port in self._path:
                self._path[cost.port] = begin + cost.transfer
            done = begin + cost.transfer + cost.latency
            number = 0 if cost.vmcnt else 1
            queue = (self._vmcnt, self._lgkmcnt)[number]
            if queue:
                done = max(done, queue[-1])
            self._place[node] = (number, len(queue))
            queue.append(done)
            # An edge adds the latency again.
            done -= cost.result_cycles
        self._done[node] = done
        self.now = at + cost.hold

    def carry(self) -> Carried:
        """What is left for the next round when the region ends now."""
        results: dict[int, tuple[int, int]] = {}
        for node, at in self._done.items():
            cost = self.costs.timed[node]
            ready = at + cost.result_cycles - self.now
            same = at + cost.matrix.same_accumulator - self.now if cost.matrix is not None else ready
            for unit in units(cost.writes):
                if ready > 0:
                    results[unit] = (ready, same)
                else:
                    results.pop(unit, None)
        vmcnt, lgkmcnt = (tuple(t - self.now for t in queue if t > self.now) for queue in (self._vmcnt, self._lgkmcnt))
        return Carried(results, vmcnt, lgkmcnt)

    def _loads_before(self, node: int) -> list[int]:
        return [s for s in self.graph.predecessors[node] if s in self._place and (s, node) in self.graph.data]


def costs_for(target: str) -> OfText[Timed]:
    """The function that gives an instruction's costs on the target's chip, with all of a compute unit's SIMDs busy."""
    chip = chip_for(target)
    return decoder(chip, chip.simds.value)


def edge_cycles(timed: Sequence[Timed], source: int, target: int) -> int:
    """Cycles from the issue of `source` until `target` may use its value."""
    producer, consumer = timed[source], timed[target]
    if producer.matrix is not None and consumer.matrix is not None and producer.writes & consumer.accumulator:
        same = producer.writes == consumer.accumulator
        return producer.matrix.same_accumulator if same else producer.matrix.accumulator
    return producer.result_cycles
