"""Edits that are legal by construction: random reorders and renamings, checked by unit sets and memory spaces alone.

Shares no code with the proof, so that the two check each other.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction, Modifier, Register
from asmevo.ir.isa.model import Access, Flag, IssueClass, Role, Space
from asmevo.ir.registers import AGPR0, EXEC_MASK, FLAT_SCRATCH, UNIT_COUNT, VGPR0, RegisterRange, units
from tools.equivalence.windows import CutWindow, is_quiet

_COHERENT = frozenset({"sc0", "sc1", "glc", "scc"})


def reordered(window: CutWindow, source: random.Random, swaps: int) -> tuple[Instruction, ...]:
    """The window after `swaps` tries to exchange two independent neighbours."""
    out = list(window.instructions)
    for _ in range(swaps if len(out) > 1 else 0):
        k = source.randrange(len(out) - 1)
        if are_independent(out[k], out[k + 1]):
            out[k], out[k + 1] = out[k + 1], out[k]
    return tuple(out)


def are_independent(one: Instruction, other: Instruction) -> bool:
    """Whether two neighbours may surely change places."""
    if is_quiet(one) or is_quiet(other):
        return True
    a, b = effects(one), effects(other)
    if a.writes & (b.reads | b.writes) or b.writes & a.reads:
        return False
    spaces = _spaces(one) & _spaces(other)
    return not spaces or (_only_reads(one) and _only_reads(other))


def _spaces(i: Instruction) -> frozenset[str]:
    d = i.definition
    if d is None or d.issue is IssueClass.BARRIER or d.access is Access.FENCE:
        return frozenset({"lds", "memory"})
    if d.space is None:
        return frozenset()
    if d.space is Space.LDS:
        return frozenset({"lds"})
    to_lds = d.access is Access.LDS_DMA or bool(i.modifier("lds"))
    return frozenset({"lds", "memory"}) if d.space is Space.FLAT or to_lds else frozenset({"memory"})


def _only_reads(i: Instruction) -> bool:
    d = i.definition
    if d is None or d.access is not Access.LOAD or i.modifier("lds"):
        return False
    return not any(m.name in _COHERENT for m in i.modifiers)


# Renaming ------------------------------------------------------------------------------------------------------------------


def renamed(window: CutWindow, source: random.Random) -> tuple[tuple[Instruction, ...], int] | None:
    """The window with one register replaced by a free one, and the units that still count; None where none can be.

    The register is written before it is read and dead at the end. A vector one is read by lane-wise instructions only, and EXEC
    does not change in the window.
    """
    exec_changes = any(effects(i).writes & EXEC_MASK for i in window.instructions)
    used = 0
    for i in window.instructions:
        used |= effects(i).reads | effects(i).writes
    candidates = [u for u in units(used & ~window.live_out) if _may_be_renamed(window.instructions, u, exec_changes)]
    if not candidates:
        return None
    old = source.choice(candidates)
    low, high = (0, FLAT_SCRATCH) if old < VGPR0 else (VGPR0, AGPR0) if old < AGPR0 else (AGPR0, UNIT_COUNT)
    free = [u for u in range(low, high) if not (used | window.live_out) >> u & 1]
    if not free:
        return None
    new = source.choice(free)
    return tuple(_with_unit(i, old, new) for i in window.instructions), window.live_out


def _may_be_renamed(window: Sequence[Instruction], unit: int, exec_changes: bool) -> bool:
    vector = unit >= VGPR0
    if (FLAT_SCRATCH <= unit < VGPR0) or (vector and exec_changes):
        return False
    written = False
    for i in window:
        d = i.definition
        if d is None:
            return False
        named = [(o, s) for o, s in zip(i.operands, d.operands, strict=True) if isinstance(o, Register)]
        here = [(o, s) for o, s in named if o.range.mask >> unit & 1]
        effect = effects(i)
        if not here:
            if (effect.reads | effect.writes) >> unit & 1:
                return False
            continue
        if any(o.range.count != 1 for o, _ in here):
            return False
        if vector and (d.issue in (IssueClass.MATRIX, IssueClass.LDS) or Flag.NO_EXEC in d.flags or _crosses(i)):
            return False
        if not written and effect.reads >> unit & 1:
            return False
        if any(s.role is not Role.READ for _, s in here):
            written = True
    return written


def _crosses(i: Instruction) -> bool:
    names = ("lane", "permute", "swizzle", "bpermute", "accvgpr", "_dpp", "swap")
    dpp = (
        "quad_perm",
        "row_shl",
        "row_shr",
        "row_ror",
        "row_bcast",
        "row_newbcast",
        "row_mirror",
        "row_half_mirror",
        "wave_shr",
    )
    return any(name in i.mnemonic for name in names) or any(m.name.startswith(dpp) for m in i.modifiers)


def _with_unit(i: Instruction, old: int, new: int) -> Instruction:
    operands = tuple(
        replace(o, range=RegisterRange(new, 1)) if isinstance(o, Register) and o.range.unit == old and o.range.count == 1 else o
        for o in i.operands
    )
    return i if operands == i.operands else i.edited(operands=operands)


def kept(modifiers: tuple[Modifier, ...], without: str) -> tuple[Modifier, ...]:
    """The modifiers but for one."""
    return tuple(m for m in modifiers if m.name != without)
