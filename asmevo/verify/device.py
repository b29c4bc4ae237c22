"""Differential test on an AMD GPU: the original and a candidate on the same launches, guarded, under a watchdog.

Owns how a device's report becomes a verdict. Running is `backend.hip`'s, comparing `verify.differential`'s. A device does not
tell which bytes were written: all bytes of every buffer are compared, after runs on two different contents of outputs.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from asmevo.backend.hip import device
from asmevo.backend.hip.device import Ended, Limits, Report
from asmevo.backend.hip.messages import Object, Reply, Request, Run
from asmevo.backend.launch import Dispatch, Fault, RunResult
from asmevo.diagnostics import printable
from asmevo.ir.kernel import Kernel
from asmevo.verify.differential import compare
from asmevo.verify.verdict import Basis, Counterexample, Outcome, Verdict

METHOD = "device"
K0, CANDIDATE = "k0", "candidate"
_POISONS = (0, 1)


@dataclass(frozen=True, slots=True)
class DeviceTest:
    """Which GPU, for how long, and by which rule results are compared (see `differential.compare`)."""

    number: int = 0
    limits: Limits = field(default_factory=Limits)
    rule: str = "exact"
    samples: int = 0
    environment: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class DeviceVerdict:
    """The verdict and the report it was read from, if anything ran; it has the times where samples were asked for."""

    verdict: Verdict
    report: Report | None


def compare_on_device(
    k0: tuple[Kernel, bytes], candidate: tuple[Kernel, bytes], dispatches: Sequence[Dispatch], test: DeviceTest
) -> DeviceVerdict:
    """Run both objects, each a kernel with the object's bytes, on every launch and compare all that they left.

    TESTED when every byte agrees and nothing outside a buffer was touched. REFUTED with the first difference, or when the
    candidate faults, overruns a buffer or does not end where the original does. ERROR when the original itself does so or the
    driver refuses it. UNKNOWN without a launch, and where the original's own results differ from run to run.
    Raises E0701 when there is no usable GPU.
    """
    if not dispatches:
        verdict = Verdict(Outcome.UNKNOWN, (Basis(METHOD, Outcome.UNKNOWN, "nothing was run"),), reason="no launch was given")
        return DeviceVerdict(verdict, None)
    objects = (Object(K0, k0[0].name, k0[1]), Object(CANDIDATE, candidate[0].name, candidate[1]))
    request = Request(objects, tuple(dispatches), _POISONS, test.samples, device=test.number)
    report = device.run(request, test.limits, environment=test.environment)
    reply = report.reply
    if report.ended is not Ended.DONE or reply is None:
        return DeviceVerdict(_ended_early(report, dispatches), report)
    return DeviceVerdict(_named(_compared(k0[0], candidate[0], dispatches, reply, test.rule), reply), report)


def _ended_early(report: Report, dispatches: Sequence[Dispatch]) -> Verdict:
    where = f"launch '{dispatches[report.dispatch].name}'" if 0 <= report.dispatch < len(dispatches) else "no launch"
    what = {
        Ended.HUNG: "did not end",
        Ended.DIED: "made the driver end the process",
        Ended.REFUSED: "was refused by the driver",
    }[report.ended]
    said = f": {report.message}" if report.message else ""
    reason = f"the {report.role or 'request'} {what} at step '{report.step}', {where}{said}"
    if report.role != CANDIDATE:
        return Verdict(Outcome.ERROR, (Basis(METHOD, Outcome.ERROR, reason),), reason=reason)
    example = Counterexample(where, "ended", report.ended.value, reason)
    return Verdict(Outcome.REFUTED, (Basis(METHOD, Outcome.REFUTED, reason),), example, reason)


def _compared(k0: Kernel, candidate: Kernel, dispatches: Sequence[Dispatch], reply: Reply, rule: str) -> Verdict:
    """The same comparison as after emulation; each run of a dispatch is one seed."""
    runs: dict[tuple[str, int], list[Run]] = {}
    for run in reply.runs:
        runs.setdefault((run.role, run.dispatch), []).append(run)
    # A kernel may be compared with itself: the copy tells which of the two is asked for.
    changed = replace(candidate)
    numbers = {id(dispatch): number for number, dispatch in enumerate(dispatches)}

    def replay(kernel: Kernel, dispatch: Dispatch, seed: int) -> RunResult:
        return _result(kernel, runs[CANDIDATE if kernel is changed else K0, numbers[id(dispatch)]][seed])

    counts = {len(found) for found in runs.values()}
    assert len(counts) == 1, "every object runs equally often on every dispatch"
    return compare(k0, changed, dispatches, seeds=tuple(range(counts.pop())), rule=rule, runner=replay)


def _result(kernel: Kernel, run: Run) -> RunResult:
    faults: tuple[Fault, ...] = ()
    if run.overrun:
        message = f"bytes beside buffer {printable(', '.join(run.overrun))} were overwritten"
        faults = (Fault("out-of-bounds", message, -1, None, 0, kernel=kernel.name),)
    buffers = tuple(np.frombuffer(data, np.uint8) for data in run.buffers)
    everything = tuple(np.ones(data.size, np.bool_) for data in buffers)
    return RunResult(buffers, everything, {}, faults, 0, approximate=False, seed=run.poison)


def _named(verdict: Verdict, reply: Reply) -> Verdict:
    """The verdict with the device as its method: it was not emulated."""
    named = f"{reply.device['name']} ({reply.device['target']}), driver {reply.device['driver_version']}"
    basis = tuple(Basis(METHOD, b.outcome, f"{named}: {b.detail}", b.assumptions) for b in verdict.basis)
    return Verdict(verdict.outcome, basis, verdict.counterexample, verdict.reason)
