"""All checks that need one kernel alone.

Owns their order; each check stands in a module of its own.
"""

from __future__ import annotations

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.finding import Finding
from asmevo.ir.kernel import Kernel
from asmevo.verify.static.definedness import check_definedness
from asmevo.verify.static.hazards import check_hazards
from asmevo.verify.static.registers import check_registers
from asmevo.verify.static.resources import check_lds
from asmevo.verify.static.waits import check_waits


def check_all(kernel: Kernel, analyses: AnalysisManager | None = None) -> list[Finding]:
    """Findings of every check: waits, wait states, registers, definedness, LDS; each in layout order.

    `analyses` are the kernel's, where some are known already.
    """
    analyses = analyses or AnalysisManager(kernel)
    return [
        *check_waits(kernel, analyses),
        *check_hazards(kernel),
        *check_registers(kernel, analyses),
        *check_definedness(kernel),
        *check_lds(kernel),
    ]
