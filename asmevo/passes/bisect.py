"""Which pass of a pipeline made its result unacceptable, and a file that repeats that one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_kernel
from asmevo.passes.base import KernelPass
from asmevo.passes.manager import PassRun
from asmevo.passes.pipeline import pipeline_text


def first_refused(runs: Sequence[PassRun], accepts: Callable[[Kernel], bool]) -> int | None:
    """The position of the first pass whose result `accepts` refuses, by binary search; None when the last is accepted.

    The kernel before all passes counts as accepted, and what is refused is taken to stay refused. Passes that changed nothing
    are never named. Complexity: logarithm of the passes that changed something, in calls of `accepts`.
    """
    changing = [position for position, run in enumerate(runs) if run.kept]
    if not changing or accepts(runs[changing[-1]].kernel):
        return None
    good, bad = -1, len(changing) - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if accepts(runs[changing[middle]].kernel):
            good = middle
        else:
            bad = middle
    return changing[bad]


def reproducer(kernel: Kernel, passes: Sequence[KernelPass], verify: str) -> str:
    """A `.s` file of the kernel whose first line tells how to run these passes over it."""
    command = f'; asmevo opt THIS_FILE --passes "{pipeline_text(passes)}" --verify {verify}\n'
    return command + print_kernel(kernel)
