"""Small hand-written kernels and launches for the emulator's tests."""

from __future__ import annotations

import numpy as np

from asmevo.backend.launch import Buffer, Dispatch, PointerSlot
from asmevo.frontend.parser import parse_line
from asmevo.ir.instruction import Instruction, Label
from asmevo.ir.isa import lookup
from asmevo.ir.kernel import Block, Kernel

BRANCHES = ("s_branch", "s_cbranch_")


def kernel(text: str) -> Kernel:
    """A kernel from lines; `name:` begins a block, s_endpgm is added at the end. s[0:1] is the kernarg, s2 the group."""
    blocks: list[tuple[str, list[Instruction]]] = [("entry", [])]
    uid = 0
    for line in (*text.strip().splitlines(), "s_endpgm"):
        line = line.strip()
        if not line:
            continue
        if line.endswith(":"):
            blocks.append((line[:-1], []))
            continue
        if line.startswith(BRANCHES):
            mnemonic, label = line.split()
            made = Instruction(mnemonic, (Label(label),), (), lookup(mnemonic), uid=uid)
        else:
            parsed = parse_line(line)
            made = Instruction(parsed.mnemonic, parsed.operands, parsed.modifiers, parsed.definition, uid=uid)
        blocks[-1][1].append(made)
        uid += 1
    return Kernel("small", "gfx942", tuple(Block(label, tuple(body)) for label, body in blocks), ("entry",))


def dispatch(*buffers: Buffer, items: int = 64, groups: int = 1, lds: int = 0, extra: bytes = b"") -> Dispatch:
    """A launch whose kernarg holds the buffers' addresses, then `extra`."""
    slots = tuple(PointerSlot(8 * n, n) for n in range(len(buffers)))
    kernarg = bytes(8 * len(buffers)) + extra
    return Dispatch("small", "small", (groups, 1, 1), (items, 1, 1), kernarg, slots, buffers, lds)


def words(name: str, values: object, *, writable: bool = False) -> Buffer:
    """A buffer of u32."""
    return Buffer(name, np.asarray(values, np.uint32).view(np.uint8), writable)


def output(name: str, count: int) -> Buffer:
    """A poisoned output of `count` u32."""
    return Buffer(name, np.zeros(4 * count, np.uint8), True, defined=False)


POINTERS = """
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
"""
"""s[4:5] and s[6:7] are the two buffers, v1 the item's byte offset."""
