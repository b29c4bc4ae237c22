"""When a measured candidate replaces its parent: only by more than the noise of the measurement.

Owns the rule. Times are a device's, taken afresh and interleaved for the original, the parent and the candidate.
"""

from __future__ import annotations

import enum
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_SAMPLES = 5
MOST_VARIATION = 0.03
"""Coefficient of variation above which a measurement says nothing."""
LEAST_GAIN = 0.002
_NOISE_SHARE = 0.85
"""The part of the coefficient of variation that a gain has to exceed."""


class Decision(enum.Enum):
    """What times say of a candidate; NOISY and TOO_FEW never count as faster."""

    FASTER = "faster"
    NOT_FASTER = "not faster"
    NOISY = "noisy"
    TOO_FEW = "too few samples"


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of one object over all launches of a round, microseconds, in the order they were taken."""

    microseconds: Sequence[float]

    @property
    def median(self) -> float:
        """The middle time, microseconds."""
        return statistics.median(self.microseconds)

    @property
    def variation(self) -> float:
        """The coefficient of variation: standard deviation over mean."""
        return statistics.stdev(self.microseconds) / statistics.fmean(self.microseconds)


@dataclass(frozen=True, slots=True)
class Measured:
    """The decision with what it rests on: speedups over the original, and the one that had to be reached."""

    decision: Decision
    speedup: float
    parent_speedup: float
    needed: float
    variation: float


def decide(original: Samples, parent: Samples, candidate: Samples, *, floor: float = 1.0) -> Measured:
    """Whether `candidate` replaces `parent`; all three were timed in turn on the same device.

    Its speedup over the original must reach the parent's by a gain of at least `LEAST_GAIN` and most of the measured noise,
    and `floor`. The noise is the worst of the three.
    """
    three = (original, parent, candidate)
    if min(len(samples.microseconds) for samples in three) < LEAST_SAMPLES:
        return Measured(Decision.TOO_FEW, 0.0, 0.0, 0.0, 0.0)
    variation = max(samples.variation for samples in three)
    speedup, parent_speedup = original.median / candidate.median, original.median / parent.median
    needed = max((1 + max(LEAST_GAIN, _NOISE_SHARE * variation)) * parent_speedup, floor)
    if variation > MOST_VARIATION:
        decision = Decision.NOISY
    else:
        decision = Decision.FASTER if speedup >= needed else Decision.NOT_FASTER
    return Measured(decision, speedup, parent_speedup, needed, variation)
