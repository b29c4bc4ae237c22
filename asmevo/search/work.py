"""One errand's proposals on their way through the gates.

Owns which of them are judged and in what order: the fastest first, and only while they could earn a place. How each ended is
kept in the order they were proposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from asmevo.search.drafting import Draft
from asmevo.search.evaluation import Evaluation, Measured
from asmevo.search.ledger import Ledger
from asmevo.search.proposal import Proposal, WindowText
from asmevo.search.records import Gate, Status
from asmevo.search.standing import Standing
from asmevo.search.state import Errand


@dataclass(frozen=True, slots=True)
class Ended:
    """A draft and how it ended."""

    draft: Draft
    evaluation: Evaluation


@dataclass(slots=True)
class Work:
    """An errand's drafts. `standing` is its island's, changed as candidates are accepted."""

    errand: Errand
    standing: Standing
    _order: list[Draft] = field(default_factory=list[Draft])
    _queue: list[tuple[float, int, Draft, Measured]] = field(default_factory=list[tuple[float, int, Draft, Measured]])
    _ended: dict[int, Evaluation] = field(default_factory=dict[int, Evaluation])

    def add(self, drafts: Sequence[Draft], ledger: Ledger, fresh: set[str]) -> None:
        """Takes drafts in; what is known already, or among the `fresh` ones of other errands, ends here."""
        for draft in drafts:
            number = len(self._order)
            self._order.append(draft)
            names = {draft.digest, *([draft.measured.artifact] if draft.measured and draft.measured.artifact else [])}
            if draft.status is not None:
                self._ended[number] = Evaluation(draft.status, draft.gate, draft.reason)
            elif ledger.knows(names) or names & fresh:
                self._ended[number] = Evaluation(Status.DUPLICATE, Gate.NOVELTY, "tried before")
            else:
                assert draft.measured is not None, "a draft without a status was measured"
                self._queue.append((draft.measured.cycles, number, draft, draft.measured))
                fresh |= names
        self._queue.sort(key=lambda item: item[:2])

    def next(self) -> Draft | None:
        """The next draft to be judged, which `take` then ends; None when none could earn a place any more."""
        while self._queue:
            cycles, number, draft, measured = self._queue[0]
            if self.standing.earns(measured.cell, cycles):
                return draft
            del self._queue[0]
            self._ended[number] = Evaluation(Status.NOT_FASTER, Gate.MODEL)
        return None

    def take(self, evaluation: Evaluation) -> None:
        """How the draft that `next` gave last was judged."""
        _, number, _, measured = self._queue.pop(0)
        measured = evaluation.measured or measured
        if evaluation.status is Status.ACCEPTED:
            if self.standing.earns(measured.cell, measured.cycles):
                self.standing.take(measured.cell, measured.cycles)
            else:
                # Only a run has shown how often its blocks run.
                evaluation = replace(evaluation, status=Status.NOT_FASTER, reason="its blocks run more often than was forecast")
        self._ended[number] = evaluation

    @property
    def ended(self) -> list[Ended]:
        """The drafts that have ended, in the order they were proposed."""
        return [Ended(self._order[number], self._ended[number]) for number in sorted(self._ended)]


def failed_draft(errand: Errand, reason: str) -> Draft:
    """Stands for what a proposer that could not go on did not propose."""
    proposal = Proposal(
        errand.proposer, "no proposal", WindowText("", 0, 0, ""), f"{errand.label}[{errand.start}:{errand.stop}]"
    )
    return Draft(proposal, "", status=Status.PROPOSER_FAILED, gate=Gate.FORM, reason=reason[:2000])
