"""What a search leaves behind: attempts with a named status, accepted steps with their evidence."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asmevo.ir.kernel import Kernel
from asmevo.search.profile import AS_ORIGINAL, Counts, Profile
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
    FAILED = "failed"
    """The judgement itself failed: a fault of AsmEvo's, told with the attempt. Never accepted."""
    PROPOSER_FAILED = "proposer-failed"
    """No candidate: the proposer itself could not go on."""


class Gate(enum.Enum):
    """The steps of an evaluation, cheap to dear; an attempt names the last one it came to."""

    FORM = "form"
    """Text is parsed, its size bounded."""
    LEGALITY = "legality"
    """Structure, frozen code, operands and registers."""
    MODEL = "model"
    """Modelled cycles: what cannot earn a place anyway is not proved."""
    REBUILD = "rebuild"
    """The object is made, and the loader's rules checked."""
    NOVELTY = "novelty"
    """Not the parent, and not seen before."""
    STATIC = "static"
    """Waits, wait states, registers, definedness, LDS, resources, on every path."""
    SOLVER = "solver"
    """The edited windows, by z3."""
    EMULATION = "emulation"
    """Every launch and seed, strictly, bytes compared."""
    DEVICE = "device"
    """The same on a GPU, where one is judged on."""


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


@dataclass(frozen=True, slots=True)
class Step:
    """One accepted edit: the attempt, the verdict against K0 that let it in, and the kernel it made.

    `parent` is the number of the step it was made from, None for K0; `cell` its kind in the archive; `counts`
    are how often its blocks run where not as in K0.
    """

    attempt: Attempt
    verdict: Verdict
    kernel: Kernel
    parent: int | None = None
    cell: tuple[int, ...] = ()
    counts: Counts = field(default_factory=dict[str, int])

    @property
    def cycles(self) -> float:
        """Modelled cycles of its kernel."""
        assert self.attempt.cycles is not None, "what is accepted was modelled"
        return self.attempt.cycles


def line_to(steps: Sequence[Step], number: int | None) -> tuple[Step, ...]:
    """The steps from K0's child down to the one of that number."""
    line: list[Step] = []
    while number is not None:
        line.append(steps[number])
        number = steps[number].parent
    return tuple(reversed(line))


@dataclass(frozen=True, slots=True)
class Optimisation:
    """The outcome of `optimise`. Cycles are modelled cycles over all launches, never measured time.

    `accepted` are all verified candidates that earned a place, whether they led anywhere or not.
    """

    original: Kernel
    profile: Profile
    accepted: tuple[Step, ...]
    attempts: tuple[Attempt, ...]
    before_cycles: float
    seconds: float
    interrupted: bool = False

    @property
    def steps(self) -> tuple[Step, ...]:
        """The accepted edits from K0 to the best kernel; empty when none is faster than K0."""
        faster = [n for n, step in enumerate(self.accepted) if step.cycles < self.before_cycles]
        return line_to(self.accepted, min(faster, key=lambda n: (self.accepted[n].cycles, n), default=None))

    @property
    def kernel(self) -> Kernel:
        """The best verified kernel; the original when nothing faster was accepted."""
        return self.steps[-1].kernel if self.steps else self.original

    @property
    def counts(self) -> Counts:
        """How often blocks of the best kernel run where not as in the original."""
        return self.steps[-1].counts if self.steps else AS_ORIGINAL

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the best kernel; None when nothing faster was accepted."""
        return self.steps[-1].verdict if self.steps else None

    @property
    def after_cycles(self) -> float:
        """Modelled cycles of the best kernel."""
        return self.steps[-1].cycles if self.steps else self.before_cycles

    @property
    def speedup(self) -> float:
        """Modelled cycles before over after."""
        return self.before_cycles / self.after_cycles if self.after_cycles else 1.0
