"""The main job: propose, model, judge, accept; only verified and faster candidates become the parent of the next.

Deterministic for a seed when it ends by attempts; a wall-time budget ends it earlier on a slower machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from asmevo.backend.launch import Dispatch
from asmevo.backend.timing.model import estimate
from asmevo.ir.kernel import Kernel
from asmevo.search.profile import Profile, profile_kernel
from asmevo.search.proposers import PipelineProposer, Proposal, ReorderProposer
from asmevo.search.records import Attempt, Optimisation, Place, Recorder, Resumed, Status, Step
from asmevo.verify.judge import Judge
from asmevo.verify.verdict import Outcome

MINIMUM_GAIN = 1e-3
"""Least relative gain of modelled cycles worth judging."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When the search ends: wall time in seconds, or attempts (candidates, each the best of many orders)."""

    seconds: float = 60.0
    attempts: int = 200


PATIENCE = 3
"""Rounds without an accepted candidate after which the search gives up."""

MOVES = 240
"""Orders tried for a region in the first round."""

Progress = Callable[[int, float, float], None]
"""Called after each attempt with its number, and modelled cycles of K0 and of the best so far."""


@dataclass(slots=True)
class _Search:
    original: Kernel
    profile: Profile
    judge: Judge
    budget: Budget
    progress: Progress | None
    recorder: Recorder | None
    started: float
    best: Kernel = field(init=False)
    best_cycles: float = field(init=False)
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    steps: list[Step] = field(default_factory=list[Step])
    place: Place | None = None
    seen: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        self.best = self.steps[-1].kernel if self.steps else self.original
        self.best_cycles = self.steps_cycles()
        self.seen |= {_fingerprint(kernel) for kernel in (self.original, *(step.kernel for step in self.steps))}

    def spent(self, unrecorded: int = 0) -> bool:
        """Whether the budget is used up, counting candidates that were modelled but not judged yet."""
        if time.perf_counter() - self.started >= self.budget.seconds:
            return True
        return len(self.attempts) + unrecorded >= self.budget.attempts

    def record(self, proposal: Proposal, status: Status, cycles: float | None = None, reason: str = "") -> Attempt:
        attempt = Attempt(len(self.attempts), proposal.proposer, proposal.description, status, cycles, reason)
        self.attempts.append(attempt)
        if self.recorder and status is not Status.ACCEPTED:
            self.recorder.attempted(attempt, self.place)
        if self.progress:
            self.progress(attempt.number + 1, self.profile.estimate.total_cycles, self.best_cycles)
        return attempt

    def model(self, proposal: Proposal) -> float | None:
        """Modelled cycles of a proposal worth judging; None when it was recorded as not worth it."""
        fingerprint = _fingerprint(proposal.kernel)
        if fingerprint in self.seen:
            same = proposal.kernel.blocks == self.best.blocks
            self.record(proposal, Status.NO_CHANGE if same else Status.DUPLICATE)
            return None
        self.seen.add(fingerprint)
        cycles = estimate(
            proposal.kernel, dict(self.profile.executions), waves_per_simd=self.profile.waves_per_simd
        ).total_cycles
        if cycles > self.best_cycles * (1 - MINIMUM_GAIN):
            self.record(proposal, Status.NOT_FASTER, cycles)
            return None
        return cycles

    def profile_of_best(self) -> Profile:
        """The profile with the model's estimate of the best kernel so far."""
        waves = self.profile.waves_per_simd
        return replace(self.profile, estimate=estimate(self.best, dict(self.profile.executions), waves_per_simd=waves))

    def steps_cycles(self) -> float:
        """Modelled cycles of the last accepted step, K0's when there is none."""
        last = self.steps[-1].attempt.cycles if self.steps else None
        return self.profile.estimate.total_cycles if last is None else last

    def commit(self, proposal: Proposal, cycles: float) -> bool:
        """Judges a faster candidate against K0 and makes it the parent when it passes."""
        verdict = self.judge(self.original, proposal.kernel)
        if not verdict.outcome.is_success:
            status = Status.REFUTED if verdict.outcome is Outcome.REFUTED else Status.UNDECIDED
            self.record(proposal, status, cycles, verdict.reason)
            return False
        parent, self.best, self.best_cycles = self.best, proposal.kernel, cycles
        step = Step(self.record(proposal, Status.ACCEPTED, cycles), verdict, proposal.kernel)
        if self.recorder:
            self.recorder.accepted(step, parent, self.place)
        self.steps.append(step)
        return True


