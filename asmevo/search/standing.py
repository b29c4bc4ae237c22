"""What a candidate has to beat to earn a place on an island.

Owns that rule. Only verified candidates take places; the rule alone says nothing about right or wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asmevo.search.behaviour import Cell
from asmevo.search.state import K0, Island

MINIMUM_GAIN = 1e-3
"""Least relative gain of modelled cycles that counts as faster."""
SLACK = 0.02
"""How much slower than the island's best another kind of kernel may be and still be kept to start from."""


@dataclass(slots=True)
class Standing:
    """Modelled cycles of K0, of an island's best, and of the holder of each cell."""

    k0: float
    best: float
    cells: dict[Cell, float]

    @classmethod
    def of(cls, island: Island, cycles: Callable[[int], float]) -> Standing:
        """An island's standing; `cycles` gives those of a step, and of K0."""
        return cls(cycles(K0), cycles(island.best), {cell: cycles(step) for cell, step in island.cells.items()})

    @property
    def bar(self) -> float:
        """Cycles above which nothing earns a place."""
        return max(min(self.best * (1 + SLACK), self.k0 * (1 - MINIMUM_GAIN)), self.best * (1 - MINIMUM_GAIN))

    def is_faster(self, cycles: float) -> bool:
        """Whether it would be the island's best."""
        return cycles < self.best * (1 - MINIMUM_GAIN)

    def earns(self, cell: Cell, cycles: float) -> bool:
        """Whether it is kept: faster than the best, or the best of its kind, faster than K0 and not much slower."""
        if self.is_faster(cycles):
            return True
        holder = self.cells.get(cell)
        return cycles <= self.bar and (holder is None or cycles < holder * (1 - MINIMUM_GAIN))

    def take(self, cell: Cell, cycles: float) -> None:
        """Gives it its place."""
        self.cells[cell] = cycles
        self.best = min(self.best, cycles)
