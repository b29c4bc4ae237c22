"""View `summary`: a kernel at a glance. Owns the selection; every figure comes from an analysis."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from asmevo.diagnostics import printable
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.cost.occupancy_steps import OccupancySteps
from asmevo.ir.analysis.cost.pressure import Pressure
from asmevo.report.findings import counts
from asmevo.report.subject import Subject
from asmevo.report.views.table import table


@dataclass(frozen=True, slots=True)
class Mix:
    """How many instructions of an issue class there are, and how many of them stand in loops."""

    issue: str
    count: int
    in_loops: int


@dataclass(frozen=True, slots=True)
class Limit:
    """A resource: allocated, and the waves a SIMD that it alone allows."""

    resource: str
    allocated: int
    waves: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The kernel's size, registers, occupancy, instruction mix and modelled stalls.

    `live` are the most registers alive at once, `named` the highest number plus one, by file. `stalls` are shares of the
    modelled cycles, by cause, largest first.
    """

    target: str
    instructions: int
    blocks: int
    loops: int
    deepest: int
    unknown_words: int
    live: dict[str, int]
    named: dict[str, int]
    limits: tuple[Limit, ...]
    waves_per_simd: int
    limited_by: tuple[str, ...]
    mix: tuple[Mix, ...]
    modelled_on: str
    modelled_waves: int
    stalls: dict[str, float]
    findings: dict[str, int]


def summary(subject: Subject) -> Summary:
    """Return the view of a subject."""
    kernel, analyses = subject.kernel, subject.analyses
    pressure, loops, steps = analyses.get(Pressure), analyses.get(Loops), analyses.get(OccupancySteps)
    timing = subject.timing
    all_, inner = Counter[str](), Counter[str]()
    for block in kernel.blocks:
        kinds = Counter(i.definition.issue if i.definition else None for i in block.instructions)
        found = Counter({"unknown" if kind is None else kind.value: count for kind, count in kinds.items()})
        all_ += found
        if loops.depth[block.label]:
            inner += found
    stalls = timing.stalls_by_cause
    total = max(timing.total_cycles * timing.waves_per_simd, 1.0)
    return Summary(
        target=kernel.target,
        instructions=subject.instruction_count,
        blocks=len(kernel.blocks),
        loops=len(loops.loops),
        deepest=max((loop.depth for loop in loops.loops), default=0),
        unknown_words=all_["unknown"],
        live={"vgpr": pressure.vgprs, "agpr": pressure.agprs, "sgpr": pressure.sgprs},
        named={"vgpr": pressure.named_vgprs, "agpr": pressure.named_agprs, "sgpr": pressure.named_sgprs},
        limits=tuple(Limit(r.name, r.allocated, r.waves) for r in steps.resources),
        waves_per_simd=steps.waves,
        limited_by=steps.limiting,
        mix=tuple(Mix(issue, count, inner[issue]) for issue, count in all_.most_common()),
        modelled_on=timing.chip,
        modelled_waves=timing.waves_per_simd,
        stalls={cause: round(lost / total, 4) for cause, lost in stalls.items() if lost},
        findings=counts(subject.findings),
    )


def lines(view: Summary, *, most: int | None = None) -> list[str]:
    """Return the view as text."""
    del most
    unknown = f", {view.unknown_words} words of which nothing is known" if view.unknown_words else ""
    nested = f", nested {view.deepest} deep" if view.deepest > 1 else ""
    found = [
        f"{view.target}, {view.instructions:,} instructions in {view.blocks} blocks{unknown}; {view.loops} loop(s){nested}",
        "live at most: " + ", ".join(f"{n} {name.upper()}" for name, n in view.live.items())
        + "; named: " + ", ".join(f"{n} {name.upper()}" for name, n in view.named.items()),
    ]  # fmt: skip
    by = f", limited by {' and '.join(view.limited_by)}" if view.limited_by else ""
    found.append(f"waves per SIMD: {view.waves_per_simd}{by}")
    found += [f"  {limit.resource}: {limit.allocated} allocated, {limit.waves} waves" for limit in view.limits]
    found += table(
        ("issued to", "count", "in loops"), ((m.issue, f"{m.count:,}", f"{m.in_loops:,}") for m in view.mix), right=(1, 2)
    )
    lost = ", ".join(f"{printable(cause)} {share:.1%}" for cause, share in list(view.stalls.items())[:6]) or "none"
    found.append(f"modelled stalls ({view.modelled_on}, {view.modelled_waves} wave(s) a SIMD, loops 16 rounds): {lost}")
    return found
