"""Rewrites learned from accepted edits, applied again where they match."""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass

from asmevo.search.proposal import Proposal, Situation, WindowText
from asmevo.search.records import Attempt
from asmevo.search.rules import matches, window_with


@dataclass(frozen=True, slots=True)
class LearnedProposer:
    """Applies rules in the chosen window and then in the others, one place a proposal."""

    name: str = "learned"
    is_dialogue: bool = False

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """A candidate for each match, in a random order that the seed gives."""
        source = random.Random(f"{self.name} {situation.seed}")
        rules = list(situation.rules)
        source.shuffle(rules)
        for window in situation.windows:
            block = situation.parent.block(window.label)
            inside = block.instructions[window.start : window.stop]
            for rule in rules:
                for place, texts in matches(rule, block, window.start, window.stop):
                    text = window_with(inside, place - window.start, len(rule.before), texts)
                    change = WindowText(window.label, window.start, window.stop, text)
                    yield Proposal(self.name, f"{rule.before[0]} ... at {window.label}[{place}]", change, str(window))
