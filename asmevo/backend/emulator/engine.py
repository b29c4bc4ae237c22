"""Runs a dispatch: work-groups in seeded order spread over threads, their waves in seeded order between barriers.

Owns what happens when threads cannot share the work, and the result. The work is done by native code, called without the
interpreter's lock.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Thread
from typing import Protocol

import numpy as np
import numpy.typing as npt

from asmevo.backend.emulator import faults, layout
from asmevo.backend.emulator.faults import Access, Stop
from asmevo.backend.emulator.native import native
from asmevo.backend.emulator.prepare import Prepared, prepare
from asmevo.backend.emulator.setup import (
    GroupSize,
    Memory,
    Plan,
    build_entry,
    build_group,
    build_memory,
    build_order,
    build_plan,
    group_size,
)
from asmevo.backend.launch import Dispatch, Fault, MetApart, RunResult
from asmevo.diagnostics import fail
from asmevo.ir.kernel import Kernel

MAX_INSTRUCTIONS = 200_000_000
MAX_THREADS = 16
MAX_SCRATCH_TOTAL = 1 << 28
"""Bytes of scratch memory of all threads; as many threads run as have room in it."""
_GROUPS_PER_THREAD = 16
"""With fewer work-groups than this for each thread, starting threads is not worth it."""
_STOP = 1
"""The place of the stop word among what the threads share; the number of work-groups taken comes before it."""


STOPPED = 0x100
"""What an observer's operation returns to end the run there, without a fault."""
Progress = Callable[[int, int], None]
"""Told now and then how many work-groups of how many have been begun."""


