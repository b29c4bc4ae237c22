"""Regions: stretches of a block whose instructions may be put in another order, and what must hold when they are.

A region lies between fixed points (barriers, fences, branches, messages, mode changes, what is not understood). Waits and nops
inside it are not part of the order: they are taken out, and after reordering put back where the new order needs them
(`repair`). Memory operations of one wait counter keep their order, so that a wait in a later block still means the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from asmevo.ir.analysis.dependence import DependenceGraph, Kind
from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.isa.model import Access, Flag, IssueClass
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.rewriter import Rewriter

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
    }
)
MAXIMUM_NODES = 2048
"""Longer stretches are cut here, so that a dependence graph stays small; code beyond it forms the next region."""


@dataclass(frozen=True, slots=True)
class Region:
    """Instructions [start, stop) of the block `label`."""

    label: str
    start: int
    stop: int

    def __str__(self) -> str:
        return f"{self.label}[{self.start}:{self.stop}]"


def regions_of(block: Block) -> list[Region]:
    """The regions of a block with at least two instructions to order, first to last; none when it is frozen."""
    if block.frozen:
        return []
    regions: list[Region] = []
    start = 0
    for index in range(len(block.instructions) + 1):
        ended = index == len(block.instructions) or not _may_be_inside(block.instructions[index])
        if ended or index - start >= MAXIMUM_NODES:
            if sum(not is_filler(i) for i in block.instructions[start:index]) > 1:
                regions.append(Region(block.label, start, index))
            start = index + 1 if ended else index
    return regions


def is_filler(instruction: Instruction) -> bool:
    """Whether it is a wait or a nop that `repair` makes anew."""
    definition = instruction.definition
    if definition is None:
        return False
    if definition.issue is IssueClass.NOP:
        return True
    if definition.mnemonic != "s_waitcnt" or not instruction.operands:
        return False
    counts = instruction.operands[0]
    return isinstance(counts, WaitCounts) and counts.expcnt is None


def _may_be_inside(instruction: Instruction) -> bool:
    definition = instruction.definition
    if definition is None:
        return False
    if is_filler(instruction):
        return True
    if Flag.FIXED in definition.flags or definition.access is Access.FENCE or definition.is_terminator or definition.is_branch:
        return False
    return definition.issue in _MOVABLE


@dataclass(frozen=True, slots=True)
class RegionGraph:
    """The instructions to order and which must come before which.

    `predecessors[j]` and `successors[i]` hold node numbers; node numbers are positions in the current order.
    """

    region: Region
    nodes: tuple[Instruction, ...]
    predecessors: tuple[tuple[int, ...], ...]
    successors: tuple[tuple[int, ...], ...]
    data: frozenset[tuple[int, int]]
    """Edges that carry a value (read after write); the others only keep an order."""

    @classmethod
    def build(cls, kernel: Kernel, region: Region) -> RegionGraph:
        """The graph of a region; Complexity: linear in instructions times registers named."""
        block = kernel.block(region.label)
        nodes = tuple(i for i in block.instructions[region.start : region.stop] if not is_filler(i))
        before: list[set[int]] = [set() for _ in nodes]
        after: list[set[int]] = [set() for _ in nodes]
        data: set[tuple[int, int]] = set()
        edges = [(edge.source, edge.target, edge.kind is Kind.RAW) for edge in DependenceGraph.of(nodes).edges]
        edges += [(a, b, False) for a, b in _counter_order(nodes)]
        for source, target, carries in edges:
            before[target].add(source)
            after[source].add(target)
            if carries:
                data.add((source, target))
        return cls(
            region,
            nodes,
            tuple(tuple(sorted(s)) for s in before),
            tuple(tuple(sorted(s)) for s in after),
            frozenset(data),
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
    """Edges that keep the operations of each wait counter in order."""
    edges: list[tuple[int, int]] = []
    last: dict[object, int] = {}
    for index, node in enumerate(nodes):
        assert node.definition is not None
        for counter in node.definition.counters:
            if counter in last:
                edges.append((last[counter], index))
            last[counter] = index
    return edges


def rebuild_kernel(kernel: Kernel, graph: RegionGraph, order: Sequence[int]) -> Kernel:
    """`kernel` with the region in another legal order and its waits and nops made anew.

    Raises ValueError for an illegal order: that is a bug of the caller.
    """
    from asmevo.passes.repair import repaired

    if not graph.is_legal(order):
        raise ValueError(f"illegal order for {graph.region}")
    rewriter = Rewriter(kernel)
    block = kernel.block(graph.region.label)
    body = repaired(kernel, graph.region, [graph.nodes[i] for i in order])
    rewriter.replace_block_instructions(
        block.label, (*block.instructions[: graph.region.start], *body, *block.instructions[graph.region.stop :])
    )
    return rewriter.kernel


def renumbered(instruction: Instruction, uid: int) -> Instruction:
    """A copy of an instruction as a new one."""
    return replace(instruction, uid=uid, encoding=None, offset=None)
