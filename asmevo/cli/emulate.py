"""The command that runs a kernel on the CPU: emulate."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asmevo.cli.common import Exit, Format, check_output, guarded, load_kernel
from asmevo.cli.options import Input, KernelName, OutputFormat, Trace
from asmevo.diagnostics import fail, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from asmevo.backend.launch import Buffer, Bytes, Dispatch, RunResult
    from asmevo.backend.observe import statistics, waves
    from asmevo.ir.kernel import Kernel


def register(app: typer.Typer) -> None:
    """Adds this module's command."""
    app.command()(emulate)


def emulate(
    input: Input,
    launch: Annotated[Path, typer.Option("--launch", help="Launch file (TOML).")],
    kernel: KernelName = None,
    mode: Annotated[
        str, typer.Option("--mode", help="strict reports missing waits, races and the like; fast does not.")
    ] = "strict",
    seed: Annotated[int, typer.Option("--seed", help="Seed of wave order and buffer addresses.", min=0)] = 0,
    max_faults: Annotated[
        int, typer.Option("--max-faults", help="Faults reported of each case, at most one an instruction.", min=1, max=1000)
    ] = 1,
    cases: Annotated[list[str] | None, typer.Option("--case", help="Only the case of this name; may be repeated.")] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Write the final buffers to this .npz file; a second case to FILE-1.npz, and so on."),
    ] = None,
    expect: Annotated[
        Path | None,
        typer.Option("--expect", help="Compare the final buffers with this .npz file, by the launch's `compare` rules."),
    ] = None,
    counts: Annotated[bool, typer.Option("--counts", help="Print the listing with executions in the margin.")] = False,
    memory: Annotated[
        bool, typer.Option("--memory", help="Count bytes, memory segments and LDS bank clocks of each instruction.")
    ] = False,
    trace: Annotated[
        str | None, typer.Option("--trace", help="START:END: print what runs at these offsets, with register values.")
    ] = None,
    trace_limit: Annotated[int, typer.Option("--trace-limit", help="The most instructions traced.", min=1)] = 1000,
    stop_at: Annotated[
        str | None, typer.Option("--stop-at", help="OFFSET: stop before the instruction there and print the wave's state.")
    ] = None,
    hit: Annotated[int, typer.Option("--hit", help="Stop when it is reached for the N-th time.", min=1)] = 1,
    wave: Annotated[int | None, typer.Option("--wave", help="Trace or stop only this wave of a work-group.", min=0)] = None,
    workgroup: Annotated[str | None, typer.Option("--workgroup", help="X,Y,Z: trace or stop only this work-group.")] = None,
    limit: Annotated[
        int, typer.Option("--max-instructions", help="The most wave-instructions of a case.", min=1)
    ] = 200_000_000,
    output: OutputFormat = Format.full,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    traceback: Trace = False,
) -> None:
    """Run a kernel on the CPU emulator. Exits with 1 when strict mode reports a fault or --expect finds a difference.

    Offsets are bytes from the start of the code, as `disasm` and faults print them: 0x1a4.

    Example: asmevo emulate softmax.co --launch softmax.toml --memory --save out.npz
    """

    def body() -> int:
        from asmevo.cli.progress import progress
        from asmevo.report import emulation
        from asmevo.verify.launch.dispatches import load_launches

        if mode not in ("strict", "fast"):
            fail("E0208", f"unknown mode '{mode}'", help="use strict or fast")
        check_output(save, may_be_stdout=False)
        _, ir = load_kernel(input, kernel)
        dispatches = _chosen(load_launches(launch, ir), cases)
        wanted = _Wanted(counts, memory, _window(trace), trace_limit, _stop(ir, stop_at), hit, wave, _group(workgroup))
        is_bad = False
        records: list[dict[str, Any]] = []
        for number, dispatch in enumerate(dispatches):
            with progress(f"emulate {number + 1} of {len(dispatches)}", 1, quiet) as told:
                seen = _run(ir, dispatch, mode, seed, limit, max_faults, wanted, told)
            is_bad |= bool(seen.result.faults)
            if save and not seen.result.faults and not seen.is_stopped:
                _save(_numbered(save, number), dispatch.buffers, seen.result.buffers)
            differences: list[str] = []
            if expect is not None and not seen.result.faults:
                differences = _differences(_numbered(expect, number), ir.target, dispatch, seen.result)
                is_bad |= bool(differences)
            if output is Format.json:
                record = emulation.run_dict(dispatch, seen.result) | {"mode": mode} | seen.data(ir)
                records.append(record | ({"differences": differences} if expect is not None else {}))
                continue
            for line in emulation.run_lines(dispatch, seen.result, mode, "stopped" if seen.is_stopped else ""):
                print(line)
            for line in (*seen.lines(ir), *(f"  {printable(line)}" for line in differences)):
                print(line)
        if output is Format.json:
            print(json.dumps(records, indent=2))
        return Exit.NO if is_bad else Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be looked at."""

    counts: bool
    memory: bool
    window: tuple[int, int] | None
    trace_limit: int
    stop: int | None
    hit: int
    wave: int | None
    workgroup: tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class _Seen:
    """A run and what was looked at on the way."""

    dispatch: Dispatch
    result: RunResult
    counts: bool
    memory: statistics.MemoryStatistics | None
    trace: waves.Trace | None
    stop: waves.Stop | None

    @property
    def is_stopped(self) -> bool:
        """Whether the run ended at the wanted place."""
        return self.stop is not None and self.stop.state is not None

    def data(self, kernel: Kernel) -> dict[str, Any]:
        """What was looked at as plain data."""
        from asmevo.report import emulation

        data: dict[str, Any] = {}
        if self.counts:
            data["counts"] = emulation.counts_data(kernel, self.result.executions)
        if self.memory:
            data["memory"] = emulation.traffic_data(self.memory.traffic(), self.dispatch)
        if self.trace:
            data["trace"] = [emulation.step_data(step) for step in self.trace.steps]
            data["trace_left_out"] = self.trace.left_out
        if self.stop:
            data["stopped"] = None if self.stop.state is None else emulation.state_data(self.stop.state)
        return data

    def lines(self, kernel: Kernel) -> Iterator[str]:
        """What was looked at as text."""
        from asmevo.report import emulation

        if self.counts:
            yield from emulation.counts_lines(kernel, self.result.executions)
        if self.memory:
            yield from emulation.traffic_lines(self.memory.traffic(), self.dispatch)
        if self.trace:
            yield from emulation.trace_lines(self.trace)
        if self.stop and self.stop.state:
            yield from emulation.state_lines(self.stop.state)
        elif self.stop:
            yield f"  no wave came to +0x{self.stop.offset:x} {self.stop.hit} time(s)"


def _run(
    kernel: Kernel, dispatch: Dispatch, mode: str, seed: int, limit: int, max_faults: int, wanted: _Wanted, told: Any
) -> _Seen:
    from asmevo.backend.emulator import run
    from asmevo.backend.observe import statistics, waves
    from asmevo.backend.observe.watch import Watch

    strict = mode == "strict"
    chosen = waves.Filter(wanted.workgroup, wanted.wave)
    stop = None if wanted.stop is None else waves.Stop(wanted.stop, strict, chosen, wanted.hit)
    memory = statistics.MemoryStatistics(kernel.target, strict) if wanted.memory else None
    trace = None if wanted.window is None else waves.Trace(*wanted.window, strict, chosen, wanted.trace_limit)
    watch = Watch()
    # The trace comes last: it runs the instruction, after which the others would see its results.
    looked = [part for part in (stop, memory, trace) if part is not None]
    for part in looked:
        part.join(watch)
    observer = watch if looked else None
    result = run(
        kernel,
        dispatch,
        mode=mode,
        seed=seed,
        max_instructions=limit,
        observer=observer,
        progress=told,
        max_faults=max_faults,
    )
    return _Seen(dispatch, result, wanted.counts, memory, trace, stop)


def _chosen(dispatches: list[Dispatch], names: list[str] | None) -> list[Dispatch]:
    known = [dispatch.name for dispatch in dispatches]
    for name in names or ():
        if name not in known:
            shown = ", ".join(printable(one) for one in known[:20])
            fail("E0208", f"no case is named '{name}'", help=f"cases: {shown}")
    return [dispatch for dispatch in dispatches if not names or dispatch.name in names]


def _offset(text: str, option: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if value < 0:
        fail("E0208", f"{option} takes byte offsets, not '{text}'", help="write 0x1a4, as faults and listings do")
    return value


def _window(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    start, colon, end = text.partition(":")
    if not colon:
        fail("E0208", f"--trace takes START:END, not '{text}'", help="write 0x100:0x180; either may be left out")
    window = _offset(start or "0", "--trace"), _offset(end or str(1 << 62), "--trace")
    if window[0] >= window[1]:
        fail("E0208", f"--trace {text} is empty", help="START lies before END")
    return window


def _stop(kernel: Kernel, text: str | None) -> int | None:
    from asmevo.report.emulation import nearest

    if text is None:
        return None
    offset = _offset(text, "--stop-at")
    found = nearest(kernel, offset)
    if found is None or found.offset != offset:
        near = None if found is None or found.offset is None else f"the nearest is at 0x{found.offset:x}"
        fail("E0208", f"no instruction of the kernel stands at offset 0x{offset:x}", help=near)
    return offset


def _group(text: str | None) -> tuple[int, int, int] | None:
    if text is None:
        return None
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(part.strip().isdecimal() for part in parts):
        fail("E0208", f"--workgroup takes X,Y,Z, not '{text}'", help="what is left out is 0")
    numbers = [int(part) for part in parts] + [0] * (3 - len(parts))
    return numbers[0], numbers[1], numbers[2]


def _numbered(path: Path, number: int) -> Path:
    return path if number == 0 else path.with_stem(f"{path.stem}-{number}")


def _save(path: Path, buffers: Sequence[Buffer], data: Sequence[Bytes]) -> None:
    import io

    import numpy as np

    from asmevo.atomic import write_atomically

    stream = io.BytesIO()
    named = {b.name: d for b, d in zip(buffers, data, strict=True)}
    np.savez_compressed(stream, allow_pickle=False, **named)
    write_atomically(path, stream.getvalue())


def _differences(path: Path, target: str, dispatch: Dispatch, result: RunResult) -> list[str]:
    from asmevo.verify.expected import differences

    return differences(path, target, dispatch, result)