def optimise(
    kernel: Kernel,
    dispatches: Sequence[Dispatch],
    judge: Judge,
    *,
    budget: Budget | None = None,
    seed: int = 0,
    windows: int = 4,
    waves_per_simd: int | None = None,
    profile: Profile | None = None,
    progress: Progress | None = None,
    recorder: Recorder | None = None,
    resume: Resumed | None = None,
) -> Optimisation:
    """The best verified kernel found within the budget, with every attempt's status.

    `profile` is K0's where it is known already, which otherwise takes a run. `recorder` is told of each attempt as it ends;
    `resume` is what one was told of a search that was cut off, with the same kernel, launches and seed: it goes on from there,
    and attempts made then count.
    Raises E0504 when the original faults in its own launches. Ctrl-C ends the search and keeps what was accepted.
    """
    started = time.perf_counter()
    profile = profile or profile_kernel(kernel, dispatches, waves_per_simd)
    before = resume or Resumed()
    attempts, steps = list(before.attempts), list(before.steps)
    search = _Search(kernel, profile, judge, budget or Budget(), progress, recorder, started, attempts, steps, before.place)
    interrupted = False
    try:
        if search.place is None:
            _try_pipelines(search)
        _climb(search, seed, windows)
    except KeyboardInterrupt:
        interrupted = True
    return Optimisation(
        original=kernel,
        profile=profile,
        steps=tuple(search.steps),
        attempts=tuple(search.attempts),
        before_cycles=profile.estimate.total_cycles,
        # Ctrl-C may have come between a verdict and its step: what was kept are the steps.
        after_cycles=search.steps_cycles(),
        seconds=time.perf_counter() - started,
        interrupted=interrupted,
    )


def _try_pipelines(search: _Search) -> None:
    """All pipelines are modelled, then judged from the fastest on until one passes."""
    faster: list[tuple[float, int, Proposal]] = []
    for index, proposal in enumerate(PipelineProposer().propose(search.original, search.profile, 0)):
        cycles = search.model(proposal)
        if cycles is not None:
            faster.append((cycles, index, proposal))
        if search.spent(len(faster)):
            break
    for cycles, _, proposal in sorted(faster, key=lambda item: item[:2]):
        if cycles < search.best_cycles * (1 - MINIMUM_GAIN):
            search.commit(proposal, cycles)
        else:
            search.record(proposal, Status.NOT_FASTER, cycles)


def _climb(search: _Search, seed: int, windows: int) -> None:
    """Local search from the best kernel, round after round with another seed, until the budget or the patience is spent.

    Each faster candidate is judged at once, and when it passes the next region is searched from it.
    """
    place = search.place or Place(steps=len(search.steps))
    while not search.spent() and place.fruitless < PATIENCE:
        if _climb_round(search, seed, windows, place):
            fruitless = 0 if len(search.steps) > place.steps else place.fruitless + 1
            place = Place(place.round + 1, fruitless, len(search.steps))


def _climb_round(search: _Search, seed: int, windows: int, place: Place) -> bool:
    """Search each hot region once, from the best as it then is; whether the round ended before the budget did."""
    restart = True
    while restart:
        restart = False
        # Later rounds look longer: what was easy to find has been found.
        proposer = ReorderProposer(windows, MOVES * place.round, search.spent)
        seed_of_round = seed * 1_000_003 + place.round
        for proposal in proposer.propose(search.best, search.profile_of_best(), seed_of_round, place.tried):
            place = search.place = replace(place, tried=place.tried | {proposal.where})
            cycles = search.model(proposal)
            restart = cycles is not None and search.commit(proposal, cycles)
            if restart or search.spent():
                break
        if search.spent():
            return False
    return True


def _fingerprint(kernel: Kernel) -> int:
    """Equal for kernels with the same instructions in the same order, whatever their history."""
    return hash(tuple((b.label, tuple((i.mnemonic, i.operands, i.modifiers) for i in b.instructions)) for b in kernel.blocks))
