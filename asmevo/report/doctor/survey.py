"""All checks of a machine in the order in which they are told."""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.report.doctor.check import Check, Machine
from asmevo.report.doctor.device import device
from asmevo.report.doctor.extras import extras
from asmevo.report.doctor.needed import needed


def survey(machine: Machine | None = None) -> list[Check]:
    """Look at a machine, this one by default: first what is needed, then the device, then the rest."""
    machine = machine or Machine()
    return [*needed(), *device(machine), *extras(machine)]


def is_healthy(checks: Sequence[Check]) -> bool:
    """Whether everything that is needed works."""
    return all(check.works for check in checks if check.needed)


def lines(checks: Sequence[Check], *, concise: bool = False) -> list[str]:
    """The checks as text; the concise one has what is needed and does not work."""
    if concise:
        return [_line(check) for check in checks if check.needed and not check.works]
    found: list[str] = []
    for title, wanted in (("needed", True), ("good to have", False)):
        found += [f"== {title} ==", *(_line(check) for check in checks if check.needed is wanted)]
    rest = [check for check in checks if not check.needed]
    sound = "everything that is needed works" if is_healthy(checks) else "SOMETHING THAT IS NEEDED DOES NOT WORK"
    return [*found, "", f"{sound}; of {len(rest)} other things {sum(check.works for check in rest)} are here"]


def _line(check: Check) -> str:
    to = "to mend it" if check.needed else "to have it"
    return f"{check.name}: {check.state}" + (f"; {to}: {check.remedy}" if check.remedy else "")
