"""Lazy, cached analyses of one kernel.

Owns the cache only. A kernel is immutable, so a result never goes stale: a changed kernel is another kernel and gets a new
manager.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, cast

from asmevo.ir.kernel import Kernel


class Analysis(Protocol):
    """What can be asked of a manager: a class that computes itself from a kernel, with other analyses at hand."""

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Analysis:
        """The analysis of `kernel`; must not change anything, and be the same for the same kernel."""
        ...


T = TypeVar("T", bound=Analysis)


class AnalysisManager:
    """Computes each analysis of one kernel at most once."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._results: dict[type[Analysis], Analysis] = {}

    def get(self, analysis: type[T]) -> T:
        """The result of `analysis`, computed at the first call."""
        if analysis not in self._results:
            self._results[analysis] = analysis.compute(self.kernel, self)
        return cast("T", self._results[analysis])
