"""Modelled cycles of one instruction sequence run over and over: the inner loop of local search.

Owns only that: a full estimate of a kernel is `model.estimate`, which decides what is accepted. Same machine, same limits.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asmevo.backend.timing import words
from asmevo.backend.timing.program import Builder, Trace
from asmevo.ir.analysis.cost.costs import Timed
from asmevo.ir.isa.chips import Chip, chip_for


@dataclass(frozen=True, slots=True)
class SequenceCost:
    """Cycles of the SIMD for the last repetition, a wave; `lost` are the cycles lost there by position, a wave's mean."""

    cycles: float
    lost: tuple[int, ...]


def sequence_cost(sequence: Sequence[Timed], *, repeats: int = 1, waves: int = 1, chip: Chip | None = None) -> SequenceCost:
    """The cost of the last of `repeats` runs of `sequence` by each of `waves` waves that share a SIMD.

    Deterministic. Complexity: instructions times repeats times waves.
    """
    builder = Builder(chip or chip_for(""))
    builder.block(sequence)
    entries = np.zeros(repeats, np.int64)
    # The last run counts as a revisit, so that it has tallies of its own.
    entries[-1] = 1
    builder.trace(Trace(entries))
    ready = builder.machine([0] * waves)
    ready.start()
    ready.run()
    runs = ready.part(words.WAVES, waves, words.WAVE_WORDS)
    started = runs[:, words.BEFORE].max() if repeats > 1 else 0
    cycles = int(runs[:, words.ENTERED].max() - started)
    lost = ready.tallies()[1, :, : words.ISSUED].sum(axis=1) // waves
    return SequenceCost(cycles / waves, tuple(lost.tolist()))
