"""A run of a lineage as plain data, with everything that its report shows.

Owns the gathering: kernels are made again from K0 by the stored edits, and modelled on the executions that one emulated run of
the stored launch counts. What cannot be had (a launch that needs files that are gone) is left out, and said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asmevo.backend.launch import Dispatch
from asmevo.backend.timing import Estimate, estimate
from asmevo.backend.timing.whole import DispatchTiming, dispatch_timing
from asmevo.diagnostics import DiagnosticError
from asmevo.ir.kernel import Kernel
from asmevo.report.story.changes import BlockChange, changes
from asmevo.search.lineage import Lineage, Node, Run, edits
from asmevo.search.lineage.records import Tried
from asmevo.search.profile import Profile, profile_kernel
from asmevo.search.replay import launches_of, original_of


@dataclass(frozen=True, slots=True)
class Chapter:
    """One accepted candidate: its node and attempt, what changed since its parent, and stalls by cause before and after.

    Stalls are shares of the parent's modelled cycles, empty without a profile.
    """

    node: Node
    attempt: Tried | None
    parent_cycles: float
    changed: tuple[BlockChange, ...]
    stalls_before: Mapping[str, float]
    stalls_after: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Spent:
    """What a proposer tried, what was accepted of it, and what it says it cost."""

    proposer: str
    attempts: int
    accepted: int
    cost: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Story:
    """A run: attempts, chapters in the order of acceptance, and the first and the best kernel with their dispatches.

    `curve` has (attempt, cycles of the best so far) where it changed. `dispatches` pairs the timing of each launch of K0 with
    the best's. `notes` says what is missing and why.
    """

    run: Run
    attempts: tuple[Tried, ...]
    chapters: tuple[Chapter, ...]
    curve: tuple[tuple[int, float], ...]
    statuses: Mapping[str, int]
    spent: tuple[Spent, ...]
    original: Kernel
    best: Kernel
    best_node: Node | None
    dispatches: tuple[tuple[DispatchTiming, DispatchTiming], ...]
    notes: tuple[str, ...]

    @property
    def speedup(self) -> float:
        """Modelled cycles of K0 over the best's."""
        return self.run.cycles / self.best_node.cycles if self.best_node else 1.0


def story(lineage: Lineage, run: Run, launch: Path | None = None) -> Story:
    """Tell a run. `launch` replaces the stored launch file, for one that refers to other files.

    Raises E0802 and E0803 for a lineage that does not fit together.
    """
    _, original = original_of(lineage, run)
    attempts, nodes = lineage.attempts(run.id), lineage.nodes(run.id)
    notes: list[str] = []
    dispatches = _dispatches(lineage, run, original, launch, notes)
    profile = _profile(original, dispatches, notes)
    kernels: dict[int | None, Kernel] = {None: original}
    estimates: dict[int | None, Estimate] = {} if profile is None else {None: profile.estimate}
    cycles: dict[int | None, float] = {None: run.cycles}
    by_node = {tried.node: tried for tried in attempts if tried.node is not None}
    chapters: list[Chapter] = []
    for node in nodes:
        parent = kernels[node.parent]
        kernel = kernels[node.id] = edits.applied(parent, node.edit)
        cycles[node.id] = node.cycles
        if profile is not None:
            waves = profile.waves_per_simd
            estimates[node.id] = estimate(kernel, profile.executions_of(kernel, node.counts), waves_per_simd=waves)
        before, after = (_shares(estimates.get(key), estimates.get(node.parent)) for key in (node.parent, node.id))
        changed = tuple(changes(parent, kernel))
        chapters.append(Chapter(node, by_node.get(node.id), cycles[node.parent], changed, before, after))
    best = min(nodes, key=lambda node: (node.cycles, node.id), default=None)
    return Story(
        run=run,
        attempts=attempts,
        chapters=tuple(chapters),
        curve=_curve(run, attempts),
        statuses=dict(Counter(tried.status for tried in attempts).most_common()),
        spent=_spent(attempts),
        original=original,
        best=kernels[best.id if best else None],
        best_node=best,
        dispatches=_timings(original, kernels[best.id] if best else original, dispatches, notes),
        notes=tuple(notes),
    )


