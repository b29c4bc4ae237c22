"""Files under analysis: from a file to findings and rendered views, ready to be sent from one process to another.

Owns what one file comes to, whatever happens to it; running many and printing is the command line's.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from asmevo.backend.inputs import load_input
from asmevo.collector import collector_off, collector_paused
from asmevo.diagnostics import DiagnosticError, Severity, printable
from asmevo.frontend.codeobject import CodeObject
from asmevo.frontend.profiles.matching import match_profiles
from asmevo.frontend.profiles.reading import read_profile
from asmevo.frontend.recover import recover
from asmevo.ir.kernel import Kernel
from asmevo.report.findings import concise_line, counts, finding_data, full_lines, grouped
from asmevo.report.sarif import sarif_result
from asmevo.report.subject import LEVELS, Subject
from asmevo.report.views.registry import VIEWS

_LINES = 24
"""Lines of a view's table that are printed without `every`."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to make of each kernel. `kernel` names one, None is all; `views` by name, in order.

    `data` and `sarif` ask for plain data and SARIF results, `text` for lines of text: short ones with `concise`. `every`: each
    finding and whole tables. `least`: milder findings are counted, and left out of the text unless `every`. `profile` is a
    file of measurements on a device.
    """

    kernel: str | None = None
    views: tuple[str, ...] = ("summary",)
    text: bool = True
    concise: bool = False
    data: bool = False
    sarif: bool = False
    every: bool = False
    least: Severity = Severity.NOTE
    waves: int = 1
    profile: Path | None = None


@dataclass(frozen=True, slots=True)
class FileReport:
    """What one file comes to.

    `refusal` says why it cannot be read, `bug` is the traceback of a fault of ours; both empty when all went well. `unknown`
    counts words that are no known instruction in code that a path reaches. `cpu_s` is processor time for everything.
    """

    file: str
    refusal: str = ""
    bug: str = ""
    kernels: int = 0
    instructions: int = 0
    unknown: int = 0
    cpu_s: float = 0.0
    counts: dict[str, int] = field(default_factory=dict[str, int])
    codes: dict[str, int] = field(default_factory=dict[str, int])
    """Findings by `code severity`."""
    worst: Severity | None = None
    text: tuple[str, ...] = ()
    data: dict[str, Any] | None = None
    results: tuple[dict[str, Any], ...] = ()


def report_file(file: str, wanted: Wanted, *, of_many: bool = False) -> FileReport:
    """Return the report of a code object, or FILE!MEMBER; never raises for what the file holds.

    `of_many`: the process does nothing but this, file after file; see `collector_off`.
    """
    started = time.process_time()
    if of_many:
        collector_off()
    try:
        with collector_paused():
            loaded = load_input(file)
            report = report_kernels(file, kernels_of(loaded, wanted.kernel), wanted, loaded.text.address)
    except DiagnosticError as error:
        return FileReport(file, refusal="\n".join(d.render() for d in error.diagnostics))
    except Exception:
        # One file's fault must not cost the others' results; the command ends with the exit code of a bug.
        return FileReport(file, bug=traceback.format_exc())
    return replace(report, cpu_s=time.process_time() - started)


def kernels_of(code_object: CodeObject, name: str | None) -> list[Kernel]:
    """Return the kernel of that name, or all. Raises what `recover` raises."""
    names = [entry.name for entry in code_object.kernels] if name is None else [name]
    return [recover(code_object, one) for one in names]


def subjects_of(
    file: str, kernels: Sequence[Kernel], waves: int, profile: Path | None, text_address: int | None = None
) -> list[Subject]:
    """Return kernels of one file with what was measured of them; `text_address` is where its .text lies, None for a source.

    Raises what `read_profile` and `match_profiles` raise.
    """
    measured = match_profiles(read_profile(profile), kernels, text_address) if profile is not None else {}
    return [Subject(file, kernel, waves, measured.get(kernel.name)) for kernel in kernels]


def report_kernels(file: str, kernels: Sequence[Kernel], wanted: Wanted, text_address: int | None = None) -> FileReport:
    """Return the report of kernels of one file; see `subjects_of` for the address."""
    subjects = subjects_of(file, kernels, wanted.waves, wanted.profile, text_address)
    text: list[str] = []
    data: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for subject in subjects:
        if wanted.text:
            text += _text(subject, wanted)
        if wanted.data:
            data.append(_data(subject, wanted))
        if wanted.sarif:
            results += [sarif_result(file, subject.kernel.name, finding) for finding in subject.findings]
    findings = [finding for subject in subjects for finding in subject.findings]
    codes: dict[str, int] = {}
    for finding in findings:
        key = f"{finding.code} {finding.severity.value}"
        codes[key] = codes.get(key, 0) + 1
    return FileReport(
        file,
        kernels=len(subjects),
        instructions=sum(subject.instruction_count for subject in subjects),
        unknown=codes.get("E0537 warning", 0),
        counts=counts(findings),
        codes=codes,
        worst=max((f.severity for f in findings), key=LEVELS.index, default=None),
        text=tuple(text),
        data={"file": file, "kernels": data} if wanted.data else None,
        results=tuple(results),
    )


def _text(subject: Subject, wanted: Wanted) -> list[str]:
    shown = [f for f in subject.findings if wanted.every or LEVELS.index(f.severity) >= LEVELS.index(wanted.least)]
    most = None if wanted.every else _LINES
    if not shown and not wanted.views:
        return []
    lines = [] if wanted.concise else [f"{printable(subject.kernel.name)} ({printable(subject.file)})"]
    for name in wanted.views:
        view = VIEWS[name]
        title = [] if wanted.concise or len(wanted.views) == 1 else ["", f"== {name} =="]
        lines += [*title, *view.lines(view.data(subject), most=None if name == "listing" else most)]
    if wanted.concise and wanted.every:
        lines += [concise_line(subject.file, finding) for finding in shown]
    elif wanted.concise:
        lines += [concise_line(subject.file, g.findings[0], len(g.findings)) for g in grouped(shown)]
    else:
        for group in grouped(shown):
            lines += ["", *full_lines(subject.file, group, every=wanted.every)]
        lines.append("")
    return lines


def _data(subject: Subject, wanted: Wanted) -> dict[str, Any]:
    return {
        "kernel": subject.kernel.name,
        "target": subject.kernel.target,
        "instructions": subject.instruction_count,
        "counts": counts(subject.findings),
        "views": {name: asdict(VIEWS[name].data(subject)) for name in wanted.views},
        "findings": [finding_data(finding) for finding in subject.findings],
    }
