"""Modelled cycles of one instruction sequence run over and over: the inner loop of local search.

Owns only that: a full estimate of a kernel is `model.estimate`, which decides what is accepted. Same machine, same limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from asmevo.backend.timing.machine import Simd, Wave
from asmevo.ir.analysis.costs import Timed
from asmevo.ir.isa.chips import MI300X, Chip


@dataclass(frozen=True, slots=True)
class SequenceCost:
    """Cycles of the SIMD for the last repetition, a wave; `lost` are the cycles that the first wave lost there, by position."""

    cycles: float
    lost: tuple[int, ...]


def sequence_cost(sequence: Sequence[Timed], *, repeats: int = 1, waves: int = 1, chip: Chip = MI300X) -> SequenceCost:
    """The cost of the last of `repeats` runs of `sequence` by each of `waves` waves that share a SIMD.

    Deterministic. Complexity: instructions times repeats times waves.
    """
    simd = Simd(chip)
    runners = [_Runner(Wave(number * chip.slot.value), len(sequence)) for number in range(waves)]
    active = list(runners)
    total = len(sequence) * repeats
    while active:
        runner = min(active, key=_clock)
        position = runner.done % len(sequence)
        lost: dict[str, int] = {}
        if simd.issue(runner.wave, sequence[position], taken=False, lost=lost):
            runner.done += 1
        if lost:
            runner.lost[position] += sum(lost.values())
        if runner.done == total - len(sequence) and runner.started < 0:
            runner.started = runner.wave.clock
            runner.lost = [0] * len(sequence)
        if runner.done == total:
            active.remove(runner)
    cycles = max(r.wave.clock for r in runners) - max(max(r.started, 0) for r in runners)
    return SequenceCost(cycles / waves, tuple(runners[0].lost))


@dataclass(slots=True)
class _Runner:
    wave: Wave
    length: int
    done: int = 0
    started: int = -1
    lost: list[int] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        self.lost = [0] * self.length


def _clock(runner: _Runner) -> int:
    return runner.wave.clock
