"""The roundtrip command: many files, over the machine's cores, with a summary."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asmevo.cli.common import Exit, Format, guarded
from asmevo.cli.many import files_of, run_over
from asmevo.diagnostics import fail, printable

if TYPE_CHECKING:
    from asmevo.backend.roundtrip import FileResult, Way


def register(app: typer.Typer) -> None:
    """Adds this module's command."""
    app.command()(roundtrip)


def roundtrip(
    paths: Annotated[list[Path], typer.Argument(help="Code objects, containers, or folders searched for .co and .hsaco.")],
    ir: Annotated[bool, typer.Option("--ir/--no-ir", help="Through recovered kernels.")] = True,
    text: Annotated[bool, typer.Option("--text/--no-text", help="Through printed text.")] = True,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Processes; by default one a core.", min=1)] = None,
    output: Annotated[Format, typer.Option("--format", help="What to print.")] = Format.concise,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    traceback: Annotated[bool, typer.Option("--traceback", help="Show the traceback of an internal error.")] = False,
) -> None:
    """Recover and rebuild with no edit, through IR and through printed text, and compare the bytes.

    Exits with 1 when a file differs or cannot be read, with 2 when none could be read.

    Example: asmevo roundtrip examples/kernels
    """

    def body() -> int:
        from asmevo.backend.roundtrip import Outcome, Way, check_file

        ways = tuple(way for way, wanted in ((Way.IR, ir), (Way.TEXT, text)) if wanted)
        if not ways:
            fail("E0208", "nothing is left to compare", help="give --ir, --text or neither")
        files = files_of(paths)
        started = time.perf_counter()
        results = run_over(files, partial(check_file, ways=ways), title="roundtrip", jobs=jobs, quiet=quiet)
        summary = _summary(results, ways, time.perf_counter() - started)
        if output is Format.json:
            print(json.dumps({**summary, "results": [_result(r) for r in results]}, indent=2))
        else:
            _show(results, summary, output)
        counts = summary["outcomes"]
        if counts.get(Outcome.REFUSED.value) == len(results):
            return Exit.BAD_INPUT
        return Exit.DONE if counts.get(Outcome.IDENTICAL.value) == len(results) else Exit.NO

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _summary(results: Sequence[FileResult], ways: tuple[Way, ...], wall_s: float) -> dict[str, Any]:
    outcomes: defaultdict[str, int] = defaultdict(int)
    kinds: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for result in results:
        outcomes[result.outcome.value] += 1
        kinds[result.kind or "not readable"][result.outcome.value] += 1
    instructions, cpu_s = sum(r.instructions for r in results), sum(r.cpu_s for r in results)
    return {
        "files": len(results),
        "kernels": sum(r.kernels for r in results),
        "instructions": instructions,
        "ways": [way.value for way in ways],
        "outcomes": dict(outcomes),
        "kinds": {kind: dict(counts) for kind, counts in sorted(kinds.items())},
        "wall_s": round(wall_s, 3),
        "cpu_s": round(cpu_s, 3),
        "instructions_per_wall_s": round(instructions / wall_s),
        "instructions_per_cpu_s": round(instructions / max(cpu_s, 1e-9)),
    }


def _result(result: FileResult) -> dict[str, Any]:
    return {
        "file": result.file,
        "outcome": result.outcome.value,
        "kind": result.kind,
        "detail": result.detail,
        "kernels": result.kernels,
        "instructions": result.instructions,
        "cpu_s": round(result.cpu_s, 4),
    }


def _show(results: Sequence[FileResult], summary: dict[str, Any], output: Format) -> None:
    for r in results:
        if r.outcome.value != "identical" or output is Format.full:
            # A diagnostic names its file itself.
            print(f"{printable(r.file)}: {r.outcome.value}" + (f": {printable(r.detail)}" if r.detail else ""))
    for kind, counts in summary["kinds"].items():
        print(f"{kind}: {', '.join(f'{count} {outcome}' for outcome, count in sorted(counts.items()))}")
    through = " and ".join({"ir": "IR", "text": "text"}[way] for way in summary["ways"])
    same = summary["outcomes"].get("identical", 0)
    print(f"{same} of {summary['files']} files ({summary['kernels']} kernels) byte-identical through {through}")
    count, wall, cpu = summary["instructions"], summary["instructions_per_wall_s"], summary["instructions_per_cpu_s"]
    print(f"{count:,} instructions in {summary['wall_s']:.1f} s: {wall:,} a second, {cpu:,} a second of a core")
