"""Commands that decide about or run kernels: verify, emulate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asmevo.cli.common import Exit, Format, check_output, guarded, load_kernel, show_verdict, verdict_exit
from asmevo.cli.options import Input, KernelName, OutputFormat, Trace
from asmevo.diagnostics import fail, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asmevo.backend.launch import Buffer, Bytes

LaunchFile = Annotated[Path | None, typer.Option("--launch", help="Launch file (TOML).")]


def register(app: typer.Typer) -> None:
    """Adds this module's commands."""
    for command in (verify, emulate):
        app.command()(command)


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
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Decide whether NEW does what OLD does. Exits with 0 (yes), 1 (refuted), 3 (undecided).

    Example: asmevo verify k0.co new.co --launch launch.toml
    """

    def body() -> int:
        from asmevo.verify.align import aligned
        from asmevo.verify.judge import Judge, Level
        from asmevo.verify.launches import load_launches
        from asmevo.verify.object_diff import kernels_only_differ
        from asmevo.verify.verdict import Basis, Outcome, Verdict

        wanted = level or ("emulate" if launch else "smt")
        if wanted not in {item.value for item in Level}:
            fail("E0208", f"unknown level '{wanted}'", help="use static, smt or emulate")
        if wanted == "emulate" and launch is None:
            fail("E0208", "level 'emulate' needs a launch", help="give --launch FILE")
        old_object, before = load_kernel(old, kernel)
        new_object, after = load_kernel(new, kernel)
        dispatches = load_launches(launch, before) if launch else []
        if old_object.data == new_object.data:
            verdict = Verdict(Outcome.IDENTICAL, (Basis("bytes", Outcome.IDENTICAL, "the files are byte-identical"),))
        else:
            kernels_only_differ(old_object, before, new_object, after)
            after = aligned(before, after)
            verdict = Judge(Level(wanted), dispatches, timeout_s, tuple(range(seeds)))(before, after)
        show_verdict(verdict, output)
        return verdict_exit(verdict)

    raise typer.Exit(guarded(body, show_traceback=traceback))


def emulate(
    input: Input,
    launch: Annotated[Path, typer.Option("--launch", help="Launch file (TOML).")],
    kernel: KernelName = None,
    mode: Annotated[
        str, typer.Option("--mode", help="strict reports missing waits, races and the like; fast does not.")
    ] = "strict",
    seed: Annotated[int, typer.Option("--seed", help="Seed of wave order and buffer addresses.", min=0)] = 0,
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Write the final buffers to this .npz file; a second case to FILE-1.npz, and so on."),
    ] = None,
    output: OutputFormat = Format.full,
    traceback: Trace = False,
) -> None:
    """Run a kernel on the CPU emulator. Exits with 1 when strict mode reports a fault.

    Example: asmevo emulate softmax.co --launch softmax.toml --save out.npz
    """

    def body() -> int:
        from asmevo.backend.emulator import run
        from asmevo.verify.launches import load_launches

        if mode not in ("strict", "fast"):
            fail("E0208", f"unknown mode '{mode}'", help="use strict or fast")
        check_output(save, may_be_stdout=False)
        _, ir = load_kernel(input, kernel)
        faulty = False
        records: list[dict[str, Any]] = []
        for dispatch in load_launches(launch, ir):
            result = run(ir, dispatch, mode=mode, seed=seed)
            faulty |= bool(result.faults)
            if save and not result.faults:
                _save(
                    save if len(records) == 0 else save.with_stem(f"{save.stem}-{len(records)}"),
                    dispatch.buffers,
                    result.buffers,
                )
            records.append(
                {
                    "launch": dispatch.name,
                    "wave_instructions": result.wave_instructions,
                    "approximate": result.approximate,
                    "bytes_written": {b.name: int(w.sum()) for b, w in zip(dispatch.buffers, result.written, strict=True)},
                    "faults": [
                        {"kind": f.kind, "message": f.message, "offset": f.offset, "wave": f.wave, "lane": f.lane}
                        for f in result.faults
                    ],
                }
            )
        if output is Format.json:
            print(json.dumps(records, indent=2))
        else:
            for record in records:
                faults: list[dict[str, Any]] = record["faults"]
                state = "clean" if not faults else f"{len(faults)} fault(s)"
                print(f"{printable(str(record['launch']))}: {record['wave_instructions']} wave-instructions, {mode}: {state}")
                for fault in faults:
                    where = "" if fault["offset"] is None else f" at +0x{fault['offset']:x}"
                    print(f"  {fault['kind']}{where}, wave {fault['wave']}: {printable(fault['message'])}")
        return Exit.NO if faulty else Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _save(path: Path, buffers: Sequence[Buffer], data: Sequence[Bytes]) -> None:
    import io

    import numpy as np

    from asmevo.atomic import write_atomically

    stream = io.BytesIO()
    named = {b.name: d for b, d in zip(buffers, data, strict=True)}
    np.savez_compressed(stream, allow_pickle=False, **named)
    write_atomically(path, stream.getvalue())
