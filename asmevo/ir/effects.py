"""What one instruction reads, writes and surely overwrites, as sets of register units.

Owns the rules that go beyond an opcode's definition: modifiers that keep part of a destination, registers that the operands do
not name, and the modes that make a vector instruction do nothing or touch another register. Memory is not a unit; its
order is told by the definition's `space` and `access`. Source: CDNA3 ISA guide (SDWA, DPP, VSKIP, VGPR indexing).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from asmevo.diagnostics import fail
from asmevo.ir.instruction import Instruction, Modifier, Operand, Register, Symbolic
from asmevo.ir.isa.model import Family, IssueClass, OpcodeDef, Role
from asmevo.ir.memo import by_text
from asmevo.ir.registers import (
    EXEC_MASK,
    EXECZ,
    FLAT_SCRATCH,
    HWREG,
    MODE,
    UNIT_COUNT,
    VCC_MASK,
    VCCZ,
    VECTOR_MASK,
    VGPR_MASK,
    VSKIP,
)

EVERYTHING = (1 << UNIT_COUNT) - 1
SGPR_MASK = (1 << FLAT_SCRATCH) - 1
SCALAR_FAMILIES = frozenset({Family.SOP1, Family.SOP2, Family.SOPK, Family.SOPC, Family.SOPP, Family.SMEM})
"""Every other family is vector: it obeys EXEC and VSKIP."""

_MODE_UNITS = 1 << MODE | 1 << VSKIP
_HWREG_UNITS = _MODE_UNITS | 1 << HWREG
_ALWAYS_IN_ROW = frozenset({"quad_perm", "row_ror", "row_mirror", "row_half_mirror", "row_newbcast", "wave_rol", "wave_ror"})
_MAY_LEAVE_ROW = frozenset({"row_shl", "row_shr", "row_bcast", "wave_shl", "wave_shr"})
_LEAVES_THE_KERNEL = frozenset(
    {"s_setpc_b64", "s_swappc_b64", "s_call_b64", "s_rfe_b64", "s_rfe_restore_b64"}
    | {"s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join"}
)
_PAIR_READERS = frozenset({"v_pk_fma_f32", "v_pk_mul_f32", "v_pk_add_f32", "v_pk_mov_b32"})
"""What takes 32-bit numbers out of pairs of registers, one or both of each."""
_HWREG_ID = re.compile(r"hwreg\(\s*(\w+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Effects:
    """Unit sets of one instruction: `kills` are those it surely overwrites in full, a subset of `writes`."""

    reads: int
    writes: int
    kills: int


OPAQUE = Effects(EVERYTHING, EVERYTHING, 0)
"""Of what is not understood: raw data, calls, jumps to computed addresses."""


def effects(i: Instruction, *, exec_full: bool = False, may_skip: bool = False, indexed: bool = False) -> Effects:
    """Return what `i` reads, writes and kills.

    A vector result is a kill only where EXEC is known to be all ones (`exec_full`), except those of matrix instructions, which
    ignore EXEC, and scalar results. `may_skip`: VSKIP may be set, so a vector instruction may do nothing and kills nothing (see
    `may_skip_vectors`). `indexed`: VGPR indexing may be on, so a vector instruction may touch any VGPR.
    An instruction without definition reads and writes everything. DiagnosticError E0310 if the operands do not fit it.
    """
    if i.definition is None:
        return OPAQUE
    return _effects(i, exec_full, may_skip, indexed) if exec_full or may_skip or indexed else _plain_effects(i)


def may_skip_vectors(instructions: Iterable[Instruction]) -> bool:
    """Whether any of a kernel's instructions may set VSKIP: then no vector instruction of the kernel is a kill."""
    return any(
        i.definition is None
        or i.mnemonic == "s_setvskip"
        or (i.mnemonic.startswith("s_setreg") and _hwreg_units(i.operands) & 1 << VSKIP)
        for i in instructions
    )


@by_text
def _plain_effects(i: Instruction) -> Effects:
    return _compute(i, False, False, False)


@by_text
def _effects(i: Instruction, exec_full: bool, may_skip: bool, indexed: bool) -> Effects:
    return _compute(i, exec_full, may_skip, indexed)


