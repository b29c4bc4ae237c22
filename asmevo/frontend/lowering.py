"""Decoded machine code to a kernel of basic blocks.

Owns block boundaries, labels, successors and which blocks are frozen. Texts are parsed by `line`; ELF, descriptors and metadata
are read elsewhere and passed in. Nothing here drops or reorders a byte: the blocks' encodings joined are the text again.

Frozen are: blocks with a word or an opcode that AsmEvo does not know, code that no path from a root reaches (padding, data), a
preload prologue, whose size the hardware relies on, and every block of a kernel that computes code addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asmevo.diagnostics import DiagnosticError, Span, fail
from asmevo.frontend.disassembler import Decoded
from asmevo.frontend.line import line_parser
from asmevo.ir.abi import KernelDescriptor, KernelMetadata
from asmevo.ir.instruction import Immediate, Instruction, Label
from asmevo.ir.isa.model import Family
from asmevo.ir.kernel import Block, Kernel

_ADDRESS_SOURCE = "s_getpc_b64"


def lower(
    decoded: Sequence[Decoded],
    *,
    name: str,
    target: str,
    entry_offset: int = 0,
    extra_roots: tuple[int, ...] = (),
    descriptor: KernelDescriptor | None = None,
    metadata: KernelMetadata | None = None,
    file: str = "<object>",
) -> Kernel:
    """The kernel that starts at `entry_offset`, with blocks in layout order and uids in instruction order.

    Offsets are bytes in the same space as `Decoded.offset`. `extra_roots` are further places where waves start (behind a
    kernarg-preload prologue). Labels are `L_` and the block's byte offset in hexadecimal.

    Raises: DiagnosticError E0141 (branch out of the text), E0142 (branch into an instruction), E0143 (control runs off the
    end), E0144 (a root that is no instruction).
    """
    instructions = _instructions(decoded, file)
    index_of = {item.offset: index for index, item in enumerate(decoded)}
    root_offsets = (entry_offset, *extra_roots)
    roots = [_root(offset, index_of, file) for offset in root_offsets]
    targets = _reach(instructions, roots, index_of)
    leaders = _leaders(instructions, roots, targets)
    computes_addresses = bool(indirect_instructions(instructions[index] for index in targets))
    prologue = range(entry_offset, max(root_offsets))
    blocks: list[Block] = []
    for position, start in enumerate(leaders):
        end = leaders[position + 1] if position + 1 < len(leaders) else len(instructions)
        offset = decoded[start].offset
        is_fixed = computes_addresses or offset in prologue
        if start in targets:
            blocks.append(_block(instructions, start, end, targets.get(end - 1), is_fixed))
        else:
            blocks.append(Block(_label(offset), tuple(instructions[start:end]), (), True, offset))
    return Kernel(name, target, tuple(blocks), tuple(_label(offset) for offset in root_offsets), descriptor, metadata)


def frozen_reason(kernel: Kernel, block: Block) -> str | None:
    """Why a block is frozen, in words; None when it is not."""
    if not block.frozen:
        return None
    for instruction in block.instructions:
        if instruction.mnemonic.startswith("."):
            return "holds data or an undecodable word"
        if instruction.definition is None:
            return f"holds {instruction.mnemonic}, an opcode without a definition"
    if named := indirect_instructions(kernel.instructions()):
        return f"the kernel computes code addresses ({', '.join(named)})"
    if not any(block.label in other.successors for other in kernel.blocks) and block.label not in kernel.roots:
        return "no path from a root reaches it"
    return "stands at a fixed address"


def indirect_instructions(instructions: Iterable[Instruction]) -> tuple[str, ...]:
    """The mnemonics that jump to, or take, an address not written in the instruction; sorted, each once."""
    return tuple(sorted({i.mnemonic for i in instructions if _is_indirect(i) or i.mnemonic == _ADDRESS_SOURCE}))


def _instructions(decoded: Sequence[Decoded], file: str) -> list[Instruction]:
    parse = line_parser().parse
    result: list[Instruction] = []
    for uid, item in enumerate(decoded):
        encoding, text = item.encoding, item.text
        span = Span(file, 0, 0, len(encoding), item.offset, text)
        if text is None:
            result.append(_data(item, uid, span))
            continue
        try:
            mnemonic, operands, modifiers, definition = parse(text, span, allow_opaque=True)
        except DiagnosticError:
            # LLVM prints remarks inside texts of encodings that its own assembler refuses: such bytes stay as they are.
            result.append(_data(item, uid, span))
            continue
        result.append(Instruction(mnemonic, operands, modifiers, definition, encoding, item.offset, uid, span))
    return result


def _data(item: Decoded, uid: int, span: Span) -> Instruction:
    encoding = item.encoding
    size = 4 if len(encoding) % 4 == 0 else 1
    words = [int.from_bytes(encoding[at : at + size], "little") for at in range(0, len(encoding), size)]
    operands = tuple(Immediate(word, f"{word:#0{2 + 2 * size}x}") for word in words)
    return Instruction(".long" if size == 4 else ".byte", operands, (), None, encoding, item.offset, uid, span)


def _is_indirect(instruction: Instruction) -> bool:
    definition = instruction.definition
    return definition is not None and definition.is_branch and definition.family is not Family.SOPP


def _root(offset: int, index_of: dict[int, int], file: str) -> int:
    index = index_of.get(offset)
    if index is None:
        fail("E0144", f"the kernel starts at 0x{offset:x}, which is not the start of an instruction", Span(file, offset=offset))
    return index


def _reach(instructions: list[Instruction], roots: list[int], index_of: dict[int, int]) -> dict[int, int | None]:
    """The index of each instruction reached from the roots, to that of its branch target (None: no direct branch)."""
    reached: dict[int, int | None] = {}
    work = list(roots)
    while work:
        index = work.pop()
        while index not in reached:
            if index >= len(instructions):
                last = instructions[-1]
                fail("E0143", f"control runs off the end of the code after {last.mnemonic}", last.span)
            instruction = instructions[index]
            reached[index] = None
            definition = instruction.definition
            if definition is None:
                if instruction.mnemonic.startswith("."):
                    # Data in the path of control: what it does is unknown, so no claim is made on what follows.
                    break
            elif definition.is_branch:
                if definition.family is not Family.SOPP:
                    break
                target = reached[index] = _target(instruction, index_of)
                work.append(target)
            if definition is not None and definition.is_terminator and not definition.is_conditional:
                break
            index += 1
    return reached


def _target(instruction: Instruction, index_of: dict[int, int]) -> int:
    encoding, offset = instruction.encoding, instruction.offset
    assert encoding is not None
    assert offset is not None
    target = offset + 4 + 4 * int.from_bytes(encoding[:2], "little", signed=True)
    index = index_of.get(target)
    if index is not None:
        return index
    if not index_of or not min(index_of) <= target <= max(index_of):
        fail("E0141", f"{instruction.mnemonic} at 0x{offset:x} branches out of the code, to {target:#x}", instruction.span)
    fail("E0142", f"{instruction.mnemonic} at 0x{offset:x} branches into an instruction, at {target:#x}", instruction.span)


def _leaders(instructions: list[Instruction], roots: list[int], targets: dict[int, int | None]) -> list[int]:
    leaders = {0, *roots}
    for index, target in targets.items():
        if target is not None:
            leaders.add(target)
        if instructions[index].ends_block:
            leaders.add(index + 1)
        if (index + 1) not in targets:
            leaders.add(index + 1)
        if index and (index - 1) not in targets:
            leaders.add(index)
    return sorted(index for index in leaders if index < len(instructions))


def _block(instructions: list[Instruction], start: int, end: int, target: int | None, is_fixed: bool) -> Block:
    members = instructions[start:end]
    last = members[-1]
    successors: tuple[str, ...] = ()
    if target is not None:
        label = _label(instructions[target].offset)
        members[-1] = _with_label(last, label)
        successors = (label,)
    is_open = last.definition is None or not last.definition.is_terminator or last.definition.is_conditional
    if is_open and end < len(instructions) and not last.mnemonic.startswith("."):
        successors = (*successors, _label(instructions[end].offset))
    frozen = is_fixed or any(member.definition is None for member in members)
    return Block(_label(members[0].offset), tuple(members), successors, frozen, members[0].offset)


def _with_label(branch: Instruction, label: str) -> Instruction:
    return Instruction(
        branch.mnemonic,
        (Label(label),),
        branch.modifiers,
        branch.definition,
        branch.encoding,
        branch.offset,
        branch.uid,
        branch.span,
    )


def _label(offset: int | None) -> str:
    return f"L_{offset:04x}"
