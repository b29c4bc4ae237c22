"""What `opt` tells about a pipeline as it runs, and what it writes and says when a result is refused."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from asmevo.diagnostics import fail, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from asmevo.ir.kernel import Kernel
    from asmevo.passes.base import KernelPass
    from asmevo.passes.manager import PassRun
    from asmevo.passes.sparing import Dropped


@dataclass(slots=True)
class Reporter:
    """Called with each pass as it ends; keeps them, and prints what was asked for.

    `print_after` names passes whose result is printed even when they changed nothing.
    """

    print_after: Sequence[str] = ()
    print_after_change: bool = False
    stats: bool = False
    timing: bool = False
    remarks: bool = False
    runs: list[PassRun] = field(default_factory=list["PassRun"])

    def check(self, pipeline: Sequence[KernelPass]) -> None:
        """Raises E0208 for a pass to print after that is not in the pipeline."""
        names = [item.name for item in pipeline]
        for name in self.print_after:
            if name not in names:
                fail("E0208", f"--print-after {name}: there is no such pass in the pipeline", help=f"it has {', '.join(names)}")

    def __call__(self, run: PassRun) -> None:
        """Tells about one pass: kernels on standard output, the rest on standard error."""
        from asmevo.ir.printer import print_kernel

        self.runs.append(run)
        if run.pass_name in self.print_after or (self.print_after_change and run.kept):
            print(f"; after {run.pass_name}\n{print_kernel(run.kernel)}")
        if self.stats:
            print(f"{run.pass_name}: {dict(run.statistics)}", file=sys.stderr)
        if self.timing:
            print(f"{run.pass_name}: {run.seconds * 1e3:.1f} ms", file=sys.stderr)
        if self.remarks:
            for remark in run.remarks:
                kind = "missed" if remark.missed else "done"
                print(f"{kind} [{run.pass_name}] {printable(remark.message)}", file=sys.stderr)


def blame(
    original: Kernel, pipeline: Sequence[KernelPass], runs: Sequence[PassRun], accepts: Callable[[Kernel], bool]
) -> tuple[Kernel, Sequence[KernelPass]] | None:
    """Names the first pass whose result is refused on standard error; its input and itself, None when there is none."""
    from asmevo.passes.bisect import first_refused
    from asmevo.passes.pipeline import pipeline_text

    found = first_refused(runs, accepts)
    if found is None:
        return None
    step = pipeline[found : found + 1]
    print(f"bisect: the first result that is refused is that of pass {found + 1}, {pipeline_text(step)}", file=sys.stderr)
    return (runs[found - 1].kernel if found else original), step


def report_dropped(dropped: Sequence[Dropped], unmodelled: Sequence[str]) -> None:
    """Tells on standard error which passes were left out and why, and which launches the model could not compare."""
    from asmevo.passes.pipeline import pipeline_text

    for one in dropped:
        print(f"left out: pass {one.position + 1}, {pipeline_text([one.item])}: {printable(one.reason)}", file=sys.stderr)
    for told in unmodelled:
        print(f"not modelled: {printable(told)}", file=sys.stderr)


def write_reproducer(path: Path, kernel: Kernel, passes: Sequence[KernelPass], verify: str) -> None:
    """Writes the kernel and the passes that lead to the refusal as a `.s` file, and says so."""
    from asmevo.atomic import write_atomically
    from asmevo.passes.bisect import reproducer

    write_atomically(path, reproducer(kernel, passes, verify).encode())
    print(f"reproducer: {printable(str(path))}", file=sys.stderr)
