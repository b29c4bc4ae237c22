"""What each island does in the next generation: which kernel, which window, which proposer.

Owns the strategy: starts from K0 and from elites, stall-dominant windows, the bandit, migration, going back when nothing comes
of an island's best. A function of the state and the seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from asmevo.search.proposal import HotWindow
from asmevo.search.standing import MINIMUM_GAIN, Standing
from asmevo.search.state import K0, Errand, Island, State, vain_key

LIMIT = 6
"""Proposals taken of one errand."""
_MIGRATION = 6
"""Generations between migrations."""
_STALE = 8
"""Generations without a faster kernel after which an island goes back."""
START = "pipeline"
"""The proposer of the first two generations: the best preset alone, so that no search ends below it, then other pipelines."""
PRESET = 0
"""The seed of the first errand of all; those of the islands in the generation after it come next."""


@dataclass(frozen=True, slots=True)
class Chart:
    """What planning may ask of the search: cycles of a step (K0 too) and its hot windows; how much a proposer is asked for."""

    cycles: Callable[[int], float]
    windows: Callable[[int], Sequence[HotWindow]]
    proposers: Sequence[str]
    limits: Mapping[str, int]
    seed: int
    attempts: int
    steps: int
    left: int
    """Attempts that the budget still allows."""


def next_generation(state: State, chart: Chart) -> None:
    """Puts the errands of the next generation into the state; none when the budget is used up."""
    state.generation += 1
    state.done = 0
    state.is_begun = False
    if state.generation and state.generation % _MIGRATION == 0:
        _migrate(state, chart)
    if judges_preset(state, chart.proposers):
        state.errands = [_first(0, PRESET, state, chart, 1)] if chart.left > 0 else []
        return
    if state.generation == 1:
        _settle_preset(state, chart)
    left = chart.left
    errands: list[Errand] = []
    for number, island in enumerate(state.islands):
        if left <= 0:
            break
        errand = _errand(state, number, island, chart, left)
        errands.append(errand)
        left -= errand.limit
    state.errands = errands


def _errand(state: State, number: int, island: Island, chart: Chart, left: int) -> Errand:
    source = random.Random(f"{chart.seed} {state.generation} {number}")
    seed = source.getrandbits(48)
    if state.generation == 1 and START in chart.proposers:
        return _first(number, PRESET + 1 + number, state, chart, min(_limit(chart, START), left))
    bar = Standing.of(island, chart.cycles).bar
    counts = chart.attempts, chart.steps
    parent = _parent(island, source)
    windows = chart.windows(parent)
    name = island.bandit.choose(chart.proposers, source)
    window = _window(island, parent, name, windows, source)
    place = ("", 0, 0) if window is None else (window.label, window.start, window.stop)
    limit = min(_limit(chart, name), left)
    effort = island.vain.get(vain_key(parent, name, *place), 0)
    return Errand(number, parent, name, *place, seed, bar, effort, limit, *counts, _elites(state, number, parent, chart))


def judges_preset(state: State, proposers: Sequence[str]) -> bool:
    """Whether the generation is the one that judges the preset, or that one is still to come."""
    return state.generation <= 0 and START in proposers


def _first(number: int, seed: int, state: State, chart: Chart, limit: int) -> Errand:
    """An errand for pipelines over K0."""
    bar = Standing.of(state.islands[number], chart.cycles).bar
    return Errand(number, K0, START, "", 0, 0, seed, bar, 0, limit, chart.attempts, chart.steps)


def _settle_preset(state: State, chart: Chart) -> None:
    """Every island starts from what the preset made, and can go back to K0."""
    preset = state.islands[0].best
    if preset != K0:
        for island in state.islands[1:]:
            settle(island, preset, _MIGRANT, chart.cycles)


def _limit(chart: Chart, name: str) -> int:
    return chart.limits.get(name, LIMIT)


def _parent(island: Island, source: random.Random) -> int:
    """The best mostly; an elite of another kind at times, more often when the best leads nowhere, and K0 then too."""
    others = sorted(set(island.cells.values()) - {island.best})
    if island.stale >= _STALE:
        others.append(K0)
    share = 0.5 if island.stale >= _STALE else 0.2
    return source.choice(others) if others and source.random() < share else island.best


def _window(island: Island, parent: int, name: str, windows: Sequence[HotWindow], source: random.Random) -> HotWindow | None:
    """Drawn by the cycles lost there, less where the same was tried in vain."""
    if not windows:
        return None
    weights = [
        (window.lost + 0.05 * window.cycles + 1e-6)
        / (1 + island.vain.get(vain_key(parent, name, window.label, window.start, window.stop), 0)) ** 2
        for window in windows
    ]
    return source.choices(windows, weights)[0]


def _elites(state: State, number: int, parent: int, chart: Chart) -> tuple[int, ...]:
    """Steps whose edits might go together with the parent's: the bests of all islands, and this one's other elites."""
    bests = [island.best for island in state.islands] + sorted(set(state.islands[number].cells.values()), key=chart.cycles)
    return tuple(step for step in dict.fromkeys(bests) if step not in (K0, parent))[:6]


def _migrate(state: State, chart: Chart) -> None:
    """Each island's best goes to the next one, where it is kept if it earns a place."""
    bests = [island.best for island in state.islands]
    for number, island in enumerate(state.islands):
        guest = bests[number - 1]
        if guest != K0 and guest not in island.cells.values():
            settle(island, guest, _MIGRANT, chart.cycles)


_MIGRANT = (K0,)
"""Migrants have a cell of their own, so that they crowd out nobody."""


def settle(island: Island, step: int, cell: tuple[int, ...], chart_cycles: Callable[[int], float]) -> bool:
    """Gives a step its place on an island; whether it is the new best there."""
    island.cells[cell] = step
    if chart_cycles(step) < chart_cycles(island.best) * (1 - MINIMUM_GAIN):
        island.best, island.stale = step, 0
        return True
    return False
