"""Differential test: two kernels run on the same launches, and every byte that either wrote is compared.

Owns the comparison and what it says. Running is a backend's; it must not know how a candidate was made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from asmevo.backend.launch import Buffer, Bytes, Dispatch, Fault, MetApart, RunResult
from asmevo.diagnostics import fail
from asmevo.ir.kernel import Kernel
from asmevo.verify.launch.data import element_types
from asmevo.verify.tolerances import agreeing
from asmevo.verify.verdict import Basis, Counterexample, Outcome, Verdict

METHOD = "emulator"
Runner = Callable[[Kernel, Dispatch, int], RunResult]
"""Runs a kernel on a dispatch with a seed of wave order and buffer addresses."""

RULES = ("exact", "launch")
_UNDECIDED = {"budget": Outcome.UNKNOWN, "unsupported": Outcome.UNSUPPORTED}


def compare(
    k0: Kernel,
    candidate: Kernel,
    dispatches: Sequence[Dispatch],
    *,
    seeds: Sequence[int] = (0, 1),
    rule: str = "exact",
    runner: Runner | None = None,
) -> Verdict:
    """Run both kernels on every launch and seed, by default strictly on the emulator, and compare what they wrote.

    TESTED when for each launch and seed the same bytes were written with the same values and neither kernel faulted. REFUTED
    with the first difference, or with the candidate's fault. ERROR when K0 itself faults: nothing can be compared with it.
    UNKNOWN when there is no launch, a budget ran out, K0's own result at that place depends on the seed, or only the
    candidate's waves meet at different barriers; UNSUPPORTED when an instruction cannot be run.

    The rule "exact" is bit for bit, NaN payloads and signed zeros included. Under "launch" the values of a buffer may differ by
    the tolerance that the launch gives it, and the verdict says that it assumes this to be harmless. E0520 for another rule.
    """
    if rule not in RULES:
        fail("E0520", f"unknown comparison rule '{rule}'", help=f"use {' or '.join(RULES)}")
    if not dispatches or not seeds:
        return _verdict(Outcome.UNKNOWN, "nothing was run", "no launch was given")
    run = runner or _emulate
    approximate = False
    compared = 0
    for dispatch in dispatches:
        known: list[RunResult] = []
        for seed in seeds:
            place = f"launch '{dispatch.name}', seed {seed}"
            before = run(k0, dispatch, seed)
            if before.faults:
                return _original_faults(before.faults[0], place)
            after = run(candidate, dispatch, seed)
            if after.faults:
                return _candidate_faults(after.faults[0], place)
            if after.apart is not None and before.apart is None:
                return _meets_apart(after.apart, place)
            known.append(before)
            approximate |= before.approximate or after.approximate
            compared += sum(int(np.count_nonzero(mask)) for mask in before.written)
            difference = _first_difference(k0.target, dispatch, before, after, rule)
            if difference is not None:
                return _differs(k0, dispatch, known, before, after, difference, place)
    return _tested(dispatches, seeds, compared, approximate, rule)


def _emulate(kernel: Kernel, dispatch: Dispatch, seed: int) -> RunResult:
    from asmevo.backend.emulator import run

    return run(kernel, dispatch, mode="strict", seed=seed)


def _verdict(outcome: Outcome, detail: str, reason: str, counterexample: Counterexample | None = None) -> Verdict:
    return Verdict(outcome, (Basis(METHOD, outcome, detail),), counterexample, reason)


def _original_faults(fault: Fault, place: str) -> Verdict:
    outcome = _UNDECIDED.get(fault.kind, Outcome.ERROR)
    return _verdict(outcome, f"the original faults in {place}", f"the original faults: {_shown(fault)}")


def _candidate_faults(fault: Fault, place: str) -> Verdict:
    outcome = _UNDECIDED.get(fault.kind, Outcome.REFUTED)
    reason = f"the candidate faults: {_shown(fault)}"
    if outcome is not Outcome.REFUTED:
        return _verdict(outcome, f"the candidate could not be run in {place}", reason)
    lane = "" if fault.lane is None else f" lane {fault.lane}"
    where = f"instruction {fault.uid}, workgroup {fault.workgroup}, wave {fault.wave}{lane}"
    example = Counterexample(where, "no fault", fault.kind, f"{place}: {fault.message}")
    return _verdict(outcome, f"the candidate faults in {place}", reason, example)


def _meets_apart(apart: MetApart, place: str) -> Verdict:
    reason = f"the candidate's waves meet at different barriers, {apart}; the original's never do"
    return _verdict(Outcome.UNKNOWN, f"a divergent barrier in {place}", reason)


def _shown(fault: Fault) -> str:
    place = "" if fault.offset is None else f" at +0x{fault.offset:x}"
    return f"{fault.kind}{place}, instruction {fault.uid}, wave {fault.wave}: {fault.message}"


def _first_difference(
    target: str, dispatch: Dispatch, before: RunResult, after: RunResult, rule: str
) -> tuple[int, int] | None:
    """Return buffer number and byte offset of the first byte that one wrote and the other did not, or that differs."""
    for number in range(len(dispatch.buffers)):
        either: npt.NDArray[np.bool_] = before.written[number] | after.written[number]
        differs = (before.written[number] != after.written[number]) | (
            either & _differing(target, dispatch.buffers[number], before.buffers[number], after.buffers[number], rule)
        )
        found = np.flatnonzero(differs)
        if found.size:
            return number, int(found[0])
    return None


def _differing(target: str, buffer: Buffer, before: Bytes, after: Bytes, rule: str) -> npt.NDArray[np.bool_]:
    """The bytes that differ; within a tolerance the whole of an element that is too far off."""
    if rule == "exact" or buffer.tolerance is None:
        return before != after
    element = element_types(target)[buffer.dtype]
    return ~np.repeat(agreeing(buffer, target, before, after), element.size)[: len(before)]


def _differs(
    k0: Kernel,
    dispatch: Dispatch,
    known: Sequence[RunResult],
    before: RunResult,
    after: RunResult,
    difference: tuple[int, int],
    place: str,
) -> Verdict:
    number, offset = difference
    buffer = dispatch.buffers[number]
    element = element_types(k0.target).get(buffer.dtype)
    size = element.size if element else 1
    values = [
        _value(k0.target, buffer, result.buffers[number], offset // size * size)
        if result.written[number][offset]
        else "not written"
        for result in (before, after)
    ]
    where = f"{buffer.name}+0x{offset:x}"
    detail = f"{place}: element {offset // size} of {buffer.name} ({buffer.dtype}, {buffer.data.size // size} elements)"
    example = Counterexample(where, values[0], values[1], detail)
    if any(other.buffers[number][offset] != before.buffers[number][offset] for other in known):
        reason = f"{where} differs, but the original's own result there depends on the order of its waves"
        return _verdict(Outcome.UNKNOWN, detail, reason, example)
    return _verdict(Outcome.REFUTED, f"{where} differs in {place}", f"{where}: {values[0]} became {values[1]}", example)


def _value(target: str, buffer: Buffer, data: Bytes, offset: int) -> str:
    element = element_types(target).get(buffer.dtype)
    size = element.size if element else 1
    raw = data[offset : offset + size]
    bits = int.from_bytes(raw.tobytes(), "little")
    if element is None or raw.size < size:
        return f"0x{bits:0{2 * raw.size}x}"
    return f"{element.decode(raw)[0]} (0x{bits:0{2 * size}x})"


def _tested(dispatches: Sequence[Dispatch], seeds: Sequence[int], compared: int, approximate: bool, rule: str) -> Verdict:
    names = ", ".join(dispatch.name for dispatch in dispatches)
    loose = sorted({b.name for d in dispatches for b in d.buffers if b.tolerance is not None}) if rule == "launch" else []
    told = "written bytes equal" if not loose else "written bytes equal or within the launch's tolerances"
    detail = f"launches {names}; seeds {', '.join(str(seed) for seed in seeds)}; {compared} {told}"
    assumptions = ["these launches stand for the others"]
    if loose:
        assumptions.append(f"what the launch tolerates of {', '.join(loose)} is harmless: these were not compared bit for bit")
    if approximate:
        assumptions.append("instructions whose exact bits are not published give the same result for the same input")
    basis = Basis(METHOD, Outcome.TESTED, detail, tuple(assumptions))
    return Verdict(Outcome.TESTED, (basis,))
