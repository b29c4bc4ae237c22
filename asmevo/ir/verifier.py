"""The invariants of a kernel, each with its code.

  E0301 a label or a uid stands once            E0302 a root or successor is a block of the kernel
  E0303 control flow stands at block ends only  E0304 successors follow from the last instruction and the layout
  E0305 operands fit the opcode: count, kind and width
  E0306 registers lie in their file, and tuples start where the encoding allows
  E0307 a frozen block is as it was             E0308 a modifier's number fits its field

Owns structure only: waits, hazards and meaning are judged in `verify`. It must not repair anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from asmevo.ir import isa
from asmevo.ir.finding import Finding
from asmevo.ir.instruction import Immediate, Instruction, Label, Operand, Register
from asmevo.ir.isa.model import OpcodeDef, Role
from asmevo.ir.isa.offsets import offset_range
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import AGPR0, EXECZ, FLAT_SCRATCH, SCC, UNIT_COUNT, VCCZ, RegisterFile, RegisterRange

_READ_ONLY = frozenset((SCC, VCCZ, EXECZ))

_NOWHERE = Instruction("")
"""Stands for the instruction in a finding about an empty block."""

_ODD_TUPLES = frozenset(("ds_read_b96_tr_b6",))
"""Opcodes whose vector tuples may start at an odd register; every other one wants an even start on these targets."""


def verify_kernel(kernel: Kernel, original: Kernel | None = None) -> list[Finding]:
    """Every broken invariant, in layout order; empty for a sound kernel.

    With `original`, the kernel it was made from, frozen blocks must also be unchanged, still frozen, and in their order; the
    instructions of blocks that are the original's own objects are not looked at again.
    """
    findings = [*_names(kernel), *_control_flow(kernel)]
    own = {id(block) for block in (() if original is None else original.blocks)}
    for block in kernel.blocks:
        if not block.frozen and id(block) not in own:
            for instruction in block.instructions:
                findings += _instruction(block, instruction)
    if original is not None:
        findings += _frozen(kernel, original)
    return findings


def _at(code: str, message: str, block: Block, instruction: Instruction | None = None) -> Finding:
    if instruction is None:
        instruction = block.instructions[0] if block.instructions else _NOWHERE
    return Finding(code, message, block.label, instruction)


def _names(kernel: Kernel) -> Iterator[Finding]:
    labels = Counter(block.label for block in kernel.blocks)
    uids = Counter(instruction.uid for instruction in kernel.instructions())
    for block in kernel.blocks:
        if labels[block.label] > 1:
            yield _at("E0301", f"label {block.label} stands {labels[block.label]} times", block)
        for instruction in block.instructions:
            if instruction.uid < 0 or uids[instruction.uid] > 1:
                what = "has no uid" if instruction.uid < 0 else f"shares uid {instruction.uid} with another instruction"
                yield _at("E0301", f"{instruction.mnemonic} {what}", block, instruction)
    for root in kernel.roots:
        if root not in labels and kernel.blocks:
            yield _at("E0302", f"root {root} is not a block of the kernel", kernel.blocks[0])


def _control_flow(kernel: Kernel) -> Iterator[Finding]:
    labels = {block.label for block in kernel.blocks}
    for index, block in enumerate(kernel.blocks):
        for label in block.successors:
            if label not in labels:
                yield _at("E0302", f"successor {label} is not a block of the kernel", block)
        if block.frozen:
            continue
        for instruction in block.instructions[:-1]:
            if instruction.ends_block:
                yield _at("E0303", f"{instruction.mnemonic} stands before the end of its block", block, instruction)
        following = kernel.blocks[index + 1].label if index + 1 < len(kernel.blocks) else None
        yield from _successors(block, following)


def _successors(block: Block, following: str | None) -> Iterator[Finding]:
    last = block.instructions[-1] if block.instructions else None
    definition = last.definition if last is not None else None
    expected: tuple[str, ...] = ()
    if last is not None and definition is not None and definition.is_branch:
        target = last.operands[-1] if last.operands else None
        if not isinstance(target, Label):
            yield _at("E0304", f"{last.mnemonic} has no label as its target", block, last)
            return
        expected = (target.name,)
    if definition is None or not definition.is_terminator or definition.is_conditional:
        if following is None:
            yield _at("E0304", "control runs off the end of the kernel", block, last)
            return
        expected = (*expected, following)
    if block.successors != expected:
        shown, wanted = ", ".join(block.successors) or "none", ", ".join(expected) or "none"
        yield _at("E0304", f"successors are {shown}, but the code and the layout give {wanted}", block, last)


def _instruction(block: Block, instruction: Instruction) -> Iterator[Finding]:
    definition = instruction.definition
    if definition is None:
        yield _at("E0305", f"{instruction.mnemonic} has no definition, so its block must be frozen", block, instruction)
        return
    if len(instruction.operands) != len(definition.operands):
        wanted, given = len(definition.operands), len(instruction.operands)
        yield _at("E0305", f"{instruction.mnemonic} takes {wanted} operands, {given} given", block, instruction)
        return
    for index, operand in enumerate(instruction.operands):
        name = definition.operands[index].name
        if isinstance(operand, Register):
            if message := _width(definition, instruction, index, operand.range):
                yield _at("E0305", f"operand {name} of {instruction.mnemonic} {message}", block, instruction)
            if message := _placement(operand.range, instruction.mnemonic):
                yield _at("E0306", f"operand {name} of {instruction.mnemonic}: {message}", block, instruction)
        if definition.operands[index].role is not Role.READ and (message := _destination(definition, index, operand)):
            yield _at("E0305", f"operand {name} of {instruction.mnemonic} {message}", block, instruction)
        elif isinstance(operand, Immediate) and not 0 <= operand.value < 1 << 32:
            yield _at("E0305", f"operand {name} of {instruction.mnemonic} does not fit in 32 bits", block, instruction)
    yield from _offset(block, instruction, definition)


def _destination(definition: OpcodeDef, index: int, operand: Operand) -> str | None:
    if not definition.operands[index].bits:
        return None
    if not isinstance(operand, Register):
        return "is written, so it must be a register"
    if operand.negate or operand.absolute or operand.sign_extend:
        return "is written, so it takes no source modifier"
    # The encoding cuts these source-only numbers to seven bits, which would write another register.
    return f"cannot be written: {operand.range} is read-only" if operand.range.unit in _READ_ONLY else None


def _width(definition: OpcodeDef, instruction: Instruction, index: int, found: RegisterRange) -> str | None:
    counts = _format_counts(definition, instruction, index)
    if counts is None:
        # An operand of fewer than 32 bits still takes a whole register.
        counts = {max(1, (bits + 31) // 32) for bits in isa.permitted_bits(definition, index) if bits}
    if not counts:
        return f"is no register, {found} given"
    # A condition bit is read as a value of whatever width the operand has.
    if found.count in counts or (found.unit in _READ_ONLY and definition.operands[index].role is Role.READ):
        return None
    wanted = " or ".join(map(str, sorted(counts)))
    return f"is {wanted} register{'s' if counts != {1} else ''} wide, {found} given"


_FORMAT_REGISTERS = (8, 8, 6, 6, 4)
"""Registers of a 32-item row by the f8f6f4 format number: two 8-bit, two 6-bit and one 4-bit format."""


def _format_counts(definition: OpcodeDef, instruction: Instruction, index: int) -> set[int] | None:
    selector = {"src0": "cbsz", "src1": "blgp"}.get(definition.operands[index].name)
    if selector is None or not definition.mnemonic.endswith("f8f6f4"):
        return None
    chosen = instruction.modifier(selector, 0)
    if not isinstance(chosen, int) or chosen >= len(_FORMAT_REGISTERS):
        return set()
    return {_FORMAT_REGISTERS[chosen]}


def _placement(found: RegisterRange, mnemonic: str) -> str | None:
    file = found.file
    limit = {RegisterFile.SGPR: FLAT_SCRATCH, RegisterFile.VGPR: AGPR0, RegisterFile.AGPR: UNIT_COUNT}.get(file)
    if limit is None:
        return None
    if found.unit < 0 or found.count < 1 or found.unit + found.count > limit:
        return f"{found} leaves the register file"
    if file is RegisterFile.SGPR:
        step = 1 if found.count == 1 else 2 if found.count == 2 else 4
        return f"{found} must start at a multiple of {step}" if found.unit % step else None
    if found.count > 1 and found.unit % 2 and mnemonic not in _ODD_TUPLES:
        return f"{found} must start at an even register"
    return None


def _offset(block: Block, instruction: Instruction, definition: OpcodeDef) -> Iterator[Finding]:
    offset = instruction.modifier("offset")
    if offset is False:
        return
    allowed = offset_range(definition.family)
    if allowed is None or offset not in allowed:
        limits = "no offset" if allowed is None else f"{allowed[0]} to {allowed[-1]}"
        message = f"{instruction.mnemonic} takes {limits}, offset:{offset} given"
        yield _at("E0308", message, block, instruction)


def _frozen(kernel: Kernel, original: Kernel) -> Iterator[Finding]:
    blocks = {block.label: block for block in kernel.blocks}
    place = {block.label: index for index, block in enumerate(kernel.blocks)}
    previous = -1
    for before in original.blocks:
        if not before.frozen:
            continue
        after = blocks.get(before.label)
        if after is None:
            yield _at("E0307", f"frozen block {before.label} is gone", before)
        elif not after.frozen or after.instructions != before.instructions or after.successors != before.successors:
            yield _at("E0307", f"frozen block {before.label} was changed", after)
        elif place[before.label] < previous:
            yield _at("E0307", f"frozen block {before.label} was moved", after)
        else:
            previous = place[before.label]
