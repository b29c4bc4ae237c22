"""One kernel of the suite by the cycle model: as compiled, LLVM's alternatives, presets, search, and search on LLVM's best.

Owns what a figure means; it prints and keeps nothing. Every optimised kernel is judged (`Level.EMULATE`): a result that is not
a success counts as no gain.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from asmevo.backend.launch import Dispatch
from asmevo.backend.timing.whole import DispatchTiming, dispatch_timing
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.kernel import Kernel
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from asmevo.search.optimise import Budget, optimise
from asmevo.search.profile import Profile, full_occupancy_cycles, profile_kernel
from asmevo.verify.judge import Judge, Level
from asmevo.verify.launch.dispatches import load_launches
from asmevo.verify.verdict import Verdict
from bench.suite.bounds import Bound, bound

SEARCH = "search"
NOTHING = "nothing found"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done to every kernel: pipelines by name, and a search when it has seconds."""

    pipelines: tuple[str, ...] = ("O2", "O3")
    search_seconds: float = 0.0
    attempts: int = 400
    seed: int = 0

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of what is done, the search last."""
        return (*self.pipelines, SEARCH) if self.search_seconds else self.pipelines


@dataclass(frozen=True, slots=True)
class Cycles:
    """Modelled cycles of all of a launch's cases together.

    `estimate`: by the static model that ranks candidates. `full`: by the same, with SIMDs as full as the kernel's size allows.
    `dispatch`: by the event-driven model of compute unit and memory (`asmevo bench --model`).
    """

    estimate: float
    full: float
    dispatch: float


@dataclass(frozen=True, slots=True)
class Found:
    """What one method found: cycles, verdict and its basis, attempts, commits, and the CPU seconds it took."""

    cycles: Cycles
    outcome: str
    basis: str
    attempts: int
    commits: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel.

    `best` is the fastest object of LLVM's by `Cycles.estimate`, "" the suite's own; `on_best` what the last method finds on it.
    `refused` says why a rival was left out, by name.
    """

    kernel: str
    level: str
    compiler: str
    instructions: int
    waves: int
    full_waves: int
    before: Cycles
    bound: Bound
    found: dict[str, Found]
    rivals: dict[str, Cycles] = field(default_factory=dict[str, Cycles])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    best: str = ""
    on_best: Found | None = None


@dataclass(frozen=True, slots=True)
class _Subject:
    """A kernel with its launches, profile and cycles."""

    kernel: Kernel
    dispatches: Sequence[Dispatch]
    profile: Profile
    timings: Sequence[DispatchTiming]
    cycles: Cycles


def measure(
    path: Path,
    launch: Path,
    level: str,
    compiler: str,
    plan: Plan,
    *,
    rivals: Mapping[str, Path] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Row:
    """The row of an object. `rivals` are other builds of its source by name. DiagnosticError when the object faults itself."""
    subject = _subject(path, launch)
    found = {}
    for method in plan.methods:
        progress(method)
        found[method] = _find(subject, method, plan)
    others: dict[str, _Subject] = {}
    refused: dict[str, str] = {}
    for name, rival in (rivals or {}).items():
        progress(name)
        try:
            others[name] = _subject(rival, launch)
        except DiagnosticError as error:
            refused[name] = error.diagnostics[0].message
    best = min(others, key=lambda name: others[name].cycles.estimate, default="")
    if best and others[best].cycles.estimate >= subject.cycles.estimate:
        best = ""
    last = plan.methods[-1]
    progress(f"{last} on {best or 'the default'}")
    return Row(
        kernel=path.stem,
        level=level,
        compiler=compiler,
        instructions=sum(len(block.instructions) for block in subject.kernel.blocks),
        waves=subject.profile.waves_per_simd,
        full_waves=subject.profile.full_occupancy,
        before=subject.cycles,
        bound=bound(subject.kernel, subject.profile.estimate, subject.timings),
        found=found,
        rivals={name: other.cycles for name, other in others.items()},
        refused=refused,
        best=best,
        on_best=_find(others[best], last, plan) if best else found[last] if others else None,
    )


def _subject(path: Path, launch: Path) -> _Subject:
    kernel = recover(load_file(path))
    return _measured(kernel, load_launches(launch, kernel))


def _measured(kernel: Kernel, dispatches: Sequence[Dispatch]) -> _Subject:
    profile = profile_kernel(kernel, dispatches)
    timings = [dispatch_timing(kernel, dispatch) for dispatch in dispatches]
    full = full_occupancy_cycles(kernel, profile)
    cycles = Cycles(profile.estimate.total_cycles, full, sum(timing.cycles for timing in timings))
    return _Subject(kernel, dispatches, profile, timings, cycles)


def _find(subject: _Subject, method: str, plan: Plan) -> Found:
    started = time.process_time()
    judge = Judge(Level.EMULATE, subject.dispatches)
    if method == SEARCH:
        kernel, verdict, attempts, commits = _searched(subject, judge, plan)
    else:
        kernel, verdict, attempts, commits = _passed(subject, judge, method)
    seconds = time.process_time() - started
    if verdict is None:
        return Found(subject.cycles, NOTHING, "", attempts, 0, seconds)
    outcome = verdict.outcome.value
    if not verdict.outcome.is_success:
        return Found(subject.cycles, f"{outcome}: {verdict.reason}".rstrip(": "), "", attempts, 0, seconds)
    # Profiled anew: a pass may change how often a block runs, as unrolling does.
    after = _measured(kernel, subject.dispatches)
    basis = ", ".join(f"{item.method}: {item.outcome.value}" for item in verdict.basis)
    return Found(after.cycles, outcome, basis, attempts, commits, seconds)


def _passed(subject: _Subject, judge: Judge, pipeline: str) -> tuple[Kernel, Verdict | None, int, int]:
    profile = subject.profile
    manager = PassManager(parse_pipeline(pipeline), executions=profile.executions, waves_per_simd=profile.waves_per_simd)
    result = manager.run(subject.kernel)
    return result.kernel, judge(subject.kernel, result.kernel) if result.changed else None, 1, int(result.changed)


def _searched(subject: _Subject, judge: Judge, plan: Plan) -> tuple[Kernel, Verdict | None, int, int]:
    budget = Budget(plan.search_seconds, plan.attempts)
    result = optimise(subject.kernel, subject.dispatches, judge, budget=budget, seed=plan.seed, profile=subject.profile)
    return result.kernel, result.verdict, len(result.attempts), len(result.steps)