class Observer(Protocol):
    """Looks at a run from inside, at the price of its speed: see `backend.observe`."""

    def attach(self, prepared: Prepared) -> Prepared:
        """The operations to run instead."""
        ...

    def begin(self, dispatch: Dispatch, memory: Memory, plan: Plan) -> None:
        """Called before the only thread starts."""
        ...

    def end(self) -> None:
        """Called after it; may raise what went wrong inside."""
        ...


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What the threads left: memory, executions of each operation, statuses."""

    memory: Memory
    counts: npt.NDArray[np.uint64]
    plans: tuple[Plan, ...]
    statuses: tuple[int, ...]
    executed: int


def run(
    kernel: Kernel,
    dispatch: Dispatch,
    *,
    mode: str = "strict",
    seed: int = 0,
    max_instructions: int = MAX_INSTRUCTIONS,
    threads: int | None = None,
    observer: Observer | None = None,
    progress: Progress | None = None,
    max_faults: int = 1,
) -> RunResult:
    """Runs `dispatch` and returns the final buffers, or those at the last fault reported, which ends the run.

    `strict` checks registers, waits, definedness and races; `fast` only bounds, alignment and write permission.
    `seed` chooses the order of work-groups and waves. `max_instructions` bounds wave-instructions over the whole run.
    With `max_faults` above 1 the run is made again after each fault, without a report from that instruction, until there are
    so many or none is found; faults after which nothing sensible can follow (unsupported, trap, budget) end it.
    `threads` defaults to what the machine has; the result never depends on it: when work-groups touch each other's bytes, or
    one faults, the run is made again with one thread. `observer` makes it one thread; where it stops the run, there is no
    fault. DiagnosticError E0231 for a launch that cannot be set up.
    """
    if mode not in ("strict", "fast"):
        fail("E0201", f"unknown emulator mode '{mode}'", help="use strict or fast")
    size = group_size(kernel, dispatch)
    strict = mode == "strict"
    prepared = prepare(kernel, strict)
    count = 1 if prepared.serial or observer else _thread_count(threads, dispatch)
    if observer is not None:
        prepared = observer.attach(prepared)
    outcome = _attempt(prepared, dispatch, size, strict, seed, max_instructions, observer, progress, count)
    if count > 1 and not _agreed(outcome, max_instructions):
        outcome = _attempt(prepared, dispatch, size, strict, seed, max_instructions, None, progress, 1)
    found: list[Fault] = []
    while (stop := _stop(prepared, dispatch, outcome)) is not None:
        found.append(_described(stop, outcome, size, strict, seed, max_instructions, observer is None))
        if len(found) >= max_faults or observer or not _can_go_on(stop, outcome):
            break
        prepared = _forgiving(prepared, stop.op)
        outcome = _attempt(prepared, dispatch, size, strict, seed, max_instructions, None, progress, 1)
    return _result(prepared, dispatch, outcome, found, seed)


def _can_go_on(stop: Stop, outcome: _Outcome) -> bool:
    """Whether the run can be made again without this fault."""
    forgiven = int(stop.prepared.ops["forgiven"][stop.op])
    return outcome.statuses[0] == layout.FAULT and not forgiven and bool(layout.FORGIVABLE >> layout.KIND[stop.kind] & 1)


def _forgiving(prepared: Prepared, op: int) -> Prepared:
    """The same, but operation `op` reports nothing that can be forgiven."""
    ops = prepared.ops.copy()
    ops["forgiven"][op] = layout.FORGIVABLE
    return replace(prepared, ops=ops)


def _thread_count(wanted: int | None, dispatch: Dispatch) -> int:
    groups = dispatch.grid[0] * dispatch.grid[1] * dispatch.grid[2]
    if wanted is None:
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        wanted = min(available, groups // _GROUPS_PER_THREAD)
    return max(1, min(wanted, groups, MAX_THREADS))


def _attempt(
    prepared: Prepared,
    dispatch: Dispatch,
    size: GroupSize,
    strict: bool,
    seed: int,
    limit: int,
    observer: Observer | None,
    progress: Progress | None,
    threads: int,
    *,
    watch: int | None = None,
) -> _Outcome:
    """One run from the start, by `threads` threads; the accesses of the byte at guest address `watch` are logged."""
    threads = min(threads, max(1, MAX_SCRATCH_TOTAL // max(1, size.scratch_bytes)))
    memory = build_memory(dispatch, size.lds_bytes, size.scratch_bytes, threads)
    entry = build_entry(prepared, dispatch, memory)
    order = build_order(dispatch.grid, seed)
    shared = np.zeros(2, np.uint64)
    counts = np.zeros((threads, max(1, len(prepared.ops))), np.uint64)
    maps = [memory.map, *(memory.map.copy() for _ in range(threads - 1))]
    plans: list[Plan] = []
    for n in range(threads):
        group = build_group(prepared, memory, counts[n], size.waves, size.lds_bytes, strict, maps[n], n)
        group.states["watch"] = 0 if watch is None else watch + 1
        plans.append(build_plan(prepared, group, entry, order, shared, limit))
    step = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)(
        native().symbol("asm_dispatch_strict" if strict else "asm_dispatch_fast")
    )
    if observer is not None:
        observer.begin(dispatch, memory, plans[0])
    told = (lambda: progress(min(int(shared[0]), len(order.seeds)), len(order.seeds))) if progress else None
    statuses = _in_threads(step, [plan.record.ctypes.data for plan in plans], shared, told)
    if observer is not None:
        observer.end()
    executed = sum(int(plan.record["executed"][0]) for plan in plans)
    merge = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)(native().symbol("asm_merge"))
    for other in maps[1:]:
        if merge(memory.map.ctypes.data, other.ctypes.data, len(other)):
            statuses = (layout.FAULT, *statuses[1:])
    return _Outcome(memory, counts.sum(0), tuple(plans), statuses, executed)


def _in_threads(
    step: Callable[[int], int], addresses: list[int], shared: npt.NDArray[np.uint64], told: Callable[[], None] | None = None
) -> tuple[int, ...]:
    """The status of `step` for each address, each in a thread of its own but for the first, which calls `told` on its way.

    An interrupt of this thread stops the others before it is passed on.
    """
    statuses = [layout.CONTINUE] * len(addresses)

    def work(n: int) -> None:
        while statuses[n] == layout.CONTINUE:
            statuses[n] = step(addresses[n])
            if told and n == 0:
                told()

    others = [Thread(target=work, args=(n,)) for n in range(1, len(addresses))]
    for thread in others:
        thread.start()
    try:
        work(0)
    except BaseException:
        shared[_STOP] = 1
        raise
    finally:
        for thread in others:
            thread.join()
    return tuple(statuses)


def _agreed(outcome: _Outcome, limit: int) -> bool:
    """Whether one thread would have left the same: every work-group ended within the budget, and none met another's bytes."""
    return outcome.executed <= limit and all(status == layout.END for status in outcome.statuses)


