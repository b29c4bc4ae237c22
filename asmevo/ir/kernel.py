"""Block and kernel: a compiled kernel as plain, immutable data.

Blocks stand in layout order. A kernel is changed only through `ir.rewriter`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asmevo.ir.abi import KernelDescriptor, KernelMetadata
from asmevo.ir.instruction import Instruction


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block: one entry at its label, control flow only at its end.

    `successors` are labels in the order (branch target, fall-through). `frozen` blocks hold data or instructions that
    AsmEvo does not understand, or sit at a fixed address (a preload prologue); no pass may touch them.
    """

    label: str
    instructions: tuple[Instruction, ...]
    successors: tuple[str, ...] = ()
    frozen: bool = False
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel. `roots` are the labels where waves can start (two with a kernarg-preload prologue)."""

    name: str
    target: str
    blocks: tuple[Block, ...]
    roots: tuple[str, ...]
    descriptor: KernelDescriptor | None = None
    metadata: KernelMetadata | None = None

    def block(self, label: str) -> Block:
        """The block with this label; KeyError when there is none."""
        for block in self.blocks:
            if block.label == label:
                return block
        raise KeyError(label)

    def instructions(self) -> Iterator[Instruction]:
        """All instructions in layout order."""
        for block in self.blocks:
            yield from block.instructions
