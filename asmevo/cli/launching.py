"""Commands about launch files: launch infer, launch import, launch check."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asmevo.cli.common import Exit, Format, check_output, guarded, load_kernel, write_output
from asmevo.cli.options import Input, KernelName, OutputFormat, Trace
from asmevo.diagnostics import fail, printable

if TYPE_CHECKING:
    from asmevo.ir.kernel import Kernel
    from asmevo.verify.capture.folder import Capture, Region
    from asmevo.verify.infer.proposal import Hints

launch_app = typer.Typer(
    name="launch",
    help="Propose, import and check launch files.\n\nExample: asmevo launch infer kernel.co -o launch.toml",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Adds this module's commands."""
    for command in (infer, check):
        launch_app.command()(command)
    launch_app.command("import")(import_)
    app.add_typer(launch_app)


def infer(
    input: Input,
    output_file: Annotated[Path | None, typer.Option("--output", "-o", help="Where the launch file is written.")] = None,
    kernel: KernelName = None,
    workgroup: Annotated[str | None, typer.Option("--workgroup", help="X,Y,Z: work-items of a work-group, if known.")] = None,
    lds: Annotated[
        int | None, typer.Option("--dynamic-lds", help="LDS bytes on top of what the kernel declares, if known.", min=0)
    ] = None,
    budget_s: Annotated[float, typer.Option("--budget-s", "--budget", help="Seconds of probing.", min=0.1)] = 30.0,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Propose a launch file: which arguments are pointers, how far each buffer is used, what scalars do.

    The kernel is run on the CPU with buffers that grow as far as it reaches. Metadata and Triton's .json beside the object are
    used where there are any. Exits with 1 when no launch was found that runs without a fault; it is written all the same.

    Example: asmevo launch infer softmax.co -o softmax.toml
    """

    def body() -> int:
        from asmevo.verify.infer.proposal import propose
        from asmevo.verify.infer.report import proposal_data
        from asmevo.verify.infer.text import as_toml

        check_output(output_file)
        ir, hints = _kernel_and_hints(input, kernel, workgroup, lds)
        found = propose(ir, hints, budget_s)
        text = as_toml(found)
        if output_file is not None:
            write_output(output_file, text.encode())
        if output is Format.json:
            print(json.dumps(proposal_data(found), indent=2))
        elif output_file is None:
            print(text, end="")
        if not found.runs:
            print("the launch does not run without a fault yet: its first lines say why", file=sys.stderr)
        return Exit.DONE if found.runs else Exit.NO

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _kernel_and_hints(input: Path, name: str | None, workgroup: str | None, lds: int | None) -> tuple[Kernel, Hints]:
    from asmevo.backend.inputs import choose_member, load_member
    from asmevo.cli.common import read_stdin
    from asmevo.frontend.recover import recover
    from asmevo.verify.infer.proposal import Hints

    member = choose_member(read_stdin(), "<stdin>") if str(input) == "-" else choose_member(input)
    kernel = recover(load_member(member), name)
    triton = member.triton if member.triton is not None and member.triton.name == kernel.name else None
    items, source = _sides(workgroup), "as asked"
    if triton is not None:
        items, lds = items or (triton.warp_count * triton.warp_size, 1, 1), triton.shared_bytes if lds is None else lds
        source = "Triton's metadata" if workgroup is None else source
    return kernel, Hints(items, lds, source)


def _sides(text: str | None) -> tuple[int, int, int] | None:
    if text is None:
        return None
    parts = text.split(",")
    numbers = [int(part) if part.strip().isdecimal() and len(part) < 10 else 0 for part in parts] + [1] * (3 - len(parts))
    if len(numbers) > 3 or min(numbers) < 1 or numbers[0] * numbers[1] * numbers[2] > 1024:
        fail("E0208", f"--workgroup takes X,Y,Z of at most 1024 together, not '{text}'", help="what is left out is 1")
    return numbers[0], numbers[1], numbers[2]


def import_(
    capture: Annotated[Path, typer.Argument(help="Folder of a captured dispatch, as kerncap leaves it.")],
    output_file: Annotated[Path | None, typer.Option("--output", "-o", help="Where the launch file is written.")] = None,
    object_file: Annotated[
        Path | None, typer.Option("--object", help="The object launched; the capture's kernel.hsaco if not given.")
    ] = None,
    kernel: KernelName = None,
    follow: Annotated[
        list[str] | None,
        typer.Option(
            "--follow",
            help="BASE or BASE:OFFSET, a region by its address: addresses in it (at the offset) lead to other regions. "
            "May be given more than once.",
        ),
    ] = None,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Make a launch file of a captured dispatch: its grid, arguments, and memory as buffers.

    Memory that no argument points into is left out; --follow says where memory itself holds addresses. When the capture does
    not lie below the launch file, the contents are copied into a folder beside that.

    Example: asmevo launch import capture/ -o launch.toml
    """

    def body() -> int:
        from asmevo.verify.capture.folder import OBJECT, read_capture
        from asmevo.verify.capture.text import import_capture

        check_output(output_file)
        captured = read_capture(capture)
        _, ir = load_kernel(object_file or captured.folder / OBJECT, kernel or captured.kernel)
        target = None if output_file is None or str(output_file) == "-" else output_file
        found = import_capture(captured, ir, target, [_followed(text, captured) for text in follow or ()])
        if output_file is not None:
            write_output(output_file, found.text.encode())
        if output is Format.json:
            print(json.dumps(found.as_data(), indent=2))
        elif output_file is None:
            print(found.text, end="")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _followed(text: str, capture: Capture) -> tuple[Region, int | None]:
    base, _, offset = text.partition(":")
    numbers: list[int] = []
    for part in (base.removeprefix("region_"), offset or "0"):
        try:
            # A base is what the file of a region is named after, an offset a number as Python writes it.
            numbers.append(int(part, 0 if numbers else 16))
        except ValueError:
            fail("E0208", f"--follow takes BASE or BASE:OFFSET, not '{printable(text)}'", help="such as 7f0000000000:16")
    region = capture.region_at(numbers[0])
    if region is None or region.base != numbers[0]:
        fail("E0208", f"no region begins at 0x{numbers[0]:x}", help="memory_regions.json lists them")
    return region, numbers[1] if offset else None


def check(
    input: Input,
    launch: Annotated[Path, typer.Argument(help="Launch file (TOML).")],
    kernel: KernelName = None,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Check a launch file against a kernel without running it, and show what each argument becomes.

    Warns of buffers that the code stores to though their role is in, and of arguments that no code reads.

    Example: asmevo launch check softmax.co softmax.toml
    """

    def body() -> int:
        from asmevo.verify.launch.check import check_launches
        from asmevo.verify.launch.dispatches import load_launches

        _, ir = load_kernel(input, kernel)
        found = check_launches(ir, load_launches(launch, ir))
        if output is Format.json:
            data: list[dict[str, Any]] = [case.as_data() for case in found]
            print(json.dumps(data, indent=2))
            return Exit.DONE
        for case in found:
            print(f"{printable(case.dispatch.name)}: grid {case.dispatch.grid}, work-group {case.dispatch.workgroup}", end="")
            print(f", {case.dispatch.dynamic_lds_bytes} bytes of dynamic LDS")
            if output is Format.full:
                for line in case.lines():
                    print(f"  {line}")
            for warning in case.warnings:
                print(f"  warning: {printable(warning)}")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))
