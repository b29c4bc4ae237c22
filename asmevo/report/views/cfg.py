"""View `cfg`: blocks with their edges, dominators and modelled cost."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.control.postdominance import PostDominance
from asmevo.ir.analysis.dataflow.divergence import Divergence
from asmevo.ir.cfg import build_cfg
from asmevo.report.subject import Subject
from asmevo.report.views.table import cut, cycles, table


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge to `target`: "branch", "fall" or "both"; `back` closes a cycle."""

    target: str
    kind: str
    back: bool


@dataclass(frozen=True, slots=True)
class Node:
    """One block. `cycles` are modelled, for one execution by one wave; None for a block that the model does not run.

    `asks` says what its conditional branch asks, empty without one.
    """

    label: str
    offset: int | None
    instructions: int
    depth: int
    root: bool
    reachable: bool
    frozen: bool
    dominator: str | None
    postdominator: str | None
    asks: str
    cycles: float | None
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Cfg:
    """The blocks in layout order."""

    nodes: tuple[Node, ...]


def cfg(subject: Subject) -> Cfg:
    """Return the view of a subject."""
    analyses = subject.analyses
    flow, loops = analyses.get(Flow), analyses.get(Loops)
    post, branches = analyses.get(PostDominance), analyses.get(Divergence).branches
    graph = build_cfg(subject.kernel)
    rank = {label: position for position, label in enumerate(flow.order)}
    costs = subject.timing.per_block
    nodes: list[Node] = []
    for block in subject.kernel.blocks:
        label = block.label
        kinds = {target: str(graph.edges[label, target]["kind"]) for target in flow.successors[label]}
        nodes.append(
            Node(
                label,
                block.instructions[0].offset if block.instructions else block.offset,
                len(block.instructions),
                loops.depth[label],
                label in flow.roots,
                label in flow.reachable,
                block.frozen,
                loops.dominator[label],
                post.immediate[label],
                branches[label].value if label in branches else "",
                round(costs[label].cycles, 1) if label in costs else None,
                tuple(Edge(target, kind, rank[target] <= rank[label]) for target, kind in kinds.items()),
            )
        )
    return Cfg(tuple(nodes))


def lines(view: Cfg, *, most: int | None = None) -> list[str]:
    """Return the view as text."""
    rows = [
        (
            node.label,
            f"{node.offset:#x}" if node.offset is not None else "",
            node.instructions,
            node.depth,
            "" if node.cycles is None else cycles(node.cycles),
            node.dominator or "",
            node.postdominator or "",
            ", ".join(f"{e.target}{' (back)' if e.back else ''}" for e in node.edges),
            _remarks(node),
        )
        for node in view.nodes
    ]
    head = ("block", "offset", "instr", "depth", "cycles", "dominator", "post-dominator", "goes to", "remarks")
    return cut(table(head, rows, right=(1, 2, 3, 4)), most)


def _remarks(node: Node) -> str:
    parts = ["waves start here"] if node.root else []
    parts += ["never reached"] if not node.reachable else []
    parts += ["frozen"] if node.frozen else []
    parts += [f"branch asks for {node.asks}"] if node.asks else []
    return "; ".join(parts)
