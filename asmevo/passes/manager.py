"""Runs a pipeline: each pass in its own context, the IR verified and the edits judged after each one.

The manager knows no judge by name: whoever runs it hands one in (`gate`), so that passes and verification share no algorithm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from asmevo.diagnostics import Diagnostic, DiagnosticError
from asmevo.ir.kernel import Kernel
from asmevo.ir.verifier import verify_kernel
from asmevo.passes.base import KernelPass, PassContext, Remark

Gate = Callable[[Kernel, Kernel], bool]
"""Judges (before, after) of one pass; False drops the pass's edits."""


@dataclass(frozen=True, slots=True)
class PassRun:
    """What one pass did: whether it changed the kernel and the change was kept, its statistics, remarks and time."""

    pass_name: str
    changed: bool
    kept: bool
    statistics: Mapping[str, int]
    remarks: tuple[Remark, ...]
    seconds: float
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """The kernel after the pipeline, and one record a pass.

    `executions` is the profile as the passes left it: that of the manager, unless blocks run more or less often now.
    """

    kernel: Kernel
    runs: tuple[PassRun, ...]
    executions: Mapping[int, int] = field(default_factory=dict[int, int])

    @property
    def changed(self) -> bool:
        """Whether any pass's change was kept."""
        return any(run.kept for run in self.runs)


@dataclass(frozen=True, slots=True)
class PassManager:
    """Runs passes in order over a kernel.

    `after_each` sees every PassRun as it ends (printing, timing and dumping are built on it); `stop_after` limits how many
    passes run; `executions` is a profile by instruction uid.
    """

    passes: Sequence[KernelPass]
    gate: Gate | None = None
    executions: Mapping[int, int] = field(default_factory=dict[int, int])
    waves_per_simd: int = 1
    after_each: Callable[[PassRun], None] | None = None
    stop_after: int | None = None

    def run(self, kernel: Kernel) -> PipelineResult:
        """The pipeline's result. Raises E0401 when a pass leaves invalid IR: that is the pass's bug."""
        runs: list[PassRun] = []
        executions = self.executions
        for item in self.passes[: self.stop_after]:
            started = time.perf_counter()
            context = PassContext(item.name, kernel, executions, self.waves_per_simd)
            result = item.run(kernel, context)
            if result.changed:
                _require_valid(item.name, result.kernel)
            kept = result.changed and (self.gate is None or self.gate(kernel, result.kernel))
            if kept:
                kernel, executions = result.kernel, context.executions
            run = PassRun(
                pass_name=item.name,
                changed=result.changed,
                kept=kept,
                statistics=dict(context.statistics),
                remarks=tuple(context.remarks),
                seconds=time.perf_counter() - started,
                kernel=kernel,
            )
            runs.append(run)
            if self.after_each:
                self.after_each(run)
        return PipelineResult(kernel, tuple(runs), executions)


def _require_valid(name: str, kernel: Kernel) -> None:
    findings = verify_kernel(kernel)
    if findings:
        first = findings[0]
        raise DiagnosticError(
            Diagnostic("E0401", f"pass '{name}' left invalid IR: {first.message} ({first.code}) in block '{first.block}'")
        )
