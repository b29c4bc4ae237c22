"""All checks that need one kernel alone, and a short form of what they find.

Owns their order and the grouping; each check stands in a module of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from asmevo.diagnostics import Severity
from asmevo.ir.finding import Finding
from asmevo.ir.kernel import Kernel
from asmevo.verify.static_definedness import check_definedness
from asmevo.verify.static_hazards import check_hazards
from asmevo.verify.static_registers import check_registers
from asmevo.verify.static_resources import check_lds
from asmevo.verify.static_waits import check_waits

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one code, severity and rule (empty where the code has no rules); the first stands for all."""

    code: str
    severity: Severity
    rule: str
    count: int
    first: Finding


def check_all(kernel: Kernel) -> list[Finding]:
    """Findings of every check: waits, wait states, registers, definedness, LDS; each in layout order."""
    return [
        *check_waits(kernel),
        *check_hazards(kernel),
        *check_registers(kernel),
        *check_definedness(kernel),
        *check_lds(kernel),
    ]


def grouped(findings: Iterable[Finding]) -> list[FindingGroup]:
    """One group for each code, severity and rule: errors first, then the most frequent."""
    counts: Counter[tuple[str, Severity, str]] = Counter()
    first: dict[tuple[str, Severity, str], Finding] = {}
    for finding in findings:
        key = finding.code, finding.severity, finding.rule
        counts[key] += 1
        first.setdefault(key, finding)
    groups = [FindingGroup(*key, count, first[key]) for key, count in counts.items()]
    return sorted(groups, key=lambda group: (_ORDER.index(group.severity), -group.count, group.code, group.rule))
