"""One kernel under analysis: the IR, its cached analyses, what the static checks found, and the modelled cycles.

Owns the gathering; every view reads from here, so that nothing is computed twice. It must not print.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from asmevo.backend.timing import Estimate, estimate
from asmevo.diagnostics import Severity
from asmevo.frontend.profiles.matching import KernelProfile
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.finding import Finding
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.report.advice import advise
from asmevo.verify.static.checks import check_all

LEVELS = (Severity.NOTE, Severity.WARNING, Severity.ERROR)
"""Mildest first."""


@dataclass(frozen=True)
class Subject:
    """A kernel of `file` with its analyses. `waves` share a SIMD in the cycle model; `measured` on a device, if it was.

    `findings` are those of the static checks and the advice, worst first, in layout order within a severity.
    """

    file: str
    kernel: Kernel
    waves: int = 1
    measured: KernelProfile | None = None
    analyses: AnalysisManager = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "analyses", AnalysisManager(self.kernel))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Everything found, worst first."""
        place = {id(i): position for position, i in enumerate(self.kernel.instructions())}
        found = [*check_all(self.kernel, self.analyses), *advise(self.kernel, self.analyses)]
        return tuple(sorted(found, key=lambda f: (-LEVELS.index(f.severity), place.get(id(f.instruction), 0), f.code)))

    @cached_property
    def timing(self) -> Estimate:
        """Modelled cycles; loops are taken to run 16 times."""
        return estimate(self.kernel, waves_per_simd=self.waves)

    @cached_property
    def instruction_count(self) -> int:
        """How many instructions the kernel has."""
        return sum(len(block.instructions) for block in self.kernel.blocks)

    def worst(self) -> Severity | None:
        """The severity of the worst finding; None without findings."""
        return self.findings[0].severity if self.findings else None

    def stall_cycles(self, label: str, instruction: Instruction) -> dict[str, float]:
        """Modelled cycles that one execution of the instruction loses, by cause; empty for what the model does not run."""
        cost = self.timing.per_block.get(label)
        lost = self.timing.stalls.get(instruction.uid)
        if cost is None or lost is None or not cost.executions:
            return {}
        return {cause: cycles / cost.executions for cause, cycles in lost.items() if cycles}

    def depth(self, label: str) -> int:
        """How many loops are around a block."""
        return self.analyses.get(Loops).depth.get(label, 0)


def place_of(instruction: Instruction, label: str) -> str:
    """Where an instruction stands, as text: file:line:column of a source, +0xOFFSET in .text, or its block."""
    if instruction.span is not None and instruction.span.line:
        return f"line {instruction.span.line}"
    return f"+0x{instruction.offset:x}" if instruction.offset is not None else label
