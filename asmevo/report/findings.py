"""Findings for people: groups, and the lines that show them.

Owns the grouping for show. Codes are those of the checks, hints those of the documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from asmevo.diagnostics import Severity, printable
from asmevo.ir.finding import Finding
from asmevo.ir.printer import print_instruction
from asmevo.report.explanations import hint
from asmevo.report.subject import LEVELS, place_of

_OTHER_PLACES = 6


@dataclass(frozen=True, slots=True)
class Group:
    """Findings of one code, severity and rule, in the order given; `findings` has at least one."""

    code: str
    severity: Severity
    rule: str
    findings: tuple[Finding, ...]


def grouped(findings: Sequence[Finding]) -> tuple[Group, ...]:
    """Return the groups: worst severity first, then the most frequent."""
    table: dict[tuple[str, Severity, str], list[Finding]] = {}
    for finding in findings:
        table.setdefault((finding.code, finding.severity, finding.rule), []).append(finding)
    groups = [Group(*key, tuple(found)) for key, found in table.items()]
    return tuple(sorted(groups, key=lambda g: (-LEVELS.index(g.severity), -len(g.findings), g.code, g.rule)))


def reaches(worst: Severity | None, level: Severity | None) -> bool:
    """Say whether the worst finding is at or above a level; None as level is never reached."""
    return worst is not None and level is not None and LEVELS.index(worst) >= LEVELS.index(level)


def finding_data(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain data for JSON; `offset` is in .text, `line` of a source; None where there is none."""
    instruction, producer = finding.instruction, finding.producer
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "rule": finding.rule,
        "message": finding.message,
        "block": finding.block,
        "offset": instruction.offset,
        "line": instruction.span.line if instruction.span is not None and instruction.span.line else None,
        "instruction": print_instruction(instruction),
        "producer": None if producer is None else {"offset": producer.offset, "instruction": print_instruction(producer)},
        "missing": finding.missing,
        "hint": hint(finding.code),
    }


def concise_line(file: str, finding: Finding, count: int = 1) -> str:
    """Return `file+0x1a4: error[E0501]: message`, with a count when it stands for several."""
    times = f" (and {count - 1} more like it)" if count > 1 else ""
    place = place_of(finding.instruction, finding.block)
    where = f"{printable(file)}{place}" if place.startswith("+") else f"{printable(file)}: {printable(place)}"
    return f"{where}: {finding.severity.value}[{finding.code}]: {printable(finding.message)}{times}"


def full_lines(file: str, group: Group, *, every: bool = False) -> list[str]:
    """Return a group as text: its first finding with instruction, producer and hint, and where the others are.

    `every` prints each of them in that form.
    """
    shown = group.findings if every else group.findings[:1]
    lines: list[str] = []
    for finding in shown:
        count = f" x{len(group.findings)}" if len(group.findings) > len(shown) else ""
        lines.append(f"{finding.severity.value}[{finding.code}]{count}: {printable(finding.message)}")
        place = place_of(finding.instruction, finding.block)
        lines.append(f" --> {printable(file)} {printable(place)}, in block {printable(finding.block)}")
        involved = [i for i in (finding.producer, finding.instruction) if i is not None]
        places = [place_of(i, finding.block) for i in involved]
        width = max(map(len, places))
        lines += [f"  | {p:>{width}}  {printable(print_instruction(i))}" for p, i in zip(places, involved, strict=True)]
    lines.append(f"help: {hint(group.code)} (`asmevo explain {group.code}` says more)")
    rest = group.findings[len(shown) :]
    if rest:
        places = ", ".join(printable(place_of(f.instruction, f.block)) for f in rest[:_OTHER_PLACES])
        more = f" and {len(rest) - _OTHER_PLACES} more" if len(rest) > _OTHER_PLACES else ""
        lines.append(f"also at {places}{more} (--all shows each)")
    return lines


def counts(findings: Sequence[Finding]) -> dict[str, int]:
    """Return how many findings there are of each severity, worst first."""
    return {level.value: sum(f.severity is level for f in findings) for level in reversed(LEVELS)}
