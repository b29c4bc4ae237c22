"""Tasks in local processes: each started fresh (spawn), with a limit of memory and of time a task.

A process that dies is replaced and its task given to another, once: a task over which two died is lost. Owns the processes;
what a task does is the workshop's.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic
from typing import Any, Generic, TypeVar

from asmevo.search.execution import Done, Loss, Workshop

T = TypeVar("T")
R = TypeVar("R")

MEMORY_BYTES = 6 << 30
"""Address space of one worker; the solver has its own, smaller limit for a query."""
TASK_SECONDS = 900.0
_TRIES = 2


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    connection: Connection
    task: int | None = None
    since: float = 0.0


@dataclass(slots=True)
class ProcessExecutor(Generic[T, R]):
    """`make` (picklable, with picklable arguments) builds the workshop once in each process."""

    make: Callable[..., Workshop[T, R]]
    arguments: tuple[Any, ...]
    workers: int
    task_seconds: float = TASK_SECONDS
    memory_bytes: int = MEMORY_BYTES
    _outfit: bytes = field(init=False)
    _pool: list[_Worker] = field(default_factory=list[_Worker])

    def __post_init__(self) -> None:
        # Once for all workers, those that replace others included.
        self._outfit = pickle.dumps((self.make, self.arguments))

    def run(self, tasks: Sequence[T], /, *, deadline: float | None = None) -> Iterator[Done[R]]:
        """What became of each task, in order, as `Executor` says."""
        batch = _Batch[T, R](tasks)
        try:
            for number in range(len(tasks)):
                while number not in batch.done:
                    self._step(batch, deadline)
                yield batch.done.pop(number)
        except BaseException:
            # Whoever asked does not wait for the rest: what still runs must not answer the next batch.
            self.close()
            raise
        if any(worker.task is not None for worker in self._pool):
            self.close()

    def close(self) -> None:
        """Ends the workers; what they do leaves nothing behind."""
        for worker in self._pool:
            worker.process.kill()
        for worker in self._pool:
            worker.process.join()
            worker.connection.close()
        self._pool.clear()

    def _step(self, batch: _Batch[T, R], deadline: float | None) -> None:
        """Hands out work, waits for something to happen, and takes it in."""
        if deadline is not None and monotonic() >= deadline:
            self._stop(batch)
            return
        while batch.waiting and (worker := self._free()) is not None:
            self._give(worker, batch)
        until = min((w.since + self.task_seconds for w in self._pool if w.task is not None), default=monotonic())
        if deadline is not None:
            until = min(until, deadline)
        busy = {w.connection: w for w in self._pool if w.task is not None}
        for ready in wait(list(busy), max(until - monotonic(), 0.0)):
            self._take(busy[ready], batch)  # type: ignore[index]
        for worker in [w for w in self._pool if w.task is not None and monotonic() >= w.since + self.task_seconds]:
            assert worker.task is not None
            batch.done[worker.task] = Done(None, Loss.TIMEOUT, batch.tries[worker.task], f"more than {self.task_seconds:g} s")
            self._discard(worker)

    def _free(self) -> _Worker | None:
        free = next((worker for worker in self._pool if worker.task is None), None)
        if free is None and len(self._pool) < self.workers:
            free = _started(self._outfit, self.memory_bytes)
            self._pool.append(free)
        return free

    def _give(self, worker: _Worker, batch: _Batch[T, R]) -> None:
        number = batch.waiting.popleft()
        batch.tries[number] += 1
        worker.task, worker.since = number, monotonic()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it died idle: `_take` finds that out
            worker.connection.send(batch.tasks[number])

    def _take(self, worker: _Worker, batch: _Batch[T, R]) -> None:
        number = worker.task
        assert number is not None
        try:
            kind, value = worker.connection.recv()
        except (EOFError, OSError):
            self._discard(worker)
            if batch.tries[number] < _TRIES:
                batch.waiting.appendleft(number)
            else:
                batch.done[number] = Done(None, Loss.DIED, batch.tries[number], f"{_TRIES} workers died over it")
            return
        worker.task = None
        if kind == "error":
            raise value
        batch.done[number] = (
            Done(None, Loss.MEMORY, batch.tries[number], "out of memory")
            if kind == "memory"
            else Done(value, None, batch.tries[number])
        )

    def _discard(self, worker: _Worker) -> None:
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
        self._pool.remove(worker)

    def _stop(self, batch: _Batch[T, R]) -> None:
        self.close()
        for number in range(len(batch.tasks)):
            if number not in batch.done:
                batch.done[number] = Done(None, Loss.STOPPED, batch.tries[number])


@dataclass(slots=True)
class _Batch(Generic[T, R]):
    tasks: Sequence[T]
    waiting: deque[int] = field(init=False)
    tries: list[int] = field(init=False)
    done: dict[int, Done[R]] = field(default_factory=dict[int, Done[R]])

    def __post_init__(self) -> None:
        self.waiting = deque(range(len(self.tasks)))
        self.tries = [0] * len(self.tasks)


def _started(outfit: bytes, memory_bytes: int) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, outfit, memory_bytes), daemon=True)
    # A terminal's Ctrl-C goes to every process: the search's own answers it, workers are ended by that, from their start on.
    resource_tracker.ensure_running()  # it sets the mask for itself, and not back
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    theirs.close()
    return _Worker(process, ours)


def _work(connection: Connection, outfit: bytes, memory_bytes: int) -> None:
    """The life of a worker: ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(ImportError, ValueError, OSError):  # a platform without the limit, or a lower one that stands
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    make, arguments = pickle.loads(outfit)
    workshop = make(*arguments)
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        try:
            answer = "done", workshop.do(task)
        except MemoryError:
            answer = "memory", None
        except Exception as error:
            answer = "error", error
        connection.send(answer)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
