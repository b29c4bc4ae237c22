"""What registers hold: a forward analysis of the whole kernel by abstract interpretation of the instructions' programs.

One pass over the blocks: where a loop starts, every register that the loop may write becomes a symbol of that place, so nothing
needs to be repeated; what such a symbol is over the iterations is found afterwards (`induction`). Owns that pass and what it
records on the way: addresses of memory instructions, conditions of branches, instructions whose results all lanes share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.dataflow.exec_full import ExecChange
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.values.domain import Domain
from asmevo.ir.analysis.values.entry import Entry
from asmevo.ir.analysis.values.registers import DEFAULT, Content, Half, Origin, Reader, State
from asmevo.ir.analysis.values.step import MemoryValues, Stepper
from asmevo.ir.analysis.values.value import Kind, Place, Symbol, Value, of_symbol, same
from asmevo.ir.effects import EVERYTHING, may_skip_vectors
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import EXEC_MASK, SCC, VCC, VGPR0, VGPR_MASK, unit_name, units

Site = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Values:
    """Values at block entries and exits, and what was seen in between.

    `conditions` are the SCC or VCC values that the conditional branches at the ends of blocks test; `uniform` the vector
    instructions whose results are the same in every lane; `exec_writes` how EXEC
    changes and whether by a mask in which lanes differ; `assumptions` what all of it rests on.
    """

    entries: Mapping[str, State]
    exits: Mapping[str, State]
    memory: Mapping[Site, MemoryValues]
    conditions: Mapping[str, Value]
    uniform: frozenset[Site]
    exec_writes: Mapping[Site, tuple[ExecChange, bool | None]]
    reader: Reader
    assumptions: tuple[str, ...]
    _stepper: Stepper
    _flow: Flow
    _loops: Loops

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Values:
        """The values of `kernel` for any launch that its descriptor and metadata allow."""
        flow, loops, table = manager.get(Flow), manager.get(Loops), manager.get(EffectsTable)
        may_skip = may_skip_vectors(kernel.instructions())
        kept = frozenset(flow.blocks)
        while True:
            domain = Domain()
            reader = Reader(domain, Entry.of(kernel, domain))
            walk = _Walk(flow, loops, table, Stepper(table, reader, may_skip), kept)
            broken = walk.run()
            if not broken:
                break
            kept -= broken
        stepper = walk.stepper
        return cls(
            walk.entries, walk.exits, stepper.memory, walk.conditions, frozenset(stepper.uniform),
            stepper.exec_writes, reader,
            reader.entry.assumptions, stepper, flow, loops,
        )  # fmt: skip

    def before(self, label: str, index: int) -> State:
        """The state just before an instruction of a reachable block."""
        state = self.entries[label].copy()
        probe = self._stepper.probe()
        for position, instruction in enumerate(self._flow.blocks[label].instructions[:index]):
            probe.step(state, label, position, instruction)
        return state

    def dominates(self, first: str, second: str) -> bool:
        """As `Loops.dominates`."""
        return self._loops.dominates(first, second)

    def unit_before(self, label: str, index: int, unit: int) -> Value:
        """The value of one register just before an instruction."""
        return self.reader.unit(self.before(label, index), unit)


@dataclass(slots=True)
class _Walk:
    flow: Flow
    loops: Loops
    table: EffectsTable
    stepper: Stepper
    kept_exec: frozenset[str]
    """Loop headers at which EXEC is taken to be as on entering the loop; checked at the end."""
    entries: dict[str, State] = field(default_factory=dict[str, State])
    exits: dict[str, State] = field(default_factory=dict[str, State])
    conditions: dict[str, Value] = field(default_factory=dict[str, Value])

    def run(self) -> frozenset[str]:
        """Walks every reachable block once; returns the headers at which EXEC was not what it was taken to be."""
        rank = {label: position for position, label in enumerate(self.flow.order)}
        late = {
            label: [s for s in self.flow.predecessors[label] if s in self.flow.reachable and rank[s] >= rank[label]]
            for label in self.flow.order
            if label in self.flow.reachable
        }
        bodies = {loop.header: loop.blocks for loop in self.loops.loops}
        for label in self.flow.order:
            if label not in self.flow.reachable:
                continue
            state = self._arriving(label, [s for s in self.flow.predecessors[label] if s in self.exits])
            if late[label]:
                self._open_loop(state, label, bodies.get(label))
            self.entries[label] = state
            state = state.copy()
            self._through(state, label)
            self.exits[label] = state
        return frozenset(
            label for label, sources in late.items() if sources and label in self.kept_exec and self._moved(label, sources)
        )

    def _moved(self, label: str, sources: list[str]) -> bool:
        reader = self.stepper.reader
        full = reader.exec_is_full(self.entries[label])
        return full and not all(reader.exec_is_full(self.exits[source]) for source in sources)

    def _through(self, state: State, label: str) -> None:
        block = self.flow.blocks[label]
        for index, instruction in enumerate(block.instructions):
            self.stepper.step(state, label, index, instruction)
        definition = block.instructions[-1].definition if block.instructions else None
        if definition is not None and definition.is_conditional:
            reader = self.stepper.reader
            if "_scc" in definition.mnemonic:
                self.conditions[label] = reader.unit(state, SCC)
            elif "_vcc" in definition.mnemonic:
                self.conditions[label] = reader.pair(state, VCC)

    def _arriving(self, label: str, sources: list[str]) -> State:
        states = [self.exits[source] for source in sources]
        if label in self.flow.roots:
            states.append(self.stepper.reader.start())
        state = states[0].copy()
        for other in states[1:]:
            self._join(state, other, label)
        return state

    def _join(self, state: State, other: State, label: str) -> None:
        mine, theirs = state.contents, other.contents
        state.partial |= other.partial
        default, their_default = mine.get(DEFAULT), theirs.get(DEFAULT)
        for unit in mine.keys() | theirs.keys():
            first, second = mine.get(unit, default), theirs.get(unit, their_default)
            if first is second or (isinstance(first, Origin) and first == second):
                if first is not None:
                    mine[unit] = first
                continue
            mine[unit] = self._met(first, second, label, unit)

    def _met(self, first: Content | None, second: Content | None, label: str, unit: int) -> Content:
        if (
            isinstance(first, Half)
            and isinstance(second, Half)
            and first.part == second.part
            and same(first.value, second.value)
        ):
            return first
        fresh = Origin(label, -1, unit >= VGPR0 or unit == DEFAULT)
        if unit == DEFAULT or isinstance(first, Origin) or isinstance(second, Origin):
            return fresh
        reader = self.stepper.reader
        a, b = reader.of(first, unit), reader.of(second, unit)
        if same(a, b):
            return a
        divergent = unit >= VGPR0 and (a.divergent or b.divergent)
        symbol = Symbol(
            Kind.PHI, _phi_name(unit, label), min(a.low, b.low), max(a.high, b.high), divergent, 0, Place(label, unit)
        )
        value = of_symbol(symbol, a.bits)
        return value._replace(zeros=value.zeros | a.zeros & b.zeros, ones=a.ones & b.ones)

    def _open_loop(self, state: State, label: str, body: frozenset[str] | None) -> None:
        """Makes what the loop may write into symbols of its header; a cycle that is no natural loop may write anything."""
        written = EVERYTHING
        if body is not None:
            written = 0
            for block in body:
                for effect in self.table.by_block[block]:
                    written |= effect.writes
        fresh = Origin(label, -1, True)
        full = label in self.kept_exec and self.stepper.reader.exec_is_full(state)
        kept = EXEC_MASK if full else 0
        if written == EVERYTHING:
            execs = {unit: state.contents.get(unit) for unit in units(kept)}
            state.contents.clear()
            state.contents[DEFAULT] = fresh
            state.contents.update({unit: content for unit, content in execs.items() if content is not None})
            state.partial = 0 if full else VGPR_MASK
            return
        for unit in units(written & ~kept):
            state.contents[unit] = fresh
        if not full:
            state.partial |= written & VGPR_MASK


def _phi_name(unit: int, label: str) -> str:
    return f"{unit_name(unit)} at {label}"
