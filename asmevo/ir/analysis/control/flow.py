"""The block graph as plain tables: what every dataflow analysis here walks.

Owns successor, predecessor and reverse-postorder tables of a kernel; it must not look into instructions.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Block, Kernel


@dataclass(frozen=True, slots=True)
class Flow:
    """Blocks by label with their edges.

    `order` is a reverse postorder from the roots, followed by blocks that no root reaches, in layout order. Edges to labels
    that the kernel does not have are left out.
    """

    blocks: dict[str, Block]
    successors: dict[str, tuple[str, ...]]
    predecessors: dict[str, tuple[str, ...]]
    order: tuple[str, ...]
    roots: tuple[str, ...]
    reachable: frozenset[str]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Flow:
        """The tables of `kernel`."""
        del manager
        blocks = {block.label: block for block in kernel.blocks}
        successors = {
            label: tuple(dict.fromkeys(target for target in block.successors if target in blocks))
            for label, block in blocks.items()
        }
        predecessors: dict[str, list[str]] = {label: [] for label in blocks}
        for label, targets in successors.items():
            for target in targets:
                predecessors[target].append(label)
        roots = tuple(root for root in kernel.roots if root in blocks) or tuple(list(blocks)[:1])
        reached = _reverse_postorder(roots, successors)
        rest = [label for label in blocks if label not in set(reached)]
        return cls(
            blocks,
            successors,
            {label: tuple(sources) for label, sources in predecessors.items()},
            (*reached, *rest),
            roots,
            frozenset(reached),
        )


def _reverse_postorder(roots: tuple[str, ...], successors: dict[str, tuple[str, ...]]) -> list[str]:
    seen: set[str] = set()
    postorder: list[str] = []
    for root in reversed(roots):
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(reversed(successors[root])))]
        while stack:
            label, pending = stack[-1]
            for target in pending:
                if target not in seen:
                    seen.add(target)
                    stack.append((target, iter(reversed(successors[target]))))
                    break
            else:
                stack.pop()
                postorder.append(label)
    return postorder[::-1]
