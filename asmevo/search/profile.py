"""Where a kernel spends its modelled cycles: emulated execution counts and the cycle model, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from asmevo.backend.emulator import run
from asmevo.backend.launch import Dispatch
from asmevo.backend.timing import Estimate, estimate, occupancy, resident_waves
from asmevo.diagnostics import fail
from asmevo.ir.kernel import Kernel

Counts = Mapping[str, int]
"""How often blocks run over all launches, by label, where that is not as often as in K0: a pass may unroll a loop."""
AS_ORIGINAL: Counts = {}
PROFILE_SEED = 0
"""Seed of the runs by which executions are counted: another one may take other ways through the kernel."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Executions by uid over all dispatches, the resident waves assumed, and the model's estimate on them.

    `full_occupancy` is how many waves a SIMD would hold in a launch large enough to fill the chip, `blocks` how often each
    block runs. `counts` are those of `blocks` that are not as in K0: none in K0's own profile.
    """

    executions: Mapping[int, int]
    waves_per_simd: int
    full_occupancy: int
    estimate: Estimate
    blocks: Mapping[str, int]
    counts: Counts = field(default_factory=dict[str, int])

    def executions_of(self, kernel: Kernel, counts: Counts = AS_ORIGINAL) -> dict[int, int]:
        """Executions for the model of another version of the kernel: each block runs as often as here, but for `counts`.

        Not by uid, or a block of which every instruction is a new one would cost nothing.
        """
        blocks = {**self.blocks, **counts}
        return {i.uid: blocks.get(block.label, 0) for block in kernel.blocks for i in block.instructions}

    def of(self, kernel: Kernel, counts: Counts, estimated: Estimate) -> Profile:
        """Of K0's profile, that of another version: `counts` are its own, `estimated` is its estimate on them."""
        return replace(
            self,
            executions=self.executions_of(kernel, counts),
            estimate=estimated,
            waves_per_simd=estimated.waves_per_simd,
            blocks={**self.blocks, **counts},
            counts=counts,
        )

    def differing(self, kernel: Kernel, executions: Mapping[int, int]) -> dict[str, int]:
        """The blocks that run more or less often than here when the instructions of `kernel` run as `executions` says."""
        counted = _by_block(kernel, executions)
        return {label: count for label, count in counted.items() if count != self.blocks.get(label, 0)}

    def hot_blocks(self, limit: int) -> list[str]:
        """Labels of the blocks with the most modelled cycles, most first."""
        costs = self.estimate.per_block
        ranked = sorted(costs, key=lambda label: (-costs[label].cycles * costs[label].executions, label))
        return [label for label in ranked if costs[label].executions][:limit]


def full_occupancy_cycles(kernel: Kernel, profile: Profile, counts: Counts = AS_ORIGINAL) -> float:
    """Modelled cycles of `kernel` with as many waves a SIMD as its size allows; blocks run as in the profile, but for `counts`.

    A small launch leaves SIMDs nearly empty, which makes order matter more than in a launch that fills the chip.
    """
    return estimate(kernel, profile.executions_of(kernel, counts), waves_per_simd=profile.full_occupancy).total_cycles


def profile_kernel(kernel: Kernel, dispatches: Sequence[Dispatch], waves_per_simd: int | None = None) -> Profile:
    """Runs each dispatch once in strict mode and models the result. Raises E0504 when the original itself faults."""
    executions: dict[int, int] = {}
    for dispatch in dispatches:
        result = run(kernel, dispatch, mode="strict", seed=PROFILE_SEED)
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
    blocks = _by_block(kernel, executions)
    return Profile(executions, waves, full, estimate(kernel, executions, waves_per_simd=waves), blocks)


def _by_block(kernel: Kernel, executions: Mapping[int, int]) -> dict[str, int]:
    return {b.label: max((executions.get(i.uid, 0) for i in b.instructions), default=0) for b in kernel.blocks}
