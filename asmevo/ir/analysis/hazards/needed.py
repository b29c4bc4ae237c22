"""Which wait states the code needs: pending hazards at each point, over all paths.

Owns the forward walk over the table in `isa.hazards`. Two readings of the distance between two instructions:

* llvm: each instruction is one state, `s_nop N` is N+1; the need is the compiler's figure;
* physical: as above, and an instruction that finds its unit busy waits, so it takes several states: a matrix instruction
  until the passes of the one before are through, packed F32 and dot until the matrix unit lets them in, VALU after a
  transcendental; a taken branch takes the time of a fetch. The need is the documented figure. Production code relies on it.

Code below the physical need is wrong; code below LLVM's need only is unusual.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.hazards.parts import HazardFacts, Unit, meets
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.instruction import Label
from asmevo.ir.isa.hazards import LOOK_BACK, Op, Rule, rules_for
from asmevo.ir.isa.model import IssueClass
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import VECTOR_MASK

Site = tuple[str, int]
Key = tuple[str, int, int]
"""Producer's block and index, and the rule's position in the table."""
Busy = tuple[int, int, int]
"""Slots for which the vector unit, the vector unit for packed instructions, and the matrix unit are surely still occupied."""
Entry = tuple[int, int, int, int, int, Busy]
Fresh = tuple[int, int, int, int]
"""The rule's position, the producer's part, and the states needed by each reading."""

TAKEN_BRANCH_SLOTS = 3
"""Slots that a taken branch surely takes beyond its own, in the physical reading: fetching alone is 16 cycles (measured)."""

_TAIL = 2 * LOOK_BACK
"""Instructions at a block's end that decide its leaving state, counting that a unit may be busy for a while itself."""


class Reading(enum.Enum):
    """How distances and needs are counted; see the module."""

    LLVM = 0
    PHYSICAL = 1


@dataclass(frozen=True, slots=True)
class Hazard:
    """A pair that is too close, with the states missing by each reading (0: none missing)."""

    consumer: Site
    producer: Site
    rule: Rule
    missing_llvm: int
    missing_physical: int


@dataclass(frozen=True, slots=True)
class Missing:
    """The largest number of states missing before an instruction, by each reading."""

    llvm: int = 0
    physical: int = 0


@dataclass(frozen=True, slots=True)
class Pending:
    """The hazards pending at one point.

    For each the states passed since its producer (llvm, physical), at least, the units of its part that no later instruction
    has replaced, the states that it needs (llvm, physical), and how long units are busy with what issued since its producer.
    What issued before may be through when the producer issues, however few the slots between them: a wait may have taken long.
    """

    entries: dict[Key, Entry]


_NOTHING = Pending({})
_IDLE: Busy = (0, 0, 0)


