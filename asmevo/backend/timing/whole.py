"""Modelled cycles of a whole dispatch: work-groups of one compute unit, recorded and simulated, and the chip from that.

Owns the step from one compute unit to the chip: compute units are taken to be alike, and the one with most work-groups is the
last to end. Starting the dispatch itself is not modelled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asmevo.backend.launch import Dispatch
from asmevo.backend.timing.occupancy import resident_groups
from asmevo.backend.timing.record import record
from asmevo.backend.timing.simulate import Timing, simulate
from asmevo.ir.isa.chips import Chip, chip_for
from asmevo.ir.kernel import Kernel

_BUDGET = 20_000_000
"""Wave-instructions simulated for one dispatch; what is beyond is extrapolated from the last half."""


@dataclass(frozen=True, slots=True)
class Achieved:
    """What the dispatch makes of a resource of the whole chip, and its peak, both in `unit`."""

    resource: str
    achieved: float
    peak: float
    unit: str

    @property
    def share(self) -> float:
        """Achieved over peak, 0 to 1."""
        return self.achieved / self.peak if self.peak else 0.0


@dataclass(frozen=True, slots=True)
class DispatchTiming:
    """One dispatch. `timing` is that of the compute unit with most work-groups, as far as it was simulated.

    `resident` work-groups share a compute unit, `fitting` could; the last compute unit to end runs `per_unit`. `cycles` and
    `microseconds` are those of the dispatch from the first wave's start to the last one's end.
    """

    launch: str
    chip: str
    total_groups: int
    per_unit: int
    resident: int
    fitting: int
    cycles: float
    microseconds: float
    achieved: tuple[Achieved, ...]
    timing: Timing


def dispatch_timing(
    kernel: Kernel,
    dispatch: Dispatch,
    *,
    chip: Chip | None = None,
    memory: str | None = None,
    timeline: int = 0,
    skip: int = 0,
) -> DispatchTiming:
    """Models `dispatch` on `chip` (default: the target's). `memory` and `timeline` as in `Recording.recorded` and `simulate`.

    DiagnosticError as `record` and `simulate`, and E0230 when a work-group does not fit a compute unit.
    """
    chip = chip or chip_for(kernel.target)
    total = dispatch.grid[0] * dispatch.grid[1] * dispatch.grid[2]
    per_unit = -(-total // chip.compute_units.value)
    fitting = resident_groups(kernel, dispatch, chip)
    resident = min(fitting, per_unit)
    recording = record(kernel, dispatch, groups=min(resident, 4), chip=chip)
    per_group = max(recording.wave_instructions // len(recording.groups), 1)
    simulated = max(1, min(per_unit, max(2 * resident, _BUDGET // per_group)))

    def run(groups: int, events: int = 0) -> Timing:
        basis = recording.recorded(chip, memory, groups)
        return simulate(kernel, basis, chip=chip, places=resident, timeline=events, skip=skip)

    timing = run(simulated, timeline)
    cycles = extrapolated(timing, lambda groups: run(groups).cycles, resident, per_unit)
    return DispatchTiming(
        dispatch.name,
        chip.name,
        total,
        per_unit,
        resident,
        fitting,
        cycles,
        cycles / chip.clock_mhz.value,
        _achieved(timing, total, cycles, chip),
        timing,
    )


def extrapolated(timing: Timing, cycles_of: Callable[[int], int], resident: int, per_unit: int) -> float:
    """Cycles of `per_unit` work-groups by those of the simulated ones: the rest takes what the last half of them took each."""
    simulated = timing.groups
    if simulated >= per_unit:
        return float(timing.cycles)
    half = max(resident, simulated // 2)
    rate = (timing.cycles - cycles_of(half)) / (simulated - half) if simulated > half else timing.cycles_per_group
    return timing.cycles + rate * (per_unit - simulated)


def _achieved(timing: Timing, total: int, cycles: float, chip: Chip) -> tuple[Achieved, ...]:
    """Rates of the whole chip over the dispatch: the simulated work-groups' use, times how many there are in all."""
    scale = total / timing.groups
    used, traffic = timing.utilisation, timing.traffic
    units = chip.compute_units.value

    def busy(resource: str, share: float) -> Achieved:
        return Achieved(resource, 100 * share * timing.cycles * scale / (cycles * units), 100.0, "% of unit cycles")

    seconds = cycles / (chip.clock_mhz.value * 1e6)
    loaded = (traffic.near_bytes + traffic.far_bytes) * scale / seconds / 1e9
    far = traffic.far_bytes * scale / seconds / 1e9
    return (
        busy("matrix units", used.matrix),
        busy("vector units", used.valu),
        busy("LDS banks", used.lds),
        busy("vector caches", used.vector_cache),
        Achieved("L2 reads", loaded, float(chip.l2_gb_per_s.value), "GB/s"),
        Achieved("reads beyond L2", far, float(chip.hbm_gb_per_s.value), "GB/s"),
        Achieved("writes", traffic.stored_bytes * scale / seconds / 1e9, float(chip.l2_write_gb_per_s.value), "GB/s"),
    )
