"""Regions: stretches of a block whose instructions may be put in another order, and the one way to do it.

A region lies between fixed points (fences, branches, messages, mode changes, what is not understood). A barrier may lie inside:
it orders memory, so that arithmetic may cross it and nothing that counts on a wait counter may. So may s_setprio, which orders
nothing. Waits and nops inside are not part of the order: they are taken out, and `reordered` puts back what the new order
needs. Memory operations of one wait counter keep their order, so that a wait in a later block still means the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.ir.analysis.dataflow.dependence import DependenceGraph, Kind
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.needed import WaitState
from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.isa.model import Access, Counter, Flag, IssueClass
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.rewriter import Rewriter
from asmevo.passes.fillers import Fillers, is_filler
from asmevo.passes.wait_obligations import WaitObligations
from asmevo.passes.wait_states import AllowedShortfalls, with_nops

_MOVABLE = frozenset(
    {
        IssueClass.SALU,
        IssueClass.VALU,
        IssueClass.TRANS,
        IssueClass.MATRIX,
        IssueClass.LDS,
        IssueClass.VMEM,
        IssueClass.SMEM,
        IssueClass.FLAT,
        IssueClass.BARRIER,
    }
)
MAXIMUM_LENGTH = 2048
"""Longer stretches are cut here, so that a dependence graph stays small; what follows is the next region."""


@dataclass(frozen=True, slots=True)
class Region:
    """Instructions [start, stop) of the block `label`."""

    label: str
    start: int
    stop: int

    def __str__(self) -> str:
        return f"{self.label}[{self.start}:{self.stop}]"


def regions_of(block: Block) -> list[Region]:
    """The regions of a block with at least two instructions to order, first to last.

    None where the block is frozen, or selects registers by index: operands do not name what is touched there.
    """
    if block.frozen:
        return []
    regions: list[Region] = []
    start = 0
    indexed = False
    for index in range(len(block.instructions) + 1):
        inside = index < len(block.instructions) and _may_be_inside(block.instructions[index])
        if index < len(block.instructions) and block.instructions[index].mnemonic.startswith("s_set_gpr_idx"):
            indexed = block.instructions[index].mnemonic != "s_set_gpr_idx_off"
        ended = not inside or indexed
        if ended or index - start >= MAXIMUM_LENGTH:
            if sum(not is_filler(i) for i in block.instructions[start:index]) > 1:
                regions.append(Region(block.label, start, index))
            start = index + 1 if ended else index
    return regions


def _sets_priority(instruction: Instruction) -> bool:
    """Whether it only tells the arbiter of waves something: no value depends on it."""
    return instruction.mnemonic == "s_setprio"


def _may_be_inside(instruction: Instruction) -> bool:
    definition = instruction.definition
    if definition is None:
        return False
    if is_filler(instruction):
        return True
    if definition.issue is IssueClass.BARRIER or _sets_priority(instruction):
        return True
    if Flag.FIXED in definition.flags or definition.access is Access.FENCE or definition.is_terminator or definition.is_branch:
        return False
    return definition.issue in _MOVABLE


@dataclass(frozen=True, slots=True)
class RegionGraph:
    """A region's instructions that have an order, which must come before which, and what its waits must guarantee.

    `predecessors[j]` and `successors[i]` hold node numbers; node numbers are positions in the current order.
    """

    kernel: Kernel
    region: Region
    nodes: tuple[Instruction, ...]
    predecessors: tuple[tuple[int, ...], ...]
    successors: tuple[tuple[int, ...], ...]
    data: frozenset[tuple[int, int]]
    """Edges that carry a value (read after write); the others only keep an order."""
    obligations: WaitObligations
    allowed: AllowedShortfalls

    @classmethod
    def build(cls, kernel: Kernel, region: Region, analyses: AnalysisManager | None = None) -> RegionGraph:
        """The graph of a region of `kernel`; `analyses` are the kernel's, when at hand."""
        analyses = analyses or AnalysisManager(kernel)
        inside = kernel.block(region.label).instructions[region.start : region.stop]
        nodes = tuple(i for i in inside if not is_filler(i))
        before: list[set[int]] = [set() for _ in nodes]
        after: list[set[int]] = [set() for _ in nodes]
        data: set[tuple[int, int]] = set()
        ordered = [position for position, node in enumerate(nodes) if not _sets_priority(node)]
        edges = [
            (ordered[edge.source], ordered[edge.target], edge.kind is Kind.RAW)
            for edge in DependenceGraph.of([nodes[position] for position in ordered]).edges
        ]
        edges += [(source, target, False) for source, target in (*_counter_order(nodes), *_milestones(nodes))]
        for source, target, carries in edges:
            before[target].add(source)
            after[source].add(target)
            if carries:
                data.add((source, target))
        entering = analyses.get(WaitState).before(region.label, region.start)
        return cls(
            kernel,
            region,
            nodes,
            tuple(tuple(sorted(s)) for s in before),
            tuple(tuple(sorted(s)) for s in after),
            frozenset(data),
            WaitObligations.of(entering, inside),
            analyses.get(AllowedShortfalls),
        )

    def has_choice(self) -> bool:
        """Whether more than one order is legal."""
        return any(i not in self.predecessors[i + 1] for i in range(len(self.nodes) - 1))

    def freedom(self, position: int) -> tuple[int, int]:
        """The first and last position to which this node alone may move in the current order."""
        low = max(self.predecessors[position], default=-1) + 1
        high = min(self.successors[position], default=len(self.nodes)) - 1
        return low, high

    def is_legal(self, order: Sequence[int]) -> bool:
        """Whether `order` is a permutation of the nodes that keeps every edge."""
        if sorted(order) != list(range(len(self.nodes))):
            return False
        place = {node: position for position, node in enumerate(order)}
        return all(place[source] < place[target] for target, sources in enumerate(self.predecessors) for source in sources)


