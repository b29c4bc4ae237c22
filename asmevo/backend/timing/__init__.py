"""The cycle model. What it gives are modelled cycles, never measured time."""

from asmevo.backend.timing.model import BlockCost, Estimate, estimate
from asmevo.backend.timing.occupancy import occupancy, resident_waves, waves_per_simd
from asmevo.ir.analysis.cost.costs import result_latency_cycles, unit_busy_cycles
from asmevo.ir.isa.chips import Chip, Figure, bound_to, chip, chip_for

__all__ = [
    "BlockCost",
    "Chip",
    "Estimate",
    "Figure",
    "bound_to",
    "chip",
    "chip_for",
    "estimate",
    "occupancy",
    "resident_waves",
    "result_latency_cycles",
    "unit_busy_cycles",
    "waves_per_simd",
]
