"""Whether a changed kernel takes longer in the launches at hand, by the model of whole dispatches.

The static model that passes ask has loops and occupancy as averages; whole dispatches have the ways of real waves. Owns that
comparison; it proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.backend.launch import Dispatch
from asmevo.backend.timing.whole import dispatch_timing
from asmevo.diagnostics import DiagnosticError
from asmevo.ir.kernel import Kernel


class SlowerIn:
    """Tells why a version of `kernel` is slower in `dispatches`, or that it is not.

    Launches that cannot be modelled (too long to record, or work-groups that wait for each other) are left out, and named in
    `left_out`.
    """

    def __init__(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> None:
        self.left_out: list[str] = []
        self._before: list[tuple[Dispatch, float]] = []
        for dispatch in dispatches:
            try:
                self._before.append((dispatch, dispatch_timing(kernel, dispatch).cycles))
            except DiagnosticError as error:
                self.left_out.append(f"{dispatch.name}: {error.diagnostics[0].message}")

    def reason(self, candidate: Kernel) -> str | None:
        """Why `candidate` is slower, all launches together; None when it is not.

        A candidate that cannot be modelled where the original was is no faster kernel, either.
        """
        total, before = 0.0, 0.0
        for dispatch, old in self._before:
            try:
                total += dispatch_timing(candidate, dispatch).cycles
            except DiagnosticError as error:
                return f"launch '{dispatch.name}' cannot be modelled: {error.diagnostics[0].message}"
            before += old
        return f"slower by the model: {before:,.0f} to {total:,.0f} cycles in all launches" if total > before else None
