"""An instruction as wait-state rules see it: which rules it may produce or consume for, and with which registers.

Owns this checker's own reading of the fact table `ir.isa.hazards`, `Part` by `Part`; it shares no code with the analysis that
passes use. It must not search code: `verify.static.hazards` does.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Immediate, Instruction, Register, Symbolic
from asmevo.ir.isa.hazards import Op, Part, operations, passes_of, rules_for
from asmevo.ir.isa.model import Flag, IssueClass, OpcodeDef, Role
from asmevo.ir.memo import by_text
from asmevo.ir.registers import EXEC_MASK, EXECZ, FLAT_SCRATCH, M0, TTMP, VCC_MASK, VCCZ, VECTOR_MASK

EVERYTHING = -1
"""The unit set of an instruction as a whole."""

_SCALARS = ((1 << FLAT_SCRATCH) - 1) | VCC_MASK | (((1 << 16) - 1) << TTMP)
_HWREG = re.compile(r"hwreg\(\s*(\w+)\s*(?:,\s*(\d+)\s*,\s*(\d+)\s*)?\)", re.IGNORECASE)
_HWREG_NAMES = (
    "HW_REG_MODE", "HW_REG_STATUS", "HW_REG_TRAPSTS", "HW_REG_HW_ID", "HW_REG_GPR_ALLOC", "HW_REG_LDS_ALLOC", "HW_REG_IB_STS",
    "HW_REG_SH_MEM_BASES", "HW_REG_XCC_ID",
)  # fmt: skip
_VSKIP_BIT = 28
_MODE_NAMES = ("HW_REG_MODE", "1")
_TRAPSTS_NAMES = ("HW_REG_TRAPSTS", "3")


class Kind(enum.Enum):
    """What waits behind a matrix instruction, and how long."""

    MATRIX = "matrix"
    PACKED = "packed float or dot"
    OTHER = "other"


class HazardStep(NamedTuple):
    """An instruction as the data-flow sees it; all of the same text share one. `mnemonic` is its definition's.

    `produces` and `consumes` map rule numbers to unit sets; `produced` and `consumed` are their rule numbers as bit sets,
    `gives` and `takes` all register units in them. `lifetime` is the most slots that any of its rules asks for, `slots` how
    many it takes, `passes` how long the matrix unit and `clears` how many pass until a packed one may follow it; `overwrites`
    are the scalars that the SALU surely overwrites.
    """

    mnemonic: str
    produced: int
    produces: Mapping[int, int]
    gives: int
    consumed: int
    consumes: Mapping[int, int]
    takes: int
    lifetime: int
    slots: int
    passes: int
    clears: int
    kind: Kind
    overwrites: int


class _Rules(NamedTuple):
    """Rules that look at the same part: their numbers, also as a bit set, and as producers the most states they ask for."""

    part: Part
    is_dpp: bool
    numbers: tuple[int, ...]
    bits: int
    most: int


NOT_REGISTERS = frozenset({Part.ALL, Part.HWREG, Part.TRAPSTS, Part.VSKIP})
"""Parts whose unit sets are not of registers."""


@lru_cache(maxsize=8)
def unnamed_rules(target: str) -> int:
    """Return the numbers, as a bit set, of the rules of `rules_for(target)` that may apply with no register in common."""
    parts = ((rule.produced, rule.consumed) for rule in rules_for(target))
    return sum(1 << number for number, both in enumerate(parts) if not NOT_REGISTERS.isdisjoint(both))


_SCALAR_WRITES = frozenset({Part.SCALAR_WRITES, Part.EXEC_WRITES, Part.M0_WRITES, Part.VCC_OR_EXEC_WRITES})
_SCALAR_SOURCES = frozenset(
    {
        *(Part.SCALAR_READS, Part.EXEC_CONSTANT, Part.CONSTANTS, Part.VCC_CONSTANT, Part.MASK, Part.ZERO_FLAGS),
        Part.LANE_SELECT,
    }
)


@lru_cache(maxsize=1024)
def _applicable(
    found: frozenset[Op], passes: int, target: str, writes_scalars: bool, reads_scalars: bool
) -> tuple[tuple[_Rules, ...], tuple[_Rules, ...]]:
    """Return the rules that a class of instructions may fall under: as producer, and as consumer."""
    empty = set[Part]()
    if not writes_scalars:
        empty |= _SCALAR_WRITES
    if not reads_scalars:
        empty |= _SCALAR_SOURCES
    producing: dict[tuple[Part, bool], list[tuple[int, int]]] = {}
    consuming: dict[tuple[Part, bool], list[tuple[int, int]]] = {}
    for number, rule in enumerate(rules_for(target)):
        most = max(rule.documented.at(passes), rule.llvm.at(passes))
        if rule.producer in found and most > 0 and rule.produced not in empty:
            producing.setdefault((rule.produced, False), []).append((number, most))
        if rule.consumer in found and rule.consumed not in empty:
            is_dpp = rule.consumer is Op.DPP and rule.consumed is Part.READS
            consuming.setdefault((rule.consumed, is_dpp), []).append((number, most))
    return _by_part(producing), _by_part(consuming)


def _by_part(table: dict[tuple[Part, bool], list[tuple[int, int]]]) -> tuple[_Rules, ...]:
    return tuple(
        _Rules(part, is_dpp, tuple(n for n, _ in found), sum(1 << n for n, _ in found), max(most for _, most in found))
        for (part, is_dpp), found in table.items()
    )


@by_text
def hazard_step(i: Instruction, target: str) -> HazardStep:
    """Return an instruction's part in the rules of `rules_for(target)`, which it numbers by position.

    Data (no definition) takes one slot and no part.
    """
    definition = i.definition
    if definition is None:
        return HazardStep("", 0, {}, 0, 0, {}, 0, 0, 1, 0, 0, Kind.OTHER, 0)
    modifiers = {modifier.name: modifier.value for modifier in i.modifiers}
    found = operations(definition, i.mnemonic, modifiers)
    passes = passes_of(definition, modifiers, target.split(":")[0])
    produces: dict[int, int] = {}
    consumes: dict[int, int] = {}
    lifetime = produced = consumed = gives = takes = 0
    units: dict[Part, int] = {}
    sources = _sources(i, definition)
    touched = effects(i)
    writes_scalars, reads_scalars = bool(touched.writes & ~VECTOR_MASK), bool((sources[0] | sources[1]) & ~VECTOR_MASK)
    producing, consuming = _applicable(found, passes, target, writes_scalars, reads_scalars)
    for part, _, numbers, bits, most in producing:
        mask = units[part] = _part(i, definition, part, sources, touched.writes)
        if mask:
            produces.update(dict.fromkeys(numbers, mask))
            produced |= bits
            lifetime = max(lifetime, most)
            gives |= 0 if part in NOT_REGISTERS else mask
    for part, is_dpp, numbers, bits, _ in consuming:
        if is_dpp:
            # Only the first source of DPP passes through the lane permutation.
            mask = _registers(i, definition).get("src0", 0) & VECTOR_MASK
        else:
            mask = units[part] if part in units else _part(i, definition, part, sources, touched.writes)
        if mask:
            consumes.update(dict.fromkeys(numbers, mask))
            consumed |= bits
            takes |= 0 if part in NOT_REGISTERS else mask
    slots = 1
    if definition.mnemonic == "s_nop" and isinstance(i.operands[0], Immediate):
        slots = (i.operands[0].value & 15) + 1
    overwrites = touched.kills & ~VECTOR_MASK if definition.issue is IssueClass.SALU else 0
    return HazardStep(
        definition.mnemonic, produced, produces, gives, consumed, consumes, takes,
        lifetime, slots, passes, _clears(i, definition, passes), _kind(definition), overwrites,
    )  # fmt: skip


def _clears(i: Instruction, definition: OpcodeDef, passes: int) -> int:
    """Not before slot N + 2, or N + 3 when the first source has four registers. Source: LLVM PR 233721, from thread traces."""
    is_wide = passes and _registers(i, definition).get("src0", 0).bit_count() >= 4
    return passes + (2 if is_wide else 1) if passes else 0


def _kind(definition: OpcodeDef) -> Kind:
    if definition.issue is IssueClass.MATRIX:
        return Kind.MATRIX
    return Kind.PACKED if Flag.PACKED_F32 in definition.flags or Flag.DOT in definition.flags else Kind.OTHER


def _registers(i: Instruction, definition: OpcodeDef) -> dict[str, int]:
    return {
        spec.name: operand.range.mask
        for spec, operand in zip(definition.operands, i.operands, strict=True)
        if isinstance(operand, Register)
    }


def _part(i: Instruction, definition: OpcodeDef, part: Part, sources: tuple[int, int], writes: int) -> int:
    """The units of a part; all ones for the whole instruction, bits of their own for hardware registers.

    `sources` is what `_sources` gives, `writes` all units written.
    """
    if part is Part.ALL:
        return EVERYTHING
    if part in (Part.HWREG, Part.TRAPSTS, Part.VSKIP):
        return _hardware_register(i, part)
    if part in (Part.SRC_C, Part.SRC_AB, Part.DATA, Part.DATA_WITHOUT_SOFFSET, Part.LANE_SELECT):
        return _named(i, definition, part)
    if part in _WRITTEN:
        return writes & _WRITTEN[part]
    return _read(part, *sources)


_WRITTEN = {
    Part.WRITES: VECTOR_MASK,
    Part.SCALAR_WRITES: _SCALARS,
    Part.EXEC_WRITES: EXEC_MASK,
    Part.M0_WRITES: 1 << M0,
    Part.VCC_OR_EXEC_WRITES: VCC_MASK | EXEC_MASK,
}


def _sources(i: Instruction, definition: OpcodeDef) -> tuple[int, int]:
    """Source operands, told apart into plain ones and the lane mask or carry; implicit VCC is a mask."""
    plain = mask = 0
    carry = len(definition.operands) - 1 if Flag.CARRY_IN in definition.flags else -1
    for number, (operand, spec) in enumerate(zip(i.operands, definition.operands, strict=True)):
        if not isinstance(operand, Register) or spec.role is Role.WRITE:
            continue
        if number == carry:
            mask |= operand.range.mask
        else:
            plain |= operand.range.mask
    return plain, mask | definition.implicit_reads & VCC_MASK


def _read(part: Part, plain: int, mask: int) -> int:
    if part is Part.READS:
        return plain & VECTOR_MASK
    if part is Part.SCALAR_READS:
        return (plain | mask) & _SCALARS
    if part is Part.EXEC_CONSTANT:
        return plain & EXEC_MASK
    if part is Part.CONSTANTS:
        return plain & _SCALARS & ~VCC_MASK
    if part is Part.VCC_CONSTANT:
        return plain & VCC_MASK
    if part is Part.MASK:
        return mask & _SCALARS
    flags = (VCC_MASK if plain >> VCCZ & 1 else 0) | (EXEC_MASK if plain >> EXECZ & 1 else 0)
    return flags


_STORE_DATA = frozenset({"vdata", "data", "data0", "data1", "vsrc", "src"})


def _named(i: Instruction, definition: OpcodeDef, part: Part) -> int:
    units = _registers(i, definition)
    if part is Part.SRC_C:
        return units.get("vdst" if Flag.SMFMAC in definition.flags else "src2", 0) & VECTOR_MASK
    if part is Part.SRC_AB:
        return (units.get("src0", 0) | units.get("src1", 0) | units.get("idx", 0)) & VECTOR_MASK
    if part is Part.LANE_SELECT:
        return units.get("src1", 0) & _SCALARS
    if part is Part.DATA_WITHOUT_SOFFSET and "soffset" in units:
        return 0
    data = 0
    for name in _STORE_DATA & units.keys():
        data |= units[name]
    return data & VECTOR_MASK


@lru_cache(maxsize=256)
def _hwreg(text: str) -> tuple[str, int, int]:
    found = _HWREG.match(text)
    if found is None:
        return "", 0, 32
    return found[1].upper(), int(found[2] or 0), int(found[3] or 32)


def _hardware_register(i: Instruction, part: Part) -> int:
    if i.mnemonic == "s_setvskip":
        return 1 if part is Part.VSKIP else 0
    for operand in i.operands:
        if isinstance(operand, Symbolic) and operand.text.lower().startswith("hwreg"):
            name, offset, size = _hwreg(operand.text)
            if part is Part.TRAPSTS:
                return 1 if name in _TRAPSTS_NAMES else 0
            if part is Part.VSKIP:
                return 1 if name in _MODE_NAMES and offset <= _VSKIP_BIT < offset + size else 0
            return 1 << _HWREG_NAMES.index(name) if name in _HWREG_NAMES else EVERYTHING
    return 0
