"""Which registers can hold a value at a point at all: what some path has written, or the hardware before the wave starts.

Owns that forward union. A register that liveness calls live but that nothing has written yet (lanes that are off keep what they
had, whatever it is) holds nothing worth a register. Conservative: scalar registers and the work-item ids count as written at
the start, whatever the descriptor enables.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import VECTOR_MASK, VGPR0

_AT_START = ~VECTOR_MASK | 7 << VGPR0
"""All scalar state, and v0 to v2: work-item ids come in at most three registers."""


@dataclass(frozen=True, slots=True)
class Written:
    """Unit sets that may hold a value at the entry of each reachable block, by label."""

    entries: dict[str, int]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Written:
        """The sets of `kernel`."""
        del kernel
        flow, table = manager.get(Flow), manager.get(EffectsTable)
        writes: dict[str, int] = {}
        for label, effects in table.by_block.items():
            writes[label] = 0
            for effect in effects:
                writes[label] |= effect.writes
        entries = dict.fromkeys(flow.reachable, 0) | dict.fromkeys(flow.roots, _AT_START)
        pending = list(flow.roots)
        while pending:
            label = pending.pop()
            after = entries[label] | writes[label]
            for successor in flow.successors[label]:
                if after | entries[successor] != entries[successor]:
                    entries[successor] |= after
                    pending.append(successor)
        return cls(entries)
