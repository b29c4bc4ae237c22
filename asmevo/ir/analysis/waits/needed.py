"""Which waits the code needs: a forward fixpoint over the wait counters, as LLVM's wait insertion does it.

Owns the walk over the block graph and the questions asked of it. What one point's counters mean is in `brackets`; the
independent check in `verify` shares nothing with this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.dataflow.facts import EffectsTable, leaves_unseen
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.brackets import (
    CAPACITY,
    IN_ORDER,
    NO_EVENT,
    Brackets,
    Event,
    Pending,
    Stream,
    Use,
    ages,
    event_of,
    register_use,
    sharing_use,
)
from asmevo.ir.effects import Effects, effects
from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.isa.model import Counter
from asmevo.ir.kernel import Kernel
from asmevo.ir.memo import by_text


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction as the counters see it."""

    event: Event
    use: Use
    sharing: int


@dataclass(slots=True)
class WaitState:
    """The wait counters at every block entry, with every wait as it stands."""

    flow: Flow
    rows: dict[str, list[Row]]
    entries: dict[str, Brackets]
    _active: dict[str, list[int]]
    """Positions of the rows that have an event; a wait may be changed, but not into nothing."""

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> WaitState:
        """The fixpoint over `kernel`; nothing is outstanding where waves start."""
        del kernel
        flow, table = manager.get(Flow), manager.get(EffectsTable)
        rows = {
            label: [_row(i) for i in block.instructions]
            if table.by_block[label] is table.printed[label]
            else list(map(_row_of, block.instructions, table.printed[label], table.by_block[label]))
            for label, block in flow.blocks.items()
        }
        active = {label: [at for at, row in enumerate(block) if row.event is not NO_EVENT] for label, block in rows.items()}
        state = cls(flow, rows, dict.fromkeys(flow.blocks, Brackets()), active)
        state.settle(flow.order)
        return state

    def settle(self, start: Iterable[str]) -> None:
        """Carries the states of the blocks in `start` forward until nothing changes. States only grow."""
        position = {label: rank for rank, label in enumerate(self.flow.order)}
        pending = set(start)
        while pending:
            label = min(pending, key=position.__getitem__)
            pending.discard(label)
            leaving = self.before(label, len(self.rows[label]))
            for successor in self.flow.successors[label]:
                joined = self.entries[successor].joined(leaving)
                if joined != self.entries[successor]:
                    self.entries[successor] = joined
                    pending.add(successor)

    def before(self, label: str, index: int) -> Brackets:
        """The counters just before instruction `index` of the block (its length: at the end)."""
        state, rows = self.entries[label], self.rows[label]
        for at in self._active[label]:
            if at >= index:
                break
            state = state.after(rows[at].event)
        return state

    def walk(self, label: str) -> Iterable[tuple[Row, Brackets]]:
        """Each instruction's row of a block with the counters just before it."""
        state = self.entries[label]
        for row in self.rows[label]:
            yield row, state
            if row.event is not NO_EVENT:
                state = state.after(row.event)

    def required_before(self, label: str, index: int) -> WaitCounts:
        """The weakest wait that must still happen before the instruction; all None when its registers are covered.

        On code that is right it is all None everywhere. A field says how many events may stay outstanding.
        """
        return self.before(label, index).needed(self.rows[label][index].use)

    def missing(self) -> list[tuple[str, int, WaitCounts]]:
        """(label, index, wait that is missing) of each reachable instruction whose registers may be outstanding."""
        found: list[tuple[str, int, WaitCounts]] = []
        for label in self.flow.order:
            if label not in self.flow.reachable:
                continue
            for index, (row, state) in enumerate(self.walk(label)):
                needed = state.needed(row.use)
                if needed.vmcnt is not None or needed.lgkmcnt is not None:
                    found.append((label, index, needed))
        return found

    def pending_units(self, label: str, index: int) -> int:
        """Registers that may be outstanding just before the instruction, as a unit set."""
        return self.before(label, index).pending_units


@by_text
def _row(i: Instruction) -> Row:
    effect = effects(i)
    return Row(event_of(i, effect), register_use(i, effect), sharing_use(i))


def _row_of(i: Instruction, printed: Effects, possible: Effects) -> Row:
    """The row of an instruction that may touch more registers than it names."""
    if (printed.reads, printed.writes) == (possible.reads, possible.writes):
        return _row(i)
    return Row(event_of(i, printed), register_use(i, possible), sharing_use(i))


@dataclass(frozen=True, slots=True)
class WaitNeeds:
    """For each s_waitcnt, by (label, index), the weakest counts that keep every use covered on every path.

    The counts hold together: all waits may be changed at once. A wait with all counts None may be removed. Also kept is what
    sharing may rely on (see `brackets.sharing_use`). Waits in unreachable or frozen blocks stay as they are.
    """

    by_site: dict[tuple[str, int], WaitCounts]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> WaitNeeds:
        """Relaxes one wait after another, each with the earlier ones already relaxed."""
        state = WaitState.compute(kernel, manager)
        unseen = _unseen(kernel)
        frozen = frozenset(block.label for block in kernel.blocks if block.frozen)
        found: dict[tuple[str, int], WaitCounts] = {}
        for label in state.flow.order:
            for index, row in enumerate(state.rows[label]):
                wait = row.event.wait
                if wait is None:
                    continue
                weakest = wait
                if label in state.flow.reachable and label not in frozen:
                    weakest = _weakest(state, unseen, label, index, wait)
                found[label, index] = weakest
                if weakest != wait:
                    state.rows[label][index] = Row(Event(wait=weakest), row.use, row.sharing)
                    state.settle((label,))
        return cls(found)


