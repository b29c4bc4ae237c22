"""Registers a kernel names but was not given: what the chip does with those is no part of any proof.

Owns the comparison of register numbers with the descriptor's allocation. Values and order are other checks' work.
"""

from __future__ import annotations

from asmevo.diagnostics import Severity
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import SGPR_MASK
from asmevo.ir.finding import Finding
from asmevo.ir.instruction import Instruction, Register
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import AGPR0, VECTOR_MASK, VGPR0, RegisterFile
from asmevo.ir.vector_file import shared_vectors

BEYOND_ALLOCATION = "E0506"
_SGPR_GRANULE, _SGPRS_AT_THE_TOP = 16, 6
"""SGPRs come in sixteens; the last six hold VCC, FLAT_SCRATCH and XNACK_MASK. Source: LLVM AMDGPUUsage, compute_pgm_rsrc1."""


def check_registers(kernel: Kernel, analyses: AnalysisManager | None = None) -> list[Finding]:
    """E0506 in layout order: an error for each instruction that names a register beyond the allocation.

    A VGPR at or above `accum_offset` but within the allocation is the wave's own, an AGPR by another name: one warning for the
    kernel when it uses both names of such a register, else one note. Nothing is found without a descriptor. VGPR indexing and
    scratch are not seen: only the numbers as written. `analyses` are the kernel's, where some are known already.
    """
    if kernel.descriptor is None:
        return []
    limits = _limits(kernel)
    first_agpr = kernel.descriptor.accum_offset
    vgprs = min(first_agpr, limits[RegisterFile.VGPR])
    surely_given = _first(0, limits[RegisterFile.SGPR]) | _first(VGPR0, vgprs) | _first(AGPR0, limits[RegisterFile.AGPR])
    doubtful = (SGPR_MASK | VECTOR_MASK) & ~surely_given
    effects = (analyses or AnalysisManager(kernel)).get(EffectsTable).printed
    found: list[Finding] = []
    above: tuple[Block, Instruction, Register] | None = None
    for block in kernel.blocks:
        if block.frozen:
            continue
        for instruction, effect in zip(block.instructions, effects[block.label], strict=True):
            if not (effect.reads | effect.writes) & doubtful:
                continue
            register = _beyond(instruction, limits)
            if register is not None:
                most = limits[register.range.file]
                message = f"{register.range} is beyond the {most} registers of its kind that the kernel was given"
                found.append(Finding(BEYOND_ALLOCATION, message, block.label, instruction))
            elif above is None:
                register = _beyond(instruction, {RegisterFile.VGPR: first_agpr})
                above = None if register is None else (block, instruction, register)
    return found if above is None else [_by_another_name(kernel, *above), *found]


def _limits(kernel: Kernel) -> dict[RegisterFile, int]:
    descriptor = kernel.descriptor
    assert descriptor is not None
    granules = (descriptor.rsrc1 >> 6 & 15) // 2 + 1
    return {
        RegisterFile.VGPR: descriptor.vgpr_count,
        RegisterFile.AGPR: max(descriptor.vgpr_count - descriptor.accum_offset, 0),
        RegisterFile.SGPR: granules * _SGPR_GRANULE - _SGPRS_AT_THE_TOP,
    }


def _first(unit: int, count: int) -> int:
    """The first registers of the file that begins at `unit`."""
    return ((1 << count) - 1) << unit


def _beyond(instruction: Instruction, limits: dict[RegisterFile, int]) -> Register | None:
    for operand in instruction.operands:
        if isinstance(operand, Register):
            most = limits.get(operand.range.file)
            if most is not None and operand.range.index + operand.range.count > most:
                return operand
    return None


def _by_another_name(kernel: Kernel, block: Block, instruction: Instruction, register: Register) -> Finding:
    assert kernel.descriptor is not None
    first = kernel.descriptor.accum_offset
    shared = shared_vectors(kernel)
    message = f"{register.range} reaches the AGPRs, which begin at register {first} of the allocation"
    if shared:
        lowest = (shared & -shared).bit_length() - 1 - VGPR0
        message += (
            f"; {shared.bit_count()} registers are used by both names, v{lowest} as a{lowest - first} the first: "
            "analyses and proofs that keep them apart do not hold"
        )
    else:
        message += "; none of those is used as an AGPR"
    severity = Severity.WARNING if shared else Severity.NOTE
    return Finding(BEYOND_ALLOCATION, message, block.label, instruction, severity=severity)
