"""The kernel's dataflow in SSA form: one value for each write of each register unit, block arguments where values meet.

Owns the construction (pruned, with arguments only where different values arrive); printing is `report`'s business. Each value
stays in its register, so the form leads back to the code by forgetting the version numbers. Memory is not a value:
instructions keep their order. A loaded value appears where the load is issued, whatever wait comes before its use.
Source: Cytron et al., "Efficiently Computing Static Single Assignment Form and the Control Dependence Graph", 1991.
"""

# networkx's stubs leave its dominator functions partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import networkx as nx

from asmevo.diagnostics import fail
from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.dataflow.ssa_steps import Step, Steps
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import unit_name, units

MAX_VALUES = 1 << 20
"""Results, arguments and passed values of one kernel; the largest production kernels have a quarter of it."""
ENTRY = ""
"""The label of the place before the kernel, in the graph and in messages."""


@dataclass(frozen=True, slots=True)
class SsaValue:
    """One value of one register unit. Version 0 is what the register holds when a wave starts."""

    unit: int
    version: int

    def __str__(self) -> str:
        return f"{unit_name(self.unit).removeprefix('src_')}_{self.version}"


@dataclass(frozen=True, slots=True)
class SsaOp:
    """One instruction (or a row of data words) with the values it reads and makes, ascending by unit.

    `kept` has an entry for each result: the old value of the register where the write may leave some of it (lanes that EXEC
    switches off, half registers, indexed writes), None where the result replaces all of it.
    """

    step: Step
    reads: tuple[SsaValue, ...]
    results: tuple[SsaValue, ...]
    kept: tuple[SsaValue | None, ...]


@dataclass(frozen=True, slots=True)
class SsaEdge:
    """Where control goes, and the values passed for the target's arguments, in their order."""

    target: str
    values: tuple[SsaValue, ...]


@dataclass(frozen=True, slots=True)
class SsaBlock:
    """A block of the kernel: arguments ascending by unit, operations in order, edges in the order of `Block.successors`."""

    label: str
    arguments: tuple[SsaValue, ...]
    ops: tuple[SsaOp, ...]
    edges: tuple[SsaEdge, ...]


@dataclass(frozen=True, slots=True)
class Ssa:
    """The kernel in SSA form.

    `entry` are the registers whose value at the start of a wave is needed, `starts` lead to the roots. `unknown` are values of
    which nothing is known; they are passed along `unseen`, the edges to blocks that no root is seen to reach (one from each
    group of such blocks). Blocks stand in layout order; `order` has their labels with each after all that dominate it.
    """

    entry: tuple[SsaValue, ...]
    unknown: tuple[SsaValue, ...]
    starts: tuple[SsaEdge, ...]
    unseen: tuple[SsaEdge, ...]
    blocks: tuple[SsaBlock, ...]
    order: tuple[str, ...]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Ssa:
        """The SSA form of `kernel`. Raises E0314 when it would have more than MAX_VALUES values."""
        return _Builder(kernel, manager.get(Flow), manager.get(Steps)).build()


