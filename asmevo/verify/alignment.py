"""A kernel read from another object, named as the one it is compared with: block labels by position, uids by text.

Labels and uids come from offsets, which an insertion moves; the judges compare by them. Owns the naming only, and must not
change what the kernel does.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import replace

from asmevo.ir.instruction import Instruction, Label
from asmevo.ir.kernel import Kernel


def aligned(before: Kernel, after: Kernel) -> Kernel:
    """`after` with the labels and uids of `before`; unchanged when the kernels do not have the same number of blocks.

    Within a block equal instructions are paired in order; one without a partner gets a uid that `before` does not use.
    """
    if len(before.blocks) != len(after.blocks):
        return after
    names = {other.label: one.label for one, other in zip(before.blocks, after.blocks, strict=True)}
    free = max((i.uid for i in before.instructions()), default=-1) + 1
    blocks = list(after.blocks)
    for position, (one, other) in enumerate(zip(before.blocks, after.blocks, strict=True)):
        uids: defaultdict[object, deque[int]] = defaultdict(deque)
        for i in one.instructions:
            uids[_text(i)].append(i.uid)
        instructions: list[Instruction] = []
        for i in (_renamed(i, names) for i in other.instructions):
            partners = uids[_text(i)]
            if not partners:
                partners.append(free)
                free += 1
            instructions.append(replace(i, uid=partners.popleft()))
        successors = tuple(names.get(label, label) for label in other.successors)
        blocks[position] = replace(other, label=one.label, instructions=tuple(instructions), successors=successors)
    return replace(after, blocks=tuple(blocks), roots=tuple(names.get(label, label) for label in after.roots))


def _text(i: Instruction) -> object:
    return i.mnemonic, i.operands, i.modifiers


def _renamed(i: Instruction, names: dict[str, str]) -> Instruction:
    if not any(isinstance(operand, Label) and names.get(operand.name, operand.name) != operand.name for operand in i.operands):
        return i
    operands = tuple(Label(names.get(o.name, o.name)) if isinstance(o, Label) else o for o in i.operands)
    return replace(i, operands=operands)
