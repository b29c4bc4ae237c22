"""Tasks on a Ray cluster (extra `asmevo[ray]`): one actor a worker, each with a workshop of its own.

As local processes do: an actor that dies is replaced and its task given to another, once. Owns the actors; where they run is
Ray's affair.
"""

# Ray types little of what it returns.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Generic, TypeVar

from asmevo.diagnostics import fail
from asmevo.search.execution import Done, Loss, Workshop
from asmevo.search.executors.processes import TASK_SECONDS

T = TypeVar("T")
R = TypeVar("R")
_TRIES = 2


def connect(address: str, workers: int) -> None:
    """Joins the cluster at `address` ("local": one on this machine, that ends with this process). E0523 when that fails."""
    try:
        import ray
    except ImportError:
        fail("E0523", "Ray is not installed", help="pip install 'asmevo[ray]'")
    if ray.is_initialized():
        return
    try:
        if address == "local":
            # Its own processors are what the workers are asked to be, whatever the machine has.
            ray.init(num_cpus=workers, log_to_driver=False, include_dashboard=False)
        else:
            ray.init(address=address, log_to_driver=False)
    except Exception as error:
        # Whatever keeps a cluster from answering is the cluster's, and Ray has no common class for it.
        fail("E0523", f"the Ray cluster at {address!r} cannot be used: {error}", help="ray start --head")


class _Member:
    """What runs in an actor."""

    def __init__(self, stored: tuple[Callable[..., Any], tuple[Any, ...]]) -> None:
        make, arguments = stored
        self._workshop = make(*arguments)

    def ready(self) -> bool:
        """Answers once the workshop stands."""
        return True

    def do(self, task: Any) -> tuple[str, Any]:
        """The kind of answer and the answer."""
        try:
            return "done", self._workshop.do(task)
        except MemoryError:
            return "memory", None


@dataclass(slots=True)
class RayExecutor(Generic[T, R]):
    """`make` and its arguments build the workshop once in each actor. Call `connect` before."""

    make: Callable[..., Workshop[T, R]]
    arguments: tuple[Any, ...]
    workers: int
    task_seconds: float = TASK_SECONDS
    cpus: float = 1.0
    actors: list[Any] = field(default_factory=list[Any])
    _stored: Any = None

    def run(self, tasks: Sequence[T], /, *, deadline: float | None = None) -> Iterator[Done[R]]:
        """What became of each task, in order, as `Executor` says."""
        waiting, done = deque(range(len(tasks))), dict[int, Done[R]]()
        tries = [0] * len(tasks)
        running: dict[Any, tuple[int, Any, float]] = {}
        try:
            for number in range(len(tasks)):
                while number not in done:
                    self._step(tasks, waiting, running, tries, done, deadline)
                yield done.pop(number)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the actors."""
        import ray

        if ray.is_initialized():
            for actor in self.actors:
                ray.kill(actor)
        self.actors.clear()

    def _step(
        self, tasks: Sequence[T], waiting: deque[int], running: dict[Any, tuple[int, Any, float]], tries: list[int],
        done: dict[int, Done[R]], deadline: float | None,
    ) -> None:  # fmt: skip
        import ray
        from ray.exceptions import RayActorError

        if deadline is not None and monotonic() >= deadline:
            self.close()
            running.clear()
            done.update({n: Done(None, Loss.STOPPED, tries[n]) for n in range(len(tasks)) if n not in done})
            return
        while len(self.actors) < self.workers:
            self.actors.append(self._actor())
        busy = [actor for _, actor, _ in running.values()]
        for actor in [actor for actor in self.actors if actor not in busy]:
            if waiting:
                number = waiting.popleft()
                tries[number] += 1
                running[actor.do.remote(tasks[number])] = number, actor, monotonic()
        until = min(since for _, _, since in running.values()) + self.task_seconds
        until = until if deadline is None else min(until, deadline)
        ready, _ = ray.wait(list(running), num_returns=1, timeout=max(until - monotonic(), 0.0))
        for reference in ready:
            number, actor, _ = running.pop(reference)
            try:
                kind, value = ray.get(reference)
            except RayActorError:
                self.actors.remove(actor)
                if tries[number] < _TRIES:
                    waiting.appendleft(number)
                else:
                    done[number] = Done(None, Loss.DIED, tries[number], f"{_TRIES} workers died over it")
                continue
            done[number] = Done(None, Loss.MEMORY, tries[number]) if kind == "memory" else Done(value, None, tries[number])
        for reference, (number, actor, since) in list(running.items()):
            if monotonic() >= since + self.task_seconds:
                del running[reference]
                ray.kill(actor)
                self.actors.remove(actor)
                done[number] = Done(None, Loss.TIMEOUT, tries[number], f"more than {self.task_seconds:g} s")

    def _actor(self) -> Any:
        import ray
        import ray.exceptions

        if self._stored is None:
            self._stored = ray.put((self.make, self.arguments))
        actor: Any = ray.remote(_Member).options(num_cpus=self.cpus, max_restarts=0).remote(self._stored)
        try:
            ray.get(actor.ready.remote())
        except ray.exceptions.RayError as error:
            # It never began: no task is to blame.
            fail("E0523", f"a Ray worker does not start: {str(error)[-600:]}", help="the cluster needs this version of AsmEvo")
        return actor