def _dispatches(lineage: Lineage, run: Run, kernel: Kernel, launch: Path | None, notes: list[str]) -> Sequence[Dispatch]:
    try:
        return launches_of(lineage, run, kernel, launch)
    except DiagnosticError as error:
        if launch is not None:
            raise
        notes.append(f"the stored launch cannot be used ({error.diagnostics[0].message}): give --launch FILE")
        return ()


def _profile(kernel: Kernel, dispatches: Sequence[Dispatch], notes: list[str]) -> Profile | None:
    if not dispatches:
        return None
    try:
        return profile_kernel(kernel, dispatches)
    except DiagnosticError as error:
        notes.append(f"no stalls: {error.diagnostics[0].message}")
        return None


def _timings(
    original: Kernel, best: Kernel, dispatches: Sequence[Dispatch], notes: list[str]
) -> tuple[tuple[DispatchTiming, DispatchTiming], ...]:
    try:
        return tuple((dispatch_timing(original, d), dispatch_timing(best, d)) for d in dispatches)
    except DiagnosticError as error:
        notes.append(f"no dispatch was modelled: {error.diagnostics[0].message}")
        return ()


def _shares(of: Estimate | None, base: Estimate | None) -> dict[str, float]:
    """Stalls by cause as shares of the cycles of `base`, which all waves of a SIMD share."""
    if of is None or base is None or not base.total_cycles:
        return {}
    whole = base.total_cycles * base.waves_per_simd
    return {cause: lost / whole for cause, lost in of.stalls_by_cause.items() if lost}


def _curve(run: Run, attempts: Sequence[Tried]) -> tuple[tuple[int, float], ...]:
    best = run.cycles
    found = [(0, best)]
    for tried in attempts:
        if tried.node is not None and tried.cycles is not None and tried.cycles < best:
            best = tried.cycles
            found.append((tried.number + 1, best))
    return (*found, (len(attempts), best))


def _spent(attempts: Sequence[Tried]) -> tuple[Spent, ...]:
    found: dict[str, list[Tried]] = {}
    for tried in attempts:
        found.setdefault(tried.proposer, []).append(tried)
    return tuple(
        Spent(name, len(all_), sum(t.node is not None for t in all_), _costs(all_)) for name, all_ in sorted(found.items())
    )


def _costs(attempts: Sequence[Tried]) -> dict[str, float]:
    """Sums of whatever numbers a proposer gave as its cost: seconds, tokens, money."""
    total: dict[str, float] = {}
    for tried in attempts:
        for name, value in tried.cost.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                total[name] = total.get(name, 0.0) + value
    return {name: value for name, value in total.items() if value}


def plain(told: Story) -> dict[str, Any]:
    """The story as data for JSON."""
    run = told.run
    return {
        "run": run.id,
        "kernel": run.kernel,
        "target": run.target,
        "k0_sha256": run.k0,
        "asmevo": run.version,
        "seed": run.seed,
        "started": run.started,
        "modelled_cycles": {"before": run.cycles, "after": told.best_node.cycles if told.best_node else run.cycles},
        "speedup_modelled": told.speedup,
        "attempts": len(told.attempts),
        "statuses": dict(told.statuses),
        "curve": [list(point) for point in told.curve],
        "proposers": [
            {"name": s.proposer, "attempts": s.attempts, "accepted": s.accepted, "cost": dict(s.cost)} for s in told.spent
        ],
        "nodes": [
            {
                "node": chapter.node.id,
                "parent": chapter.node.parent,
                "proposer": chapter.node.proposer,
                "description": chapter.node.description,
                "verdict": chapter.node.verdict,
                "basis": list(chapter.node.basis),
                "modelled_cycles": {"before": chapter.parent_cycles, "after": chapter.node.cycles},
                "stall_shares": {"before": dict(chapter.stalls_before), "after": dict(chapter.stalls_after)},
                "changed_blocks": [change.label for change in chapter.changed],
            }
            for chapter in told.chapters
        ],
        "notes": list(told.notes),
    }
