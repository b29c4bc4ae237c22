"""The control-flow graph of a kernel as a networkx graph.

Owns the graph's form; dominators, loops and the like are analyses and networkx algorithms over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx

from asmevo.ir.kernel import Block, Kernel

if TYPE_CHECKING:
    Graph = nx.DiGraph[str]


def build_cfg(kernel: Kernel) -> Graph:
    """A directed graph whose nodes are block labels, in layout order.

    A node has `block` (the Block) and `is_root`; an edge has `kind`: "branch", "fall" or "both" where a conditional branch
    goes to the block that also follows it.

    Raises: KeyError for a successor that is no block; `ir.verifier` reports such kernels in words.
    """
    graph: Graph = nx.DiGraph()
    for block in kernel.blocks:
        graph.add_node(block.label, block=block, is_root=block.label in kernel.roots)
    for block in kernel.blocks:
        for label, kind in _edge_kinds(block).items():
            if label not in graph:
                raise KeyError(label)
            graph.add_edge(block.label, label, kind=kind)
    return graph


def _edge_kinds(block: Block) -> dict[str, str]:
    definition = block.instructions[-1].definition if block.instructions else None
    kinds: dict[str, str] = {}
    for index, label in enumerate(block.successors):
        kind = "branch" if definition is not None and definition.is_branch and not index else "fall"
        kinds[label] = "both" if label in kinds else kind
    return kinds


def reachable(kernel: Kernel) -> frozenset[str]:
    """The labels that some path from a root reaches."""
    blocks = {block.label: block for block in kernel.blocks}
    seen: set[str] = set()
    work = [label for label in kernel.roots if label in blocks]
    while work:
        label = work.pop()
        if label not in seen:
            seen.add(label)
            work += [successor for successor in blocks[label].successors if successor in blocks]
    return frozenset(seen)


def predecessors(kernel: Kernel) -> dict[str, tuple[str, ...]]:
    """Label to the labels that lead to it, each once, in layout order."""
    result: dict[str, list[str]] = {block.label: [] for block in kernel.blocks}
    for block in kernel.blocks:
        for label in dict.fromkeys(block.successors):
            result[label].append(block.label)
    return {label: tuple(found) for label, found in result.items()}
