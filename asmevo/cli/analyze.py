"""The analyze command: findings and views of kernels, of one file or of many."""

from __future__ import annotations

import enum
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asmevo.cli.common import Exit, check_output, guarded, load_object, load_source, write_output
from asmevo.cli.many import files_of, run_over
from asmevo.cli.options import Trace
from asmevo.diagnostics import Severity, Span, fail, printable

if TYPE_CHECKING:
    from asmevo.ir.kernel import Kernel
    from asmevo.report.batch import FileReport, Wanted


class Output(str, enum.Enum):
    """What analyze writes."""

    full = "full"
    concise = "concise"
    json = "json"
    sarif = "sarif"
    html = "html"


class FailOn(str, enum.Enum):
    """The mildest finding that makes the exit code 1."""

    error = "error"
    warning = "warning"
    note = "note"
    never = "never"


def register(app: typer.Typer) -> None:
    """Adds this module's command."""
    app.command()(analyze)


def analyze(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Code objects, containers, FILE!MEMBER, an assembly source (.s), or folders; - is standard input."),
    ],
    kernel: Annotated[str | None, typer.Option("--kernel", help="Which kernel; all by default.")] = None,
    view: Annotated[
        list[str] | None,
        typer.Option(
            "--view",
            help="What to show: summary, cfg, waits, hazards, pressure, memory, loops, timeline, arguments, profile, listing, "
            "or all; several with commas.",
        ),
    ] = None,
    output: Annotated[Output, typer.Option("--format", help="What to write.")] = Output.full,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit with 1 at findings of this level or above.")
    ] = FailOn.error,
    every: Annotated[bool, typer.Option("--all", help="Each finding, and whole tables.")] = False,
    waves: Annotated[int, typer.Option("--assume-waves", help="Waves on a SIMD in the cycle model.", min=1, max=8)] = 1,
    profile: Annotated[
        Path | None,
        typer.Option("--profile", help="rocprofv3's PC samples (CSV, JSON) or decoded thread trace (folder, code.json, CSV)."),
    ] = None,
    target: Annotated[Path | None, typer.Option("-o", "--output", help="Where to write; standard output if not given.")] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Processes; by default one a core.", min=1)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    traceback: Trace = False,
) -> None:
    """Check kernels on every path (waits, wait states, registers, LDS), and show what there is to know of them.

    Example: asmevo analyze kernel.co --view summary,loops,waits --fail-on warning
    """

    def body() -> int:
        check_output(target)
        if output is Output.html:
            return _page(paths, kernel, waves, profile, target, fail_on)
        started = time.perf_counter()
        wanted = _wanted(paths, kernel, _views(view, profile), output, every, waves, profile)
        reports = _reports(paths, wanted, jobs, quiet)
        text = _render(reports, output, time.perf_counter() - started)
        _write(text, target)
        return _exit(reports, fail_on, show_traceback=traceback)

    raise typer.Exit(guarded(body, show_traceback=traceback))


def _views(given: Sequence[str] | None, profile: Path | None) -> tuple[str, ...] | None:
    """The views by name, each once, in the order given; None when nothing was said. With a profile, that is a view of it."""
    from difflib import get_close_matches

    from asmevo.report.views.registry import VIEWS

    if given is None:
        return None if profile is None else ("summary", "profile")
    names = [name.strip() for text in given for name in text.split(",") if name.strip()]
    for name in names:
        if name != "all" and name not in VIEWS:
            close = get_close_matches(name, VIEWS, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(VIEWS)} and all"
            fail("E0208", f"unknown view '{printable(name)}'", help=hint)
    every = [n for n in VIEWS if n != "listing" and (n != "profile" or profile is not None)]
    return tuple(dict.fromkeys(one for name in names for one in (every if name == "all" else [name])))


def _wanted(
    paths: Sequence[Path],
    kernel: str | None,
    views: tuple[str, ...] | None,
    output: Output,
    every: bool,
    waves: int,
    profile: Path | None,
) -> Wanted:
    from asmevo.report.batch import Wanted

    single = len(paths) == 1 and not os.path.isdir(paths[0])
    if profile is not None and not single:
        fail("E0208", "a profile is of one file", help="name the object that was profiled")
    # Of many files only what needs a look is printed, unless views are asked for.
    default = ("summary",) if single and output is not Output.concise else ()
    return Wanted(
        kernel=kernel,
        views=default if views is None else views,
        text=output in (Output.full, Output.concise),
        concise=output is Output.concise,
        data=output is Output.json,
        sarif=output is Output.sarif,
        every=every,
        least=Severity.NOTE if single else Severity.WARNING,
        waves=waves,
        profile=profile,
    )


def _reports(paths: Sequence[Path], wanted: Wanted, jobs: int | None, quiet: bool) -> list[FileReport]:
    from asmevo.collector import collector_paused
    from asmevo.report.batch import report_file, report_kernels

    if len(paths) == 1 and (str(paths[0]) == "-" or paths[0].suffix == ".s"):
        kernels, text_address = _kernels(paths[0], wanted.kernel)
        return [report_kernels(_name(paths[0]), kernels, wanted, text_address)]
    work = partial(report_file, wanted=wanted, of_many=True)
    # Few files are done in this process, which gets its collector back.
    with collector_paused():
        return run_over(files_of(paths), work, title="analyze", jobs=jobs, quiet=quiet)