def _counter_order(nodes: Sequence[Instruction]) -> list[tuple[int, int]]:
    """Edges that keep the operations of each wait counter in order, among themselves and to barriers."""
    edges: list[tuple[int, int]] = []
    last: dict[Counter, int] = {}
    for index, node in enumerate(nodes):
        if node.definition is None:
            continue
        counters = tuple(Counter) if node.definition.issue is IssueClass.BARRIER else node.definition.counters
        for counter in counters:
            if counter in last:
                edges.append((last[counter], index))
            last[counter] = index
    return edges


def _milestones(nodes: Sequence[Instruction]) -> list[tuple[int, int]]:
    """Edges that keep barriers and priority changes in order."""
    places = [
        position
        for position, node in enumerate(nodes)
        if _sets_priority(node) or (node.definition is not None and node.definition.issue is IssueClass.BARRIER)
    ]
    return list(itertools.pairwise(places))


def reordered(graph: RegionGraph, order: Sequence[int]) -> Kernel | None:
    """The graph's kernel with the region in another legal order, its waits and nops made anew; None when nops cannot mend it.

    Raises ValueError for an illegal order: that is a bug of the caller.
    """
    if not graph.is_legal(order):
        raise ValueError(f"illegal order for {graph.region}")
    kernel, region = graph.kernel, graph.region
    block = kernel.block(region.label)
    removed = [i for i in block.instructions[region.start : region.stop] if is_filler(i)]
    fillers = Fillers(removed, max(i.uid for i in kernel.instructions()) + 1)
    body = [
        fillers.wait(item) if isinstance(item, WaitCounts) else graph.nodes[item] for item in graph.obligations.woven(order)
    ]
    whole = (*block.instructions[: region.start], *body, *block.instructions[region.stop :])
    instructions = with_nops(kernel, graph.allowed, block.label, whole, fillers)
    if instructions is None:
        return None
    rewriter = Rewriter(kernel)
    rewriter.replace_block_instructions(block.label, instructions)
    return rewriter.kernel
