"""Padding behind a kernel's code, which listings of objects spell out.

Owns only what no path can reach: a filler inside the code stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

from asmevo.ir.isa.model import IssueClass
from asmevo.ir.kernel import Block, Kernel


def without_padding(kernel: Kernel) -> Kernel:
    """Return the kernel without last blocks of s_nop alone that are no root and that no block before them leads to."""
    blocks = kernel.blocks
    places = {block.label: index for index, block in enumerate(blocks)}
    # Padding begins behind all code, all roots, and all that code leads to; a block kept here may lead to the next.
    start = 1 + max((index for index, block in enumerate(blocks) if not _is_filler(block)), default=-1)
    start = max([start, *(places[label] + 1 for label in kernel.roots if label in places)])
    wanted = 0
    while wanted < start:
        block = blocks[wanted]
        start = max([start, *(places[label] + 1 for label in block.successors if label in places)])
        wanted += 1
    return kernel if start == len(blocks) else replace(kernel, blocks=blocks[:start])


def _is_filler(block: Block) -> bool:
    return all(one.definition is not None and one.definition.issue is IssueClass.NOP for one in block.instructions)
