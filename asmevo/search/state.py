"""Where a search stands, as plain data: islands, what they hold, and the errands of the generation at hand.

Owns the state and its form as JSON. With the attempts and steps made so far it is all that a search needs to go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from asmevo.search.bandit import Bandit
from asmevo.search.behaviour import Cell

ISLANDS = 4
"""Populations; how many workers there are makes no difference to them."""
K0 = -1
"""Stands for the original where a step's number is meant."""
_KEYS_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Errand:
    """One island's work in a generation: ask `proposer` about the window at `label`, `start`, `stop` of step `parent`.

    `elites` are steps whose edits may be taken over. `bar` are cycles above which nothing earns a place, `effort` how often the
    same was tried in vain, `attempts` and `steps` how many there were when it was planned.
    """

    island: int
    parent: int
    proposer: str
    label: str
    start: int
    stop: int
    seed: int
    bar: float
    effort: int
    limit: int
    attempts: int
    steps: int
    elites: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """What counts as trying the same again."""
        return vain_key(self.parent, self.proposer, self.label, self.start, self.stop)


def vain_key(parent: int, proposer: str, label: str, start: int, stop: int) -> str:
    """The key under which an island counts what it tried in vain."""
    return f"{parent} {proposer} {label}[{start}:{stop}]"


@dataclass(slots=True)
class Island:
    """A population: the best step, the MAP-Elites archive (cell to step), the bandit, and what was tried in vain."""

    best: int = K0
    cells: dict[Cell, int] = field(default_factory=dict[Cell, int])
    bandit: Bandit = field(default_factory=Bandit)
    vain: dict[str, int] = field(default_factory=dict[str, int])
    stale: int = 0

    def tried_in_vain(self, key: str) -> None:
        """Counts it; the oldest go when there are too many."""
        self.vain[key] = self.vain.pop(key, 0) + 1
        if len(self.vain) > _KEYS_KEPT:
            del self.vain[next(iter(self.vain))]


@dataclass(slots=True)
class State:
    """The generation at hand, how many of its errands are recorded, generations since one was accepted, and the islands.

    `is_begun`: a dialogue was begun for the next errand; it cannot be repeated.
    """

    islands: list[Island]
    generation: int = -1
    errands: list[Errand] = field(default_factory=list[Errand])
    done: int = 0
    fruitless: int = 0
    is_begun: bool = False

    def to_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "generation": self.generation,
            "done": self.done,
            "fruitless": self.fruitless,
            "is_begun": self.is_begun,
            "errands": [asdict(errand) for errand in self.errands],
            "islands": [
                {
                    "best": island.best,
                    "cells": [[list(cell), step] for cell, step in island.cells.items()],
                    "arms": {name: list(pair) for name, pair in island.bandit.arms.items()},
                    "vain": list(island.vain.items()),
                    "stale": island.stale,
                }
                for island in self.islands
            ],
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> State:
        """The state that `to_data` gave."""
        return cls(
            [
                Island(
                    island["best"],
                    {tuple(cell): step for cell, step in island["cells"]},
                    Bandit({name: (pair[0], pair[1]) for name, pair in sorted(island["arms"].items())}),
                    dict(map(tuple, island["vain"])),
                    island["stale"],
                )
                for island in data["islands"]
            ],
            data["generation"],
            [_errand(errand) for errand in data["errands"]],
            data["done"],
            data["fruitless"],
            data["is_begun"],
        )


def _errand(data: Mapping[str, Any]) -> Errand:
    values: dict[str, Any] = {**data, "elites": tuple(data["elites"])}
    return Errand(**values)
