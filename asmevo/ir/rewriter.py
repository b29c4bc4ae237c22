"""The only door through which a kernel is changed.

Owns edits to the instructions of blocks, the record of them, and what a kernel declares. Blocks, labels, successors and
layout stay as they are; whether an edit is legal is the pass's claim and the verifiers' answer. What breaks the structure is
refused at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from asmevo.diagnostics import fail
from asmevo.ir.abi import KernelDescriptor, KernelMetadata
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Flag, IssueClass
from asmevo.ir.kernel import Block, Kernel

_DROPPABLE = frozenset((IssueClass.WAIT, IssueClass.NOP))
"""Fixed in place while other code is moved, yet added, weakened and removed by passes of their own."""


@dataclass(frozen=True, slots=True)
class Window:
    """What one block's edits come to: the instructions from the first changed to the last, before and after."""

    label: str
    before: tuple[Instruction, ...]
    after: tuple[Instruction, ...]


class Rewriter:
    """Edits a kernel; the kernel it began with is never touched.

    Instructions are named by block label and uid. An inserted instruction (uid -1) gets the next free uid; an edited one
    keeps its own. Every method raises DiagnosticError E0311 (unknown label or uid, or a uid used twice), E0312 (frozen
    block) or E0313 (an instruction that must stay was dropped, moved or displaced) and then changes nothing.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._original = kernel
        self._blocks = {block.label: block for block in kernel.blocks}
        self._uids = {instruction.uid: block.label for block in kernel.blocks for instruction in block.instructions}
        self._next_uid = max(self._uids, default=-1) + 1
        self._declared = kernel.descriptor, kernel.metadata

    @property
    def kernel(self) -> Kernel:
        """The kernel with the edits so far; the original object itself when there are none."""
        original, (descriptor, metadata) = self._original, self._declared
        blocks = tuple(self._blocks.values())
        if (blocks, descriptor, metadata) == (original.blocks, original.descriptor, original.metadata):
            return original
        return replace(original, blocks=blocks, descriptor=descriptor, metadata=metadata)

    def declare(self, descriptor: KernelDescriptor, metadata: KernelMetadata | None) -> None:
        """Gives the kernel another descriptor, with the metadata that goes with it."""
        self._declared = descriptor, metadata

    @property
    def edits(self) -> tuple[Window, ...]:
        """One window for each changed block, in layout order, against the kernel the rewriter began with."""
        windows: list[Window] = []
        for before in self._original.blocks:
            after = self._blocks[before.label]
            if after.instructions != before.instructions:
                windows.append(_window(before, after))
        return tuple(windows)

    def replace_block_instructions(self, label: str, instructions: Sequence[Instruction]) -> None:
        """Gives a block new contents: any order, edits, additions and removals of what may move."""
        block = self._editable(label)
        self._commit([(block, self._numbered(instructions))])

    def take_blocks(self, version: Kernel) -> None:
        """Gives each block that differs the contents that it has in `version`, a kernel with the same blocks."""
        for before, after in zip(self.kernel.blocks, version.blocks, strict=True):
            if before.instructions != after.instructions:
                self.replace_block_instructions(after.label, after.instructions)

    def insert(self, label: str, index: int, instructions: Sequence[Instruction]) -> None:
        """Puts instructions before the one at `index`; an index of the block's length appends."""
        block = self._editable(label)
        if not 0 <= index <= len(block.instructions):
            fail("E0311", f"block {label} has {len(block.instructions)} instructions, no place {index}")
        members = block.instructions
        self._commit([(block, (*members[:index], *self._numbered(instructions), *members[index:]))])

    def erase(self, uid: int) -> None:
        """Removes an instruction."""
        self.replace(uid, ())

    def replace(self, uid: int, instructions: Sequence[Instruction]) -> None:
        """Puts instructions in the place of one; one of them may keep its uid."""
        block, index = self._find(uid)
        members = block.instructions
        self._commit([(block, (*members[:index], *self._numbered(instructions), *members[index + 1 :]))])

    def move(self, uid: int, label: str, index: int) -> None:
        """Moves an instruction to before the one that is at `index` of block `label`, counted once it is taken out.

        Raises: as the class says; E0313 also for a fixed instruction, which never moves.
        """
        source, at = self._find(uid)
        destination = self._editable(label)
        moved = source.instructions[at]
        if _is_pinned(moved):
            fail("E0313", f"{moved.mnemonic} (uid {uid}) is fixed in its place", moved.span)
        rest = (*source.instructions[:at], *source.instructions[at + 1 :])
        target = rest if destination is source else destination.instructions
        if not 0 <= index <= len(target):
            fail("E0311", f"block {label} has no place {index}")
        placed = (*target[:index], moved, *target[index:])
        self._commit([(source, placed)] if destination is source else [(source, rest), (destination, placed)])

    # ---- checks ----

    def _editable(self, label: str) -> Block:
        block = self._blocks.get(label)
        if block is None:
            fail("E0311", f"there is no block {label}")
        if block.frozen:
            fail("E0312", f"block {label} is frozen", help="frozen blocks hold data or code at a fixed address")
        return block

    def _find(self, uid: int) -> tuple[Block, int]:
        label = self._uids.get(uid)
        if label is None:
            fail("E0311", f"there is no instruction with uid {uid}")
        block = self._editable(label)
        return block, next(index for index, member in enumerate(block.instructions) if member.uid == uid)

    def _numbered(self, instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
        numbered: list[Instruction] = []
        for instruction in instructions:
            if instruction.uid < 0:
                # Numbers are not given back when an edit is refused: a gap is harmless, a number used twice is not.
                instruction = replace(instruction, uid=self._next_uid, encoding=None, offset=None)
                self._next_uid += 1
            numbered.append(instruction)
        return tuple(numbered)

    def _commit(self, changes: Sequence[tuple[Block, tuple[Instruction, ...]]]) -> None:
        touched = {block.label for block, _ in changes}
        placed: dict[int, str] = {}
        for block, members in changes:
            _check_pinned(block, members)
            for member in members:
                uid = member.uid
                if uid in placed or self._uids.get(uid, block.label) not in touched:
                    fail("E0311", f"{member.mnemonic} would stand twice with uid {uid}", member.span)
                placed[uid] = block.label
        for block, members in changes:
            for member in block.instructions:
                self._uids.pop(member.uid, None)
            self._blocks[block.label] = replace(block, instructions=members)
        self._uids.update(placed)
        self._next_uid = max(self._next_uid, max(placed, default=-1) + 1)


def _is_pinned(instruction: Instruction) -> bool:
    definition = instruction.definition
    if definition is None or definition.is_branch or definition.is_terminator:
        return True
    return Flag.FIXED in definition.flags and definition.issue not in _DROPPABLE


def _check_pinned(block: Block, members: tuple[Instruction, ...]) -> None:
    """Refuses `members` when they drop, reorder or change the target of what must stay, or move the block's end."""
    before = [member for member in block.instructions if _is_pinned(member)]
    kept = {member.uid for member in before}
    after = [member for member in members if member.uid in kept]
    for index, member in enumerate(before):
        if index >= len(after) or after[index].uid != member.uid:
            fail("E0313", f"{member.mnemonic} (uid {member.uid}) must stay in block {block.label}, in its order", member.span)
        if member.ends_block and (after[index].mnemonic, after[index].operands) != (member.mnemonic, member.operands):
            fail("E0313", f"{member.mnemonic} (uid {member.uid}) must stay as it is: it ends block {block.label}", member.span)
    ending = block.instructions[-1].uid if block.instructions and block.instructions[-1].ends_block else None
    for index, member in enumerate(members):
        is_last = index == len(members) - 1
        if member.ends_block and (member.uid != ending or not is_last):
            fail("E0313", f"{member.mnemonic} may stand only at the end of block {block.label}, where it was", member.span)
        if member.definition is None:
            fail("E0313", f"{member.mnemonic} has no definition and may not be added to block {block.label}", member.span)


def _window(before: Block, after: Block) -> Window:
    old, new = before.instructions, after.instructions
    shortest = min(len(old), len(new))
    head = 0
    while head < shortest and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shortest - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Window(before.label, old[head : len(old) - tail], new[head : len(new) - tail])
