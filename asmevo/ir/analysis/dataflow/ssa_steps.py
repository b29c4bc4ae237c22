"""What each instruction takes and gives as values: the units it reads, writes, and leaves partly as they were.

Owns the reading of effects for dataflow forms: EXEC known to be full, instructions not understood, registers with two names.
It follows no path but EXEC's within a block.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.dataflow.exec_full import ExecChange, ExecFull, exec_change
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import OPAQUE, Effects, effects, may_skip_vectors
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import AGPR0, EXECZ, VCCZ, VGPR0, VGPR_MASK, VSKIP
from asmevo.ir.vector_file import shared_vectors

_DERIVED = 1 << VCCZ | 1 << EXECZ
"""Units that are functions of others, which are read with them."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction, or consecutive data words, as unit sets. `kept` is the part of `writes` whose old value may stay."""

    instructions: tuple[Instruction, ...]
    reads: int
    writes: int
    kept: int
    is_opaque: bool = False
    """True for what is not understood: it takes and gives every register that the kernel names."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps by block label, in order.

    VSKIP appears only in kernels that may set it. Where VGPRs and AGPRs of a kernel are the same registers, the AGPR's unit
    stands for both: VGPRs from number `shared_from` on; None where no register has two names.
    """

    by_block: dict[str, tuple[Step, ...]]
    shared_from: int | None

    def canonical(self, mask: int) -> int:
        """The unit set with one unit for each register."""
        return _canonical(mask, self.shared_from)

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Steps:
        """The steps of `kernel`."""
        table, full_at_entry = manager.get(EffectsTable), manager.get(ExecFull).at_entry
        dropped = _DERIVED if may_skip_vectors(kernel.instructions()) else _DERIVED | 1 << VSKIP
        shared = _shared_from(kernel)
        found: dict[str, list[tuple[Instruction, Effects]]] = {}
        named = 0
        for block in kernel.blocks:
            full = block.label in full_at_entry
            pairs: list[tuple[Instruction, Effects]] = []
            for instruction, printed, effect in zip(
                block.instructions, table.printed[block.label], table.by_block[block.label], strict=True
            ):
                if full and effect == printed and effect != OPAQUE:
                    effect = effects(instruction, exec_full=True)
                change = exec_change(instruction, effect)
                full = change is ExecChange.FULL or (full and change in (ExecChange.NONE, ExecChange.WIDEN))
                pairs.append((instruction, effect))
                if effect != OPAQUE:
                    # An indexed access reaches every VGPR, but only those that the wave has.
                    named |= _within(effect.reads | effect.writes, printed, kernel)
            found[block.label] = pairs
        named = _canonical(named, shared) & ~dropped
        return cls(
            {label: tuple(_merged([_step(i, e, shared, named) for i, e in pairs])) for label, pairs in found.items()},
            shared,
        )


def _shared_from(kernel: Kernel) -> int | None:
    """The lowest VGPR number that is another name of an AGPR."""
    return kernel.descriptor.accum_offset if kernel.descriptor is not None and shared_vectors(kernel) else None


def _canonical(mask: int, shared_from: int | None) -> int:
    if shared_from is None:
        return mask
    low = VGPR0 + shared_from
    high = (mask & VGPR_MASK) >> low
    return mask & ~(high << low) | high << AGPR0


def _within(touched: int, printed: Effects, kernel: Kernel) -> int:
    """The touched units, of an indexed access those that the wave has and those it names."""
    own = printed.reads | printed.writes
    if touched == own or kernel.descriptor is None:
        return touched
    d = kernel.descriptor
    granted = min(d.accum_offset, d.vgpr_count, AGPR0 - VGPR0)
    return touched & ~VGPR_MASK | own | ((1 << granted) - 1) << VGPR0


def _step(instruction: Instruction, effect: Effects, shared: int | None, named: int) -> Step:
    if effect == OPAQUE:
        return Step((instruction,), named, named, named, True)
    writes = _canonical(effect.writes, shared) & named
    kills = _canonical(effect.kills, shared)
    return Step((instruction,), _canonical(effect.reads, shared) & named, writes, writes & ~kills)


def _merged(steps: list[Step]) -> list[Step]:
    """The steps with each run of data words as one."""
    result: list[Step] = []
    for step in steps:
        is_data = step.instructions[0].definition is None
        if is_data and result and result[-1].instructions[0].definition is None:
            last = result.pop()
            step = Step(last.instructions + step.instructions, last.reads, last.writes, last.kept, True)
        result.append(step)
    return result
