"""Where a kernel spends its modelled cycles: emulated execution counts and the cycle model, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from asmevo.backend.emulator import run
from asmevo.backend.launch import Dispatch
from asmevo.backend.timing import Estimate, estimate, occupancy, resident_waves
from asmevo.diagnostics import fail
from asmevo.ir.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Profile:
    """Executions by uid over all dispatches, the resident waves assumed, and the model's estimate on them.

    `full_occupancy` is how many waves a SIMD would hold in a launch large enough to fill the chip, `blocks` how often each
    block of the original runs.
    """

    executions: Mapping[int, int]
    waves_per_simd: int
    full_occupancy: int
    estimate: Estimate
    blocks: Mapping[str, int]

    def executions_of(self, kernel: Kernel) -> dict[int, int]:
        """Executions for the model of another version of the kernel: each block runs as often as the original's.

        Not by uid, or a block of which every instruction is a new one would cost nothing.
        """
        return {block.instructions[0].uid: self.blocks.get(block.label, 0) for block in kernel.blocks if block.instructions}

    def of(self, estimated: Estimate) -> Profile:
        """The profile with another kernel's estimate on the same executions."""
        return replace(self, estimate=estimated, waves_per_simd=estimated.waves_per_simd)

    def hot_blocks(self, limit: int) -> list[str]:
        """Labels of the blocks with the most modelled cycles, most first."""
        costs = self.estimate.per_block
        ranked = sorted(costs, key=lambda label: (-costs[label].cycles * costs[label].executions, label))
        return [label for label in ranked if costs[label].executions][:limit]


def full_occupancy_cycles(kernel: Kernel, profile: Profile) -> float:
    """Modelled cycles of `kernel` on the same executions with as many waves a SIMD as its size allows.

    A small launch leaves SIMDs nearly empty, which makes order matter more than in a launch that fills the chip.
    """
    return estimate(kernel, profile.executions_of(kernel), waves_per_simd=profile.full_occupancy).total_cycles


def profile_kernel(kernel: Kernel, dispatches: Sequence[Dispatch], waves_per_simd: int | None = None) -> Profile:
    """Runs each dispatch once in strict mode and models the result. Raises E0504 when the original itself faults."""
    executions: dict[int, int] = {}
    for dispatch in dispatches:
        result = run(kernel, dispatch, mode="strict", seed=0)
        if result.faults:
            fault = result.faults[0]
            fail(
                "E0504",
                f"the original faults in launch '{dispatch.name}': {fault.kind}: {fault.message}",
                help="mend the launch file, or the kernel: nothing can be compared with a faulting original",
            )
        for uid, count in result.executions.items():
            executions[uid] = executions.get(uid, 0) + count
    waves = waves_per_simd or min(resident_waves(kernel, dispatch) for dispatch in dispatches)
    full = min(occupancy(kernel, dispatch) for dispatch in dispatches)
    blocks = {b.label: max((executions.get(i.uid, 0) for i in b.instructions), default=0) for b in kernel.blocks}
    return Profile(executions, waves, full, estimate(kernel, executions, waves_per_simd=waves), blocks)
