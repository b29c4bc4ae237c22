"""Finds an opcode's facts by mnemonic. Owns the index over the family tables; it must not know operands' values."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from asmevo.ir.isa import ds, flat, matrix, smem, sop, vmem, vop1, vop2, vop3, vop3p, vopc
from asmevo.ir.isa.model import Access, Family, Flag, OpcodeDef
from asmevo.ir.isa.table import Table, compile_table

_SUFFIXES = ("_e32", "_e64", "_sdwa", "_dpp")
_FAMILIES = (sop, smem, vop1, vop2, vop3, vop3p, vopc, matrix, ds, vmem, flat)
_RETURN_BITS = frozenset({"sc0", "glc"})


def tables() -> tuple[Table, ...]:
    """Return all family tables, in the manual's order."""
    return tuple(table for module in _FAMILIES for table in module.tables())


@lru_cache(maxsize=1)
def definitions() -> dict[str, tuple[OpcodeDef, ...]]:
    """Map each base mnemonic to its definitions; several where the printed operands or their roles depend on a modifier."""
    index: dict[str, list[OpcodeDef]] = {}
    for table in tables():
        for definition in compile_table(table):
            index.setdefault(definition.mnemonic, []).append(definition)
    return {mnemonic: tuple(found) for mnemonic, found in index.items()}


def base_mnemonic(mnemonic: str) -> str:
    """Return `mnemonic` without its encoding suffix: v_add_f32 for v_add_f32_e64."""
    for suffix in _SUFFIXES:
        if mnemonic.endswith(suffix):
            return mnemonic[: -len(suffix)]
    return mnemonic


def canonical(mnemonic: str, target: str) -> str:
    """Return how a disassembler prints a mnemonic on `target`: the same, but for the spellings of older assemblers.

    The suffix stays. A mnemonic that is unknown, or that the target does not have, comes back as it is.
    """
    found = lookup(mnemonic)
    if found is None or not found.alias or target not in found.targets:
        return mnemonic
    printed = lookup(found.alias)
    if printed is None or target not in printed.targets:
        return mnemonic
    return printed.mnemonic + mnemonic[len(found.mnemonic) :]


def variants(mnemonic: str) -> tuple[OpcodeDef, ...]:
    """Return every definition of a mnemonic (suffix allowed); empty when it is unknown."""
    return definitions().get(base_mnemonic(mnemonic), ())


def lookup(mnemonic: str) -> OpcodeDef | None:
    """Return the plain definition of a mnemonic (suffix allowed): no return value, no LDS; None when it is unknown."""
    found = variants(mnemonic)
    return found[0] if found else None


@lru_cache(maxsize=16384)
def _resolve(mnemonic: str, operand_count: int, returns: bool, to_lds: bool) -> OpcodeDef | None:
    for definition in variants(mnemonic):
        if len(definition.operands) != operand_count:
            continue
        if definition.access in (Access.ATOMIC, Access.ATOMIC_RETURN) and definition.family is not Family.DS:
            if (definition.access is Access.ATOMIC_RETURN) != returns:
                continue
        elif definition.family in (Family.MUBUF, Family.MTBUF) and (Flag.M0_LDS in definition.flags) != to_lds:
            continue
        return definition
    return None


def resolve(mnemonic: str, operand_count: int, modifier_names: Collection[str] = ()) -> OpcodeDef | None:
    """Return the definition that fits a printed instruction; None if it is unknown or has no form with that many operands.

    `sc0` (`glc`) on an atomic selects the form that returns the old value, `lds` on a buffer access the one that moves data
    between buffer and LDS.
    """
    return _resolve(mnemonic, operand_count, not _RETURN_BITS.isdisjoint(modifier_names), "lds" in modifier_names)


def permitted_bits(definition: OpcodeDef, index: int) -> tuple[int, ...]:
    """Return the register widths that operand `index` may be printed with; (0,) for one that is never a register.

    Addresses are narrower when another operand gives the base: a global address is one register beside an SGPR pair and
    two beside `off`; a buffer address has no, one or two registers by offen and idxen. 0 beside other widths stands for
    `off`. The sources of f8f6f4 matrix instructions have the width of the format that cbsz and blgp name.
    """
    spec = definition.operands[index]
    if definition.family is Family.GLOBAL and spec.name in ("vaddr", "saddr"):
        return (32, 64) if spec.name == "vaddr" else (0, 64)
    if definition.family is Family.SCRATCH and spec.name in ("vaddr", "saddr"):
        return (0, 32)
    if definition.family in (Family.MUBUF, Family.MTBUF) and spec.name == "vaddr":
        return (0, 32, 64)
    if definition.mnemonic.endswith("_f8f6f4") and spec.name in ("src0", "src1"):
        return (128, 192, 256)
    return (spec.bits,)