@dataclass(slots=True)
class HazardState:
    """Pending hazards at the entry of every block that a root reaches, and what is missing at each instruction."""

    flow: Flow
    rules: tuple[Rule, ...]
    rows: dict[str, list[HazardFacts]]
    entries: dict[str, Pending]
    _by_op: dict[Op, tuple[tuple[int, Rule], ...]]
    _target: str
    _reports: dict[str, tuple[tuple[Hazard, ...], ...]]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> HazardState:
        """The fixpoint over `kernel`; nothing is pending where waves start."""
        flow = manager.get(Flow)
        rules = rules_for(kernel.target)
        by_op: dict[Op, list[tuple[int, Rule]]] = {}
        for position, rule in enumerate(rules):
            by_op.setdefault(rule.producer, []).append((position, rule))
        rows = {label: [HazardFacts.of(i) for i in block.instructions] for label, block in flow.blocks.items()}
        frozen_rules = {op: tuple(found) for op, found in by_op.items()}
        state = cls(flow, rules, rows, dict.fromkeys(flow.roots, _NOTHING), frozen_rules, kernel.target, {})
        state.settle(flow.order)
        return state

    def copy(self) -> HazardState:
        """One whose rows may be changed without changing this one."""
        rows = {label: list(row) for label, row in self.rows.items()}
        return replace(self, rows=rows, entries=dict(self.entries), _reports={})

    def settle(self, start: Iterable[str]) -> None:
        """Carries the states of the blocks in `start` forward until nothing changes."""
        position = {label: rank for rank, label in enumerate(self.flow.order)}
        pending = {label for label in start if label in self.flow.reachable}
        while pending:
            label = min(pending, key=position.__getitem__)
            pending.discard(label)
            if not self.flow.successors[label]:
                continue
            leaving = self.before(label, len(self.rows[label]))
            for successor in self.flow.successors[label]:
                known = self.entries.get(successor)
                arriving = self.over_edge(leaving, label, successor)
                joined = arriving if known is None else _joined(known, arriving)
                if joined != known:
                    self.entries[successor] = joined
                    pending.add(successor)

    def before(self, label: str, index: int) -> Pending:
        """The pending hazards just before instruction `index` of the block."""
        start = index - _TAIL
        state = self.entries.get(label, _NOTHING) if start <= 0 else _NOTHING
        for at in range(max(start, 0), index):
            state = self.step(state, label, at)
        return state

    def step(self, state: Pending, label: str, index: int, *, slots: int | None = None) -> Pending:
        """The state after the instruction; `slots` replaces the slots it takes."""
        row = self.rows[label][index]
        passed = row.slots if slots is None else slots
        unit, taken = row.occupies.unit, row.occupies
        made = (max(taken.valu - passed, 0), max(taken.packed - passed, 0), max(taken.matrix - passed, 0))
        entries: dict[Key, Entry] = {}
        # A scalar unit replaced by another instruction is no longer the value that the hazard is about.
        kept = ~(row.effect.kills & ~VECTOR_MASK)
        for key, (llvm, physical, mask, need_llvm, need_physical, busy) in state.entries.items():
            spent = passed
            if busy is not _IDLE:
                spent += _stall(busy, unit)
                busy = _less(busy, spent)
            if made != _IDLE:
                busy = max(busy[0], made[0]), max(busy[1], made[1]), max(busy[2], made[2])
            llvm, physical, mask = llvm + passed, physical + spent, mask & kept
            if mask and (llvm < need_llvm or physical < need_physical):
                entries[key] = (llvm, physical, mask, need_llvm, need_physical, busy)
        for position, mask, need_llvm, need_physical in self._fresh(label, index):
            entries[label, index, position] = (0, 0, mask, need_llvm, need_physical, made)
        return Pending(entries)

    def over_edge(self, leaving: Pending, label: str, successor: str) -> Pending:
        """The state at the start of `successor` when coming from the end of `label`: a taken branch takes time of its own."""
        targets = self.flow.blocks[label].successors
        last = self.rows[label][-1].instruction if self.rows[label] else None
        jumps = last is not None and any(isinstance(o, Label) and o.name == successor for o in last.operands)
        if not jumps or targets.count(successor) > 1:
            return leaving
        entries = {
            key: (a, b + TAKEN_BRANCH_SLOTS, mask, need_llvm, need_physical, _less(busy, TAKEN_BRANCH_SLOTS))
            for key, (a, b, mask, need_llvm, need_physical, busy) in leaving.entries.items()
        }
        return Pending(entries)

    def required_states(self, label: str, index: int) -> Missing:
        """The states missing before the instruction; 0 by both readings when nothing is."""
        report = self.report(label)[index]
        return Missing(max((h.missing_llvm for h in report), default=0), max((h.missing_physical for h in report), default=0))

    def report(self, label: str) -> tuple[tuple[Hazard, ...], ...]:
        """For each instruction of the block the pairs that are too close by either reading."""
        known = self._reports.get(label)
        if known is None:
            found: list[tuple[Hazard, ...]] = []
            state = self.entries.get(label, _NOTHING)
            for index in range(len(self.rows[label])):
                found.append(tuple(h for h in self.hazards_at(state, label, index) if h.missing_llvm or h.missing_physical))
                state = self.step(state, label, index)
            known = self._reports[label] = tuple(found)
        return known

    def hazards_at(self, state: Pending, label: str, index: int) -> Iterator[Hazard]:
        """Every pair whose rule applies at the instruction and that is too close, or was just before it."""
        consumer = self.rows[label][index]
        for (block, at, position), (llvm, physical, mask, _, _, busy) in state.entries.items():
            rule = self.rules[position]
            if rule.consumer not in consumer.ops or not mask & consumer.part(rule.consumed):
                continue
            producer = self.rows[block][at]
            if not meets(rule, producer, consumer):
                continue
            documented = rule.documented.at(producer.passes) if mask & consumer.documented_part(rule) else 0
            # A rule about transcendentals is documented as if their own time did not count, so it does not.
            waited = 0 if rule.producer is Op.TRANS else _stall(busy, consumer.occupies.unit)
            yield Hazard(
                (label, index),
                (block, at),
                rule,
                max(rule.llvm.at(producer.passes) - llvm, 0),
                max(documented - physical - waited, 0),
            )

    def findings(self) -> list[Hazard]:
        """All pairs that are too close in reachable blocks, by either reading."""
        return [h for label in self.flow.order if label in self.flow.reachable for row in self.report(label) for h in row]

    def _fresh(self, label: str, index: int) -> tuple[Fresh, ...]:
        row = self.rows[label][index]
        known = row.produced.get(self._target)
        if known is None:
            found: list[Fresh] = []
            for op in row.ops:
                for position, rule in self._by_op.get(op, ()):
                    llvm, documented = rule.llvm.at(row.passes), rule.documented.at(row.passes)
                    if max(llvm, documented) > 0 and row.part(rule.produced):
                        found.append((position, row.part(rule.produced), llvm, documented))
            known = row.produced[self._target] = tuple(sorted(found))
        return known


def _joined(first: Pending, second: Pending) -> Pending:
    merged = dict(first.entries)
    for key, entry in second.entries.items():
        known = merged.get(key)
        if known is not None:
            busy = _least_busy(entry[5], known[5])
            entry = (min(entry[0], known[0]), min(entry[1], known[1]), entry[2] | known[2], entry[3], entry[4], busy)
        merged[key] = entry
    return Pending(merged)