class _Builder:
    def __init__(self, kernel: Kernel, flow: Flow, steps: Steps) -> None:
        self.name = kernel.name
        self.order = tuple(block.label for block in kernel.blocks)
        self.flow = flow
        self.steps = steps.by_block
        self.heads = _unseen_heads(self.order, flow)
        self.edges = {ENTRY: (*flow.roots, *self.heads), **{label: flow.successors[label] for label in self.order}}
        self.live = self._live_in()
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from((ENTRY, *self.order))
        graph.add_edges_from((source, target) for source, targets in self.edges.items() for target in targets)
        self.dominator: dict[str, str] = dict(nx.immediate_dominators(graph, ENTRY))
        self.frontier = self._frontiers()
        self.versions: dict[int, int] = defaultdict(int)

    def build(self) -> Ssa:
        if not self.order:
            return Ssa((), (), (), (), (), ())
        joined = self._argument_units()
        self._count_values(joined)
        entry = tuple(SsaValue(unit, 0) for unit in sorted({u for root in self.flow.roots for u in units(self.live[root])}))
        arguments: dict[str, tuple[SsaValue, ...]] = {}
        results: dict[str, list[tuple[SsaValue, ...]]] = {}
        for label in self.order:
            arguments[label] = tuple(self._fresh(unit) for unit in units(joined[label]))
            results[label] = [tuple(self._fresh(unit) for unit in units(step.writes)) for step in self.steps[label]]
        needed = sorted({value.unit for head in self.heads for value in arguments[head]})
        unknown = {unit: self._fresh(unit) for unit in needed}
        start = {value.unit: value for value in entry}
        outs: dict[str, dict[int, SsaValue]] = {}
        ops: dict[str, tuple[SsaOp, ...]] = {}
        order = self._dominator_preorder()
        for label in order:
            held = dict(outs.get(self.dominator[label], start))
            held |= {value.unit: value for value in arguments[label]}
            ops[label] = tuple(_rename(step, made, held) for step, made in zip(self.steps[label], results[label], strict=True))
            outs[label] = held

        def edge(target: str, held: dict[int, SsaValue]) -> SsaEdge:
            return SsaEdge(target, tuple(held[value.unit] for value in arguments[target]))

        return Ssa(
            entry,
            tuple(unknown.values()),
            tuple(edge(root, start) for root in self.flow.roots),
            tuple(edge(head, unknown) for head in self.heads),
            tuple(
                SsaBlock(label, arguments[label], ops[label], tuple(edge(t, outs[label]) for t in self._successors(label)))
                for label in self.order
            ),
            tuple(order),
        )

    def _successors(self, label: str) -> tuple[str, ...]:
        blocks = self.flow.blocks
        return tuple(target for target in blocks[label].successors if target in blocks)

    def _fresh(self, unit: int) -> SsaValue:
        self.versions[unit] += 1
        return SsaValue(unit, self.versions[unit])

    def _live_in(self) -> dict[str, int]:
        """The units that each block, or one after it, takes from before."""
        needs: dict[str, int] = {}
        gives: dict[str, int] = {}
        for label in self.order:
            need = give = 0
            for step in self.steps[label]:
                need |= (step.reads | step.kept) & ~give
                give |= step.writes
            needs[label], gives[label] = need, give
        live = dict.fromkeys(self.order, 0)
        pending = list(self.order)
        while pending:
            label = pending.pop()
            out = 0
            for target in self.flow.successors[label]:
                out |= live[target]
            before = needs[label] | (out & ~gives[label])
            if before != live[label]:
                live[label] = before
                pending.extend(self.flow.predecessors[label])
        return live

    def _frontiers(self) -> dict[str, list[str]]:
        """Where the dominance of each block ends."""
        sources: dict[str, list[str]] = defaultdict(list)
        for source, targets in self.edges.items():
            for target in targets:
                sources[target].append(source)
        frontier: dict[str, list[str]] = defaultdict(list)
        count = 0
        for label in self.order:
            if len(sources[label]) < 2:
                continue
            seen: set[str] = set()
            for source in sources[label]:
                while source != self.dominator[label] and source not in seen:
                    seen.add(source)
                    frontier[source].append(label)
                    source = self.dominator[source]
            count += len(seen)
            self._limit(count)
        return frontier

    def _limit(self, count: int) -> None:
        if count > MAX_VALUES:
            what = f"kernel '{self.name}' has too many values for SSA form (more than {MAX_VALUES:,})"
            fail("E0314", what, help="analyse a single block, or the assembly")

    def _count_values(self, joined: dict[str, int]) -> None:
        """Refuses what would not fit into memory, before it is made."""
        count = 0
        for label in self.order:
            passed = sum(joined[target].bit_count() for target in self.edges[label])
            made = sum(step.writes.bit_count() + (step.reads | step.kept).bit_count() for step in self.steps[label])
            count += joined[label].bit_count() + passed + made
            self._limit(count)

    def _argument_units(self) -> dict[str, int]:
        """The units for which each block takes an argument: the iterated frontier of the writes, where the unit is live."""
        joined = dict.fromkeys(self.order, 0)
        writers: dict[int, set[str]] = defaultdict(set)
        for label in self.order:
            written = 0
            for step in self.steps[label]:
                written |= step.writes
            for unit in units(written):
                writers[unit].add(label)
        for head in self.heads:
            # What comes from an unseen place is not what the wave started with.
            for unit in units(self.live[head]):
                joined[head] |= 1 << unit
                writers[unit].add(head)
        for unit, places in writers.items():
            pending = list(places)
            while pending:
                for target in self.frontier.get(pending.pop(), ()):
                    if not joined[target] >> unit & 1 and self.live[target] >> unit & 1:
                        joined[target] |= 1 << unit
                        if target not in places:
                            pending.append(target)
        return joined

    def _dominator_preorder(self) -> list[str]:
        """Every block after its immediate dominator."""
        children: dict[str, list[str]] = defaultdict(list)
        for label in self.order:
            children[self.dominator[label]].append(label)
        result: list[str] = []
        pending = list(reversed(children[ENTRY]))
        while pending:
            label = pending.pop()
            result.append(label)
            pending.extend(reversed(children[label]))
        return result


def _unseen_heads(order: tuple[str, ...], flow: Flow) -> tuple[str, ...]:
    """The first block in layout order of each group that no root reaches."""
    seen = set(flow.reachable)
    heads: list[str] = []
    for label in order:
        if label in seen:
            continue
        heads.append(label)
        pending = [label]
        while pending:
            current = pending.pop()
            if current not in seen:
                seen.add(current)
                pending.extend(flow.successors[current])
    return tuple(heads)


def _rename(step: Step, made: tuple[SsaValue, ...], held: dict[int, SsaValue]) -> SsaOp:
    reads = tuple(held[unit] for unit in units(step.reads))
    kept = tuple(held[value.unit] if step.kept >> value.unit & 1 else None for value in made)
    for value in made:
        held[value.unit] = value
    return SsaOp(step, reads, made, kept)