def weakest_wait(kernel: Kernel, state: WaitState, label: str, index: int) -> WaitCounts:
    """The weakest counts for the one s_waitcnt at this point of `kernel`, all other waits as they stand.

    `state` is the kernel's. All None when the wait may be removed. ValueError when the instruction is no wait.
    """
    wait = state.rows[label][index].event.wait
    if wait is None:
        raise ValueError(f"{label}[{index}] is no wait")
    return _weakest(state, _unseen(kernel), label, index, wait)


def _unseen(kernel: Kernel) -> frozenset[str]:
    return frozenset(block.label for block in kernel.blocks if leaves_unseen(block))


def _weakest(state: WaitState, unseen: frozenset[str], label: str, index: int, wait: WaitCounts) -> WaitCounts:
    before = state.before(label, index)
    vmcnt = _Walk(state, unseen, Counter.VMCNT, before.vmcnt, wait.vmcnt).weakest(label, index)
    lgkmcnt = _Walk(state, unseen, Counter.LGKMCNT, before.lgkmcnt, wait.lgkmcnt).weakest(label, index)
    return WaitCounts(vmcnt, wait.expcnt, lgkmcnt)


_STREAMS = -1
"""Stands among the ages for the streams that a full wait ends: while they last, a later partial wait says nothing."""


class _Walk:
    """Follows what one wait completes along every path until another wait completes it too or something relies on it."""

    def __init__(self, state: WaitState, unseen: frozenset[str], counter: Counter, pending: Pending, count: int | None) -> None:
        self._state = state
        self._unseen = unseen
        self._vm = counter is Counter.VMCNT
        self._capacity = CAPACITY[counter]
        self._entries = dict(ages(pending, count, self._capacity))
        self._count = count
        self._streams = pending.streams
        self._need: int | None = None
        if count == 0 and not pending.in_order:
            self._entries[_STREAMS] = 0

    def weakest(self, label: str, index: int) -> int | None:
        """The weakest count in place of the wait at this point."""
        visited: dict[tuple[str, int, Stream], int] = {}
        pending = [(label, index + 1, tuple(self._entries), 0, self._streams)]
        while pending:
            block, start, alive, newer, streams = pending.pop()
            alive, newer, streams = self._through(block, start, alive, newer, streams)
            if alive and block in self._unseen:
                self._rely(alive)
                continue
            for successor in self._state.flow.successors[block]:
                fresh = tuple(age for age in alive if visited.get((successor, age, streams), self._capacity + 1) > newer)
                if fresh:
                    visited.update({(successor, age, streams): newer for age in fresh})
                    pending.append((successor, 0, fresh, newer, streams))
        if self._need is None:
            return None
        return self._need if self._streams in IN_ORDER else 0

    def _through(
        self, label: str, start: int, alive: tuple[int, ...], newer: int, streams: Stream
    ) -> tuple[tuple[int, ...], int, Stream]:
        rows = self._state.rows[label]
        watched = self._units(alive)
        for index in range(start, len(rows)):
            if not alive:
                break
            row = rows[index]
            touched = (row.use.vmcnt if self._vm else row.use.lgkmcnt) | row.sharing
            if touched & watched:
                relied = tuple(age for age in alive if self._entries[age] & touched)
                self._rely(relied)
                alive = tuple(age for age in alive if age not in relied)
                watched = self._units(alive)
            event = row.event
            if event is NO_EVENT:
                continue
            if event.wait is not None:
                count = event.wait.vmcnt if self._vm else event.wait.lgkmcnt
                alive = self._after_wait(label, index, count, alive, newer, streams)
                watched = self._units(alive)
            stream = event.vmcnt if self._vm else event.lgkmcnt
            if stream is not Stream.NONE:
                newer = min(newer + 1, self._capacity)
                streams |= stream
        return alive, newer, streams

    def _units(self, alive: tuple[int, ...]) -> int:
        found = 0
        for age in alive:
            found |= self._entries[age]
        return found

    def _after_wait(
        self, label: str, index: int, count: int | None, alive: tuple[int, ...], newer: int, streams: Stream
    ) -> tuple[int, ...]:
        if count is None or count >= self._capacity:
            return alive
        if count == 0:
            return ()
        brackets = self._state.before(label, index)
        if not (brackets.vmcnt if self._vm else brackets.lgkmcnt).in_order:
            return alive
        if _STREAMS in alive:
            self._rely(alive)
            return ()
        if streams not in IN_ORDER:
            return alive
        return tuple(age for age in alive if min(age + newer, self._capacity - 1) < count)

    def _rely(self, relied: tuple[int, ...]) -> None:
        oldest_needed = max(min(relied), 0)
        self._need = oldest_needed if self._need is None else min(self._need, oldest_needed)
