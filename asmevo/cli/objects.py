"""Commands that judge a code object: analyze."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asmevo.cli.common import Exit, Format, guarded, load_kernel
from asmevo.diagnostics import printable

if TYPE_CHECKING:
    from asmevo.ir.finding import Finding

Input = Annotated[Path, typer.Argument(help="Code object (.co, .hsaco); - is standard input.")]
KernelName = Annotated[str | None, typer.Option("--kernel", help="Which kernel, when the object has several.")]
OutputFormat = Annotated[Format, typer.Option("--format", help="What to print.")]
Trace = Annotated[bool, typer.Option("--traceback", help="Show the traceback of an internal error.")]


def register(app: typer.Typer) -> None:
    """Adds this module's commands."""
    app.command()(analyze)


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


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "block": finding.block,
        "offset": finding.instruction.offset,
        "instruction": finding.instruction.mnemonic,
    }
