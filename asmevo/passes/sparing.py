"""A pipeline whose refused passes are left out: their edits are dropped, those of the others kept.

Owns which passes are left out. Who refuses a result, and why, is the caller's: passes and verification share no algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from asmevo.ir.kernel import Kernel
from asmevo.passes.base import KernelPass
from asmevo.passes.bisect import first_refused
from asmevo.passes.manager import PipelineResult


@dataclass(frozen=True, slots=True)
class Dropped:
    """A pass that was left out: its position in the pipeline as it was given, itself, and why its result was refused."""

    position: int
    item: KernelPass
    reason: str


@dataclass(frozen=True, slots=True)
class Spared:
    """What the passes that are left made of the kernel, and those that were left out, in the order in which they were found."""

    result: PipelineResult
    passes: tuple[KernelPass, ...]
    dropped: tuple[Dropped, ...]


def without_refused(
    result: PipelineResult,
    passes: Sequence[KernelPass],
    again: Callable[[Sequence[KernelPass]], PipelineResult],
    refusal: Callable[[Kernel], str | None],
) -> Spared:
    """Leaves out passes until `refusal` has nothing against the result of those that are left.

    `result` is what all `passes` made, `again` runs some of them over the original, `refusal` says why a kernel is refused, or
    None. The original is never refused. As many runs as passes are left out, and in each a binary search for the one.
    """
    known: list[tuple[Kernel, str | None]] = []

    def against(kernel: Kernel) -> str | None:
        for other, said in known:
            if other is kernel:
                return said
        known.append((kernel, refusal(kernel)))
        return known[-1][1]

    left = list(enumerate(passes))
    dropped: list[Dropped] = []
    while (found := first_refused(result.runs, lambda kernel: against(kernel) is None)) is not None:
        position, item = left.pop(found)
        reason = against(result.runs[found].kernel)
        assert reason is not None, "the search ends at a result that is refused"
        dropped.append(Dropped(position, item, reason))
        result = again([kept for _, kept in left])
    return Spared(result, tuple(kept for _, kept in left), tuple(dropped))
