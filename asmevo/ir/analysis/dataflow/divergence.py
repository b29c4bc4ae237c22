"""Divergence: which vector results all lanes share, and where lanes go different ways.

Owns the view of `values` under this question. Branches of these chips are taken by whole waves; lanes part where EXEC is
narrowed by a mask that differs between them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.dataflow.exec_full import ExecChange
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.values.fixpoint import Values
from asmevo.ir.kernel import Kernel

Site = tuple[str, int]


class BranchKind(enum.Enum):
    """What a conditional branch asks."""

    SCALAR = "a scalar condition, the same for the wave"
    MASK = "whether any lane has a condition"
    ACTIVE = "whether any lane is active"
    OTHER = "something else"


@dataclass(frozen=True, slots=True)
class ExecWrite:
    """A write of EXEC. `divergent`: lanes differ in the condition that it is made from; None when that is not known."""

    label: str
    index: int
    change: ExecChange
    divergent: bool | None


@dataclass(frozen=True, slots=True)
class Divergence:
    """Vector instructions with uniform results, writes of EXEC, and conditional branches by block label."""

    uniform: frozenset[Site]
    exec_writes: tuple[ExecWrite, ...]
    branches: dict[str, BranchKind]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Divergence:
        """The divergence of reachable code."""
        del kernel
        values, flow = manager.get(Values), manager.get(Flow)
        rank = {label: position for position, label in enumerate(flow.order)}
        writes = [
            ExecWrite(label, index, change, divergent) for (label, index), (change, divergent) in values.exec_writes.items()
        ]
        writes.sort(key=lambda write: (rank[write.label], write.index))
        branches: dict[str, BranchKind] = {}
        for label in flow.order:
            block = flow.blocks[label]
            definition = block.instructions[-1].definition if block.instructions else None
            if label in flow.reachable and definition is not None and definition.is_conditional:
                branches[label] = _kind(definition.mnemonic)
        return cls(values.uniform, tuple(writes), branches)


def _kind(mnemonic: str) -> BranchKind:
    for word, kind in (("_scc", BranchKind.SCALAR), ("_vcc", BranchKind.MASK), ("_exec", BranchKind.ACTIVE)):
        if word in mnemonic:
            return kind
    return BranchKind.OTHER