def _compute(i: Instruction, exec_full: bool, may_skip: bool, indexed: bool) -> Effects:
    definition, operands, modifiers = i.definition, i.operands, i.modifiers
    assert definition is not None
    if definition.mnemonic in _LEAVES_THE_KERNEL:
        return OPAQUE
    if len(operands) != len(definition.operands):
        fail("E0310", f"{definition.mnemonic} has {len(operands)} operands, its definition {len(definition.operands)}")
    reads, writes, implicit_writes = definition.implicit_reads, 0, definition.implicit_writes
    for operand, spec in zip(operands, definition.operands, strict=True):
        if isinstance(operand, Register):
            mask = operand.range.mask
            if spec.role is not Role.WRITE:
                reads |= _with_sources(mask)
            if spec.role is not Role.READ:
                writes |= mask
    if definition.family in SCALAR_FAMILIES:
        return _scalar(definition, operands, reads, writes)
    if modifiers and _keeps_destination(definition, modifiers, exec_full):
        reads |= writes & VECTOR_MASK
    reads |= 1 << VSKIP
    unmasked = exec_full or definition.issue is IssueClass.MATRIX
    kills = writes | implicit_writes if unmasked else writes & ~VECTOR_MASK | implicit_writes
    writes |= implicit_writes
    if may_skip:
        kills = 0
    if indexed:
        reads |= VGPR_MASK if reads & VGPR_MASK else 0
        writes |= VGPR_MASK if writes & VGPR_MASK else 0
        kills &= ~VGPR_MASK
    return Effects(reads, writes, kills)


def unread_halves(i: Instruction) -> int:
    """Units that `effects` counts as read, since the operand names them, and whose values an instruction does not use.

    Packed 32-bit arithmetic takes its numbers out of pairs of registers: op_sel picks one for the low result, op_sel_hi one for
    the high result. v_pk_mov_b32 takes the low result from the first source and the high one from the second, as op_sel says.
    """
    definition = i.definition
    if definition is None or definition.mnemonic not in _PAIR_READERS:
        return 0
    values = {modifier.name: modifier.value for modifier in i.modifiers}
    sources = i.operands[1:]
    low, high = (_flags(values.get(name), len(sources), default) for name, default in (("op_sel", 0), ("op_sel_hi", 1)))
    if definition.mnemonic == "v_pk_mov_b32":
        high = low
    named = used = 0
    for operand, *halves in zip(sources, low, high, strict=True):
        if isinstance(operand, Register):
            lowest = operand.range.mask & -operand.range.mask
            named |= operand.range.mask
            used |= lowest << halves[0] | lowest << halves[1]
    return named & ~used


def _flags(value: object, count: int, default: int) -> tuple[int, ...]:
    given = cast("tuple[int, ...]", value) if isinstance(value, tuple) else ()
    return (given + (default,) * count)[:count]


def _with_sources(mask: int) -> int:
    """Add to a read unit set what VCCZ and EXECZ are made from."""
    if mask >> VCCZ & 1:
        mask |= VCC_MASK
    if mask >> EXECZ & 1:
        mask |= EXEC_MASK
    return mask


def _scalar(definition: OpcodeDef, operands: tuple[Operand, ...], reads: int, writes: int) -> Effects:
    mnemonic = definition.mnemonic
    implicit = definition.implicit_writes
    if mnemonic.startswith(("s_setreg", "s_getreg")):
        # The operand says which hardware register, and a field of it only is written: no kill.
        named = _hwreg_units(operands)
        return Effects(reads & ~_HWREG_UNITS | named, writes | implicit & named, writes)
    if mnemonic.startswith("s_movrels"):
        return Effects(reads | SGPR_MASK, writes, writes)
    if mnemonic.startswith("s_movreld"):
        return Effects(reads | SGPR_MASK, writes | SGPR_MASK, 0)
    # Mode changes touch some bits of MODE only.
    return Effects(reads, writes | implicit, writes | implicit & ~_MODE_UNITS)


def _hwreg_units(operands: tuple[Operand, ...]) -> int:
    """Return the units behind a hwreg operand; all that one may name when it cannot be read."""
    for operand in operands:
        if isinstance(operand, Symbolic) and (found := _HWREG_ID.match(operand.text)):
            name = found[1].upper()
            if name in ("HW_REG_MODE", "1"):
                return _MODE_UNITS
            return 1 << HWREG if name.startswith("HW_REG_") or name.isdigit() else _HWREG_UNITS
    return _HWREG_UNITS


def _keeps_destination(definition: OpcodeDef, modifiers: tuple[Modifier, ...], exec_full: bool) -> bool:
    """Whether modifiers leave part of the destination as it was: SDWA, DPP and a half-register result."""
    values = {modifier.name: modifier.value for modifier in modifiers}
    if values.get("dst_sel", "DWORD") != "DWORD" and values.get("dst_unused", "UNUSED_PRESERVE") == "UNUSED_PRESERVE":
        return True
    leaves_row = not _MAY_LEAVE_ROW.isdisjoint(values)
    if leaves_row or not _ALWAYS_IN_ROW.isdisjoint(values):
        if values.get("row_mask", 15) != 15 or values.get("bank_mask", 15) != 15:
            return True
        # Without bound_ctrl a lane whose source lane does not exist, or is switched off, keeps its old value.
        return "bound_ctrl" not in values and (leaves_row or not exec_full)
    op_sel = values.get("op_sel")
    if definition.family is Family.VOP3 and isinstance(op_sel, tuple):
        sources = sum(spec.role is Role.READ for spec in definition.operands)
        return len(op_sel) > sources and bool(op_sel[-1])
    return False
