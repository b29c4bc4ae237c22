"""The cycle model. What it gives are modelled cycles, never measured time."""

from asmevo.backend.timing.model import BlockCost, Estimate, estimate
from asmevo.backend.timing.occupancy import occupancy, resident_waves, waves_per_simd
from asmevo.ir.analysis.costs import result_latency_cycles, unit_busy_cycles
from asmevo.ir.isa.chips import MI300X, Chip, Figure, bound_to

__all__ = [
    "MI300X",
    "BlockCost",
    "Chip",
    "Estimate",
    "Figure",
    "bound_to",
    "estimate",
    "occupancy",
    "resident_waves",
    "result_latency_cycles",
    "unit_busy_cycles",
    "waves_per_simd",
]
