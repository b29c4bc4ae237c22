"""Where candidates come from. A proposer only proposes: legality, proof and time are judged elsewhere."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.passes.list_schedule import schedule_region
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from asmevo.passes.regions import Region, RegionGraph, regions_of, reordered
from asmevo.search.profile import Profile


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate kernel and what was done to the parent to get it."""

    proposer: str
    description: str
    kernel: Kernel


class Proposer(Protocol):
    """Yields candidates from a parent; the same parent, profile and seed give the same candidates."""

    name: str

    def propose(self, parent: Kernel, profile: Profile, seed: int) -> Iterator[Proposal]:
        """Candidates, best guess first; may be endless."""
        ...


PIPELINES = (
    "waitcnt-relax",
    "nop-trim",
    "list-schedule,waitcnt-relax,nop-trim",
    "list-schedule{bias=0.5},waitcnt-relax,nop-trim",
    "list-schedule{bias=2.0},waitcnt-relax,nop-trim",
)


@dataclass(frozen=True, slots=True)
class PipelineProposer:
    """Runs each pipeline over the whole kernel."""

    pipelines: Sequence[str] = PIPELINES
    name: str = "pipeline"

    def propose(self, parent: Kernel, profile: Profile, seed: int) -> Iterator[Proposal]:
        """One candidate a pipeline; the seed does not matter, pipelines are deterministic."""
        del seed
        for text in self.pipelines:
            manager = PassManager(parse_pipeline(text), executions=profile.executions, waves_per_simd=profile.waves_per_simd)
            yield Proposal(self.name, text, manager.run(parent).kernel)


@dataclass(frozen=True, slots=True)
class ReorderProposer:
    """Seeded local search over legal orders of the hot blocks' regions.

    Half of the proposals schedule a region anew with perturbed priorities, half move one instruction some places up or down.
    Waits and wait states are made again for each order, so that a proposal only has to be judged, not repaired.
    """

    windows: int = 4
    name: str = "reorder"

    def propose(self, parent: Kernel, profile: Profile, seed: int) -> Iterator[Proposal]:
        """Endless, unless no hot block has a region with a choice of order."""
        random_source = random.Random(seed)
        hot = set(profile.hot_blocks(self.windows))
        choices: list[tuple[Region, RegionGraph]] = []
        analyses = AnalysisManager(parent)
        for block in parent.blocks:
            if block.label in hot and not block.frozen:
                for region in regions_of(block):
                    graph = RegionGraph.build(parent, region, analyses)
                    if graph.has_choice():
                        choices.append((region, graph))
        weights = [len(graph.nodes) for _, graph in choices]
        while choices:
            region, graph = random_source.choices(choices, weights)[0]
            if random_source.random() < 0.5:
                noise = random_source.choice((0.05, 0.2, 0.5))
                order = schedule_region(graph, noise=noise, random_source=random_source)
                what = f"reschedule {region} with noise {noise}"
            else:
                order, what = _move_one(graph, random_source)
                what = f"{what} in {region}"
            candidate = reordered(graph, order)
            if candidate is not None:
                yield Proposal(self.name, what, candidate)


def _move_one(graph: RegionGraph, random_source: random.Random) -> tuple[list[int], str]:
    """The current order with one instruction moved as far as its dependences and a random distance allow."""
    order = list(range(len(graph.nodes)))
    for _ in range(16):
        position = random_source.randrange(len(order))
        low, high = graph.freedom(position)
        if low == high:
            continue
        target = random_source.randint(low, high)
        if target == position:
            continue
        order.insert(target, order.pop(position))
        return order, f"move {graph.nodes[position].mnemonic} by {target - position:+d}"
    return order, "move nothing"
