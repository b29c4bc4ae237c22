"""Dominators, natural loops and nesting depth.

Owns the loop structure of the block graph. Irreducible cycles (a way in besides the header) have no natural loop and count as
straight code; `irreducible` names their back edges.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: its header, the sources of its back edges, and all its blocks (header included)."""

    header: str
    latches: tuple[str, ...]
    blocks: frozenset[str]
    depth: int


@dataclass(frozen=True, slots=True)
class Loops:
    """Loops by header, outermost first; `depth` is 0 outside loops; `dominator` is the immediate one, None for roots."""

    loops: tuple[Loop, ...]
    depth: dict[str, int]
    dominator: dict[str, str | None]
    irreducible: tuple[tuple[str, str], ...]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Loops:
        """The loops of `kernel`; blocks that no root reaches have depth 0 and no dominator."""
        del kernel
        flow = manager.get(Flow)
        dominator = _dominators(flow)
        rank = {label: position for position, label in enumerate(flow.order)}
        latches: dict[str, list[str]] = {}
        irreducible: list[tuple[str, str]] = []
        for label in flow.order:
            if label not in flow.reachable:
                continue
            for successor in flow.successors[label]:
                if rank[successor] > rank[label]:
                    continue
                if _dominates(dominator, successor, label):
                    latches.setdefault(successor, []).append(label)
                else:
                    irreducible.append((label, successor))
        bodies = {header: _body(flow, header, sources) for header, sources in latches.items()}
        depth = {label: sum(label in body for body in bodies.values()) for label in flow.blocks}
        loops = [Loop(header, tuple(latches[header]), body, depth[header]) for header, body in bodies.items()]
        loops.sort(key=lambda loop: (loop.depth, rank[loop.header]))
        return cls(tuple(loops), depth, dominator, tuple(irreducible))

    def innermost(self, label: str) -> Loop | None:
        """The deepest loop around a block; None outside loops."""
        for loop in reversed(self.loops):
            if label in loop.blocks:
                return loop
        return None

    def dominates(self, first: str, second: str) -> bool:
        """True when every path from a root to `second` goes through `first`."""
        return _dominates(self.dominator, first, second)


def _dominators(flow: Flow) -> dict[str, str | None]:
    """Cooper, Harvey and Kennedy's iteration, with a virtual entry above all roots (None)."""
    rank = {label: position for position, label in enumerate(flow.order)}
    dominator: dict[str, str | None] = {label: None for label in flow.blocks}
    settled = set(flow.roots)

    def meet(first: str | None, second: str | None) -> str | None:
        while first != second:
            if first is None or second is None:
                return None
            if rank[first] > rank[second]:
                first = dominator[first]
            else:
                second = dominator[second]
        return first

    changed = True
    while changed:
        changed = False
        for label in flow.order:
            if label in flow.roots or label not in flow.reachable:
                continue
            sources = [source for source in flow.predecessors[label] if source in settled]
            if not sources:
                continue
            found: str | None = sources[0]
            for source in sources[1:]:
                found = meet(found, source)
            if label not in settled or dominator[label] != found:
                dominator[label] = found
                settled.add(label)
                changed = True
    return dominator


def _dominates(dominator: dict[str, str | None], first: str, second: str) -> bool:
    current: str | None = second
    while current is not None:
        if current == first:
            return True
        current = dominator[current]
    return False


def _body(flow: Flow, header: str, latches: list[str]) -> frozenset[str]:
    body = {header, *latches}
    pending = [latch for latch in latches if latch != header]
    while pending:
        for source in flow.predecessors[pending.pop()]:
            if source not in body and source in flow.reachable:
                body.add(source)
                pending.append(source)
    return frozenset(body)
