"""The main job: propose, model, judge, accept; only verified candidates become the parent of another.

Owns how a search is set up. Deterministic for a seed when it ends by attempts or patience; a wall-time budget ends it earlier
on a slower machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from asmevo.backend.launch import Dispatch
from asmevo.frontend.codeobject import CodeObject
from asmevo.ir.kernel import Kernel
from asmevo.search.engine import Budget, Engine
from asmevo.search.evaluation import JudgeLike
from asmevo.search.execution import Executor
from asmevo.search.executors.inline import InlineExecutor
from asmevo.search.executors.processes import ProcessExecutor
from asmevo.search.ledger import Ledger, Progress, Recorder, Resumed
from asmevo.search.profile import Profile, profile_kernel
from asmevo.search.proposal import Proposer
from asmevo.search.proposers.registry import shipped_proposers
from asmevo.search.records import Optimisation
from asmevo.search.rules import Rule
from asmevo.search.shop import Outfit, Result, Shop, Task
from asmevo.search.state import ISLANDS, Island, State

__all__ = ["Budget", "MakeExecutor", "in_processes", "on_ray", "optimise"]

MakeExecutor = Callable[[Outfit], Executor[Task, Result]]


def in_processes(workers: int) -> MakeExecutor:
    """For `optimise`: local processes. Everything the search is given must be picklable then."""
    return lambda outfit: ProcessExecutor(Shop, (outfit,), workers)


def on_ray(address: str, workers: int) -> MakeExecutor:
    """For `optimise`: a Ray cluster (extra `asmevo[ray]`); "local" starts one here. Raises E0523 when it cannot be used."""
    from asmevo.search.executors.on_ray import RayExecutor, connect

    connect(address, workers)
    return lambda outfit: RayExecutor(Shop, (outfit,), workers)


def optimise(
    kernel: Kernel,
    dispatches: Sequence[Dispatch],
    judge: JudgeLike,
    *,
    budget: Budget | None = None,
    seed: int = 0,
    windows: int = 4,
    waves_per_simd: int | None = None,
    profile: Profile | None = None,
    progress: Progress | None = None,
    recorder: Recorder | None = None,
    resume: Resumed | None = None,
    proposers: Sequence[Proposer] | None = None,
    executor: MakeExecutor | None = None,
    code_object: CodeObject | None = None,
    rules: Sequence[Rule] = (),
) -> Optimisation:
    """The best verified kernel found within the budget, with every attempt's status.

    `profile` is K0's where it is known already, which otherwise takes a run. `recorder` is told of each attempt as it ends;
    `resume` is what one was told of a search that was cut off, with the same kernel, launches and seed: it goes on from there,
    and attempts made then count. `windows` is how many of the hottest blocks are worked on. `executor` makes what the work
    runs on, by default this process; the result does not depend on it. With `code_object`, the object the kernel is from,
    candidates that cannot be rebuilt are refused, and equal objects are judged once.
    Raises E0504 when the original faults in its own launches. Ctrl-C ends the search and keeps what was accepted.
    """
    started = time.monotonic()
    profile = profile or profile_kernel(kernel, dispatches, waves_per_simd)
    before = resume or Resumed()
    chosen = shipped_proposers() if proposers is None else tuple(proposers)
    outfit = Outfit(kernel, profile, dispatches, judge, chosen, waves_per_simd, code_object)
    shop = Shop(outfit)
    ledger = Ledger(
        kernel, profile, shop.evaluator, windows, list(before.attempts), list(before.steps), recorder, progress, tuple(rules)
    )
    state = State.from_data(before.state) if before.state else State([Island() for _ in range(ISLANDS)])
    works: Executor[Task, Result] = InlineExecutor(shop) if executor is None else executor(outfit.for_workers())
    try:
        interrupted = Engine(shop, works, ledger, state, budget or Budget(), seed, started).run()
    finally:
        works.close()
    seconds = time.monotonic() - started
    return Optimisation(
        kernel, profile, tuple(ledger.steps), tuple(ledger.attempts), profile.estimate.total_cycles, seconds, interrupted
    )