def _stop(prepared: Prepared, dispatch: Dispatch, outcome: _Outcome) -> Stop | None:
    """Where a run with one thread stopped; None when it did not."""
    status = outcome.statuses[0]
    if len(outcome.plans) != 1 or status in (layout.END, STOPPED):
        return None
    if status == layout.EPOCHS:
        fail("E0507", "a work-group has more barriers than the race check can number")
    return Stop(prepared, dispatch, outcome.plans[0])


def _described(stop: Stop, outcome: _Outcome, size: GroupSize, strict: bool, seed: int, limit: int, again: bool) -> Fault:
    """The fault of a run; for a race, where it may be made `again`, its byte is watched to name the other access."""
    if outcome.statuses[0] == layout.BUDGET:
        return faults.budget(stop, limit)
    if stop.kind != "race" or not again:
        return faults.describe(stop)
    second = _attempt(stop.prepared, stop.dispatch, size, strict, seed, limit, None, None, 1, watch=stop.address)
    race = second.plans[0].group.race[0]
    logged = int(race["logged"])
    log = [race["log"][n % layout.LOG_SLOTS] for n in range(max(0, logged - layout.LOG_SLOTS), logged)]
    accesses = [Access(int(e["group"]), int(e["wave"]), int(e["op"]), bool(e["write"])) for e in log]
    return faults.describe(stop, accesses)


def _written(shadow: npt.NDArray[np.uint8], span: slice) -> npt.NDArray[np.bool_]:
    """Which bytes were written; takes the map's entries for it, since for a large buffer each copy counts.

    Eight at a time: buffers begin at multiples of 64 and have a guard behind them. What crosses bytes is masked away.
    """
    entries = shadow[span.start : span.stop + -(span.stop - span.start) % 8].view(np.uint64)
    np.right_shift(entries, layout.MAP_WRITTEN.bit_length() - 1, out=entries)
    np.bitwise_and(entries, np.uint64(0x0101010101010101), out=entries)
    return shadow[span].view(np.bool_)


def _result(prepared: Prepared, dispatch: Dispatch, outcome: _Outcome, found: list[Fault], seed: int) -> RunResult:
    """The buffers and the byte map are the run's own memory, which nothing else uses any more."""
    memory, counts = outcome.memory, outcome.counts
    count = len(dispatch.buffers)
    spans = [slice(s, s + n) for s, n in zip(memory.starts[:count], memory.sizes[:count], strict=True)]
    executions: dict[int, int] = {}
    for instruction, n in zip(prepared.instructions, counts.tolist(), strict=False):
        executions[instruction.uid] = executions.get(instruction.uid, 0) + n
    return RunResult(
        buffers=tuple(memory.arena[span] for span in spans),
        written=tuple(
            _written(memory.map, span) if buffer.writable else np.zeros(n, np.bool_)
            for span, buffer, n in zip(spans, dispatch.buffers, memory.sizes[:count], strict=True)
        ),
        executions=executions,
        faults=tuple(found),
        wave_instructions=outcome.executed,
        approximate=bool((prepared.approximate & (counts[: len(prepared.ops)] > 0)).any()),
        seed=seed,
        apart=_apart(prepared, outcome),
    )


def _apart(prepared: Prepared, outcome: _Outcome) -> MetApart | None:
    """Two barriers at which waves met: of those that threads noted, which share work-groups as they come, the first pair."""
    noted = sorted((int(p.record["apart"][0]), int(p.record["apart_from"][0])) for p in outcome.plans)
    pairs = [sorted(pair) for pair in noted if pair[0]]
    if not pairs:
        return None
    first, second = (prepared.instructions[number - 1] for number in min(pairs))
    return MetApart((first.uid, second.uid), (first.offset, second.offset))
