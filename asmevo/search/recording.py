"""Between a search and its lineage: what the search tells becomes rows, and rows become a search that goes on.

Owns the translation both ways. What a row is belongs to the lineage, what an attempt is to the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from asmevo import __version__
from asmevo.backend.writer import rebuild
from asmevo.diagnostics import Span, fail
from asmevo.frontend.codeobject import CodeObject
from asmevo.ir.kernel import Kernel
from asmevo.search.lineage import Lineage, Run, Tried, edits
from asmevo.search.records import Attempt, Place, Resumed, Status, Step
from asmevo.verify.verdict import Basis, Outcome, Verdict


@dataclass(slots=True)
class LineageRecorder:
    """Keeps what a search does in a run of a lineage; `original` is the object that the run started from."""

    lineage: Lineage
    run: Run
    original: CodeObject
    _last: int | None = field(init=False)

    def __post_init__(self) -> None:
        nodes = self.lineage.nodes(self.run.id)
        self._last = nodes[-1].id if nodes else None

    def attempted(self, attempt: Attempt, place: Place | None) -> None:
        """Keep an attempt."""
        self.lineage.add_attempt(self.run.id, _tried(attempt), _state(place))

    def accepted(self, step: Step, parent: Kernel, place: Place | None) -> None:
        """Keep a candidate as the child of the one accepted before it; on the disk when this returns."""
        assert step.attempt.cycles is not None, "an accepted attempt was modelled"
        node = self.lineage.accept(
            self.run.id,
            _tried(step.attempt),
            parent=self._last,
            data=rebuild(self.original, step.kernel),
            edit=edits.encoded(parent, step.kernel),
            verdict=step.verdict.outcome.value,
            basis=step.verdict.basis_data(),
            cycles=step.attempt.cycles,
            state=_state(place),
        )
        self._last = node.id


@dataclass(frozen=True, slots=True)
class Asked:
    """What a search was asked for, besides the object: runs of the same can go on with each other's work."""

    launch: bytes
    seed: int
    windows: int
    waves_per_simd: int | None

    def settings(self) -> dict[str, Any]:
        """The part that is not a column of its own."""
        return {"windows": self.windows, "waves_per_simd": self.waves_per_simd}


def recorder_for(
    lineage: Lineage, code_object: CodeObject, kernel: Kernel, cycles: float, asked: Asked, *, resume: bool
) -> tuple[LineageRecorder, Resumed]:
    """Return a recorder for a new run, or with `resume` for the last one like it and what it had done.

    `cycles` are K0's modelled ones. A run that ended before its first climb is begun anew.
    Raises E0805 when there is nothing to resume.
    """
    k0, launch = (sha256(data).hexdigest() for data in (code_object.data, asked.launch))
    same = [
        run
        for run in lineage.runs()
        if (run.k0, run.launch, run.kernel, run.seed, run.settings, run.version)
        == (k0, launch, kernel.name, asked.seed, asked.settings(), __version__)
    ]
    if resume and not same:
        what = f"the lineage has no run of '{kernel.name}' with this object, launch, seed and settings"
        fail("E0805", what, Span(str(lineage.folder)), "leave out --resume to begin one; `asmevo lineage list` shows the runs")
    if resume and (before := resumed(lineage, same[-1], kernel)).place is not None:
        return LineageRecorder(lineage, same[-1], code_object), before
    run = lineage.begin(
        version=__version__,
        kernel=kernel.name,
        target=kernel.target,
        k0=code_object.data,
        launch=asked.launch,
        seed=asked.seed,
        settings=asked.settings(),
        cycles=cycles,
    )
    return LineageRecorder(lineage, run, code_object), Resumed()


def resumed(lineage: Lineage, run: Run, original: Kernel) -> Resumed:
    """Return what a run had done, so that `optimise` goes on from there. Raises E0803 when an edit does not fit `original`."""
    place = _place(lineage.state(run.id))
    if place is None:
        return Resumed()
    attempts = [
        Attempt(tried.number, tried.proposer, tried.description, Status(tried.status), tried.cycles, tried.reason)
        for tried in lineage.attempts(run.id)
    ]
    accepted = [attempt for attempt in attempts if attempt.status is Status.ACCEPTED]
    steps: list[Step] = []
    kernel = original
    for attempt, node in zip(accepted, lineage.nodes(run.id), strict=True):
        kernel = edits.applied(kernel, node.edit)
        steps.append(Step(attempt, Verdict(Outcome(node.verdict), _basis(node.basis)), kernel))
    return Resumed(tuple(attempts), tuple(steps), place)


def _tried(attempt: Attempt) -> Tried:
    status = attempt.status.value
    return Tried(attempt.number, attempt.proposer, attempt.description, status, attempt.cycles, attempt.reason, None)


def _state(place: Place | None) -> dict[str, Any]:
    if place is None:
        return {}
    return {"round": place.round, "fruitless": place.fruitless, "steps": place.steps, "tried": sorted(place.tried)}


def _place(state: Mapping[str, Any]) -> Place | None:
    if not state:
        return None
    return Place(state["round"], state["fruitless"], state["steps"], frozenset(state["tried"]))


def _basis(rows: Sequence[Mapping[str, Any]]) -> tuple[Basis, ...]:
    return tuple(Basis(row["method"], Outcome(row["outcome"]), row["detail"], tuple(row["assumptions"])) for row in rows)
