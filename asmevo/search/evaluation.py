"""Candidates measured and judged: what a worker does. Pure: the answer depends on the candidate alone, never on the worker.

Owns the gates MODEL to EMULATION but NOVELTY, which needs the lineage. What earns a place is the engine's to say.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from asmevo.backend.emulator import run
from asmevo.backend.launch import Dispatch, RunResult
from asmevo.backend.timing import Estimate, estimate, resident_waves
from asmevo.backend.writer import rebuild
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import CodeObject
from asmevo.ir.kernel import Kernel
from asmevo.search.behaviour import Cell, behaviour
from asmevo.search.profile import AS_ORIGINAL, PROFILE_SEED, Counts, Profile
from asmevo.search.records import Gate, Status
from asmevo.verify.device import METHOD as DEVICE_METHOD
from asmevo.verify.differential import METHOD
from asmevo.verify.judge import Judge
from asmevo.verify.verdict import Outcome, Verdict

JudgeLike = Callable[[Kernel, Kernel], Verdict]
_BUDGET_FACTOR = 4
_BUDGET_FLOOR = 100_000
"""A candidate may execute so many times the instructions of K0, and this many in any case, before it counts as endless."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate's modelled cycles, its cell, and the digest of its object ("" where there is no object to rebuild)."""

    cycles: float
    cell: Cell
    artifact: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How the judgement ended: status ACCEPTED says only that every gate let it through; `gate` is the last one.

    `counts` are how often its blocks ran in emulation; `measured` is the candidate measured anew where they were not those that
    it was ranked by.
    """

    status: Status
    gate: Gate
    reason: str = ""
    verdict: Verdict | None = None
    counts: Counts = field(default_factory=dict[str, int])
    measured: Measured | None = None


class Refusal(Exception):
    """A candidate that a gate does not let through."""

    def __init__(self, status: Status, gate: Gate, reason: str) -> None:
        super().__init__(reason)
        self.status, self.gate, self.reason = status, gate, reason


@dataclass(slots=True)
class Evaluator:
    """Measures and judges candidates for one original.

    `waves` None: as many waves a SIMD as a candidate's resources and the launches give.
    """

    original: Kernel
    profile: Profile
    dispatches: Sequence[Dispatch]
    judge: JudgeLike
    waves: int | None = None
    code_object: CodeObject | None = None
    _known: dict[tuple[int, int], RunResult] = field(default_factory=dict[tuple[int, int], RunResult])
    _counted: dict[int, tuple[Kernel, Mapping[int, int]]] = field(default_factory=dict[int, tuple[Kernel, Mapping[int, int]]])
    """Executions in the last run of a candidate, by launch."""

    def __post_init__(self) -> None:
        if isinstance(self.judge, Judge):
            # What only ran well on these launches may be made for them: a search would find that sooner than a faster order.
            self.judge = replace(self.judge, runner=self._run, needs_proof=True)

    def estimate(self, kernel: Kernel, counts: Counts = AS_ORIGINAL) -> Estimate:
        """The model's estimate of a version of the kernel of which some blocks run `counts` times, the rest as in K0."""
        return estimate(kernel, self.profile.executions_of(kernel, counts), waves_per_simd=self._waves_of(kernel))

    def measured(self, candidate: Kernel, bar: float, counts: Counts = AS_ORIGINAL) -> Measured:
        """Its modelled cycles, cell and object. Raises Refusal: NOT_FASTER above `bar`, ILLEGAL when it cannot be built."""
        try:
            estimated = self.estimate(candidate, counts)
        except DiagnosticError as error:
            raise Refusal(Status.ILLEGAL, Gate.MODEL, error.diagnostics[0].message) from error
        cycles = estimated.total_cycles
        measured = Measured(cycles, behaviour(candidate, estimated).cell)
        if cycles > bar or self.code_object is None:
            return measured
        try:
            artifact = sha256(rebuild(self.code_object, candidate)).hexdigest()
        except DiagnosticError as error:
            raise Refusal(Status.ILLEGAL, Gate.REBUILD, error.diagnostics[0].message) from error
        return replace(measured, artifact=artifact)

    def judged(self, candidate: Kernel, counts: Counts = AS_ORIGINAL) -> Evaluation:
        """The verdict on it as a replacement of K0, as a status. `counts` are those that it was ranked by."""
        self._counted.clear()
        verdict = self.judge(self.original, candidate)
        gate = _gate_of(verdict)
        if verdict.outcome.is_success:
            try:
                found = self._emulated(candidate, counts)
            except Refusal as refused:
                return Evaluation(refused.status, refused.gate, refused.reason)
            measured = None if found == counts else self.measured(candidate, math.inf, found)
            return Evaluation(Status.ACCEPTED, gate, verdict=verdict, counts=found, measured=measured)
        return Evaluation(_status_of(verdict, gate), gate, verdict.reason[:2000], verdict)

    def _emulated(self, candidate: Kernel, counts: Counts) -> Counts:
        """How often its blocks run where not as in K0: as the judge's runs have shown, or for `counts` a run of our own."""
        has_run = [self._counted.get(id(dispatch), (None,))[0] is candidate for dispatch in self.dispatches]
        if not all(has_run):
            if not counts:
                return counts
            for dispatch in self.dispatches:
                if faults := self._run(candidate, dispatch, PROFILE_SEED).faults:
                    raise Refusal(Status.FAULTED, Gate.EMULATION, f"{faults[0].kind}: {faults[0].message}")
        executions: Counter[int] = Counter()
        for _, executed in self._counted.values():
            executions.update(executed)
        return self.profile.differing(candidate, executions)

    def _waves_of(self, kernel: Kernel) -> int:
        if self.waves is not None or not self.dispatches:
            return self.waves or 1
        return min(resident_waves(kernel, dispatch) for dispatch in self.dispatches)

    def _run(self, kernel: Kernel, dispatch: Dispatch, seed: int) -> RunResult:
        """Strict emulation; K0's results are kept, and candidates may not run for ever."""
        key = (id(dispatch), seed)
        if kernel is self.original:
            if key not in self._known:
                self._known[key] = run(kernel, dispatch, mode="strict", seed=seed, threads=1)
            return self._known[key]
        known = self._known.get(key)
        executions = known.executions if known else self.profile.executions
        most = max(_BUDGET_FLOOR, _BUDGET_FACTOR * sum(executions.values()))
        result = run(kernel, dispatch, mode="strict", seed=seed, threads=1, max_instructions=most)
        if seed == PROFILE_SEED:
            self._counted[id(dispatch)] = kernel, result.executions
        return result


def _gate_of(verdict: Verdict) -> Gate:
    """The gate that it came to last: launches are run once the windows are proved."""
    beyond = [b for b in verdict.basis if not b.method.startswith("static")]
    if not beyond:
        return Gate.STATIC
    if beyond[-1].method == DEVICE_METHOD:
        return Gate.DEVICE
    return Gate.EMULATION if beyond[-1].method == METHOD and any(b.outcome.is_success for b in beyond[:-1]) else Gate.SOLVER


def _status_of(verdict: Verdict, gate: Gate) -> Status:
    if verdict.outcome is not Outcome.REFUTED:
        is_endless = gate is Gate.EMULATION and "budget" in verdict.reason
        return Status.TIMEOUT if is_endless else Status.UNDECIDED
    if gate is Gate.STATIC:
        return Status.STATIC_REFUTED
    if gate is Gate.SOLVER:
        return Status.REFUTED
    example = verdict.counterexample
    return Status.FAULTED if example is not None and example.before == "no fault" else Status.WRONG
