"""Registers read before anything gave them a value.

Owns a data-flow of two unit sets: what some path, and what every path, has written. What a wave starts with is what the
descriptor enables. A vector write counts whatever EXEC is; memory and parts of registers are not followed.

Left out on purpose: sources whose value cannot matter (x ^ x, x - x), destinations that an instruction keeps in part (DPP, D16,
v_writelane: compilers start those from an undefined register), SCC, M0 and the trap registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from asmevo.diagnostics import Severity
from asmevo.ir.abi import KernelDescriptor
from asmevo.ir.effects import OPAQUE, effects, unread_halves
from asmevo.ir.finding import Finding
from asmevo.ir.instruction import Instruction, Register
from asmevo.ir.isa.model import Family, Role
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.memo import by_text
from asmevo.ir.registers import FLAT_SCRATCH, VCC_MASK, VECTOR_MASK, VGPR0, VGPR_MASK, RegisterRange, unit_name, units
from asmevo.verify.static.value_reach import first_effect

UNDEFINED = "E0509"
_FOLLOWED = ((1 << FLAT_SCRATCH) - 1) | VCC_MASK | VECTOR_MASK
_CANCELLING = ("v_xor_b32", "s_xor_b32", "s_xor_b64", "v_sub_u32", "v_subrev_u32", "s_sub_u32", "s_sub_i32", "s_andn2_b64")
_PACKED_IDS = 1
"""From gfx90a on v0 holds the work-item ids of all axes. Source: AMDGPUUsage, initial kernel execution state."""


class _Step(NamedTuple):
    """What an instruction reads as a source that matters, and what it writes."""

    reads: int
    writes: int


def check_definedness(kernel: Kernel) -> list[Finding]:
    """E0509 in layout order: a register that no path to the instruction gives a value (error), or not every path (note).

    A note, too, where the value goes nowhere: templates leave such instructions behind. Each register is reported once for
    each block, at its first read. Nothing is found without a descriptor, which says what a wave starts with, and for kernels
    that select VGPRs by an index no VGPR is looked at.
    """
    if kernel.descriptor is None:
        return []
    indexed = any(i.mnemonic.startswith(("s_set_gpr_idx", "v_movrel", "s_movrel")) for i in kernel.instructions())
    followed = _FOLLOWED & ~VGPR_MASK if indexed else _FOLLOWED
    steps = {block.label: [_step(i) for i in block.instructions] for block in kernel.blocks}
    start = _at_entry(kernel.descriptor)
    some, every = _solve(kernel, steps, start)
    found: list[Finding] = []
    for block in kernel.blocks:
        if block.label in some and not block.frozen:
            found += _report(block, steps[block.label], followed, some[block.label], every[block.label])
    return [_with_effect(kernel, finding) if finding.severity is Severity.ERROR else finding for finding in found]


def _with_effect(kernel: Kernel, finding: Finding) -> Finding:
    """An error with the instruction that shows it, or a note when there is none."""
    instructions = kernel.block(finding.block).instructions
    index = next(at for at, i in enumerate(instructions) if i is finding.instruction)
    effect = first_effect(kernel, finding.block, index)
    if effect is None:
        return replace(finding, message=f"{finding.message}; the value goes nowhere", severity=Severity.NOTE)
    if effect is finding.instruction:
        return finding
    return replace(finding, message=f"{finding.message}; {effect.mnemonic} (instruction {effect.uid}) may depend on it")


def _at_entry(descriptor: KernelDescriptor) -> int:
    """The units that hold something when a wave starts."""
    scalars = descriptor.user_sgpr_count + (descriptor.rsrc2 >> 7 & 7).bit_count()
    scalars += (descriptor.rsrc2 >> 10 & 1) + (descriptor.rsrc2 & 1)
    return (1 << scalars) - 1 | ((1 << _PACKED_IDS) - 1) << VGPR0


@by_text
def _step(i: Instruction) -> _Step:
    definition = i.definition
    if definition is None:
        return _Step(0, -1)
    touched = effects(i)
    if touched == OPAQUE:
        return _Step(0, -1)
    reads = definition.implicit_reads & VCC_MASK if definition.family is not Family.SOPP else 0
    sources: list[RegisterRange] = []
    for operand, spec in zip(i.operands, definition.operands, strict=True):
        if isinstance(operand, Register) and spec.role is not Role.WRITE and definition.mnemonic != "v_writelane_b32":
            reads |= operand.range.mask
            sources.append(operand.range)
        elif isinstance(operand, Register) and spec.role is Role.READ:
            reads |= operand.range.mask
    if definition.mnemonic.startswith(_CANCELLING) and len(sources) == 2 and sources[0] == sources[1]:
        reads = 0
    return _Step(reads & _FOLLOWED & ~unread_halves(i), touched.writes)


def _solve(kernel: Kernel, steps: Mapping[str, list[_Step]], start: int) -> tuple[dict[str, int], dict[str, int]]:
    writes = {label: _union(step.writes for step in found) for label, found in steps.items()}
    successors = {block.label: block.successors for block in kernel.blocks}
    some: dict[str, int] = dict.fromkeys(kernel.roots, start)
    every: dict[str, int] = dict.fromkeys(kernel.roots, start)
    work = list(kernel.roots)
    while work:
        label = work.pop()
        after_some, after_every = some[label] | writes[label], every[label] | writes[label]
        for following in successors[label]:
            joined = some.get(following, 0) | after_some, every.get(following, -1) & after_every
            if following not in some or joined != (some[following], every[following]):
                some[following], every[following] = joined
                work.append(following)
    return some, every


def _union(masks: Iterable[int]) -> int:
    total = 0
    for mask in masks:
        total |= mask
    return total


def _report(block: Block, steps: list[_Step], followed: int, some: int, every: int) -> Iterable[Finding]:
    """`every` is a subset of `some`."""
    for instruction, (reads, writes) in zip(block.instructions, steps, strict=True):
        if reads & followed & ~every:
            doubtful = reads & followed
            nowhere, somewhere = doubtful & ~some, doubtful & some & ~every
            for missing, severity in ((nowhere, Severity.ERROR), (somewhere, Severity.NOTE)):
                if missing:
                    where = "on any path" if severity is Severity.ERROR else "on every path"
                    names = ", ".join(unit_name(unit) for unit in list(units(missing))[:4])
                    message = f"{instruction.mnemonic} reads {names}, to which nothing was written {where}"
                    yield Finding(UNDEFINED, message, block.label, instruction, severity=severity)
            some |= doubtful
            every |= doubtful
        some |= writes
        every |= writes
