"""What kind of kernel a candidate is: the dimensions along which the archive keeps different ones apart.

Owns the measures and their steps. All are static, or weighed by executions; none says how good a candidate is.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

from asmevo.backend.timing.model import Estimate
from asmevo.ir.analysis.cost.costs import Port, decoder
from asmevo.ir.instruction import WaitCounts
from asmevo.ir.isa.chips import chip_for
from asmevo.ir.kernel import Block, Kernel

Cell = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A candidate's step in each dimension.

    Waves a SIMD holds, tenths of cycles in which the matrix unit works, waits in fifty instructions executed, vector memory
    operations in flight on average (logarithm), instructions (logarithm).
    """

    occupancy: int
    matrix: int
    waits: int
    in_flight: int
    size: int

    @property
    def cell(self) -> Cell:
        """The key in the archive."""
        return astuple(self)


def behaviour(kernel: Kernel, estimated: Estimate) -> Behaviour:
    """The measures of a candidate with its estimate."""
    chip = chip_for(kernel.target)
    decode = decoder(chip, chip.simds.value)
    busy = waits = flights = total = 0.0
    for block in kernel.blocks:
        cost = estimated.per_block.get(block.label)
        if cost is None or not block.instructions:
            continue
        times = cost.executions
        timed = [decode(instruction) for instruction in block.instructions]
        busy += times * sum(t.matrix.busy for t in timed if t.matrix is not None)
        waits += times * sum(t.wait is not None for t in timed)
        flights += times * _outstanding(block, [t.port is Port.VMEM and t.vmcnt for t in timed])
        total += times * len(block.instructions)
    size = sum(len(block.instructions) for block in kernel.blocks)
    cycles = max(estimated.total_cycles, 1.0)
    return Behaviour(
        estimated.waves_per_simd,
        min(int(10 * busy / cycles), 10),
        int(50 * waits / max(total, 1)),
        int(math.log2(1 + flights / max(total, 1)) * 2),
        round(2 * math.log2(max(size, 1))),
    )


def _outstanding(block: Block, issues: list[bool]) -> int:
    """Vector memory operations in flight, added up over the block's instructions."""
    now = added = 0
    for instruction, is_issue in zip(block.instructions, issues, strict=True):
        now += is_issue
        if instruction.operands and isinstance(counts := instruction.operands[0], WaitCounts) and counts.vmcnt is not None:
            now = min(now, counts.vmcnt)
        added += now
    return added
