"""Local search over the legal orders of one region, by the cycle model's inner loop.

Moves go where cycles are lost: work is pulled in before an instruction that stalls, or what it waits for is pushed up. The
result is an order; whether the kernel gains, and whether it is right, is judged elsewhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from asmevo.backend.timing.sequence import SequenceCost
from asmevo.passes.regions import RegionGraph
from asmevo.passes.scheduling.cost import RegionCost
from asmevo.passes.scheduling.order import schedule_region

_REACH = 96
"""How far a move looks for work, in instructions."""


@dataclass(slots=True)
class OrderSearch:
    """Hill climbing with sideways steps from the best of several list schedules; repeatable for a seed."""

    graph: RegionGraph
    waves: int
    is_loop: bool
    random_source: random.Random
    order: list[int] = field(init=False)
    cost: SequenceCost = field(init=False)
    _costs: RegionCost = field(init=False)
    _positions: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._costs = RegionCost.of(self.graph, waves=self.waves, is_loop=self.is_loop)
        self.order = list(range(len(self.graph.nodes)))
        self.cost, self._positions = self._costs.of_order(self.order)

    def start_from_schedules(self) -> None:
        """Takes the best of the current order and list schedules of several biases."""
        for bias in (0.25, 1.0, 2.0):
            order, _ = schedule_region(self.graph, bias=bias, noise=0.1, random_source=self.random_source)
            self._try(order, strictly=True)

    def climb(self, moves: int, should_stop: Callable[[], bool]) -> None:
        """Tries that many moves, keeping each that costs no more; ends early when `should_stop` says so."""
        for _ in range(moves):
            if should_stop():
                return
            moved = self._moved()
            if moved is not None:
                self._try(moved, strictly=False)

    def _try(self, order: list[int], *, strictly: bool) -> None:
        cost, positions = self._costs.of_order(order)
        if cost.cycles < self.cost.cycles or (cost.cycles == self.cost.cycles and not strictly):
            self.order, self.cost, self._positions = order, cost, positions

    def _moved(self) -> list[int] | None:
        """A neighbour of the order, or None when the place drawn has no freedom."""
        place = self._stalled_place() if self.random_source.random() < 0.8 else self.random_source.randrange(len(self.order))
        if self.random_source.random() < 0.6:
            return self._pull_work_before(place)
        return self._shift(place)

    def _stalled_place(self) -> int:
        """A place of the order, drawn by the cycles lost at it and at the wait before it."""
        lost = self.cost.lost
        weights = [lost[p] + (lost[p - 1] if p else 0) + 0.01 for p in self._positions]
        return self.random_source.choices(range(len(weights)), weights)[0]

    def _pull_work_before(self, place: int) -> list[int] | None:
        """Takes an instruction from behind the place, and with it all that it needs from there, to just before the place."""
        last = min(len(self.order) - 1, place + _REACH)
        if last <= place:
            return None
        chosen = self.random_source.randint(place + 1, last)
        needed = {self.order[chosen]}
        moving: list[int] = []
        for position in range(chosen, place - 1, -1):
            node = self.order[position]
            if node in needed:
                if position == place or len(moving) >= 8:
                    return None
                moving.append(node)
                needed.update(self.graph.predecessors[node])
        moving.reverse()
        kept = [node for node in self.order[place : chosen + 1] if node not in set(moving)]
        return [*self.order[:place], *moving, *kept, *self.order[chosen + 1 :]]

    def _shift(self, place: int) -> list[int] | None:
        """Moves one instruction up or down within its freedom, not farther than the reach."""
        where = {node: position for position, node in enumerate(self.order)}
        node = self.order[place]
        low = max((where[p] for p in self.graph.predecessors[node]), default=-1) + 1
        high = min((where[s] for s in self.graph.successors[node]), default=len(self.order)) - 1
        low, high = max(low, place - _REACH), min(high, place + _REACH)
        target = self.random_source.randint(low, high)
        if target == place:
            return None
        moved = list(self.order)
        moved.insert(target, moved.pop(place))
        return moved
