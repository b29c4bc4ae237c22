"""Registers for code that runs earlier: which may be named, which are free, and instructions with new names.

Owns names alone. Whether a register's old value is still needed is asked of the caller, who passes what is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from asmevo.backend.resources import MAX_ARCH_VGPRS, MAX_SGPRS, SGPR_EXTRAS, fitted, granted_by
from asmevo.ir.analysis.cost.occupancy_steps import scalar_limit, vector_limit, waves_for_scalars
from asmevo.ir.analysis.cost.pressure import Pressure, waves_for_vector_total
from asmevo.ir.analysis.cost.reach import Reach
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.instruction import Instruction, Operand, Register
from asmevo.ir.isa import lookup
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import FLAT_SCRATCH, VGPR0, RegisterRange
from asmevo.passes.base import PassContext


@dataclass(frozen=True, slots=True)
class Renaming:
    """New units by old ones. An operand gets new names when it reaches one of the `written` units."""

    units: Mapping[int, int]
    written: int

    def operand(self, operand: Operand) -> Operand:
        """The operand under its new name; itself when it has none."""
        if isinstance(operand, Register) and operand.range.mask & self.written and operand.range.unit in self.units:
            return replace(operand, range=RegisterRange(self.units[operand.range.unit], operand.range.count))
        return operand

    def of(self, member: Instruction) -> Instruction:
        """A copy of an instruction, to be numbered anew."""
        return _copied(member, tuple(map(self.operand, member.operands)))

    def load(self, member: Instruction, first: int) -> Instruction:
        """A copy of a load whose data go to the registers from unit `first` on."""
        target = member.operands[0]
        assert isinstance(target, Register)
        data = Register(RegisterRange(first, target.range.count))
        return _copied(member, (data, *map(self.operand, member.operands[1:])))


def renamable(members: Iterable[Instruction]) -> int:
    """The numbered registers that operands name: all else is told by the opcode."""
    named = 0
    for member in members:
        for operand in member.operands:
            if isinstance(operand, Register) and (operand.range.unit < FLAT_SCRATCH or operand.range.unit >= VGPR0):
                named |= operand.range.mask
    return named


def groups(members: Sequence[Instruction], written: int) -> list[RegisterRange]:
    """The written units in runs that operands name together, a load's data left out: those keep standing side by side."""
    linked = [
        (operand.range.unit, operand.range.unit + operand.range.count)
        for member in members
        for operand in (member.operands[1:] if _is_load(member) else member.operands)
        if isinstance(operand, Register) and operand.range.mask & written
    ]
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(linked):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return [RegisterRange(start, stop - start) for start, stop in merged]


def given(kernel: Kernel, analyses: AnalysisManager) -> int:
    """The registers that may be named: those with which as many waves fit as now; without a descriptor, those of the text."""
    pressure = analyses.get(Pressure)
    vectors, scalars = pressure.named_vgprs, pressure.named_sgprs
    descriptor = kernel.descriptor
    if descriptor is not None:
        granted = granted_by(descriptor)
        vectors, scalars = granted.vgprs, granted.sgprs
        if analyses.get(Reach).vgprs is not None:
            waves = waves_for_vector_total(descriptor.vgpr_count)
            vectors = max(vectors, min(vector_limit(waves) - pressure.named_agprs, MAX_ARCH_VGPRS))
            waves = waves_for_scalars(descriptor.sgpr_count)
            scalars = max(scalars, min(scalar_limit(waves) - SGPR_EXTRAS, MAX_SGPRS))
    return ((1 << vectors) - 1) << VGPR0 | ((1 << scalars) - 1)


def declare_named(ctx: PassContext) -> None:
    """Declares more registers where the instructions as they are now name more than was granted."""
    kernel = ctx.rewriter.kernel
    if kernel.descriptor is None or kernel is ctx.kernel:
        return
    enough = fitted(kernel)
    if enough is not kernel and enough.descriptor is not None:
        ctx.stat("vector registers more", enough.descriptor.vgpr_count - kernel.descriptor.vgpr_count)
        ctx.rewriter.declare(enough.descriptor, enough.metadata)


def free_run(taken: int, may_name: int, like: int, count: int) -> int | None:
    """The first of `count` free units in a row, of the file of unit `like`; pairs and more begin at an even number."""
    base, limit = (VGPR0, VGPR0 + 256) if like >= VGPR0 else (0, FLAT_SCRATCH)
    step = 1 if count == 1 else 2 if count < 4 or base else 4
    for first in range(base, limit - count + 1, step):
        mask = RegisterRange(first, count).mask
        if mask & may_name == mask and not mask & taken:
            return first
    return None


def copy_to(target: int, source: int) -> Instruction:
    """An instruction that copies one unit to another of its file."""
    name = "v_mov_b32_e32" if target >= VGPR0 else "s_mov_b32"
    return made(name, Register(RegisterRange(target)), Register(RegisterRange(source)))


def copy_of(member: Instruction) -> Instruction:
    """The same instruction, to be numbered anew."""
    return _copied(member, member.operands)


def made(mnemonic: str, *operands: Operand) -> Instruction:
    """A new instruction."""
    return Instruction(mnemonic, operands, definition=lookup(mnemonic))


def _copied(member: Instruction, operands: tuple[Operand, ...]) -> Instruction:
    return replace(member, operands=operands, encoding=None, offset=None, uid=-1)


def _is_load(member: Instruction) -> bool:
    return member.definition is not None and member.definition.access is not None
