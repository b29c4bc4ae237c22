"""The search's loop: a generation is planned, its proposers asked, what they propose judged, and all of it recorded.

Owns the order of things, on which repeatability rests: whatever is decided is decided here, from the state and in the errands'
order, while workers only answer questions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from asmevo.diagnostics import DiagnosticError
from asmevo.search.drafting import Draft
from asmevo.search.evaluation import Evaluation
from asmevo.search.execution import Done, Executor, Loss
from asmevo.search.ledger import Entry, Ledger
from asmevo.search.lineage import edits
from asmevo.search.planning import START, Chart, judges_preset, next_generation, settle
from asmevo.search.proposal import Cost, Proposer, Remaining
from asmevo.search.records import Attempt, Gate, Status, Step
from asmevo.search.shop import Ask, Drafts, Judging, Result, Shop, Task, is_own
from asmevo.search.standing import Standing
from asmevo.search.state import K0, Errand, State
from asmevo.search.uninterrupted import uninterrupted
from asmevo.search.work import Ended, Work, failed_draft

_TALK = 24
"""Proposals of one dialogue."""
_START = 16
"""Pipelines of one island in the first generation."""
_LOSSES = {Loss.DIED: Status.QUARANTINED, Loss.TIMEOUT: Status.TIMEOUT, Loss.MEMORY: Status.OUT_OF_MEMORY}


@dataclass(frozen=True, slots=True)
class Budget:
    """When the search ends.

    By wall time in seconds, by attempts, by generations in a row in which nothing faster was found (`patience`), and for
    proposers that cost something by tokens and money.
    """

    seconds: float = 60.0
    attempts: int = 200
    patience: int = 16
    tokens: int | None = None
    money: float | None = None


class _Late(Exception):
    """The time is up in the middle of a generation."""


@dataclass(slots=True)
class Engine:
    """One search. `shop` is this process's own, for dialogues; the same work is done by the executor's."""

    shop: Shop
    executor: Executor[Task, Result]
    ledger: Ledger
    state: State
    budget: Budget
    seed: int
    started: float = field(default_factory=time.monotonic)

    def run(self) -> bool:
        """Searches until the budget is spent; whether it was interrupted. What was judged by then is recorded in any case."""
        try:
            while not self._is_over():
                if self._is_between():
                    self._plan()
                if not self.state.errands:
                    break
                self._generation()
        except KeyboardInterrupt:
            return True
        except _Late:
            return False
        return False

    # ---- what may still be done ----

    @property
    def _deadline(self) -> float | None:
        """None as long as the preset is not judged: no search may end below it, whatever its budget."""
        return None if self._is_preset_due() else self._end

    def _is_preset_due(self) -> bool:
        is_judged = self.state.generation == 0 and self._is_between()
        return judges_preset(self.state, [proposer.name for proposer in self.shop.outfit.proposers]) and not is_judged

    @property
    def _end(self) -> float:
        return self.started + self.budget.seconds

    def _is_between(self) -> bool:
        return self.state.done == len(self.state.errands)

    def _is_over(self) -> bool:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return True
        if len(self.ledger.attempts) >= self.budget.attempts:
            return True
        return self.state.fruitless >= self.budget.patience and self._is_between()

    def _remaining(self) -> Remaining:
        spent = sum((attempt.cost for attempt in self.ledger.attempts), Cost())
        tokens, money = self.budget.tokens, self.budget.money
        return Remaining(
            max(self._end - time.monotonic(), 0.0),
            self.budget.attempts - len(self.ledger.attempts),
            None if tokens is None else max(tokens - spent.tokens_in - spent.tokens_out, 0),
            None if money is None else max(money - spent.money, 0.0),
        )

    # ---- a generation ----

    def _proposer(self, errand: Errand) -> Proposer:
        return next(p for p in self.shop.outfit.proposers if p.name == errand.proposer)

    def _plan(self) -> None:
        proposers, ledger = self.shop.outfit.proposers, self.ledger
        limits = {p.name: _TALK for p in proposers if p.is_dialogue} | {START: _START}
        left = self.budget.attempts - len(ledger.attempts)
        names = [p.name for p in proposers]
        chart = Chart(ledger.cycles, ledger.windows, names, limits, self.seed, len(ledger.attempts), len(ledger.steps), left)
        next_generation(self.state, chart)
        # What others answer comes last: nothing of a generation that can be repeated waits for it.
        self.state.errands.sort(key=lambda errand: self._proposer(errand).is_dialogue)

    def _generation(self) -> None:
        errands = self.state.errands[self.state.done :]
        own = [errand for errand in errands if not self._proposer(errand).is_dialogue]
        works: list[Work] = []
        try:
            self._ask_all(own, works)
            while works:
                self._judge_one_each(works)
                while works and works[0].next() is None:
                    with uninterrupted():
                        self._record(works.pop(0))
        except (KeyboardInterrupt, _Late):
            # The search ends here: what was judged is kept, the rest counts as not tried.
            for work in works:
                self._record(work)
            raise
        for errand in errands[len(own) :]:
            if self._is_over():
                return
            self._converse(errand, self._proposer(errand))

    def _ask_all(self, errands: Sequence[Errand], works: list[Work]) -> None:
        """Asks the proposers that run in workers; `works` gets what they gave, errand by errand."""
        fresh: set[str] = set()
        asked = self.executor.run([self._ask(errand) for errand in errands], deadline=self._deadline)
        for errand, done in zip(errands, asked, strict=True):
            if done.loss is Loss.STOPPED:
                raise _Late
            given = cast("Drafts | None", done.result)
            drafts = [] if given is None else list(given.drafts)
            failure = f"{done.loss.value}: {done.detail}" if done.loss else given.failure if given else ""
            if failure:
                drafts.append(failed_draft(errand, failure))
            work = Work(errand, self._standing(errand))
            work.add(drafts, self.ledger, fresh)
            works.append(work)

    def _judge_one_each(self, works: Sequence[Work]) -> None:
        """The next candidate of each errand is judged: one after the other within an errand, so that a place is won once."""
        tasks: list[tuple[Work, Draft]] = []
        for work in works:
            draft = work.next()
            if draft is None:
                continue
            earlier = self.ledger.earlier(draft.digest)
            if earlier is not None:
                work.take(self._as_counted(work.errand, draft, earlier))
            else:
                tasks.append((work, draft))
        edited = [Judging(self._edit(work.errand, draft), draft.counts) for work, draft in tasks]
        for (work, _), done in zip(tasks, self.executor.run(edited, deadline=self._deadline), strict=True):
            work.take(evaluation_of(done))

    def _converse(self, errand: Errand, proposer: Proposer) -> None:
        """A proposer that is told how each proposal ended. Recorded one by one: a dialogue cannot be repeated."""
        if self.state.is_begun:
            self._record(Work(errand, self._standing(errand)))
            return
        self.state.is_begun = True
        situation = self.shop.situation(self._ask(errand))
        talk = proposer.propose(situation)
        answer: Attempt | None = None
        is_better = False
        failure = ""
        try:
            for _ in range(errand.limit):
                proposal = talk.send(answer)
                bar, counts = self._standing(errand).bar, self.ledger.counts(errand.parent)
                draft = self.shop.draft(proposal, situation.parent, bar, counts)
                work = Work(errand, self._standing(errand))
                work.add([draft], self.ledger, set())
                self._judge_one_each([work])
                work.next()
                answer, faster = self._add(errand, work.ended, is_last=False)
                is_better |= faster
                if self._is_over():
                    break
        except StopIteration:
            pass
        except DiagnosticError as error:
            failure = error.diagnostics[0].message
        except Exception as error:
            if is_own(proposer):
                raise
            # A plugin is someone else's code: what goes wrong in it is a fact about it, and the search goes on.
            failure = f"{type(error).__name__}: {error}"
        finally:
            talk.close()
        last = Work(errand, self._standing(errand))
        last.add([failed_draft(errand, failure)] if failure else [], self.ledger, set())
        self._add(errand, last.ended, is_last=True, was_better=is_better)

    # ---- from data to data ----

    def _standing(self, errand: Errand) -> Standing:
        return Standing.of(self.state.islands[errand.island], self.ledger.cycles)

    def _ask(self, errand: Errand) -> Ask:
        windows = self.ledger.windows(errand.parent)
        place = errand.label, errand.start, errand.stop
        chosen = [window for window in windows if (window.label, window.start, window.stop) == place]
        others = [window for window in windows if window not in chosen]
        ledger = self.ledger
        return Ask(
            errand.proposer, ledger.edit(errand.parent), (*chosen, *others), errand.seed, errand.bar, errand.effort,
            errand.limit, ledger.history(errand.label, errand.attempts), tuple(map(ledger.edit, errand.elites)),
            ledger.counts(errand.parent), tuple(map(ledger.counts, errand.elites)), ledger.rules(errand.steps),
            self._remaining() if self._proposer(errand).is_dialogue else Remaining(),
        )  # fmt: skip

    def _edit(self, errand: Errand, draft: Draft) -> edits.Edit:
        assert draft.edit is not None, "what is judged came through the first gates"
        return edits.encoded(self.ledger.original, edits.applied(self.ledger.kernel(errand.parent), draft.edit))

    def _as_counted(self, errand: Errand, draft: Draft, earlier: Evaluation) -> Evaluation:
        """Another run's evaluation, measured by the executions that it found where the draft was by others."""
        if earlier.status is not Status.ACCEPTED or earlier.counts == draft.counts:
            return earlier
        assert draft.edit is not None, "what is judged came through the first gates"
        candidate = edits.applied(self.ledger.kernel(errand.parent), draft.edit)
        return replace(earlier, measured=self.shop.evaluator.measured(candidate, math.inf, earlier.counts))

    def _record(self, work: Work) -> None:
        self._add(work.errand, work.ended, is_last=True)

    def _add(
        self, errand: Errand, ended: Sequence[Ended], *, is_last: bool, was_better: bool = False
    ) -> tuple[Attempt | None, bool]:
        """Puts attempts into the ledger; with `is_last` the errand is done. The last attempt, and whether the island gained."""
        with uninterrupted():
            return self._added(errand, ended, is_last, was_better)

    def _added(self, errand: Errand, ended: Sequence[Ended], is_last: bool, was_better: bool) -> tuple[Attempt | None, bool]:
        island, ledger = self.state.islands[errand.island], self.ledger
        before = len(ledger.steps)
        entries: list[Entry] = []
        is_better = False
        for one in ended:
            attempt = self._attempt(errand, one, len(ledger.attempts) + len(entries))
            step = self._step(errand, one, attempt) if attempt.status is Status.ACCEPTED else None
            entries.append(Entry(attempt, step))
            if step is not None:
                ledger.steps.append(step)
                is_better |= settle(island, len(ledger.steps) - 1, step.cell, ledger.cycles)
        if is_last:
            self._conclude(errand, is_better or was_better, has_place=len(ledger.steps) > before)
        ledger.add(entries, self.state.to_data())
        return entries[-1].attempt if entries else None, is_better

    def _conclude(self, errand: Errand, is_better: bool, has_place: bool) -> None:
        island, ledger, state = self.state.islands[errand.island], self.ledger, self.state
        island.bandit.told(errand.proposer, 1.0 if is_better else 0.3 if has_place else 0.0)
        island.stale = 0 if is_better else island.stale + 1
        if not is_better:
            island.tried_in_vain(errand.key)
        state.done += 1
        state.is_begun = False
        if self._is_between():
            first = min(other.steps for other in state.errands)
            known = min((ledger.cycles(step) for step in (K0, *range(first))), default=0.0)
            is_gain = any(step.cycles < known for step in ledger.steps[first:])
            state.fruitless = 0 if is_gain else state.fruitless + 1

    def _attempt(self, errand: Errand, one: Ended, number: int) -> Attempt:
        draft, evaluation, proposal = one.draft, one.evaluation, one.draft.proposal
        measured = evaluation.measured or draft.measured
        return Attempt(
            number, errand.proposer, proposal.description, evaluation.status, measured.cycles if measured else None,
            evaluation.reason, evaluation.gate, proposal.where, draft.digest, measured.artifact if measured else "",
            self.state.generation, errand.island, proposal.cost, proposal.prompt, proposal.notes,
        )  # fmt: skip

    def _step(self, errand: Errand, one: Ended, attempt: Attempt) -> Step:
        draft, verdict = one.draft, one.evaluation.verdict
        measured = one.evaluation.measured or draft.measured
        assert draft.edit is not None
        assert measured is not None
        assert verdict is not None, "what is accepted has a verdict"
        kernel = edits.applied(self.ledger.kernel(errand.parent), draft.edit)
        parent = None if errand.parent == K0 else errand.parent
        return Step(attempt, verdict, kernel, parent, measured.cell, one.evaluation.counts)


def evaluation_of(done: Done[Result]) -> Evaluation:
    """How a candidate's judgement ended, one that was lost too."""
    if done.loss is Loss.STOPPED:
        raise _Late
    if done.loss is not None:
        return Evaluation(_LOSSES[done.loss], Gate.EMULATION, done.detail)
    return cast("Evaluation", done.result)
