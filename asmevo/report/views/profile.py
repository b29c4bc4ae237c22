"""View `profile`: where a measured profile says that time goes, the worst places first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asmevo.frontend.profiles.counts import Counts, Method
from asmevo.frontend.profiles.matching import KernelProfile
from asmevo.ir.instruction import Instruction
from asmevo.ir.printer import print_instruction
from asmevo.report.subject import Subject, place_of
from asmevo.report.views.table import cut, table

_REASONS = 3
LOST = {Method.HOST_TRAP: "samples", Method.STOCHASTIC: "samples stalled", Method.THREAD_TRACE: "cycles lost"}
"""What `lost` counts, by method."""


@dataclass(frozen=True, slots=True)
class MeasuredPlace:
    """What was measured of one instruction.

    `seen` are samples or executions, `lost` what `unit` of the view says, `share` its part of the kernel's. Cycles are summed
    over the executions, `reasons` samples by why the wave did not issue.
    """

    place: str
    block: str
    text: str
    seen: float
    lost: float
    share: float
    latency_cycles: float
    stall_cycles: float
    idle_cycles: float
    reasons: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """The places with any count, worst first; empty without a profile, and `method` then too.

    `elsewhere`: how often other code was met; `spread`: how much is spread over places with equal text; `undecoded`: entries
    that the profiler could not place.
    """

    method: str
    unit: str
    seen: float
    lost: float
    elsewhere: float
    spread: float
    undecoded: int
    places: tuple[MeasuredPlace, ...]


def profile(subject: Subject) -> Measured:
    """Return the view of a subject."""
    measured = subject.measured
    if measured is None:
        return Measured("", "", 0, 0, 0, 0, 0, ())
    found = [
        _place(measured, instruction, block.label)
        for block in subject.kernel.blocks
        for instruction in block.instructions
        if instruction.uid in measured.by_uid
    ]
    found.sort(key=lambda place: (-place.lost, -place.seen))
    total = measured.total
    return Measured(
        measured.method.value, LOST[measured.method], total.seen(measured.method), total.lost(measured.method),
        measured.elsewhere, measured.spread, measured.undecoded, tuple(found),
    )  # fmt: skip


def _place(measured: KernelProfile, instruction: Instruction, label: str) -> MeasuredPlace:
    counts = measured.counts(instruction)
    return MeasuredPlace(
        place_of(instruction, label),
        label,
        print_instruction(instruction),
        counts.seen(measured.method),
        counts.lost(measured.method),
        measured.share(instruction),
        counts.latency_cycles,
        counts.stall_cycles,
        counts.idle_cycles,
        dict(_ordered(counts)),
    )


def _ordered(counts: Counts) -> list[tuple[str, float]]:
    return sorted(counts.reasons.items(), key=lambda item: (-item[1], item[0]))


def told(measured: KernelProfile, instruction: Instruction) -> str:
    """Return what was measured of an instruction in a sentence; empty when nothing was."""
    counts = measured.counts(instruction)
    if not counts.seen(measured.method):
        return ""
    if measured.method is Method.THREAD_TRACE:
        return (
            f"measured: {number(counts.hits)} executions, {number(counts.latency_cycles)} cycles to issue, "
            f"{number(counts.stall_cycles)} of them stalled, {number(counts.idle_cycles)} idle before"
        )
    why = ", ".join(f"{reason} {number(count)}" for reason, count in _ordered(counts))
    stalled = f", {number(counts.stalled)} stalled" + (f": {why}" if why else "")
    return f"measured: {number(counts.samples)} samples" + (stalled if measured.method is Method.STOCHASTIC else "")


def number(value: float) -> str:
    """Return a count as text: whole, or with one decimal where it was spread."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def lines(view: Measured, *, most: int | None = None) -> list[str]:
    """Return the view as text."""
    if not view.method:
        return ["no profile was given (--profile FILE)"]
    head = ("place", "instruction", "seen", view.unit, "share", "why")
    rows: list[Sequence[object]] = [
        (p.place, p.text, number(p.seen), number(p.lost), f"{p.share:.1%}", why(p)) for p in view.places if p.lost or p.seen
    ]
    return [*notes_of(view), *cut(table(head, rows, right=(2, 3, 4)), most)]


def notes_of(view: Measured) -> list[str]:
    """Return what there is to say of a profile as a whole."""
    notes = [f"{view.method}: seen {number(view.seen)}, {view.unit} {number(view.lost)}, on a device"]
    if view.elsewhere:
        notes.append(f"{number(view.elsewhere)} were of other code")
    if view.spread:
        notes.append(f"{number(view.spread)} without an address are spread evenly over the places with the same text")
    if view.undecoded:
        notes.append(f"{view.undecoded:,} entries name no place")
    return notes


def why(place: MeasuredPlace) -> str:
    """Return the largest reasons of a place as text."""
    if place.reasons:
        return ", ".join(f"{reason} {number(count)}" for reason, count in list(place.reasons.items())[:_REASONS])
    parts = (("stall", place.stall_cycles), ("idle", place.idle_cycles))
    return ", ".join(f"{name} {number(cycles)}" for name, cycles in parts if cycles)
