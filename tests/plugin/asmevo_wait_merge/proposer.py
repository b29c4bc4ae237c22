"""swap-neighbours: two neighbours of the hottest window change places."""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass

from asmevo.ir.printer import print_instruction
from asmevo.search.proposal import Proposal, Situation, WindowText
from asmevo.search.records import Attempt


@dataclass(frozen=True, slots=True)
class SwapNeighbours:
    """Proposes without knowing anything: every candidate goes through all gates like any other."""

    name: str = "swap-neighbours"
    is_dialogue: bool = False

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """As many swaps as are taken, drawn by the situation's seed."""
        window = situation.window
        if window is None:
            return
        source = random.Random(f"{self.name} {situation.seed}")
        members = situation.parent.block(window.label).instructions[window.start : window.stop]
        for _ in range(situation.limit):
            lines = [f"#{i.uid} {print_instruction(i)}" for i in members]
            place = source.randrange(len(lines) - 1)
            lines[place : place + 2] = lines[place + 1], lines[place]
            change = WindowText(window.label, window.start, window.stop, "\n".join(lines))
            yield Proposal(self.name, f"swapped at {place}", change, str(window))
