"""A measured profile in the search: where to work by what was lost on a device, not by the model.

Owns turning measurements into the form in which the model tells costs, so that whatever chooses windows can take either. What a
candidate gains is still judged by the model or on a device, never by an old profile.
"""

from __future__ import annotations

from dataclasses import replace

from asmevo.backend.timing import BlockCost, Estimate
from asmevo.frontend.profiles.matching import KernelProfile
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel

_CAUSE = "measured"


def with_measured(kernel: Kernel, estimated: Estimate, measured: KernelProfile) -> Estimate:
    """The estimate with its cycles spread over blocks and instructions as they were measured.

    `total_cycles` stays; a block's cycles are its share of all that was lost. Causes are the profiler's reasons, or "measured".
    Instructions are known by their uids, so a profile of the original serves for its offspring. `hot_windows` of the result
    puts those windows first in which most was lost on the device. A profile in which nothing is lost changes nothing.
    """
    total = measured.total.lost(measured.method)
    if not total:
        return estimated
    scale = estimated.total_cycles / total
    stalls: dict[int, dict[str, float]] = {}
    costs: dict[str, BlockCost] = {}
    for block in kernel.blocks:
        lost = 0.0
        for instruction in block.instructions:
            causes = _causes(measured, instruction)
            if causes:
                stalls[instruction.uid] = {cause: count * scale for cause, count in causes.items()}
                lost += sum(causes.values())
        cost = estimated.per_block.get(block.label)
        executions = cost.executions if cost is not None and cost.executions else 1
        if lost or cost is not None:
            costs[block.label] = BlockCost(cycles=lost * scale / executions, executions=executions)
    return replace(estimated, per_block=costs, stalls=stalls)


def _causes(measured: KernelProfile, instruction: Instruction) -> dict[str, float]:
    """What was lost at an instruction, by reason where the profiler told one."""
    lost = measured.lost(instruction)
    reasons = measured.counts(instruction).reasons
    return dict(reasons) if reasons else {_CAUSE: lost} if lost else {}
