"""What a worker of the search holds and does: proposers are run, candidates judged.

Owns the tasks and their results, all plain data: kernels travel as edits of the original, which every worker has.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from json import dumps

from asmevo.backend.launch import Dispatch
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import CodeObject
from asmevo.ir.kernel import Kernel
from asmevo.search.drafting import Draft, drafted
from asmevo.search.evaluation import Evaluation, Evaluator, JudgeLike
from asmevo.search.lineage import edits
from asmevo.search.lineage.edits import Edit
from asmevo.search.profile import AS_ORIGINAL, Counts, Profile
from asmevo.search.proposal import NO_LIMIT, HotWindow, Proposal, Proposer, Remaining, Situation
from asmevo.search.records import Attempt, Gate, Status
from asmevo.search.rules import Rule

_KERNELS_KEPT = 16


@dataclass(frozen=True, slots=True)
class Outfit:
    """Everything that workers of one search have in common; picklable."""

    original: Kernel
    profile: Profile
    dispatches: Sequence[Dispatch]
    judge: JudgeLike
    proposers: Sequence[Proposer]
    waves: int | None = None
    code_object: CodeObject | None = None

    def for_workers(self) -> Outfit:
        """Without dialogues, which stay in the engine's process: what they hold, a connection or a key, does not travel."""
        return replace(self, proposers=[proposer for proposer in self.proposers if not proposer.is_dialogue])

    def evaluator(self) -> Evaluator:
        """A new evaluator for this search."""
        return Evaluator(self.original, self.profile, self.dispatches, self.judge, self.waves, self.code_object)


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a proposer. `parent` and `elites` are edits of the original; the rest is as in `Situation`. `bar` is in cycles.

    `counts` are how often the parent's blocks run where not as in K0.
    """

    proposer: str
    parent: Edit
    windows: tuple[HotWindow, ...]
    seed: int
    bar: float
    effort: int = 0
    limit: int = 8
    history: tuple[Attempt, ...] = ()
    elites: tuple[Edit, ...] = ()
    counts: Counts = field(default_factory=dict[str, int])
    elite_counts: tuple[Counts, ...] = ()
    rules: tuple[Rule, ...] = ()
    remaining: Remaining = NO_LIMIT


@dataclass(frozen=True, slots=True)
class Drafts:
    """What a proposer gave, in its order; `failure` says why it gave no more, when it could not go on."""

    drafts: tuple[Draft, ...]
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Judging:
    """Judge the candidate that this edit makes of the original. `counts` are those that it was ranked by."""

    candidate: Edit
    counts: Counts = field(default_factory=dict[str, int])


Task = Ask | Judging
Result = Drafts | Evaluation


@dataclass(slots=True)
class Shop:
    """The workshop of a search."""

    outfit: Outfit
    evaluator: Evaluator = field(init=False)
    _kernels: OrderedDict[str, Kernel] = field(default_factory=OrderedDict[str, Kernel])

    def __post_init__(self) -> None:
        self.evaluator = self.outfit.evaluator()

    def do(self, task: Task, /) -> Result:
        """The drafts of a proposer, or the evaluation of a candidate."""
        if isinstance(task, Judging):
            return self._judged(edits.applied(self.outfit.original, task.candidate), task.counts)
        return self._asked(task)

    def _judged(self, candidate: Kernel, counts: Counts) -> Evaluation:
        try:
            return self.evaluator.judged(candidate, counts)
        except DiagnosticError as error:
            return Evaluation(Status.UNDECIDED, Gate.SOLVER, error.diagnostics[0].message)
        except (ArithmeticError, AssertionError, LookupError, RecursionError, TypeError, ValueError) as error:
            # A search of days does not end over one candidate: the fault is in the lineage, with the candidate to repeat it.
            return Evaluation(Status.FAILED, Gate.SOLVER, f"{type(error).__name__}: {error}"[:2000])

    def situation(self, ask: Ask) -> Situation:
        """What the proposer gets to see."""
        parent = self.kernel(ask.parent)
        estimated = self.evaluator.estimate(parent, ask.counts)
        profile = self.outfit.profile.of(parent, ask.counts, estimated)
        elites = tuple(map(self.kernel, ask.elites))
        return Situation(
            self.outfit.original, parent, estimated.total_cycles, profile, ask.windows, ask.seed, ask.effort, ask.limit,
            ask.history, elites, ask.elite_counts, ask.rules, ask.remaining,
        )  # fmt: skip

    def kernel(self, edit: Edit) -> Kernel:
        """The kernel that an edit makes of the original; the same object for the same edit, so that analyses are shared."""
        if not edit["blocks"] and "declares" not in edit:
            return self.outfit.original
        key = sha256(dumps(edit, sort_keys=True).encode()).hexdigest()
        found = self._kernels.pop(key, None)
        self._kernels[key] = found or edits.applied(self.outfit.original, edit)
        if len(self._kernels) > _KERNELS_KEPT:
            self._kernels.popitem(last=False)
        return self._kernels[key]

    def _asked(self, ask: Ask) -> Drafts:
        situation = self.situation(ask)
        proposer = next(p for p in self.outfit.proposers if p.name == ask.proposer)
        drafts: list[Draft] = []
        try:
            for proposal in itertools.islice(proposer.propose(situation), ask.limit):
                drafts.append(self.draft(proposal, situation.parent, ask.bar, ask.counts))
        except DiagnosticError as error:
            return Drafts(tuple(drafts), error.diagnostics[0].message)
        except Exception as error:
            if is_own(proposer):
                raise
            # A plugin is someone else's code: what goes wrong in it is a fact about it, and the search goes on.
            return Drafts(tuple(drafts), f"{type(error).__name__}: {error}")
        return Drafts(tuple(drafts))

    def draft(self, proposal: Proposal, parent: Kernel, bar: float, counts: Counts = AS_ORIGINAL) -> Draft:
        """A proposal of any proposer, through the first gates; `counts` are the parent's."""
        return drafted(proposal, parent, self.evaluator, bar, counts)


def is_own(proposer: Proposer) -> bool:
    """Whether a proposer is part of this package, whose errors are bugs of ours."""
    return type(proposer).__module__.startswith("asmevo.")
