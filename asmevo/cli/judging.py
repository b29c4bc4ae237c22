"""The command that decides about kernels: verify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from asmevo.cli.common import Format, guarded, load_kernel, show_verdict, verdict_exit
from asmevo.cli.options import KernelName, OutputFormat, Trace
from asmevo.diagnostics import fail

LaunchFile = Annotated[Path | None, typer.Option("--launch", help="Launch file (TOML).")]


def register(app: typer.Typer) -> None:
    """Adds this module's command."""
    app.command()(verify)


def verify(
    old: Annotated[Path, typer.Argument(help="The original object, K0.")],
    new: Annotated[Path, typer.Argument(help="The object that is to replace it.")],
    launch: LaunchFile = None,
    level: Annotated[
        str | None, typer.Option("--level", help="static, smt or emulate; by default emulate with a launch, else smt.")
    ] = None,
    kernel: KernelName = None,
    timeout_s: Annotated[
        float, typer.Option("--timeout-s", "--timeout", help="z3 budget of one window, seconds.", min=0.01)
    ] = 5.0,
    seeds: Annotated[int, typer.Option("--seeds", help="Wave orders tried in emulation.", min=1)] = 2,
    compare: Annotated[
        str, typer.Option("--compare", help="exact: bit for bit; launch: within the launch file's tolerances, which is said.")
    ] = "exact",
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Decide whether NEW does what OLD does. Exits with 0 (yes), 1 (refuted), 3 (undecided).

    Example: asmevo verify k0.co new.co --launch launch.toml
    """

    def body() -> int:
        from asmevo.verify.align import aligned
        from asmevo.verify.differential import RULES
        from asmevo.verify.judge import Judge, Level
        from asmevo.verify.launches import load_launches
        from asmevo.verify.object_diff import kernels_only_differ
        from asmevo.verify.verdict import Basis, Outcome, Verdict

        wanted = level or ("emulate" if launch else "smt")
        if wanted not in {item.value for item in Level}:
            fail("E0208", f"unknown level '{wanted}'", help="use static, smt or emulate")
        if wanted == "emulate" and launch is None:
            fail("E0208", "level 'emulate' needs a launch", help="give --launch FILE")
        if compare not in RULES:
            fail("E0208", f"unknown comparison rule '{compare}'", help=f"use {' or '.join(RULES)}")
        old_object, before = load_kernel(old, kernel)
        new_object, after = load_kernel(new, kernel)
        dispatches = load_launches(launch, before) if launch else []
        if old_object.data == new_object.data:
            verdict = Verdict(Outcome.IDENTICAL, (Basis("bytes", Outcome.IDENTICAL, "the files are byte-identical"),))
        else:
            kernels_only_differ(old_object, before, new_object, after)
            after = aligned(before, after)
            verdict = Judge(Level(wanted), dispatches, timeout_s, tuple(range(seeds)), compare)(before, after)
        show_verdict(verdict, output)
        return verdict_exit(verdict)

    raise typer.Exit(guarded(body, show_traceback=traceback))
