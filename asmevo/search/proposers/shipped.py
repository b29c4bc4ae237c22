"""Where candidates come from. A proposer only proposes: legality, proof and time are judged elsewhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from asmevo.ir.analysis.loops import Loops
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from asmevo.passes.regions import RegionGraph, regions_of, reordered
from asmevo.search.local import OrderSearch
from asmevo.search.profile import Profile


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate kernel and what was done to the parent to get it; `where` names the place that was edited."""

    proposer: str
    description: str
    kernel: Kernel
    where: str = ""


class Proposer(Protocol):
    """Yields candidates from a parent; the same parent, profile and seed give the same candidates."""

    name: str

    def propose(self, parent: Kernel, profile: Profile, seed: int) -> Iterator[Proposal]:
        """Candidates, best guess first; may be endless."""
        ...


PIPELINES = (
    "waitcnt-relax",
    "nop-trim",
    "waitcnt-relax,nop-trim{physical=true}",
    "list-schedule,waitcnt-relax,nop-trim",
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


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ReorderProposer:
    """Seeded local search over legal orders of the hot blocks' regions, one region a proposal.

    `moves` are the orders tried for a proposal by the model's inner loop. Waits and wait states are made anew for each order,
    so that a proposal only has to be judged, not repaired.
    """

    windows: int = 4
    moves: int = 240
    should_stop: Callable[[], bool] = _never
    name: str = "reorder"

    def propose(self, parent: Kernel, profile: Profile, seed: int, done: frozenset[str] = frozenset()) -> Iterator[Proposal]:
        """Hot regions by their share of modelled cycles, each searched once; places in `done` are left out."""
        analyses = AnalysisManager(parent)
        depth = analyses.get(Loops).depth
        for label in profile.hot_blocks(self.windows):
            block = parent.block(label)
            # From the longest region on: it has the most to gain.
            numbered = sorted(enumerate(regions_of(block)), key=lambda item: (item[1].start - item[1].stop, item[0]))
            for number, region in numbered:
                graph = RegionGraph.build(parent, region, analyses)
                if self.should_stop():
                    return
                where = f"{label}#{number}"
                if where in done or not graph.has_choice():
                    continue
                random_source = random.Random(f"{seed} {region}")
                search = OrderSearch(graph, profile.waves_per_simd, depth.get(label, 0) > 0, random_source)
                search.start_from_schedules()
                search.climb(self.moves, self.should_stop)
                candidate = reordered(graph, search.order)
                if candidate is not None:
                    yield Proposal(self.name, f"{self.moves} orders of {region}", candidate, where)
