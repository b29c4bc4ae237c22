"""Which proposer is asked next: each has a share of the budget by what it has earned.

Thompson sampling over Beta distributions, discounted so that what worked once has to go on working. Repeatable: the random
numbers are the caller's.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

DISCOUNT = 0.97
"""What is left of an old outcome after a new one of the same arm."""


@dataclass(slots=True)
class Bandit:
    """Outcomes by arm: successes and failures, both discounted."""

    arms: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    def choose(self, names: Sequence[str], source: random.Random) -> str:
        """One of `names`, the likelier the more it has earned; unknown ones are tried soon."""
        drawn = [
            (source.betavariate(1 + won, 1 + lost), name) for name in names for won, lost in (self.arms.get(name, (0, 0)),)
        ]
        return max(drawn)[1]

    def told(self, name: str, reward: float) -> None:
        """An outcome between 0 (nothing came of it) and 1 (a faster kernel)."""
        won, lost = self.arms.get(name, (0.0, 0.0))
        self.arms[name] = won * DISCOUNT + reward, lost * DISCOUNT + (1 - reward)
