"""Stochastic local search over a window, in the manner of STOKE: random moves, kept by the cycle model's inner loop."""

from __future__ import annotations

import math
import random
from collections.abc import Generator
from dataclasses import dataclass, replace

from asmevo.backend.timing.sequence import sequence_cost
from asmevo.diagnostics import DiagnosticError
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.chips import chip_for
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import VGPR0, VGPR_MASK
from asmevo.ir.rewriter import Rewriter
from asmevo.passes.regions import Region, RegionGraph, regions_of, reordered
from asmevo.passes.scheduling.clock import costs_for
from asmevo.search.digests import is_same
from asmevo.search.local import OrderSearch
from asmevo.search.moves import DARING, KEEPING, Members, renamed
from asmevo.search.proposal import HotWindow, Proposal, Situation
from asmevo.search.records import Attempt

_STEPS = 120
"""Moves of one walk; as many again each time nothing came of the window."""
_MOST_STEPS = 1_200
_HEAT = 0.004
"""How much worse, relative to the window's cycles, a move may be and still be kept with probability 1/e."""
_WIDEST = 160
"""A longer window is cut to a random part of this length."""
_RENAMES = 12
_ORDERS = 600


@dataclass(frozen=True, slots=True)
class StochasticProposer:
    """Walks from the window by moves that mostly keep its meaning, sometimes with a last one that mostly does not."""

    name: str = "stochastic"
    is_dialogue: bool = False

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """One candidate a walk."""
        window = situation.window
        if window is None:
            return
        for number in range(situation.limit):
            source = random.Random(f"{self.name} {situation.seed} {number}")
            walk = _Walk.of(situation, window, source)
            walk.go(min(_STEPS * (1 + situation.effort), _MOST_STEPS), source)
            members, told = walk.best, walk.told
            if source.random() < 0.4:
                move = source.choice(DARING)
                members, told = move(members, source, situation.parent.target) or members, f"{told}, {move.__name__}"
            candidate = _replaced(situation.parent, walk.label, walk.start, walk.stop, members)
            if candidate is not None and not is_same(candidate, situation.parent):
                yield Proposal(self.name, told, candidate, str(window))


@dataclass(frozen=True, slots=True)
class RenamingProposer:
    """Gives values registers of their own, so that what only shared a register may be reordered, and reorders."""

    name: str = "rename-reorder"
    is_dialogue: bool = False

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """One candidate: some values of the window renamed, and the best of many orders then."""
        window = situation.window
        if window is None:
            return
        source = random.Random(f"{self.name} {situation.seed}")
        parent = situation.parent
        analyses = AnalysisManager(parent)
        members = parent.block(window.label).instructions[window.start : window.stop]
        count = 0
        for _ in range(_RENAMES * 4):
            place = source.randrange(len(members))
            free, kept = _free_units(analyses, window, members)
            made = renamed(members, place, free, kept)
            if made is not None:
                members, count = made, count + 1
            if count >= _RENAMES * (1 + situation.effort):
                break
        with_names = _replaced(parent, window.label, window.start, window.stop, members) if count else None
        if with_names is None:
            return
        region = Region(window.label, window.start, window.stop)
        if region not in regions_of(with_names.block(window.label)):
            return
        renamed_analyses = AnalysisManager(with_names)
        graph = RegionGraph.build(with_names, region, renamed_analyses)
        is_loop = renamed_analyses.get(Loops).depth.get(window.label, 0) > 0
        search = OrderSearch(graph, situation.profile.waves_per_simd, is_loop, source)
        search.start_from_schedules()
        search.climb(_ORDERS * (1 + situation.effort), lambda: False)
        candidate = reordered(graph, search.order)
        if candidate is not None and not is_same(candidate, parent):
            yield Proposal(self.name, f"{count} values renamed, orders of {region}", candidate, str(window))


@dataclass(slots=True)
class _Walk:
    """A walk over the contents of [start, stop) of a block, by the modelled cycles of the whole block."""

    label: str
    start: int
    stop: int
    block: Members
    target: str
    waves: int
    repeats: int
    now: Members
    best: Members
    cycles: float
    best_cycles: float
    kept: int = 0

    @classmethod
    def of(cls, situation: Situation, window: HotWindow, source: random.Random) -> _Walk:
        """At the window as it stands."""
        block = situation.parent.block(window.label).instructions
        start, stop = window.start, window.stop
        if stop - start > _WIDEST:
            start = source.randint(start, stop - _WIDEST)
            stop = start + _WIDEST
        is_loop = AnalysisManager(situation.parent).get(Loops).depth.get(window.label, 0) > 0
        members = block[start:stop]
        walk = cls(
            window.label, start, stop, block, situation.parent.target, situation.profile.waves_per_simd, 2 if is_loop else 1,
            members, members, 0.0, 0.0,
        )  # fmt: skip
        walk.cycles = walk.best_cycles = walk.cost(members)
        return walk

    @property
    def told(self) -> str:
        """What was done, for people."""
        return f"{self.kept} moves in {self.label}[{self.start}:{self.stop}]"

    def cost(self, members: Members) -> float:
        """Modelled cycles of the block with these members in the window."""
        timed = costs_for(self.target)
        sequence = [timed(i) for i in (*self.block[: self.start], *members, *self.block[self.stop :])]
        return sequence_cost(sequence, repeats=self.repeats, waves=self.waves, chip=chip_for(self.target)).cycles

    def go(self, steps: int, source: random.Random) -> None:
        """Tries that many moves."""
        for _ in range(steps):
            made = source.choice(KEEPING)(self.now, source, self.target)
            if not made:
                continue
            cycles = self.cost(made)
            heat = max(_HEAT * self.cycles, 1e-9)
            if cycles <= self.cycles or source.random() < math.exp((self.cycles - cycles) / heat):
                self.now, self.cycles = made, cycles
                self.kept += 1
                if cycles <= self.best_cycles:
                    self.best, self.best_cycles = made, cycles


def _replaced(parent: Kernel, label: str, start: int, stop: int, members: Members) -> Kernel | None:
    """The kernel with other members in a window; None when the structure does not allow it."""
    block = parent.block(label).instructions
    rewriter = Rewriter(parent)
    numbered = [replace(member, uid=-1) if member.uid < 0 else member for member in members]
    try:
        rewriter.replace_block_instructions(label, (*block[:start], *numbered, *block[stop:]))
    except DiagnosticError:
        # A random move may break what the rewriter guards; then it is no candidate.
        return None
    return rewriter.kernel


def _free_units(analyses: AnalysisManager, window: HotWindow, members: tuple[Instruction, ...]) -> tuple[int, int]:
    """Vector registers that the window neither uses nor carries, among those the kernel has; and those needed behind it."""
    liveness = analyses.get(Liveness)
    kept = liveness.live_after(window.label, window.stop - 1)
    used = kept | liveness.live_before(window.label, window.start)
    for instruction in members:
        effect = effects(instruction)
        used |= effect.reads | effect.writes
    descriptor = analyses.kernel.descriptor
    if descriptor is not None:
        granted = min(descriptor.accum_offset, descriptor.vgpr_count)
        return ((1 << granted) - 1 << VGPR0) & ~used, kept
    everywhere = 0
    for instruction in analyses.kernel.instructions():
        everywhere |= effects(instruction).writes & VGPR_MASK
    return (1 << everywhere.bit_length()) - 1 & VGPR_MASK & ~used, kept
