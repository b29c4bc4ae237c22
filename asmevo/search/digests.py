"""Digests of kernels by what they say: equal for the same code and declarations, whatever their history.

Owns the canonical text of a kernel. The same in every process and run, so that they may be kept.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256

from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.printer import print_instruction

_KEPT = 4096
_blocks: OrderedDict[int, tuple[Block, bytes]] = OrderedDict()
"""Digests by the block's identity: a candidate shares most blocks with its parent."""


def kernel_digest(kernel: Kernel) -> str:
    """SHA-256 (hexadecimal) of the blocks' instructions and of what the kernel declares."""
    whole = sha256(f"{kernel.name}\n{kernel.target}\n{kernel.descriptor!r}\n{kernel.metadata!r}\n".encode())
    for block in kernel.blocks:
        whole.update(_block_digest(block))
    return whole.hexdigest()


def is_same(one: Kernel, other: Kernel) -> bool:
    """Whether two kernels say the same."""
    return kernel_digest(one) == kernel_digest(other)


def _block_digest(block: Block) -> bytes:
    found = _blocks.get(id(block))
    if found is not None and found[0] is block:
        return found[1]
    text = "\n".join((block.label, *map(print_instruction, block.instructions)))
    digest = sha256(text.encode()).digest()
    _blocks[id(block)] = block, digest
    if len(_blocks) > _KEPT:
        _blocks.popitem(last=False)
    return digest
