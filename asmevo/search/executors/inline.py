"""Tasks run one after the other in this process: for tests, for judges that cannot be pickled, for one core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar

from asmevo.search.execution import Done, Loss, Workshop

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class InlineExecutor(Generic[T, R]):
    """Runs tasks in this process. It cannot end one that takes too long, and dies of what kills it."""

    workshop: Workshop[T, R]
    workers: int = 1

    def run(self, tasks: Sequence[T], /, *, deadline: float | None = None) -> Iterator[Done[R]]:
        """What became of each task, in order. The deadline is looked at between tasks."""
        for task in tasks:
            if deadline is not None and monotonic() >= deadline:
                yield Done(None, Loss.STOPPED, 0)
                continue
            try:
                yield Done(self.workshop.do(task))
            except MemoryError:
                yield Done(None, Loss.MEMORY)

    def close(self) -> None:
        """Nothing to end."""
