"""A finding of a static check: what is wrong, at which instruction, caused by which."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.diagnostics import Severity
from asmevo.ir.instruction import Instruction


@dataclass(frozen=True, slots=True)
class Finding:
    """`code` is stable (E0501 wait missing, E0502 wait states missing, ...); `producer` is the instruction that causes it.

    `rule` names what in the check was broken, where it has several rules (a row of the hazard table, LDS traffic by kind);
    `missing` is by how much, in the rule's own unit: issue slots for wait states.
    """

    code: str
    message: str
    block: str
    instruction: Instruction
    producer: Instruction | None = None
    severity: Severity = Severity.ERROR
    rule: str = ""
    missing: int = 0
