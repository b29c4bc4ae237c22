"""Post-dominators: the blocks that every way out of a block goes through.

Owns the tree towards the exits; dominators and loops are in `loops`. Blocks from which no exit is reached have none.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel


@dataclass(frozen=True, slots=True)
class PostDominance:
    """`immediate`: the nearest post-dominator by label; None for exits, endless code, and where ways out never meet."""

    immediate: dict[str, str | None]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> PostDominance:
        """The tree of `kernel`: dominators of the reversed graph, with a virtual exit (None) behind all exits."""
        del kernel
        flow = manager.get(Flow)
        exits = [label for label in flow.blocks if not flow.successors[label]]
        order = _postorder(exits, flow.predecessors)
        rank = {label: position for position, label in enumerate(order)}
        immediate: dict[str, str | None] = dict.fromkeys(flow.blocks)
        settled = set(exits)

        def meet(first: str | None, second: str | None) -> str | None:
            while first != second:
                if first is None or second is None:
                    return None
                if rank[first] < rank[second]:
                    first = immediate[first]
                else:
                    second = immediate[second]
            return first

        changed = True
        while changed:
            changed = False
            for label in reversed(order):
                if not flow.successors[label]:
                    continue
                targets = [target for target in flow.successors[label] if target in settled]
                if not targets:
                    continue
                found: str | None = targets[0]
                for target in targets[1:]:
                    found = meet(found, target)
                if label not in settled or immediate[label] != found:
                    immediate[label] = found
                    settled.add(label)
                    changed = True
        return cls(immediate)

    def postdominates(self, first: str, second: str) -> bool:
        """True when every way from `second` to an exit goes through `first`."""
        current: str | None = second
        while current is not None:
            if current == first:
                return True
            current = self.immediate[current]
        return False


def _postorder(starts: list[str], edges: dict[str, tuple[str, ...]]) -> list[str]:
    seen: set[str] = set()
    result: list[str] = []
    for start in starts:
        if start in seen:
            continue
        seen.add(start)
        stack = [(start, iter(edges[start]))]
        while stack:
            label, pending = stack[-1]
            for target in pending:
                if target not in seen:
                    seen.add(target)
                    stack.append((target, iter(edges[target])))
                    break
            else:
                stack.pop()
                result.append(label)
    return result
