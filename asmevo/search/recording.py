"""Between a search and its lineage: what the search tells becomes rows, and rows become a search that goes on.

Owns the translation both ways. What a row is belongs to the lineage, what an attempt is to the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any

from asmevo import __version__
from asmevo.backend.writer import rebuild
from asmevo.diagnostics import Span, fail
from asmevo.frontend.codeobject import CodeObject
from asmevo.ir.kernel import Kernel
from asmevo.search.evaluation import Evaluation
from asmevo.search.ledger import Entry, Resumed
from asmevo.search.lineage import Lineage, Node, Run, Tried, edits
from asmevo.search.proposal import Cost
from asmevo.search.records import Attempt, Gate, Status, Step
from asmevo.verify.verdict import Basis, Outcome, Verdict

_REUSED = frozenset(
    {Status.ACCEPTED, Status.STATIC_REFUTED, Status.REFUTED, Status.FAULTED, Status.WRONG, Status.UNDECIDED, Status.QUARANTINED}
)
"""What another run found out holds for this one. A timeout or a want of memory may have been the machine's."""


@dataclass(slots=True)
class LineageRecorder:
    """Keeps what a search does in a run of a lineage; `original` is the object that the run started from."""

    lineage: Lineage
    run: Run
    original: CodeObject
    kernels: list[Kernel]
    """K0, then the kernel of each step that is recorded."""
    _nodes: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._nodes = [node.id for node in self.lineage.nodes(self.run.id)]

    def recorded(self, entries: Sequence[Entry], state: Mapping[str, Any]) -> None:
        """Keep attempts, nodes and state; on the disk when this returns."""
        with self.lineage.together():
            for entry in entries:
                if entry.step is None:
                    self.lineage.add_attempt(self.run.id, _tried(entry.attempt))
                else:
                    self._accepted(entry.step)
            self.lineage.set_state(self.run.id, state)

    def earlier(self, digest: str) -> Evaluation | None:
        """How another run alike judged it; None where none did, or not in a way that holds here."""
        found = self.lineage.earlier(self.run, digest)
        if found is None:
            return None
        tried, node = found
        status = Status(tried.status)
        if status not in _REUSED or (status is Status.ACCEPTED and node is None):
            return None
        if node is None:
            return Evaluation(status, Gate(tried.gate), tried.reason)
        return Evaluation(status, Gate(tried.gate), tried.reason, _verdict(node), node.counts)

    def _accepted(self, step: Step) -> None:
        parent = None if step.parent is None else self._nodes[step.parent]
        self._nodes.append(
            self.lineage.add_node(
                self.run.id,
                _tried(step.attempt),
                parent=parent,
                data=rebuild(self.original, step.kernel),
                edit=edits.encoded(self.kernels[0 if step.parent is None else step.parent + 1], step.kernel),
                verdict=step.verdict.outcome.value,
                basis=step.verdict.basis_data(),
                cycles=step.cycles,
                cell=step.cell,
                counts=step.counts,
            )
        )
        self.kernels.append(step.kernel)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a search was asked for, besides the object: runs of the same can go on with each other's work.

    `judge` says how hard candidates are judged, `proposers` who proposes.
    """

    launch: bytes
    seed: int
    windows: int
    waves_per_simd: int | None
    judge: Mapping[str, Any] = field(default_factory=dict[str, Any])
    proposers: tuple[str, ...] = ()

    def settings(self) -> dict[str, Any]:
        """The part that is not a column of its own."""
        return {
            "windows": self.windows,
            "waves_per_simd": self.waves_per_simd,
            "judge": dict(self.judge),
            "proposers": list(self.proposers),
        }


def recorder_for(
    lineage: Lineage, code_object: CodeObject, kernel: Kernel, cycles: float, asked: Asked, *, resume: bool
) -> tuple[LineageRecorder, Resumed]:
    """Return a recorder for a new run, or with `resume` for the last one like it and what it had done.

    `cycles` are K0's modelled ones. Raises E0805 when there is nothing to resume.
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
    if resume:
        before = resumed(lineage, same[-1], kernel)
        kernels = [kernel, *(step.kernel for step in before.steps)]
        return LineageRecorder(lineage, same[-1], code_object, kernels), before
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
    return LineageRecorder(lineage, run, code_object, [kernel]), Resumed()


def resumed(lineage: Lineage, run: Run, original: Kernel) -> Resumed:
    """Return what a run had done, so that `optimise` goes on from there. Raises E0803 when an edit does not fit `original`."""
    attempts = [_attempt(tried) for tried in lineage.attempts(run.id)]
    accepted = [attempt for attempt in attempts if attempt.status is Status.ACCEPTED]
    nodes = lineage.nodes(run.id)
    number = {node.id: place for place, node in enumerate(nodes)}
    steps: list[Step] = []
    for attempt, node in zip(accepted, nodes, strict=True):
        parent = None if node.parent is None else number[node.parent]
        kernel = edits.applied(original if parent is None else steps[parent].kernel, node.edit)
        steps.append(Step(attempt, _verdict(node), kernel, parent, node.cell, node.counts))
    return Resumed(tuple(attempts), tuple(steps), lineage.state(run.id))


def _tried(attempt: Attempt) -> Tried:
    return Tried(
        attempt.number, attempt.proposer, attempt.description, attempt.status.value, attempt.cycles, attempt.reason, None,
        attempt.gate.value, attempt.where, attempt.proposal, attempt.artifact, attempt.generation, attempt.island,
        asdict(attempt.cost), attempt.prompt, attempt.notes,
    )  # fmt: skip


def _attempt(tried: Tried) -> Attempt:
    return Attempt(
        tried.number, tried.proposer, tried.description, Status(tried.status), tried.cycles, tried.reason, Gate(tried.gate),
        tried.place, tried.proposal, tried.artifact, tried.generation, tried.island, Cost(**tried.cost), tried.prompt,
        tried.notes,
    )  # fmt: skip


def _verdict(node: Node) -> Verdict:
    return Verdict(Outcome(node.verdict), _basis(node.basis))


def _basis(rows: Sequence[Mapping[str, Any]]) -> tuple[Basis, ...]:
    return tuple(Basis(row["method"], Outcome(row["outcome"]), row["detail"], tuple(row["assumptions"])) for row in rows)
