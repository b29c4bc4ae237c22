"""The command that decides about kernels: verify."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asmevo.cli.common import Exit, Format, guarded, load_kernel, show_verdict, verdict_exit
from asmevo.cli.options import KernelName, OutputFormat, Trace
from asmevo.diagnostics import fail, printable

if TYPE_CHECKING:
    from asmevo.backend.launch import Dispatch
    from asmevo.ir.kernel import Kernel
    from asmevo.verify.device import DeviceTest
    from asmevo.verify.verdict import Verdict

LaunchFile = Annotated[Path | None, typer.Option("--launch", help="Launch file (TOML).")]


_UNDECIDED = (
    "help: nothing was proved and nothing refuted; run both kernels with --launch FILE, give the solver more time with"
    " --timeout-s, or make the edit in smaller steps, each verified"
)


def register(app: typer.Typer) -> None:
    """Adds this module's command."""
    app.command()(verify)


def verify(
    old: Annotated[Path | None, typer.Argument(help="The original object, K0.", show_default=False)] = None,
    new: Annotated[Path | None, typer.Argument(help="The object that is to replace it.", show_default=False)] = None,
    launch: LaunchFile = None,
    level: Annotated[
        str | None, typer.Option("--level", help="static, smt, emulate or device; by default emulate with a launch, else smt.")
    ] = None,
    kernel: KernelName = None,
    timeout_s: Annotated[
        float, typer.Option("--timeout-s", "--timeout", help="z3 budget of one window, CPU seconds.", min=0.01)
    ] = 5.0,
    seeds: Annotated[int, typer.Option("--seeds", help="Wave orders tried in emulation.", min=1)] = 2,
    compare: Annotated[
        str, typer.Option("--compare", help="exact: bit for bit; launch: within the launch file's tolerances, which is said.")
    ] = "exact",
    certificates: Annotated[
        Path | None,
        typer.Option("--certificates", help="Write a proved window's queries there, for other solvers (SMT-LIB2)."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option("--check-certificates", help="Only check the certificates in a folder, with z3 and cvc5 if installed."),
    ] = None,
    device: Annotated[int, typer.Option("--device", help="Number of the GPU for level device.", min=0)] = 0,
    manifest: Annotated[
        Path | None,
        typer.Option("--manifest", help="Check the deployment in a folder; with --level smt the proofs are made again."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", help="Processes that prove windows; by default one a core.", min=1)
    ] = None,
    proof_cache: Annotated[
        bool, typer.Option("--proof-cache/--no-proof-cache", help="Use and keep proofs of equal windows from run to run.")
    ] = True,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Decide whether NEW does what OLD does. Exits with 0 (yes), 1 (refuted), 3 (undecided).

    Example: asmevo verify k0.co new.co --launch launch.toml

    Example: asmevo verify k0.co new.co --certificates proof/; asmevo verify --check-certificates proof/

    Example: asmevo verify --manifest ~/aiter/hsa --level smt
    """

    def body() -> int:
        if check is not None:
            if old is not None:
                fail("E0208", "--check-certificates takes no objects", help="give the folder only")
            return _check_certificates(check, timeout_s, output)
        if manifest is not None:
            if old is not None or launch is not None:
                fail("E0208", "--manifest takes no objects and no launch", help="give the folder only")
            from asmevo.cli.deploying import verify_deployment

            return verify_deployment(manifest, level, timeout_s, output)
        if old is None or new is None:
            fail("E0208", "two objects are needed: the original and what is to replace it", help="asmevo verify OLD NEW")

        from asmevo.verify.device import DeviceTest
        from asmevo.verify.diff.align import aligned
        from asmevo.verify.differential import RULES
        from asmevo.verify.equivalence.proof_cache import ProofCache, default_folder
        from asmevo.verify.judge import Judge, Level, without_removed_barriers
        from asmevo.verify.launch.dispatches import load_launches
        from asmevo.verify.objects import judge_objects
        from asmevo.verify.verdict import Outcome

        wanted = level or ("emulate" if launch else "smt")
        if wanted not in {item.value for item in Level}:
            fail("E0208", f"unknown level '{wanted}'", help="use static, smt, emulate or device")
        if wanted in ("emulate", "device") and launch is None:
            fail("E0208", f"level '{wanted}' needs a launch", help="give --launch FILE; `asmevo launch infer` proposes one")
        if compare not in RULES:
            fail("E0208", f"unknown comparison rule '{compare}'", help=f"use {' or '.join(RULES)}")
        old_object, before = load_kernel(old, kernel)
        new_object, after = load_kernel(new, kernel)
        dispatches = load_launches(launch, before) if launch else []
        cache = ProofCache(default_folder()) if proof_cache else None
        workers = jobs or len(os.sched_getaffinity(0))
        judge = Judge(
            Level(wanted),
            dispatches,
            timeout_s,
            tuple(range(seeds)),
            compare,
            cache=cache,
            jobs=workers,
            device=_on_device(old_object.data, new_object.data, dispatches, DeviceTest(device, rule=compare)),
        )
        verdict = judge_objects(old_object, before, new_object, after, judge)
        if certificates is not None and verdict.outcome.is_success and verdict.outcome is not Outcome.IDENTICAL:
            after = aligned(before, after)
            _write_certificates(without_removed_barriers(before, after)[0], after, certificates, timeout_s)
        show_verdict(verdict, output)
        if verdict.outcome is Outcome.UNKNOWN and wanted == Level.SMT.value:
            print(_UNDECIDED, file=sys.stderr)
        return verdict_exit(verdict)

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _on_device(old: bytes, new: bytes, dispatches: Sequence[Dispatch], test: DeviceTest) -> Callable[[Kernel, Kernel], Verdict]:
    from asmevo.verify.device import compare_on_device

    return lambda before, after: compare_on_device((before, old), (after, new), dispatches, test).verdict


def _write_certificates(before: Kernel, after: Kernel, folder: Path, timeout_s: float) -> None:
    from asmevo.verify.certificate_files import write_certificates

    written = write_certificates(before, after, folder, timeout_s)
    print(f"{len(written.files)} certificates written to {printable(str(folder))}", file=sys.stderr)
    for window in written.missing:
        print(f"no certificate for {printable(window)}: it was not proved by itself", file=sys.stderr)


def _check_certificates(folder: Path, timeout_s: float, output: Format) -> int:
    """Check and print. 0 when every file holds, 1 when one is contradicted, else 3."""
    from asmevo.verify.certificate_files import check_certificates

    checked = list(check_certificates(folder, timeout_s))
    if output is Format.json:
        rows = [{"file": c.path.name, "queries": c.queries, "answers": c.answers, "holds": c.holds} for c in checked]
        print(json.dumps(rows, indent=2))
    else:
        for one in checked:
            print(one)
        held = sum(one.holds for one in checked)
        print(f"{held} of {len(checked)} certificates hold, checked by {' and '.join(checked[0].answers)}")
    if any(one.is_contradicted for one in checked):
        return Exit.NO
    return Exit.DONE if all(one.holds for one in checked) else Exit.UNDECIDED
