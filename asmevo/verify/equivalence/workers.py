"""Windows of one pair of kernels proved in several processes, each within a limit of memory.

Owns the processes. What is proved is the prover's; a process that is ended, for instance because it asked for more memory than
it may have, leaves its windows unknown.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol, TypeVar

from asmevo.verify.verdict import Basis, Outcome, Verdict

WORTH_PROCESSES = 4
"""Fewer windows than that are proved sooner than processes start."""
MEMORY_BYTES = 4 << 30
"""Address space of one process; z3 has its own, smaller limit for a query."""

Window = TypeVar("Window", contravariant=True)
_LOST = "the process that proved it was ended, perhaps for want of memory"


class WindowProver(Protocol[Window]):
    """Proves single windows. It is pickled for each process."""

    def best(self, window: Window, /) -> Verdict:
        """Return the best verdict on a window."""
        ...


def in_processes(prover: WindowProver[Window], windows: Sequence[Window], jobs: int) -> Iterator[Verdict]:
    """Yield the verdict on each window, in order, from at most `jobs` processes.

    UNKNOWN for windows that a process was ended over.
    """
    pool = ProcessPoolExecutor(
        min(jobs, len(windows)), multiprocessing.get_context("spawn"), initializer=_begin, initargs=(prover,)
    )
    try:
        futures = [pool.submit(_best, window) for window in windows]
        for future in futures:
            try:
                yield future.result()
            except (BrokenProcessPool, MemoryError):
                yield Verdict(Outcome.UNKNOWN, (Basis("z3", Outcome.UNKNOWN, _LOST),), reason=_LOST)
    except (KeyboardInterrupt, GeneratorExit):
        for child in multiprocessing.active_children():
            child.terminate()  # its work leaves nothing behind
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


_PROVER: list[object] = []
"""The prover of this process, where it is one that `in_processes` started."""


def _begin(prover: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(ImportError, ValueError, OSError):  # a platform without the limit, or a lower one that stands
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    _PROVER[:] = [prover]


def _best(window: object) -> Verdict:
    prover: WindowProver[object] = _PROVER[0]  # type: ignore[assignment]
    return prover.best(window)
