"""An emulated run as text and as plain data: faults, execution counts, memory traffic, traces, stopped waves.

Owns how they are shown. Running and observing are the backend's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from asmevo.backend.launch import Dispatch, RunResult
from asmevo.backend.observe.statistics import SEGMENT_BYTES, Traffic
from asmevo.backend.observe.waves import RegisterValue, Step, Trace, WaveState
from asmevo.diagnostics import printable
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction
from asmevo.report.subject import place_of
from asmevo.report.views.table import table

_ALL = (1 << 64) - 1
_SHOWN_LANES = 4
_FOLDED = 8
"""More instructions than this that never ran, one after another, are one line."""


_SHOWN = ("kind", "message", "kernel", "offset", "source", "wave", "lane", "register", "place", "cause_offset")


def run_dict(dispatch: Dispatch, result: RunResult) -> dict[str, Any]:
    """A run's summary as plain data."""
    pairs = list(zip(dispatch.buffers, result.written, strict=True))
    return {
        "launch": dispatch.name,
        "grid": list(dispatch.grid),
        "workgroup": list(dispatch.workgroup),
        "seed": result.seed,
        "wave_instructions": result.wave_instructions,
        "approximate": result.approximate,
        "barriers_apart": None if result.apart is None else list(result.apart.offsets),
        "bytes_written": {buffer.name: int(written.sum()) for buffer, written in pairs},
        "faults": [
            {
                **{name: getattr(fault, name) for name in _SHOWN},
                "workgroup": list(fault.workgroup),
            }
            for fault in result.faults
        ],
    }


def run_lines(dispatch: Dispatch, result: RunResult, mode: str, state: str = "") -> Iterator[str]:
    """A run's summary as text; `state` replaces clean or the number of faults."""
    state = state or ("clean" if not result.faults else f"{len(result.faults)} fault(s)")
    yield f"{printable(dispatch.name)}: {result.wave_instructions} wave-instructions, {mode}: {state}"
    for fault in result.faults:
        where = "" if fault.offset is None else f" at +0x{fault.offset:x}"
        source = "" if fault.source is None else f" ({printable(fault.source)})"
        lane = "" if fault.lane is None else f", lane {fault.lane}"
        place = f"{printable(fault.kernel)}{where}{source}, work-group {fault.workgroup}, wave {fault.wave}{lane}"
        yield f"  {fault.kind} in {place}: {printable(fault.message)}"
    if result.apart is not None:
        yield f"  note: divergent barrier: waves of a work-group met at {result.apart}; the hardware allows it"


def counts_data(kernel: Kernel, executions: Mapping[int, int]) -> list[dict[str, Any]]:
    """Executions of each instruction in layout order."""
    return [
        {"block": block.label, "offset": i.offset, "text": print_instruction(i), "executions": executions.get(i.uid, 0)}
        for block in kernel.blocks
        for i in block.instructions
    ]


def counts_lines(kernel: Kernel, executions: Mapping[int, int]) -> Iterator[str]:
    """The listing with each instruction's executions by waves in the margin."""
    width = max(len(f"{max(executions.values(), default=0):,}"), len("waves"))
    yield f"{'waves':>{width}}  {'place':>9}"
    for block in kernel.blocks:
        yield f"{'':>{width}}  {'':>9}  {printable(block.label)}:"
        for has_run, group in groupby(block.instructions, lambda i: executions.get(i.uid, 0) > 0):
            instructions = list(group)
            for i in instructions if has_run or len(instructions) <= _FOLDED else ():
                shown = f"{executions.get(i.uid, 0):,}" if has_run else "-"
                yield f"{shown:>{width}}  {place_of(i, ''):>9}      {printable(print_instruction(i))}"
            if not has_run and len(instructions) > _FOLDED:
                yield f"{'-':>{width}}  {place_of(instructions[0], ''):>9}      ... {len(instructions)} that never ran"


def traffic_data(traffic: Sequence[Traffic], dispatch: Dispatch) -> list[dict[str, Any]]:
    """Memory traffic by instruction."""
    return [
        {
            "offset": one.instruction.offset,
            "text": print_instruction(one.instruction),
            "space": one.space.value,
            "loads": one.loads,
            "stores": one.stores,
            "executions": one.executions,
            "lanes": one.lanes,
            "lanes_out_of_range": one.out,
            "bytes": one.bytes,
            "buffers": _names(one, dispatch),
            "segments": {
                str(size): {"touched": touched, "least": least}
                for size, (touched, least) in zip(SEGMENT_BYTES, one.segments, strict=False)
            },
            "bank_clocks": None if one.bank_clocks is None else {"with": one.bank_clocks[0], "without": one.bank_clocks[1]},
        }
        for one in traffic
    ]


