"""How work is spread: tasks, what becomes of them, and the protocol of whoever runs them.

Owns the data and the protocol. It must not know what a task does: that is the workshop's, which each worker holds once.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

R = TypeVar("R", covariant=True)
TaskT = TypeVar("TaskT", contravariant=True)
ResultT = TypeVar("ResultT", covariant=True)


class Loss(enum.Enum):
    """Why a task has no result."""

    DIED = "died"
    """The worker died over it, and so did a second one."""
    TIMEOUT = "timeout"
    """It took longer than a task may."""
    MEMORY = "memory"
    STOPPED = "stopped"
    """The deadline of the whole batch came first; it says nothing about the task."""


@dataclass(frozen=True, slots=True)
class Done(Generic[R]):
    """What became of a task: its result, or why there is none. `tries` counts the workers that were given it."""

    result: R | None
    loss: Loss | None = None
    tries: int = 1
    detail: str = ""


class Workshop(Protocol[TaskT, ResultT]):
    """What a worker holds: made once a worker from a picklable description, then asked task after task.

    It must be a pure function of the task, so that results do not depend on which worker had it.
    """

    def do(self, task: TaskT, /) -> ResultT:
        """The result of a task."""
        ...


class Executor(Protocol[TaskT, ResultT]):
    """Runs batches of tasks on some workers. The results depend on the tasks alone, never on how many workers there are."""

    @property
    def workers(self) -> int:
        """How many tasks run at a time."""
        ...

    def run(self, tasks: Sequence[TaskT], /, *, deadline: float | None = None) -> Iterator[Done[ResultT]]:
        """What became of each task, in their order, as soon as it and those before it are done.

        What is not done at the `deadline` (of `time.monotonic`) is stopped. An exception of the workshop is raised here.
        """
        ...

    def close(self) -> None:
        """Ends the workers, running ones too. May be called twice."""
        ...
