"""What a search leaves behind: attempts with a named status, accepted steps with their evidence."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from asmevo.ir.kernel import Kernel
from asmevo.search.profile import Profile
from asmevo.search.proposal import FREE, Cost
from asmevo.verify.verdict import Verdict


class Status(enum.Enum):
    """How an attempt ended. Only `ACCEPTED` ones become nodes."""

    ACCEPTED = "accepted"
    NO_CHANGE = "no-change"
    """The same instructions as the parent."""
    DUPLICATE = "duplicate"
    """The same kernel, or the same object, as an earlier candidate; not evaluated again."""
    MALFORMED = "malformed"
    """Its text is no assembly, or too much of it."""
    ILLEGAL = "illegal"
    """The structure of the kernel would break: control flow, frozen code, operands, resources, what cannot be encoded."""
    STATIC_REFUTED = "static-refuted"
    """A wait, a wait state or a register is missing on some path."""
    REFUTED = "refuted"
    """The solver has a counterexample."""
    UNDECIDED = "undecided"
    """Neither proved nor refuted within the budget, or not supported; never accepted."""
    FAULTED = "faulted"
    """The candidate faults in a launch in which K0 does not."""
    WRONG = "wrong"
    """The candidate wrote other bytes than K0."""
    NOT_FASTER = "not-faster"
    TIMEOUT = "timeout"
    """Its evaluation took longer than it may, and was ended."""
    OUT_OF_MEMORY = "out-of-memory"
    QUARANTINED = "quarantined"
    """Two workers died over it; it is not tried again."""
    PROPOSER_FAILED = "proposer-failed"
    """No candidate: the proposer itself could not go on."""


class Gate(enum.Enum):
    """The steps of an evaluation, cheap to dear; an attempt names the last one it came to."""

    FORM = "form"
    """Text is parsed, its size bounded."""
    LEGALITY = "legality"
    """Structure, frozen code, operands and registers."""
    NOVELTY = "novelty"
    """Not the parent, and not seen before."""
    MODEL = "model"
    """Modelled cycles: what cannot be accepted anyway is not proved."""
    STATIC = "static"
    """Waits, wait states, registers, definedness, LDS, resources, on every path."""
    SOLVER = "solver"
    """The edited windows, by z3."""
    REBUILD = "rebuild"
    """The object is made, and the loader's rules checked."""
    EMULATION = "emulation"
    """Every launch and seed, strictly, bytes compared."""
    DEVICE = "device"
    """Differential test and interleaved timing where there is a device."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One proposal and how it ended. `cycles` are modelled, None when it ended before the model was asked.

    `gate` is the last gate it came to, `where` the place it edited. `proposal` and `artifact` are digests (SHA-256) of the
    kernel's text and of the object, "" when it did not come so far. `generation` and `island` say when and where in the
    search. `notes` and `prompt` are the proposal's.
    """

    number: int
    proposer: str
    description: str
    status: Status
    cycles: float | None = None
    reason: str = ""
    gate: Gate = Gate.FORM
    where: str = ""
    proposal: str = ""
    artifact: str = ""
    generation: int = 0
    island: int = 0
    cost: Cost = FREE
    prompt: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def signature(self) -> str:
        """What failures of one kind have in common: anti-stall counts them."""
        return f"{self.proposer} {self.where} {self.status.value} {self.gate.value}"


@dataclass(frozen=True, slots=True)
class Step:
    """One accepted edit: the attempt, the verdict against K0 that let it in, and the kernel it made.

    `parent` is the number of the step it was made from, None for K0.
    """

    attempt: Attempt
    verdict: Verdict
    kernel: Kernel
    parent: int | None = None


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
    def best(self) -> Step | None:
        """The accepted step with the fewest modelled cycles, the first of equals; None when nothing was accepted."""
        return min(self.steps, key=lambda step: (step.attempt.cycles or 0.0, step.attempt.number), default=None)

    @property
    def kernel(self) -> Kernel:
        """The best verified kernel; the original when nothing was accepted."""
        return self.original if self.best is None else self.best.kernel

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the best kernel; None when nothing was accepted."""
        return None if self.best is None else self.best.verdict

    @property
    def speedup(self) -> float:
        """Modelled cycles before over after."""
        return self.before_cycles / self.after_cycles if self.after_cycles else 1.0
