"""Commands that read a code object: info, disasm, roundtrip, analyze."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asmevo.cli.common import Exit, Format, guarded, load_kernel, load_object
from asmevo.diagnostics import DiagnosticError, printable

if TYPE_CHECKING:
    from asmevo.ir.finding import Finding

Input = Annotated[Path, typer.Argument(help="Code object (.co, .hsaco); - is standard input.")]
KernelName = Annotated[str | None, typer.Option("--kernel", help="Which kernel, when the object has several.")]
OutputFormat = Annotated[Format, typer.Option("--format", help="What to print.")]
Trace = Annotated[bool, typer.Option("--traceback", help="Show the traceback of an internal error.")]


def register(app: typer.Typer) -> None:
    """Adds this module's commands."""
    for command in (info, disasm, roundtrip, analyze):
        app.command()(command)


def info(input: Input, output: OutputFormat = Format.full, traceback: Trace = False) -> None:
    """Show a code object's kernels, arguments and resources.

    Example: asmevo info kernel.co --format json
    """

    def body() -> int:
        from asmevo.frontend.recover import recover

        code_object = load_object(input)
        kernels: list[dict[str, Any]] = []
        for entry in code_object.kernels:
            kernel = recover(code_object, entry.name)
            descriptor, metadata = kernel.descriptor, kernel.metadata
            assert descriptor is not None
            kernels.append(
                {
                    "name": kernel.name,
                    "instructions": sum(len(block.instructions) for block in kernel.blocks),
                    "blocks": len(kernel.blocks),
                    "vgprs": descriptor.vgpr_count,
                    "accum_offset": descriptor.accum_offset,
                    "sgprs": metadata.sgpr_count if metadata else None,
                    "lds_bytes": descriptor.group_segment_bytes,
                    "scratch_bytes": descriptor.private_segment_bytes,
                    "kernarg_bytes": metadata.kernarg_bytes if metadata else None,
                    "arguments": [
                        {"name": a.name, "offset": a.offset, "size": a.size, "kind": a.value_kind}
                        for a in (metadata.arguments if metadata else ())
                    ],
                }
            )
        if output is Format.json:
            print(json.dumps({"file": code_object.name, "target": code_object.target, "kernels": kernels}, indent=2))
            return Exit.DONE
        print(f"{printable(code_object.name)}: {code_object.target}, {len(kernels)} kernel(s)")
        for kernel in kernels:
            print(f"\n{printable(kernel['name'])}: {kernel['instructions']} instructions in {kernel['blocks']} blocks")
            print(f"  VGPR {kernel['vgprs']} (AGPRs from {kernel['accum_offset']})  SGPR {kernel['sgprs']}")
            print(f"  LDS {kernel['lds_bytes']} B  scratch {kernel['scratch_bytes']} B  kernarg {kernel['kernarg_bytes']} B")
            if output is Format.full:
                for a in kernel["arguments"]:
                    print(f"  +{a['offset']:<4} {a['size']:>3} B  {printable(a['kind'])} {printable(a['name'])}")
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def disasm(input: Input, kernel: KernelName = None, traceback: Trace = False) -> None:
    """Print a kernel as labelled assembly.

    Example: asmevo disasm kernel.co | less
    """

    def body() -> int:
        from asmevo.ir.printer import print_kernel

        print(print_kernel(load_kernel(input, kernel)[1]))
        return Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def roundtrip(
    paths: Annotated[list[Path], typer.Argument(help="Code objects, or folders searched for .co and .hsaco.")],
    output: OutputFormat = Format.concise,
    traceback: Trace = False,
) -> None:
    """Recover and rebuild with no edit, and compare the bytes.

    Example: asmevo roundtrip examples/kernels
    """

    def body() -> int:
        from rich.console import Console
        from rich.progress import track

        from asmevo.backend.writer import rebuild
        from asmevo.frontend.recover import recover

        files = [f for path in paths for f in (_objects_in(path) if path.is_dir() else [path])]
        results: list[dict[str, str]] = []
        for file in track(files, "roundtrip", console=Console(stderr=True), transient=True):
            try:
                code_object = load_object(file)
                outcome = "identical"
                for entry in code_object.kernels:
                    if rebuild(code_object, recover(code_object, entry.name)) != code_object.data:
                        outcome = "different"
            except DiagnosticError as error:
                outcome = error.diagnostics[0].concise()
            results.append({"file": str(file), "outcome": outcome})
        good = sum(r["outcome"] == "identical" for r in results)
        if output is Format.json:
            print(json.dumps({"files": len(results), "identical": good, "results": results}, indent=2))
        else:
            for r in results:
                if r["outcome"] != "identical" or output is Format.full:
                    print(f"{printable(r['file'])}: {r['outcome']}")
            print(f"{good} of {len(results)} byte-identical")
        return Exit.DONE if good == len(results) and results else Exit.NO

    raise typer.Exit(guarded(body, show_traceback=traceback))


def analyze(input: Input, kernel: KernelName = None, output: OutputFormat = Format.full, traceback: Trace = False) -> None:
    """Check a kernel's waits and wait states on every path, and sum up its registers, loops and instructions.

    Example: asmevo analyze kernel.co --format json
    """

    def body() -> int:
        from asmevo.diagnostics import Severity
        from asmevo.ir.analysis.loops import Loops
        from asmevo.ir.analysis.manager import AnalysisManager
        from asmevo.ir.analysis.pressure import Pressure
        from asmevo.verify.static_hazards import check_hazards
        from asmevo.verify.static_waits import check_waits

        _, ir = load_kernel(input, kernel)
        analyses = AnalysisManager(ir)
        findings = [*check_waits(ir), *check_hazards(ir)]
        pressure = analyses.get(Pressure)
        loops = analyses.get(Loops)
        errors = sum(f.severity is Severity.ERROR for f in findings)
        summary = {
            "kernel": ir.name,
            "blocks": len(ir.blocks),
            "instructions": sum(len(b.instructions) for b in ir.blocks),
            "loops": len(loops.loops),
            "max_live": {"vgpr": pressure.vgprs, "agpr": pressure.agprs, "sgpr": pressure.sgprs},
            "errors": errors,
        }
        if output is Format.json:
            print(json.dumps({**summary, "findings": [_finding(f) for f in findings]}, indent=2))
        else:
            live = f"live at most {pressure.vgprs} VGPR, {pressure.agprs} AGPR, {pressure.sgprs} SGPR"
            print(f"{printable(ir.name)}: {summary['instructions']} instructions, {summary['loops']} loop(s); {live}")
            for f in findings if output is Format.full else findings[:20]:
                where = f"+0x{f.instruction.offset:x}" if f.instruction.offset is not None else f.block
                print(f"{where}: {f.severity.value}[{f.code}]: {printable(f.message)}")
            print(f"{errors} error(s), {len(findings) - errors} note(s)")
        return Exit.NO if errors else Exit.DONE

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _objects_in(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix in (".co", ".hsaco"))


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "block": finding.block,
        "offset": finding.instruction.offset,
        "instruction": finding.instruction.mnemonic,
    }
