"""Which advice a system prompt holds, learned from what came of it.

Owns a small population of variants (choices of guidelines). The search's bandit takes one of them for the next conversation;
after enough outcomes the two best have a child that takes the worst one's place. Repeatable for a seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from asmevo.search.bandit import Bandit
from asmevo.search.llm.prompting import Variant, guidelines

_POPULATION = 6
_BREED_EVERY = 4
"""Outcomes between two children."""

FIRST: tuple[Variant, ...] = (
    ("latency-first", "loads-early", "waits-late", "small-steps"),
    ("latency-first", "waits-split", "nops-filled", "scalar-hidden"),
    ("matrix-gaps", "matrix-interleave", "lds-early", "whole-order"),
    (),
)
"""Where the population begins; the last is no advice at all, to compare with."""


@dataclass(slots=True)
class Variants:
    """The population; `random_source` is for the bandit and for children."""

    random_source: random.Random
    population: list[Variant] = field(default_factory=lambda: list(FIRST))
    bandit: Bandit = field(default_factory=Bandit)
    outcomes: int = 0

    def choose(self) -> Variant:
        """The variant for the next conversation."""
        names = {_name(variant): variant for variant in self.population}
        return names[self.bandit.choose(list(names), self.random_source)]

    def learn(self, variant: Variant, reward: float) -> None:
        """Take in what came of a conversation: `reward` from 0 (nothing accepted) to 1."""
        self.bandit.told(_name(variant), min(max(reward, 0.0), 1.0))
        self.outcomes += 1
        if self.outcomes % _BREED_EVERY == 0:
            self._breed()

    def _breed(self) -> None:
        tried = [variant for variant in self.population if _name(variant) in self.bandit.arms]
        ranked = sorted(tried, key=lambda variant: (-self._mean(variant), variant))
        if len(ranked) < 2:
            return
        child = self._child(ranked[0], ranked[1])
        if child in self.population:
            return
        if len(self.population) >= _POPULATION:
            self.population.remove(ranked[-1])
        self.population.append(child)

    def _mean(self, variant: Variant) -> float:
        won, lost = self.bandit.arms[_name(variant)]
        return won / (won + lost)

    def _child(self, first: Variant, second: Variant) -> Variant:
        """What both parents say, each thing that one says by a coin, and one thing changed."""
        names = tuple(guidelines())
        both = set(first) & set(second)
        chosen = {name for name in names if name in both or (name in {*first, *second} and self.random_source.random() < 0.5)}
        chosen ^= {self.random_source.choice(names)}
        return tuple(name for name in names if name in chosen)


def _name(variant: Variant) -> str:
    return "+".join(variant)


def reward_of(gain: float, judged: int) -> float:
    """What a conversation earned: by the relative gain of what was accepted (5 % and more is all), less for many refusals."""
    return min(gain / 0.05, 1.0) * (0.5 + 0.5 / max(judged, 1)) if gain > 0 else 0.0
