"""Brings two separately loaded versions of a kernel to the same names, so that they can be compared.

Labels and instruction numbers come from offsets and order, so they shift behind an edit that changed the code's size. Owns only
that renaming: it decides nothing. Where the shapes differ, the kernel is returned as it came and the judges will say so.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import replace

from asmevo.backend.layout import is_padding
from asmevo.ir.cfg import reachable
from asmevo.ir.instruction import Instruction, Label
from asmevo.ir.kernel import Block, Kernel


def aligned(before: Kernel, after: Kernel) -> Kernel:
    """`after` with the labels of the blocks of `before` in the same places, and with its instructions where they are the same.

    An instruction of a block that stands in the same block of `before`, at any place, becomes that instruction, with its number
    and bytes; of equal ones the first becomes the first. Others get numbers that `before` does not have. Filler at the end
    that no path reaches, which a rebuild lengthens or shortens, is taken from `before`, and so is the descriptor when it
    differs in nothing but where the code lies.
    """
    old_blocks, filler = _without_filler(before)
    new_blocks, _ = _without_filler(after)
    if len(old_blocks) != len(new_blocks):
        return after
    names = {new.label: old.label for old, new in zip(old_blocks, new_blocks, strict=True)}
    fresh = max((i.uid for i in before.instructions()), default=-1) + 1
    blocks: list[Block] = []
    for old, new in zip(old_blocks, new_blocks, strict=True):
        instructions, fresh = _matched(old.instructions, [_renamed(i, names) for i in new.instructions], fresh)
        successors = tuple(names.get(label, label) for label in new.successors)
        blocks.append(replace(new, label=old.label, instructions=instructions, successors=successors, offset=old.offset))
    roots = tuple(names.get(label, label) for label in after.roots)
    descriptor = before.descriptor if _same_but_entry(before, after) else after.descriptor
    return replace(after, blocks=(*blocks, *filler), roots=roots, descriptor=descriptor)


def _without_filler(kernel: Kernel) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """The blocks up to the filler at the end, and the filler."""
    reached = reachable(kernel)
    end = len(kernel.blocks)
    while end and kernel.blocks[end - 1].label not in reached and _is_filler(kernel.blocks[end - 1]):
        end -= 1
    return kernel.blocks[:end], kernel.blocks[end:]


def _same_but_entry(before: Kernel, after: Kernel) -> bool:
    old, new = before.descriptor, after.descriptor
    return old is not None and new is not None and replace(new, raw=old.raw, entry_offset=old.entry_offset) == old


def _is_filler(block: Block) -> bool:
    return all(i.mnemonic in ("s_nop", "s_code_end") or is_padding(i.encoding or b"") for i in block.instructions)


def _renamed(instruction: Instruction, names: dict[str, str]) -> Instruction:
    if not any(isinstance(operand, Label) for operand in instruction.operands):
        return instruction
    operands = tuple(
        Label(names.get(operand.name, operand.name)) if isinstance(operand, Label) else operand
        for operand in instruction.operands
    )
    return replace(instruction, operands=operands)


def _matched(old: Sequence[Instruction], new: Sequence[Instruction], fresh: int) -> tuple[tuple[Instruction, ...], int]:
    waiting: defaultdict[tuple[object, ...], deque[Instruction]] = defaultdict(deque)
    for instruction in old:
        waiting[_text(instruction)].append(instruction)
    found: list[Instruction] = []
    for instruction in new:
        same = waiting[_text(instruction)]
        if same:
            found.append(same.popleft())
        else:
            found.append(replace(instruction, uid=fresh))
            fresh += 1
    return tuple(found), fresh


def said(instruction: Instruction) -> tuple[object, ...]:
    """What an instruction says, wherever it stands: a branch without its target, data by its bytes."""
    raw = instruction.encoding if instruction.definition is None else None
    operands = tuple(None if isinstance(operand, Label) else operand for operand in instruction.operands)
    return instruction.mnemonic, operands, instruction.modifiers, raw


def _text(instruction: Instruction) -> tuple[object, ...]:
    """What an instruction says here, a branch's target by its label."""
    return (*said(instruction), next((o.name for o in instruction.operands if isinstance(o, Label)), None))