def _name(path: Path) -> str:
    return "<stdin>" if str(path) == "-" else str(path)


def _kernels(path: Path, name: str | None) -> tuple[list[Kernel], int | None]:
    """The kernels of a file, and where its .text lies if it is an object."""
    from asmevo.report.batch import kernels_of

    if path.suffix == ".s":
        return [load_source(path)], None
    loaded = load_object(path)
    return kernels_of(loaded, name), loaded.text.address


def _page(
    paths: Sequence[Path], name: str | None, waves: int, profile: Path | None, target: Path | None, fail_on: FailOn
) -> int:
    from asmevo.report.batch import subjects_of
    from asmevo.report.findings import reaches
    from asmevo.report.html.page import page

    if len(paths) != 1 or os.path.isdir(paths[0]):
        fail("E0208", "a page shows one kernel of one file", help="name one file, or use --format json or sarif")
    kernels, text_address = _kernels(paths[0], name)
    if len(kernels) != 1:
        names = ", ".join(f"'{printable(kernel.name)}'" for kernel in kernels)
        fail("E0109", f"the object has {len(kernels)} kernels: {names}", Span(_name(paths[0])), "choose one with --kernel")
    (subject,) = subjects_of(_name(paths[0]), kernels, waves, profile, text_address)
    _write(page(subject), target)
    level = None if fail_on is FailOn.never else Severity(fail_on.value)
    return Exit.NO if reaches(subject.worst(), level) else Exit.DONE


def _write(text: str, target: Path | None) -> None:
    write_output(target or Path("-"), text.encode("utf-8", "backslashreplace"))


def _render(reports: Sequence[FileReport], output: Output, wall_s: float) -> str:
    if output is Output.json:
        files = [report.data or {"file": report.file, "refusal": report.refusal, "bug": bool(report.bug)} for report in reports]
        return json.dumps({"version": 1, "files": files, "summary": _totals(reports, wall_s)}, indent=2) + "\n"
    if output is Output.sarif:
        from asmevo.report.sarif import sarif_log

        results = [result for report in reports for result in report.results]
        log = sarif_log(results, [report.file for report in reports])
        return json.dumps(log, indent=2) + "\n"
    lines: list[str] = []
    for report in reports:
        lines += report.text
        if report.refusal or report.bug:
            lines.append(f"{printable(report.file)}: {'refused' if report.refusal else 'internal error'}")
        elif len(reports) > 1:
            lines.append(f"{printable(report.file)}: {_told(report.counts)}, {report.instructions:,} instructions")
    if len(reports) > 1:
        lines += _many(reports, wall_s)
    elif reports[0].counts:
        lines.append(_told(reports[0].counts))
    return "\n".join(lines) + "\n"


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {level}(s)" for level, number in counts.items())


def _totals(reports: Sequence[FileReport], wall_s: float) -> dict[str, Any]:
    counts, codes = Counter[str](), Counter[str]()
    for report in reports:
        counts.update(report.counts)
        codes.update(report.codes)
    instructions, cpu_s = sum(r.instructions for r in reports), sum(r.cpu_s for r in reports)
    return {
        "files": len(reports),
        "refused": sum(bool(r.refusal) for r in reports),
        "internal_errors": sum(bool(r.bug) for r in reports),
        "kernels": sum(r.kernels for r in reports),
        "instructions": instructions,
        "unknown_words": sum(r.unknown for r in reports),
        "counts": dict(counts),
        "codes": dict(sorted(codes.items())),
        "wall_s": round(wall_s, 3),
        "cpu_s": round(cpu_s, 3),
        "instructions_per_cpu_s": round(instructions / cpu_s) if cpu_s else None,
    }


def _many(reports: Sequence[FileReport], wall_s: float) -> list[str]:
    totals = _totals(reports, wall_s)
    by_code = ", ".join(f"{count:,} {code}" for code, count in totals["codes"].items())
    refused = f", {totals['refused']} refused" if totals["refused"] else ""
    bugs = f", {totals['internal_errors']} internal errors" if totals["internal_errors"] else ""
    return [
        f"{totals['files']:,} files{refused}{bugs}, {totals['kernels']:,} kernels, {totals['instructions']:,} instructions, "
        f"{totals['unknown_words']} words of which nothing is known in code that is reached",
        f"{_told(totals['counts'])}" + (f": {by_code}" if by_code else ""),
        f"{wall_s:.1f} s, {totals['cpu_s']:.1f} s of processor time"
        + (f": {totals['instructions_per_cpu_s']:,} instructions a second of a core" if totals["cpu_s"] else ""),
    ]


def _exit(reports: Sequence[FileReport], fail_on: FailOn, *, show_traceback: bool) -> int:
    from asmevo.report.findings import reaches

    for report in reports:
        if report.refusal:
            print(report.refusal, file=sys.stderr)
    bugs = [report for report in reports if report.bug]
    for report in bugs:
        shown = report.bug if show_traceback else report.bug.strip().splitlines()[-1]
        print(f"internal error at {printable(report.file)}: {shown}", file=sys.stderr)
    if bugs:
        print("this is a bug in asmevo; --traceback shows more", file=sys.stderr)
        return Exit.BUG
    if any(report.refusal for report in reports):
        return Exit.BAD_INPUT
    level = None if fail_on is FailOn.never else Severity(fail_on.value)
    return Exit.NO if any(reaches(report.worst, level) for report in reports) else Exit.DONE
