"""What a search leaves behind: attempts with a named status, accepted steps with their evidence."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from asmevo.ir.kernel import Kernel
from asmevo.search.profile import Profile
from asmevo.verify.verdict import Verdict


class Status(enum.Enum):
    """How an attempt ended."""

    ACCEPTED = "accepted"
    NOT_FASTER = "not-faster"
    NO_CHANGE = "no-change"
    DUPLICATE = "duplicate"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One judged proposal. `cycles` are modelled, None when the attempt ended before the model was asked."""

    number: int
    proposer: str
    description: str
    status: Status
    cycles: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One accepted edit: the attempt, the verdict against K0 that let it in, and the kernel it made."""

    attempt: Attempt
    verdict: Verdict
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class Place:
    """Where the climb stands, so that it can go on from there.

    Its round from 1 on, rounds without an accepted candidate, steps when the round began, and the places searched in it.
    """

    round: int = 1
    fruitless: int = 0
    steps: int = 0
    tried: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Resumed:
    """What a search that was cut off had done, and where it stood; as it is by default nothing was done."""

    attempts: tuple[Attempt, ...] = ()
    steps: tuple[Step, ...] = ()
    place: Place | None = None


class Recorder(Protocol):
    """Is told what a search does as it does it, so that nothing is lost when it is cut off.

    `place` is where the climb stands once the attempt is counted; None while pipelines are tried.
    """

    def attempted(self, attempt: Attempt, place: Place | None) -> None:
        """An attempt ended without being accepted."""
        ...

    def accepted(self, step: Step, parent: Kernel, place: Place | None) -> None:
        """A candidate made from `parent` was accepted."""
        ...


@dataclass(frozen=True, slots=True)
class Optimisation:
    """The outcome of `optimise`. Cycles are modelled cycles over all launches, never measured time."""

    original: Kernel
    profile: Profile
    steps: tuple[Step, ...]
    attempts: tuple[Attempt, ...]
    before_cycles: float
    after_cycles: float
    seconds: float
    interrupted: bool = False

    @property
    def kernel(self) -> Kernel:
        """The best verified kernel; the original when nothing was accepted."""
        return self.steps[-1].kernel if self.steps else self.original

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the best kernel; None when nothing was accepted."""
        return self.steps[-1].verdict if self.steps else None

    @property
    def speedup(self) -> float:
        """Modelled cycles before over after."""
        return self.before_cycles / self.after_cycles if self.after_cycles else 1.0