def _stall(busy: Busy, unit: Unit) -> int:
    """Slots that an instruction of this unit surely waits before it issues."""
    valu, packed, matrix = busy
    if unit is Unit.NONE:
        return 0
    return valu if unit is Unit.VALU else packed if unit is Unit.PACKED else max(valu, matrix)


def _less(busy: Busy, slots: int) -> Busy:
    """How long units are still busy when so many slots have passed."""
    valu, packed, matrix = busy
    return (max(valu - slots, 0), max(packed - slots, 0), max(matrix - slots, 0)) if max(busy) > slots else _IDLE


def _least_busy(first: Busy, second: Busy) -> Busy:
    return (min(first[0], second[0]), min(first[1], second[1]), min(first[2], second[2])) if first != second else first


@dataclass(frozen=True, slots=True)
class NopNeeds:
    """For each s_nop by (label, index), the least number of states (0: remove it) that keeps what the code keeps now.

    `llvm` and `physical` hold for the two readings, each for all nops changed at once. Pairs that are too close already
    may not come closer. Nops in frozen or unreachable blocks keep their value. Loops come first, so slack is spent there.
    """

    llvm: dict[Site, int]
    physical: dict[Site, int]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> NopNeeds:
        """Trims one nop after another, each with the earlier ones already trimmed."""
        frozen = frozenset(block.label for block in kernel.blocks if block.frozen)
        depth = manager.get(Loops).depth
        state = manager.get(HazardState)
        return cls(*(_trim(state.copy(), frozen, depth, reading) for reading in Reading))


def _trim(state: HazardState, frozen: frozenset[str], depth: dict[str, int], reading: Reading) -> dict[Site, int]:
    found: dict[Site, int] = {}
    rank = {label: position for position, label in enumerate(state.flow.order)}
    for label in sorted(state.flow.order, key=lambda name: (-depth.get(name, 0), rank[name])):
        nops = [index for index, row in enumerate(state.rows[label]) if _is_nop(row)]
        if label not in state.flow.reachable or label in frozen:
            found.update({(label, index): state.rows[label][index].slots for index in nops})
            continue
        last, point = -_TAIL, _NOTHING
        for index in nops:
            if index - last >= _TAIL:
                point = state.before(label, index)
            else:
                for between in range(last, index):
                    point = state.step(point, label, between)
            last = index
            row = state.rows[label][index]
            least = found[label, index] = _least(state, point, label, index, reading)
            if least != row.slots:
                state.rows[label][index] = replace(row, slots=least)
                if index >= len(state.rows[label]) - _TAIL:
                    state.settle((label,))
                    # The block may follow itself: what comes in at its start may have changed.
                    if index < _TAIL:
                        point = state.before(label, index)
    return found


def _is_nop(row: HazardFacts) -> bool:
    definition = row.instruction.definition
    return definition is not None and definition.issue is IssueClass.NOP and definition.mnemonic == "s_nop"


def _least(state: HazardState, before: Pending, label: str, index: int, reading: Reading) -> int:
    current = state.rows[label][index].slots
    without = _shortfalls(state, before, label, index, 0, reading)
    if not without:
        return 0
    if reading is Reading.LLVM:
        # Each state of the nop is one state of every distance; what is too far gone to be met at all may not get worse.
        return min(current, max(without.values()))
    allowed = _shortfalls(state, before, label, index, current, reading)
    for slots in range(current):
        trial = _shortfalls(state, before, label, index, slots, reading) if slots else without
        if all(missing <= allowed.get(pair, 0) for pair, missing in trial.items()):
            return slots
    return current


def _shortfalls(
    state: HazardState, before: Pending, label: str, index: int, slots: int, reading: Reading
) -> dict[tuple[Site, Site, str], int]:
    """The states missing for pairs on either side of the nop, when it takes `slots`."""
    found: dict[tuple[Site, Site, str], int] = {}
    keys = frozenset(before.entries)
    pending = [(label, index + 1, state.step(before, label, index, slots=slots))]
    while pending:
        block, start, point = pending.pop()
        for at in range(start, len(state.rows[block])):
            point = replace(point, entries={k: v for k, v in point.entries.items() if k in keys})
            if not point.entries:
                break
            for hazard in state.hazards_at(point, block, at):
                missing = hazard.missing_llvm if reading is Reading.LLVM else hazard.missing_physical
                if missing:
                    pair = (hazard.producer, hazard.consumer, hazard.rule.name)
                    found[pair] = max(found.get(pair, 0), missing)
            point = state.step(point, block, at)
            # A producer met again starts its pairs anew; those are seen from the nop's own entering state.
            point = replace(point, entries={k: v for k, v in point.entries.items() if k[:2] != (block, at)})
        if point.entries:
            pending.extend((s, 0, state.over_edge(point, block, s)) for s in state.flow.successors[block])
    return found
