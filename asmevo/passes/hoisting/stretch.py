"""The stretch of code between a place and a block that it always leads to, and which lanes are active in it.

Owns what may stand between for a load to move over it, and the numbering of EXEC values. It must not look at registers other
than EXEC and those that keep a copy of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.instruction import Instruction, Register
from asmevo.ir.isa.model import Access, Flag, IssueClass, Space
from asmevo.ir.registers import EXEC, EXEC_MASK

_MOST_BLOCKS = 64
_QUIET = frozenset({IssueClass.WAIT, IssueClass.NOP})
_COHERENT = frozenset({"sc0", "sc1", "glc", "scc"})


@dataclass(frozen=True, slots=True)
class Stretch:
    """The blocks on the ways from `start` to `end`, both included, in an order in which every way leads forward.

    `spine` are those that every way runs through: the dominators of `end` from `start` on.
    """

    start: str
    end: str
    blocks: tuple[str, ...]
    spine: tuple[str, ...]

    @classmethod
    def between(cls, analyses: AnalysisManager, start: str, end: str) -> Stretch | None:
        """None when `start` does not dominate `end`, when a loop lies between, or when the stretch is too long."""
        flow, loops = analyses.get(Flow), analyses.get(Loops)
        spine = [end]
        while spine[-1] != start:
            above = loops.dominator.get(spine[-1])
            if above is None:
                return None
            spine.append(above)
        inside = {start, *ways(flow, start, end), end}
        if len(inside) > _MOST_BLOCKS or loops.irreducible:
            return None
        around = loops.innermost(start)
        if any(loops.innermost(label) != around for label in inside) or any(flow.blocks[label].frozen for label in inside):
            return None
        return cls(start, end, tuple(label for label in flow.order if label in inside), tuple(reversed(spine)))


def ways(flow: Flow, start: str, end: str) -> frozenset[str]:
    """The blocks on the ways from `start` to `end` that run through neither in between, both left out."""
    if start == end:
        return frozenset()
    after, before = _closure(start, end, flow.successors), _closure(end, start, flow.predecessors)
    return frozenset(after & before)


def _closure(start: str, stop: str, edges: Mapping[str, tuple[str, ...]]) -> set[str]:
    seen: set[str] = set()
    work = list(edges[start])
    while work:
        label = work.pop()
        if label not in seen and label not in (start, stop):
            seen.add(label)
            work += edges[label]
    return seen


def stops_loads(instruction: Instruction) -> bool:
    """Whether a load from elsewhere than LDS must not move up over the instruction.

    That is what writes memory but LDS, orders accesses, or is not understood.
    """
    definition = instruction.definition
    if definition is None or definition.issue is IssueClass.BARRIER:
        return True
    if definition.space is Space.LDS and definition.access not in (Access.LDS_DMA, Access.FENCE):
        return False
    if definition.access is not None:
        return definition.access is not Access.LOAD or any(m.name in _COHERENT for m in instruction.modifiers)
    if definition.is_branch or definition.is_terminator or definition.issue in _QUIET:
        return False
    return Flag.FIXED in definition.flags


def is_plain_load(instruction: Instruction) -> bool:
    """Whether it is a load from vector memory to registers alone, that no other access has to be ordered with."""
    definition = instruction.definition
    if definition is None or definition.issue is not IssueClass.VMEM or stops_loads(instruction):
        return False
    if "d16" in definition.mnemonic or any(instruction.modifier(name) for name in ("lds", "tfe")):
        # What keeps a part of the target, or writes more than it.
        return False
    return definition.access is Access.LOAD


@dataclass(slots=True)
class Lanes:
    """Numbers of EXEC values: equal numbers are the same lanes, whichever way was taken from the stretch's start.

    `before` has for each block the number before each instruction, and last the one at its end.
    """

    before: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    _parents: list[int | None] = field(default_factory=list[int | None])

    @classmethod
    def of(cls, analyses: AnalysisManager, stretch: Stretch) -> Lanes:
        """The numbers in a stretch."""
        lanes = cls()
        flow, table = analyses.get(Flow), analyses.get(EffectsTable)
        leaving: dict[str, _State] = {}
        for label in stretch.blocks:
            if label == stretch.start:
                state = _State(lanes._fresh(None), {})
            else:
                arriving = [leaving[source] for source in flow.predecessors[label] if source in leaving]
                state = lanes._joined(arriving)
            numbers: list[int] = []
            for instruction, effect in zip(flow.blocks[label].instructions, table.by_block[label], strict=True):
                numbers.append(state.lanes)
                if effect.writes & EXEC_MASK:
                    state = lanes._changed(state, instruction, effect.writes)
                else:
                    state = _copied(state, instruction, effect.writes)
            lanes.before[label] = [*numbers, state.lanes]
            leaving[label] = state
        return lanes

    def _fresh(self, parent: int | None) -> int:
        self._parents.append(parent)
        return len(self._parents) - 1

    def _is_within(self, lanes: int | None, others: int) -> bool:
        while lanes is not None:
            if lanes == others:
                return True
            lanes = self._parents[lanes]
        return False

    def _joined(self, arriving: list[_State]) -> _State:
        first = arriving[0]
        if any(state.lanes != first.lanes for state in arriving[1:]):
            return _State(self._fresh(None), {})
        saved = {unit: lanes for unit, lanes in first.saved.items() if all(s.saved.get(unit) == lanes for s in arriving)}
        return _State(first.lanes, saved)

    def _changed(self, state: _State, instruction: Instruction, writes: int) -> _State:
        """The state after an instruction that writes EXEC."""
        name, pairs = instruction.mnemonic, [_pair(o) for o in instruction.operands]
        saved = _kept(state.saved, writes)
        if name == "s_and_saveexec_b64" and pairs[0] is not None:
            return _State(self._fresh(state.lanes), {**saved, pairs[0]: state.lanes})
        if pairs and pairs[0] == EXEC:
            sources = [state.saved.get(p) for p in pairs[1:] if p is not None and p != EXEC]
            if name == "s_mov_b64" and sources and sources[0] is not None:
                return _State(sources[0], saved)
            if name == "s_or_b64" and EXEC in pairs[1:] and sources:
                source = sources[0]
                if source is not None and self._is_within(state.lanes, source):
                    return _State(source, saved)
        return _State(self._fresh(None), saved)


@dataclass(frozen=True, slots=True)
class _State:
    """The number of EXEC's value, and of the values that pairs of scalar registers keep, by their first unit."""

    lanes: int
    saved: Mapping[int, int]


def _pair(operand: object) -> int | None:
    return operand.range.unit if isinstance(operand, Register) and operand.range.count == 2 else None


def _kept(saved: Mapping[int, int], writes: int) -> dict[int, int]:
    return {unit: lanes for unit, lanes in saved.items() if not writes >> unit & 3}


def _copied(state: _State, instruction: Instruction, writes: int) -> _State:
    """The state after an instruction that leaves EXEC alone and may copy it."""
    if instruction.mnemonic == "s_mov_b64":
        target, source = map(_pair, instruction.operands)
        if source == EXEC and target is not None:
            return _State(state.lanes, {**_kept(state.saved, writes), target: state.lanes})
    return state if not writes else _State(state.lanes, _kept(state.saved, writes))
