"""Other orders of one region: seeded local search by the cycle model's inner loop."""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass

from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.passes.regions import Region, RegionGraph, regions_of, reordered
from asmevo.search.digests import is_same
from asmevo.search.local import OrderSearch
from asmevo.search.proposal import HotWindow, Proposal, Situation
from asmevo.search.records import Attempt

_LEAST, _EACH, _MOST = 240, 8, 6_000
"""Orders tried for a region: for each of its instructions so many more, and as many again each time nothing came of it."""


@dataclass(frozen=True, slots=True)
class ReorderProposer:
    """The best of many legal orders of a region. Waits and wait states are made anew, so that it only has to be judged."""

    name: str = "reorder"
    is_dialogue: bool = False

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """One candidate for the chosen window, and one for the next ones as long as there is time for more."""
        analyses = AnalysisManager(situation.parent)
        depth = analyses.get(Loops).depth
        tried = 0
        for window in situation.windows:
            region = _region(situation, window)
            if region is None:
                continue
            graph = RegionGraph.build(situation.parent, region, analyses)
            if not graph.has_choice():
                continue
            moves = min((_LEAST + _EACH * len(graph.nodes)) * (1 + situation.effort), _MOST)
            source = random.Random(f"{situation.seed} {region}")
            search = OrderSearch(graph, situation.profile.waves_per_simd, depth.get(window.label, 0) > 0, source)
            search.start_from_schedules()
            search.climb(moves, _never)
            candidate = reordered(graph, search.order)
            if candidate is not None and not is_same(candidate, situation.parent):
                yield Proposal(self.name, f"{moves} orders of {region}", candidate, str(window))
            tried += moves
            if tried >= _MOST // 4:
                return


def _region(situation: Situation, window: HotWindow) -> Region | None:
    for region in regions_of(situation.parent.block(window.label)):
        if (region.start, region.stop) == (window.start, window.stop):
            return region
    return None


def _never() -> bool:
    return False