def traffic_lines(traffic: Sequence[Traffic], dispatch: Dispatch) -> Iterator[str]:
    """Memory traffic as a table, then sums by memory."""
    rows = [
        (
            place_of(one.instruction, ""),
            print_instruction(one.instruction),
            one.executions,
            f"{one.lanes:,}" + (f" ({one.out:,} out)" if one.out else ""),
            f"{one.bytes:,}",
            " ".join(f"{touched:,}/{least:,}" for touched, least in one.segments),
            "" if one.bank_clocks is None else f"{one.bank_clocks[0]:,}/{one.bank_clocks[1]:,}",
            ", ".join(_names(one, dispatch)),
        )
        for one in traffic
    ]
    sizes = " ".join(map(str, SEGMENT_BYTES))
    head = ("place", "instruction", "waves", "lanes", "bytes", f"segments {sizes}", "bank clocks", "buffers")
    yield from table(head, rows, right=(0, 2, 3, 4, 5, 6))
    for way in ("loads", "stores"):
        by_space: Counter[str] = Counter()
        for one in traffic:
            if getattr(one, way):
                by_space[one.space.value] += one.bytes
        shown = ", ".join(f"{space} {count:,}" for space, count in sorted(by_space.items()))
        yield f"bytes that lanes {'asked for' if way == 'loads' else 'stored'}: {shown or 'none'}"


def _names(one: Traffic, dispatch: Dispatch) -> list[str]:
    return ["(no buffer)" if number < 0 else dispatch.buffers[number].name for number in sorted(one.buffers)]


def register_data(value: RegisterValue) -> dict[str, Any]:
    """A register as plain data; `lanes` is the mask of lanes that hold a value."""
    return {"name": value.name, "values": list(value.values), "lanes": value.lanes, "pending": value.pending}


def register_text(value: RegisterValue, exec_mask: int = _ALL) -> str:
    """A register as NAME=VALUE; of a vector one what its active lanes share, or the first four."""
    if value.pending:
        return f"{value.name}=(pending)"
    if len(value.values) == 1:
        return f"{value.name}={value.values[0]:#x}" if value.lanes else f"{value.name}=(undefined)"
    lanes = [lane for lane in range(64) if exec_mask >> lane & 1]
    if not lanes:
        return f"{value.name}=(no lane)"
    shown = [f"{value.values[lane]:#x}" if value.lanes >> lane & 1 else "?" for lane in lanes]
    if len(set(shown)) == 1:
        return f"{value.name}={shown[0]}"
    more = ", ..." if len(shown) > _SHOWN_LANES else ""
    return f"{value.name}=[{', '.join(shown[:_SHOWN_LANES])}{more}]"


def step_data(step: Step) -> dict[str, Any]:
    """One traced instruction as plain data."""
    return {
        "offset": step.instruction.offset,
        "text": print_instruction(step.instruction),
        "workgroup": list(step.workgroup),
        "wave": step.wave,
        "exec": step.exec_mask,
        "read": [register_data(value) for value in step.read],
        "written": [register_data(value) for value in step.written],
    }


def trace_lines(trace: Trace) -> Iterator[str]:
    """A trace, one line an instruction: what it read, and what it wrote."""
    place: tuple[object, ...] = ()
    for step in trace.steps:
        if (step.workgroup, step.wave) != place:
            place = (step.workgroup, step.wave)
            yield f"work-group {step.workgroup}, wave {step.wave}"
        lanes = "" if step.exec_mask == _ALL else f"  exec={step.exec_mask:#x}"
        read = " ".join(register_text(value, step.exec_mask) for value in step.read)
        written = " ".join(register_text(value, step.exec_mask) for value in step.written)
        line = f"  {place_of(step.instruction, ''):>9}  {printable(print_instruction(step.instruction))}{lanes}"
        yield line + (f"  ; {read}" if read else "") + (f"  -> {written}" if written else "")
    if trace.left_out:
        yield f"{trace.left_out} more were left out"


def state_data(state: WaveState) -> dict[str, Any]:
    """A stopped wave as plain data."""
    return {
        "offset": state.instruction.offset,
        "text": print_instruction(state.instruction),
        "workgroup": list(state.workgroup),
        "wave": state.wave,
        "executed": state.executed,
        "outstanding": {"vmcnt": state.outstanding[0], "lgkmcnt": state.outstanding[1]},
        "specials": dict(state.specials),
        "registers": [register_data(value) for value in state.registers],
    }


def state_lines(state: WaveState) -> Iterator[str]:
    """A stopped wave: where, special registers, scalars in rows, vectors with their first lanes or the value they share."""
    yield f"stopped before {place_of(state.instruction, '')} {printable(print_instruction(state.instruction))}"
    yield (
        f"  work-group {state.workgroup}, wave {state.wave}, after {state.executed:,} wave-instructions of the run; "
        f"outstanding: vmcnt {state.outstanding[0]}, lgkmcnt {state.outstanding[1]}"
    )
    yield "  " + "  ".join(f"{name}={value:#x}" for name, value in state.specials)
    exec_mask = dict(state.specials)["exec"] or _ALL
    scalars = [register_text(value) for value in state.registers if len(value.values) == 1]
    for start in range(0, len(scalars), 8):
        yield "  " + "  ".join(scalars[start : start + 8])
    for value in state.registers:
        if len(value.values) > 1:
            yield f"  {register_text(value, exec_mask)}"


def nearest(kernel: Kernel, offset: int) -> Instruction | None:
    """The instruction whose offset lies nearest."""
    known = [i for i in kernel.instructions() if i.offset is not None]
    return min(known, key=lambda i: abs((i.offset or 0) - offset), default=None)
