"""What must keep its order inside a straight run of instructions.

Owns the dependence graph of a window. It must not know costs, wait counts or wait states: whoever reorders by this graph
checks those afterwards with `waits` and `hazards`. `s_nop` has no edges for that reason.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.ir.analysis.dataflow.facts import ALL_UNITS
from asmevo.ir.analysis.memory.effects import MemoryUse, memory_use
from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Flag, IssueClass
from asmevo.ir.registers import units


class Kind(enum.Enum):
    """Why two instructions must keep their order."""

    RAW = "read after write"
    WAR = "write after read"
    WAW = "write after write"
    MEM = "memory"
    ORDER = "order"


@dataclass(frozen=True, slots=True)
class Edge:
    """Instruction `source` (position in the window) comes before `target`."""

    source: int
    target: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class DependenceGraph:
    """Edges among a window's instructions, transitively complete: any order that keeps every edge keeps every dependence.

    Guarantee: registers (implicit ones too) keep reads and writes in order; loads may change places among themselves; a
    store or atomic keeps its order to everything that may touch the same memory; branches, messages, timers, mode changes
    and raw data keep their order to everything; a wait keeps its order to other waits, to memory instructions, and to later
    instructions that touch a register which may be pending at it.
    """

    size: int
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, window: Sequence[Instruction], pending: int = ALL_UNITS) -> DependenceGraph:
        """The graph of `window`; `pending` are units whose load may be outstanding at its start (default: any)."""
        builder = _Builder(pending)
        for index, instruction in enumerate(window):
            builder.add(index, instruction)
        found = sorted(builder.edges.items())
        return cls(len(window), tuple(Edge(source, target, kind) for (source, target), kind in found))

    def predecessors(self) -> tuple[tuple[Edge, ...], ...]:
        """Edges by target."""
        table: list[list[Edge]] = [[] for _ in range(self.size)]
        for edge in self.edges:
            table[edge.target].append(edge)
        return tuple(tuple(edges) for edges in table)

    def successors(self) -> tuple[tuple[Edge, ...], ...]:
        """Edges by source."""
        table: list[list[Edge]] = [[] for _ in range(self.size)]
        for edge in self.edges:
            table[edge.source].append(edge)
        return tuple(tuple(edges) for edges in table)


_FIXED = frozenset({IssueClass.BRANCH, IssueClass.END, IssueClass.MESSAGE, IssueClass.OTHER})
_FIXED_NAMES = (
    "s_setprio", "s_memtime", "s_memrealtime", "s_setreg", "s_setvskip", "s_set_gpr_idx", "s_sleep", "s_trap", "s_dcache",
    "s_icache",
)  # fmt: skip


def is_fixed(instruction: Instruction) -> bool:
    """True when nothing may cross the instruction. Barriers and waits have rules of their own and are not fixed."""
    definition = instruction.definition
    if definition is None:
        return True
    if definition.issue in (IssueClass.BARRIER, IssueClass.WAIT, IssueClass.NOP):
        return False
    return (
        definition.issue in _FIXED
        or definition.is_branch
        or definition.is_terminator
        or Flag.FIXED in definition.flags
        or definition.mnemonic.startswith(_FIXED_NAMES)
    )


class _Builder:
    def __init__(self, pending: int) -> None:
        self.edges: dict[tuple[int, int], Kind] = {}
        self._pending = pending
        self._writer: dict[int, int] = {}
        self._readers: dict[int, list[int]] = {}
        self._memory: list[tuple[int, MemoryUse]] = []
        self._counting: list[int] = []
        self._waits: list[tuple[int, int]] = []
        self._fence = -1
        self._since_fence: list[int] = []

    def add(self, index: int, instruction: Instruction) -> None:
        definition = instruction.definition
        if definition is not None and definition.issue is IssueClass.NOP:
            return
        effect = effects(instruction)
        self._registers(index, effect.reads, effect.writes)
        self._memory_order(index, memory_use(instruction))
        counts = definition is not None and bool(definition.counters)
        waits = definition is not None and definition.issue is IssueClass.WAIT
        barrier = definition is not None and definition.issue is IssueClass.BARRIER
        if waits or counts or barrier:
            sources = self._counting if waits or barrier else []
            for source in (*sources, *(wait for wait, _ in self._waits)):
                self._edge(source, index, Kind.ORDER)
        else:
            for wait, pending in self._waits:
                if (effect.reads | effect.writes) & pending:
                    self._edge(wait, index, Kind.ORDER)
        if waits:
            self._waits.append((index, self._pending))
        if counts or barrier:
            self._counting.append(index)
        if counts:
            self._pending |= effect.writes
        if is_fixed(instruction):
            for source in self._since_fence:
                self._edge(source, index, Kind.ORDER)
            self._fence, self._since_fence = index, []
        self._since_fence.append(index)

    def _edge(self, source: int, target: int, kind: Kind) -> None:
        if source >= 0:
            self.edges.setdefault((source, target), kind)

    def _registers(self, index: int, reads: int, writes: int) -> None:
        for unit in units(reads):
            self._edge(self._writer.get(unit, -1), index, Kind.RAW)
        for unit in units(writes):
            for reader in self._readers.pop(unit, ()):
                if reader != index:
                    self._edge(reader, index, Kind.WAR)
            self._edge(self._writer.get(unit, -1), index, Kind.WAW)
            self._writer[unit] = index
        for unit in units(reads & ~writes):
            self._readers.setdefault(unit, []).append(index)
        self._edge(self._fence, index, Kind.ORDER)

    def _memory_order(self, index: int, use: MemoryUse) -> None:
        if not use.touches:
            return
        for source, other in self._memory:
            if use.conflicts(other):
                self._edge(source, index, Kind.MEM)
        self._memory.append((index, use))
