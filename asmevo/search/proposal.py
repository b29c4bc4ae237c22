"""What a proposer is given and what it gives back.

Owns the data between the engine and whoever proposes: passes, local search, rules, a language model, an outside agent. It must
not know how proposals are made or judged.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from asmevo.ir.kernel import Kernel
from asmevo.search.profile import Counts, Profile
from asmevo.search.rules import Rule

if TYPE_CHECKING:
    from asmevo.search.records import Attempt


@dataclass(frozen=True, slots=True)
class Cost:
    """What a proposal cost: tokens sent and received, money in the currency of the configured prices, seconds."""

    tokens_in: int = 0
    tokens_out: int = 0
    money: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        """The two together."""
        return Cost(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.money + other.money,
            self.seconds + other.seconds,
        )


FREE = Cost()


@dataclass(frozen=True, slots=True)
class WindowText:
    """An edit by text: the instructions [start, stop) of block `label` become those lines of assembly.

    A line may begin with `#UID ` to say which instruction of the parent it is, so that moved instructions keep what is known
    of them; without, a line that says the same as an instruction of the window stands for the first such not used yet. Empty
    lines and `;` or `//` comments are skipped. Nothing outside the window can be reached by it.
    """

    label: str
    start: int
    stop: int
    text: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate: the whole changed kernel, or the text of one window, and what was done to the parent to get it.

    `where` names the place that was edited; `prompt` is the digest of what a model was asked, if one
    was; `notes` is plain data that is kept with the attempt. Never put a key or a secret into it. `counts` is a forecast for
    changes that alter how often blocks run, by label: the candidate is ranked by it, and emulation has the last word.
    """

    proposer: str
    description: str
    change: Kernel | WindowText
    where: str = ""
    cost: Cost = FREE
    prompt: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    counts: Counts = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class HotWindow:
    """A stretch of one block worth working on: instructions [start, stop) of `label` in the parent.

    `cycles` are the modelled cycles of its block's executions that fall to it, `stalls` those of them a wave loses waiting,
    by cause, over all executions.
    """

    label: str
    start: int
    stop: int
    cycles: float
    stalls: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def lost(self) -> float:
        """Modelled cycles lost to all causes."""
        return sum(self.stalls.values())

    def __str__(self) -> str:
        return f"{self.label}[{self.start}:{self.stop}]"


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left of the budget when a proposer is asked. None: not limited."""

    seconds: float | None = None
    attempts: int | None = None
    tokens: int | None = None
    money: float | None = None


NO_LIMIT = Remaining()


@dataclass(frozen=True, slots=True)
class Situation:
    """All a proposer may look at. Plain data: it goes to other processes, and equal situations get equal proposals.

    `original` is K0, `parent` the verified kernel to be made faster, `parent_cycles` its modelled cycles, `profile` the
    parent's executions and estimate. `windows` are where to look, the chosen one first. `history` are earlier
    attempts at the chosen window, the latest last; `effort` counts how often this proposer was asked about this window
    without success (0 at first), so that it looks longer or elsewhere. `seed` is for every random choice. `limit` is how many
    proposals will be taken at most. `elites` are other verified kernels, whose edits may be taken over, and
    `elite_counts` how often their blocks run where not as in K0; `rules` are rewrites
    learned from edits that were accepted before.
    """

    original: Kernel
    parent: Kernel
    parent_cycles: float
    profile: Profile
    windows: tuple[HotWindow, ...]
    seed: int
    effort: int = 0
    limit: int = 8
    history: tuple[Attempt, ...] = ()
    elites: tuple[Kernel, ...] = ()
    elite_counts: tuple[Counts, ...] = ()
    rules: tuple[Rule, ...] = ()
    remaining: Remaining = NO_LIMIT

    @property
    def window(self) -> HotWindow | None:
        """The chosen window; None when nothing in the kernel is hot."""
        return self.windows[0] if self.windows else None


class Proposer(Protocol):
    """Yields candidates. It only proposes: legality, proof and time are judged elsewhere, whatever it claims.

    Implementations are frozen dataclasses that can be pickled, unless `is_dialogue`.
    """

    @property
    def name(self) -> str:
        """Kebab case; the name in the lineage and the arm of the bandit."""
        ...

    @property
    def is_dialogue(self) -> bool:
        """Whether it wants to be told how each proposal ended before it makes the next.

        Such a proposer runs in the engine's own process, and what `yield` returns is the attempt; others run in workers, may
        be asked for several proposals before the first is judged, and get None.
        """
        ...

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """Candidates, best guess first; may be endless. Raises DiagnosticError when it cannot go on (the arm is then left)."""
        ...
