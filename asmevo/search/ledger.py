"""What a search has done so far: attempts, steps, what is known already; and what it tells of it.

Owns the lists and the digests. It decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

from asmevo.backend.timing import Estimate
from asmevo.ir.kernel import Kernel
from asmevo.search.digests import kernel_digest
from asmevo.search.evaluation import Evaluation, Evaluator
from asmevo.search.lineage import edits
from asmevo.search.profile import AS_ORIGINAL, Counts, Profile
from asmevo.search.proposal import HotWindow
from asmevo.search.records import Attempt, Step
from asmevo.search.rules import Rule, distinct, learned
from asmevo.search.state import K0
from asmevo.search.windows import hot_windows


@dataclass(frozen=True, slots=True)
class Entry:
    """One attempt with the step that it became, if it was accepted."""

    attempt: Attempt
    step: Step | None = None


class Recorder(Protocol):
    """Is told what a search does as it does it, so that nothing is lost when it is cut off."""

    def recorded(self, entries: Sequence[Entry], state: Mapping[str, Any]) -> None:
        """Attempts ended, after which the search stands there: all of it is kept, or after a crash nothing."""
        ...

    def earlier(self, digest: str) -> Evaluation | None:
        """How another run alike judged the kernel with this text; None when none did."""
        ...


@dataclass(frozen=True, slots=True)
class Resumed:
    """What a search that was cut off had done, and where it stood; as it is by default nothing was done."""

    attempts: tuple[Attempt, ...] = ()
    steps: tuple[Step, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])


Progress = Callable[[int, float, float], None]
"""Called after each attempt with its number, and modelled cycles of K0 and of the best so far."""


@dataclass(slots=True)
class Ledger:
    """Attempts and steps of one search."""

    original: Kernel
    profile: Profile
    evaluator: Evaluator
    blocks: int
    attempts: list[Attempt]
    steps: list[Step]
    recorder: Recorder | None = None
    progress: Progress | None = None
    given_rules: tuple[Rule, ...] = ()
    best_cycles: float = field(init=False)
    _digests: set[str] = field(default_factory=set[str])
    _estimates: dict[int, Estimate] = field(default_factory=dict[int, Estimate])
    _windows: dict[int, tuple[HotWindow, ...]] = field(default_factory=dict[int, tuple[HotWindow, ...]])
    _rules: list[tuple[Rule, ...]] = field(default_factory=list[tuple[Rule, ...]])
    _learned_from: int = 0
    _edits: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])

    def __post_init__(self) -> None:
        self.best_cycles = min((step.cycles for step in self.steps), default=self.cycles(K0))
        self._digests = {kernel_digest(self.original)}
        for attempt in self.attempts:
            self._digests |= {attempt.proposal, attempt.artifact} - {""}

    def kernel(self, step: int) -> Kernel:
        """The kernel of a step, or K0."""
        return self.original if step == K0 else self.steps[step].kernel

    def cycles(self, step: int) -> float:
        """Modelled cycles of a step, or of K0."""
        return self.profile.estimate.total_cycles if step == K0 else self.steps[step].cycles

    def counts(self, step: int) -> Counts:
        """How often blocks of a step run where not as in K0."""
        return AS_ORIGINAL if step == K0 else self.steps[step].counts

    def estimate(self, step: int) -> Estimate:
        """The model's estimate of a step."""
        if step == K0:
            return self.profile.estimate
        if step not in self._estimates:
            self._estimates[step] = self.evaluator.estimate(self.kernel(step), self.counts(step))
        return self._estimates[step]

    def windows(self, step: int) -> tuple[HotWindow, ...]:
        """The hot windows of a step."""
        if step not in self._windows:
            self._windows[step] = hot_windows(self.kernel(step), self.estimate(step), self.blocks)
        return self._windows[step]

    def edit(self, step: int) -> Mapping[str, Any]:
        """The edit that makes the step of K0."""
        if step not in self._edits:
            self._edits[step] = edits.encoded(self.original, self.kernel(step))
        return self._edits[step]

    def history(self, label: str, until: int, most: int = 50) -> tuple[Attempt, ...]:
        """The latest attempts at a block among the first `until`."""
        return tuple([a for a in self.attempts[:until] if a.where.startswith(label)][-most:])

    def knows(self, digests: Set[str]) -> bool:
        """Whether a kernel with one of these texts, or these objects, was tried."""
        return not digests.isdisjoint(self._digests)

    def earlier(self, digest: str) -> Evaluation | None:
        """How another run of the lineage judged it; None when none did."""
        return None if self.recorder is None else self.recorder.earlier(digest)

    def rules(self, steps: int) -> tuple[Rule, ...]:
        """Rewrites learned from the first `steps` steps, behind those given."""
        for number in range(self._learned_from, steps):
            step = self.steps[number]
            self._rules.append(learned(self.kernel(K0 if step.parent is None else step.parent), step.kernel))
        self._learned_from = max(self._learned_from, steps)
        return distinct((*self.given_rules, *(rule for rules in self._rules[:steps] for rule in rules)))

    def add(self, entries: Sequence[Entry], state: Mapping[str, Any]) -> None:
        """Takes attempts in, tells the recorder, then the progress."""
        if self.recorder is not None:
            self.recorder.recorded(entries, state)
        for entry in entries:
            self.attempts.append(entry.attempt)
            self._digests |= {entry.attempt.proposal, entry.attempt.artifact} - {""}
            if entry.step is not None:
                self.best_cycles = min(self.best_cycles, entry.step.cycles)
            if self.progress is not None:
                self.progress(len(self.attempts), self.cycles(K0), self.best_cycles)
