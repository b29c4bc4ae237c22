"""A representative path through a kernel: which blocks run after which, each loop a few times.

Owns the choice of the path. Times are measured along it and weighed by execution counts afterwards, so it needs each block that
matters in its usual surroundings, not the real number of iterations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.kernel import Kernel

ITERATIONS = 4
"""How often a loop is followed: the last rounds show its steady state."""

_ASSUMED_ITERATIONS = 16

Edge = tuple[str, str]
"""The labels of a block and of the one that follows it."""


def assumed_executions(kernel: Kernel, loops: Loops, rounds: int = _ASSUMED_ITERATIONS) -> dict[str, int]:
    """How often each block runs when each loop runs `rounds` times and branches go either way."""
    return {block.label: rounds ** min(loops.depth.get(block.label, 0), 4) for block in kernel.blocks}


def block_executions(kernel: Kernel, loops: Loops, executions: dict[int, int] | None) -> dict[str, int]:
    """How often each block runs. Without counts a loop is taken to run 16 times and a branch to go either way."""
    if executions is None:
        return assumed_executions(kernel, loops)
    return {
        block.label: max((executions.get(instruction.uid, 0) for instruction in block.instructions), default=0)
        for block in kernel.blocks
    }


def edge_executions(flow: Flow, counts: Mapping[str, float]) -> dict[Edge, float]:
    """How often each edge was taken, where as many must enter a block as it ran, and as many leave it.

    What that leaves open gets the lesser count of its two blocks. `counts` are of real runs: assumed ones need not add up.
    """
    ends = [[(source, target) for target in flow.successors[source]] for source in flow.order]
    ends += [[(source, target) for source in flow.predecessors[target]] for target in flow.order if target not in flow.roots]
    blocks = [*flow.order, *(label for label in flow.order if label not in flow.roots)]
    known: dict[Edge, float] = {}
    changed = True
    while changed:
        changed = False
        for label, edges in zip(blocks, ends, strict=True):
            missing = [edge for edge in edges if edge not in known]
            if len(missing) == 1:
                known[missing[0]] = max(counts[label] - sum(known.get(edge, 0.0) for edge in edges), 0.0)
                changed = True
    return {edge: known.get(edge, min(counts[edge[0]], counts[edge[1]])) for edges in ends[: len(flow.order)] for edge in edges}


def representative_path(
    flow: Flow,
    weights: Mapping[str, float],
    limit: int,
    rounds: int | None = ITERATIONS,
    edges: Mapping[Edge, float] | None = None,
) -> list[str]:
    """Block labels in the order of running, from the first root that runs, at most about `limit` instructions long.

    At a branch the successor that lags most behind its share is taken; shares above `rounds` to 1 are cut to that, None: never.
    `edges` tells how often each way was taken; without it a way counts as often as the block that it leads to.
    """
    roots = [root for root in flow.roots if weights[root] > 0] or list(flow.roots[:1])
    if not roots:
        return []
    taken: dict[Edge, int] = {}
    heat = _heat(flow, weights)
    path: list[str] = []
    length = 0
    label: str | None = max(roots, key=lambda root: weights[root])
    while label is not None and length < limit:
        path.append(label)
        length += len(flow.blocks[label].instructions)
        ways = {s: weights[s] if edges is None else edges[label, s] for s in flow.successors[label]}
        label = _next(ways, heat, taken, label, rounds)
    return path


def _heat(flow: Flow, weights: Mapping[str, float]) -> dict[str, float]:
    """For each block the most instructions, by weight, on a way from it that takes no back edge."""
    heat: dict[str, float] = {}
    for label in reversed(flow.order):
        ahead = max((heat.get(successor, 0.0) for successor in flow.successors[label]), default=0.0)
        heat[label] = ahead + weights[label] * len(flow.blocks[label].instructions)
    return heat


def _next(
    ways: Mapping[str, float], heat: Mapping[str, float], taken: dict[Edge, int], label: str, rounds: int | None
) -> str | None:
    live = [successor for successor, weight in ways.items() if weight > 0]
    if not live:
        return None
    least = min(ways[successor] for successor in live)
    most = math.inf if rounds is None else rounds * least
    shares = {successor: min(ways[successor], most) / least for successor in live}
    # Ties: where rounds count, a loop of n is left after n; where only the steady state does, likelier ones are followed. Then
    # the way with more work ahead is taken.
    sign = 1 if rounds is None else -1
    chosen = min(live, key=lambda s: ((taken.get((label, s), 0) + 1) / shares[s], sign * shares[s], -heat[s], live.index(s)))
    taken[label, chosen] = taken.get((label, chosen), 0) + 1
    return chosen
