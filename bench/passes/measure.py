"""One kernel under one pipeline: its verdict, modelled cycles before and after, loops, and whether a second run changes more.

Owns what a figure means; it prints and keeps nothing. Without a launch loops are taken to run 16 times on one wave a SIMD; with
one they run as often as the launch runs them, and whole dispatches are modelled too.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from asmevo.backend.launch import Dispatch
from asmevo.backend.timing.model import Estimate, estimate
from asmevo.backend.timing.whole import dispatch_timing
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.cost.loop_bounds import LoopBounds
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from asmevo.passes.presets import PRESETS
from asmevo.passes.sparing import Dropped, without_refused
from asmevo.search.profile import profile_kernel
from asmevo.search.slower import SlowerIn
from asmevo.verify.equivalence.proof_cache import ProofCache
from asmevo.verify.judge import Judge, Level
from asmevo.verify.launch.dispatches import load_launches
from asmevo.verify.verdict import Verdict
from bench.passes.sample import Subject

HOT = 0.05
"""The share of a kernel's cycles from which on a loop is told about."""
UNCHANGED = "unchanged"
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LoopRow:
    """An innermost loop: cycles a round before and after, the least that they can be, and its share of the kernel before."""

    header: str
    before: float
    after: float
    bound: int
    share: float


@dataclass(frozen=True, slots=True)
class Row:
    """A kernel under a pipeline.

    `outcome` is the judge's, `unchanged`, or `failed` with the exception as `reason`. `dispatches` has whole dispatches by
    launch, cycles before and after. `again` is whether a second run changes the result; None when that was not asked. `dropped`
    are the passes that a preset left out, and why.
    """

    kernel: str
    family: str
    pipeline: str
    instructions: int
    outcome: str
    reason: str = ""
    before: float = 0.0
    after: float = 0.0
    pass_seconds: float = 0.0
    judge_seconds: float = 0.0
    again: bool | None = None
    dispatches: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    loops: tuple[LoopRow, ...] = ()
    dropped: tuple[str, ...] = ()


class Bench:
    """A kernel that pipelines are measured on: its profile and cycles are made once, proofs kept in a folder."""

    def __init__(self, subject: Subject, timeout_s: float, proofs: Path) -> None:
        self.subject = subject
        self.kernel = recover(load_file(subject.path))
        self._launches: Sequence[Dispatch] = load_launches(subject.launch, self.kernel) if subject.launch else ()
        self._executions: Mapping[int, int] = {}
        self._waves = 1
        if self._launches:
            profile = profile_kernel(self.kernel, self._launches)
            self._executions, self._waves = profile.executions, profile.waves_per_simd
        self._judge = Judge(Level.EMULATE if self._launches else Level.SMT, self._launches, timeout_s, cache=ProofCache(proofs))
        self._judged: tuple[Kernel, Verdict] | None = None
        self._before = self._modelled(self.kernel, self._executions)
        self._dispatches = self._whole(self.kernel)
        self._slower = SlowerIn(self.kernel, self._launches)

    def row(self, pipeline: str, *, again: bool, whole: bool) -> Row:
        """The row of a pipeline. `again` runs it twice; `whole` models whole dispatches. Exceptions become failed rows."""
        size = sum(len(block.instructions) for block in self.kernel.blocks)
        try:
            return self._row(pipeline, size, again, whole)
        except Exception as error:
            # A pass or judge that raises is what this looks for: it is a row as any other, and fails the run at its end.
            where = traceback.extract_tb(error.__traceback__)[-1]
            told = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
            return Row(self.subject.name, self.subject.family, pipeline, size, FAILED, told)

    def _row(self, pipeline: str, size: int, again: bool, whole: bool) -> Row:
        started = time.process_time()
        manager = PassManager(parse_pipeline(pipeline), executions=self._executions, waves_per_simd=self._waves)
        result = manager.run(self.kernel)
        done = time.process_time()
        dropped: tuple[Dropped, ...] = ()
        if pipeline in PRESETS and result.changed:
            # As `opt` does it.
            spared = without_refused(
                result, manager.passes, lambda some: replace(manager, passes=some).run(self.kernel), self._refusal
            )
            result, dropped = spared.result, spared.dropped
        verdict = self._verdict(result.kernel) if result.changed else None
        judged = time.process_time()
        after = self._modelled(result.kernel, result.executions) if result.changed else self._before
        dispatches: dict[str, tuple[float, float]] = {}
        if whole:
            found = self._whole(result.kernel) if result.changed else self._dispatches
            dispatches = {name: (self._dispatches[name], cycles) for name, cycles in found.items()}
        second = None
        if again:
            repeated = PassManager(manager.passes, executions=result.executions, waves_per_simd=self._waves)
            second = result.changed and repeated.run(result.kernel).changed
        return Row(
            self.subject.name,
            self.subject.family,
            pipeline,
            size,
            UNCHANGED if verdict is None else verdict.outcome.value,
            "" if verdict is None else verdict.reason,
            self._before.total_cycles,
            after.total_cycles,
            done - started,
            judged - done,
            second,
            dispatches,
            tuple(self._loops(after)) if whole else (),
            tuple(f"{one.item.name}: {one.reason}" for one in dropped),
        )

    def _refusal(self, candidate: Kernel) -> str | None:
        slow = self._slower.reason(candidate)
        if slow is not None:
            return slow
        verdict = self._verdict(candidate)
        return None if verdict.outcome.is_success else f"{verdict.outcome.value}: {verdict.reason}"

    def _verdict(self, candidate: Kernel) -> Verdict:
        if self._judged is None or self._judged[0] is not candidate:
            self._judged = candidate, self._judge(self.kernel, candidate)
        return self._judged[1]

    def _modelled(self, kernel: Kernel, counts: Mapping[int, int]) -> Estimate:
        return estimate(kernel, dict(counts) or None, waves_per_simd=self._waves)

    def _whole(self, kernel: Kernel) -> dict[str, float]:
        return {launch.name: dispatch_timing(kernel, launch).cycles for launch in self._launches}

    def _loops(self, after: Estimate) -> Iterator[LoopRow]:
        analyses = AnalysisManager(self.kernel)
        blocks = {loop.header: loop.blocks for loop in analyses.get(Loops).loops}
        for bound in analyses.get(LoopBounds).loops:
            header = self._before.per_block.get(bound.header)
            if header is None or not header.executions:
                continue
            labels = blocks[bound.header]
            old, new = (_cycles(found, labels) for found in (self._before, after))
            if old >= HOT * self._before.total_cycles:
                rounds = header.executions
                yield LoopRow(bound.header, old / rounds, new / rounds, bound.bound_cycles, old / self._before.total_cycles)


def _cycles(found: Estimate, labels: frozenset[str]) -> float:
    return sum(cost.cycles * cost.executions for label, cost in found.per_block.items() if label in labels)
