"""What `asmevo bench` shows of modelled dispatches: text, plain data, and timelines as text or a Chrome trace.

Owns the layout. Every form says that its figures are modelled. It must not model anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from asmevo.backend.timing.simulate import Event, Timing
from asmevo.backend.timing.whole import DispatchTiming
from asmevo.diagnostics import printable
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction
from asmevo.report.subject import place_of
from asmevo.report.views.table import table

_BAR_CELLS = 96


def lines(kernel: Kernel, result: DispatchTiming, *, most: int = 10) -> list[str]:
    """The dispatch as text: cycles, what bounds it, stalls by cause, and the `most` instructions that wait longest."""
    timing = result.timing
    found = [
        f"{printable(result.launch)}: {result.total_groups:,} work-groups of {timing.group_waves} waves; a compute unit runs"
        f" {result.per_unit:,}, {result.resident} at once ({result.fitting} would fit)",
        f"  work-group {timing.group_cycles:,.0f} cycles, dispatch {result.cycles:,.0f} cycles = {result.microseconds:,.1f} us"
        f" at the peak clock ({result.chip} model, nothing was measured)",
    ]
    found += [
        f"  {line}" for line in table(("of the whole chip", "achieved", "peak", "", "%"), _peaks(result), right=(1, 2, 4))
    ]
    found += stall_lines(kernel, timing, most=most)
    found += [f"  note: {printable(note)}" for note in timing.notes[1:]]
    return found


def _peaks(result: DispatchTiming) -> list[tuple[str, ...]]:
    return [(a.resource, f"{a.achieved:,.1f}", f"{a.peak:,.0f}", a.unit, f"{100 * a.share:.1f}") for a in result.achieved]


def stall_lines(kernel: Kernel, timing: Timing, *, most: int = 10) -> list[str]:
    """Shares of the waves' time by cause, and the instructions that wait longest."""
    whole = max(sum(timing.block_cycles.values()), 1.0)
    causes = ", ".join(f"{cause} {100 * cycles / whole:.1f}" for cause, cycles in timing.stalls_by_cause.items())
    found = [f"  waves wait, % of their time: {causes or 'for nothing'}"]
    places = _places(kernel)
    ranked = sorted(timing.stalls.items(), key=lambda item: (-sum(item[1].values()), item[0]))[:most]
    rows = [
        (
            f"{sum(lost.values()) / max(timing.issues.get(uid, 0), 1):,.1f}",
            f"{100 * sum(lost.values()) / whole:.1f}",
            places[uid][0],
            places[uid][1],
            ", ".join(sorted(lost, key=lambda cause: (-lost[cause], cause))),
        )
        for uid, lost in ranked
    ]
    if rows:
        found += [f"  {line}" for line in table(("cycles", "%", "place", "instruction", "waits for"), rows, right=(0, 1))]
    return found


def _places(kernel: Kernel) -> dict[int, tuple[str, str]]:
    return {
        instruction.uid: (place_of(instruction, block.label), print_instruction(instruction))
        for block in kernel.blocks
        for instruction in block.instructions
    }


def data(kernel: Kernel, result: DispatchTiming) -> dict[str, Any]:
    """The same as plain data for JSON."""
    timing = result.timing
    places = _places(kernel)
    return {
        "modelled": True,
        "chip": result.chip,
        "launch": result.launch,
        "groups": result.total_groups,
        "groups_per_compute_unit": result.per_unit,
        "resident_groups": result.resident,
        "fitting_groups": result.fitting,
        "group_waves": timing.group_waves,
        "waves_per_simd": timing.waves_per_simd,
        "group_cycles": timing.group_cycles,
        "dispatch_cycles": result.cycles,
        "dispatch_us_at_peak_clock": result.microseconds,
        "wave_instructions_simulated": timing.wave_instructions,
        "achieved": [
            {"resource": a.resource, "achieved": a.achieved, "peak": a.peak, "unit": a.unit, "share": a.share}
            for a in result.achieved
        ],
        "stalls_by_cause": timing.stalls_by_cause,
        "instructions": [
            {
                "place": places[uid][0],
                "text": places[uid][1],
                "executions": executions,
                "stalls": dict(timing.stalls.get(uid, {})),
            }
            for uid, executions in timing.issues.items()
        ],
        "notes": list(timing.notes),
    }


def timeline_lines(kernel: Kernel, timing: Timing) -> list[str]:
    """Each kept issue on a line: a bar of dots while its wave waits, and a mark at issue."""
    if not timing.events:
        return ["nothing was issued"]
    places = _places(kernel)
    start = min(event.ready for event in timing.events)
    scale = max((max(event.released for event in timing.events) - start) / _BAR_CELLS, 1.0)
    rows = [
        (event.issued - start, event.wave, _bar(event, start, scale), *places[event.uid])
        for event in sorted(timing.events, key=lambda event: (event.issued, event.wave))
    ]
    head = f"modelled on {timing.chip}: . waits, D issues; {scale:.1f} cycles a column, from cycle {start:,}"
    return [head, *table(("cycle", "wave", "", "place", "instruction"), rows, right=(0, 1))]


def _bar(event: Event, start: int, scale: float) -> str:
    begin, at = (int((value - start) / scale) for value in (event.ready, event.issued))
    return (" " * begin + "." * (at - begin) + "D").ljust(_BAR_CELLS + 1)


def chrome_trace(kernels: Sequence[tuple[str, Kernel, Timing]]) -> str:
    """The kept issues as trace events (Chrome, Perfetto): a process a kernel, a thread a wave, one cycle a microsecond.

    Source: the Trace Event Format, "complete" events.
    """
    events: list[Mapping[str, Any]] = []
    for process, (name, kernel, timing) in enumerate(kernels):
        places = _places(kernel)
        instructions = {i.uid: i for i in kernel.instructions()}
        title = f"{printable(name)} on {timing.chip}, modelled"
        events.append({"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": title}})
        for wave in sorted({event.wave for event in timing.events}):
            events.append({"ph": "M", "name": "thread_name", "pid": process, "tid": wave, "args": {"name": f"wave {wave}"}})
        for event in timing.events:
            place, text = places[event.uid]
            common = {"ph": "X", "pid": process, "tid": event.wave}
            if event.issued > event.ready:
                waits = {"name": "waits", "cat": "wait", "ts": event.ready, "dur": event.issued - event.ready}
                events.append({**common, **waits, "args": {"for": text, "at": place}})
            held = max(event.released - event.issued, 1)
            category = _category(instructions[event.uid])
            events.append({**common, "name": text, "cat": category, "ts": event.issued, "dur": held, "args": {"at": place}})
    return json.dumps({"traceEvents": events, "otherData": {"modelled": "true", "unit": "cycles"}})


def _category(instruction: Instruction) -> str:
    return instruction.definition.issue.value if instruction.definition is not None else "data"
