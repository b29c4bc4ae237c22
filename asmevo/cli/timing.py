"""The command that times kernels: bench. It models, and says so, or measures on a GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asmevo.cli.common import Exit, Format, check_output, guarded, load_kernel
from asmevo.cli.options import Input, KernelName, OutputFormat, Trace
from asmevo.diagnostics import fail, printable

if TYPE_CHECKING:
    from asmevo.backend.timing.whole import DispatchTiming
    from asmevo.ir.kernel import Kernel

    Benched = tuple[str, Kernel, list[DispatchTiming]]


def register(app: typer.Typer) -> None:
    """Adds this module's commands."""
    app.command()(bench)


def bench(
    input: Input,
    other: Annotated[Path | None, typer.Argument(help="A second object, compared with the first.")] = None,
    launch: Annotated[Path | None, typer.Option("--launch", help="Launch file (TOML).")] = None,
    model: Annotated[bool, typer.Option("--model", help="Model the dispatch; nothing is measured.")] = False,
    device: Annotated[int, typer.Option("--device", help="Number of the GPU that measures.", min=0)] = 0,
    repeats: Annotated[int, typer.Option("--repeats", help="Launches that are measured.", min=1, max=100_000)] = 30,
    warmup: Annotated[int, typer.Option("--warmup", help="Launches before those.", min=0, max=100_000)] = 5,
    kernel: KernelName = None,
    chip: Annotated[
        str | None, typer.Option("--chip", help="mi300x, mi308x, mi355x or mi250x; by default the target's.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", help="Where loads that miss L2 find data: l2, mall or hbm; by default by size.")
    ] = None,
    case: Annotated[str | None, typer.Option("--case", help="Only the launch's case of this name.")] = None,
    max_slowdown: Annotated[
        float | None, typer.Option("--max-slowdown", help="Exit with 1 when the second is slower by more than this, %.", min=0)
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option("--timeline", help="Write when each instruction issued: .json for Chrome and Perfetto, else text."),
    ] = None,
    window: Annotated[
        str, typer.Option("--window", help="Issues that the timeline shows, as START:END.", metavar="START:END")
    ] = "0:2000",
    most: Annotated[int, typer.Option("--most", help="Instructions listed, those that wait longest.", min=0)] = 10,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Time of a dispatch on a GPU, or modelled: cycles, what its waves wait for, use of the chip. Two are compared.

    Example: asmevo bench --model softmax.co --launch softmax.toml --timeline softmax.json

    Example: asmevo bench old.co new.co --launch softmax.toml --repeats 50
    """

    def body() -> int:
        if launch is None:
            fail("E0208", "bench needs a launch", help="give --launch FILE; `asmevo launch infer` proposes one")
        paths = (input, *([other] if other is not None else []))
        if not model:
            from asmevo.cli.measuring import measured_bench

            if timeline is not None or chip is not None or memory is not None:
                fail("E0208", "--timeline, --chip and --memory are the model's", help="give --model")
            return measured_bench(
                paths,
                launch,
                kernel=kernel,
                case=case,
                repeats=repeats,
                warmup=warmup,
                device=device,
                max_slowdown=max_slowdown,
                output=output,
            )
        from asmevo.atomic import write_atomically
        from asmevo.backend.timing.whole import dispatch_timing
        from asmevo.ir.isa.chips import chip as chip_of
        from asmevo.report.bench import chrome_trace, timeline_lines
        from asmevo.verify.launch.dispatches import load_launches

        check_output(timeline, may_be_stdout=False)
        skip, events = _window(window) if timeline is not None else (0, 0)
        figures = chip_of(chip) if chip is not None else None
        found: list[Benched] = []
        for path in paths:
            _, ir = load_kernel(path, kernel)
            dispatches = [d for d in load_launches(launch, ir) if case is None or d.name == case]
            if not dispatches:
                fail("E0208", f"the launch has no case '{case}'")
            timings = [
                dispatch_timing(ir, d, chip=figures, memory=memory, timeline=0 if n else events, skip=skip)
                for n, d in enumerate(dispatches)
            ]
            found.append((str(path), ir, timings))
        if timeline is not None:
            if timeline.suffix == ".json":
                text = chrome_trace([(name, ir, timings[0].timing) for name, ir, timings in found])
            else:
                text = "\n".join(line for _, ir, timings in found for line in timeline_lines(ir, timings[0].timing)) + "\n"
            write_atomically(timeline, text.encode())
        _show(found, most, output)
        slower = len(found) == 2 and max_slowdown is not None and _slowdown(found) > max_slowdown
        return Exit.NO if slower else Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _window(text: str) -> tuple[int, int]:
    """How many issues to skip, and how many to keep."""
    first, separator, last = text.partition(":")
    if not separator or not first.isdecimal() or not last.isdecimal() or not int(first) < int(last) <= int(first) + 1_000_000:
        fail("E0208", f"'{text}' is no window of issues", help="write --window 0:2000, at most a million issues")
    return int(first), int(last) - int(first)


def _slowdown(found: list[Benched]) -> float:
    """By how much the second object is slower over all cases, %."""
    first, second = (sum(timing.cycles for timing in timings) for _, _, timings in found)
    return 100 * (second / first - 1)


def _show(found: list[Benched], most: int, output: Format) -> None:
    from asmevo.report.bench import data, lines

    if output is Format.json:
        report: dict[str, Any] = {
            "modelled": True,
            "objects": [
                {"file": name, "kernel": ir.name, "launches": [data(ir, timing) for timing in timings]}
                for name, ir, timings in found
            ],
        }
        if len(found) == 2:
            report["slowdown_percent"] = _slowdown(found)
        print(json.dumps(report, indent=2))
        return
    for name, ir, timings in found:
        if output is Format.full:
            print(f"{printable(name)}: {printable(ir.name)}, modelled on {timings[0].chip}; nothing was measured")
        for timing in timings:
            if output is Format.full:
                print("\n".join(lines(ir, timing, most=most)))
            else:
                print(f"{printable(name)}: {printable(timing.launch)}: {timing.cycles:,.0f} modelled cycles")
    if len(found) == 2:
        for before, after in zip(found[0][2], found[1][2], strict=True):
            gain = 100 * (before.cycles / after.cycles - 1)
            print(
                f"{printable(before.launch)}: {before.cycles:,.0f} -> {after.cycles:,.0f} modelled cycles of the dispatch"
                f" ({gain:+.1f} %)"
            )
