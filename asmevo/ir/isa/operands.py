"""What may be printed in an operand's place: register files, named scalar registers, constants; alignment and widths.

Owns the operand classes and which class an operand has in which encoding. The instruction tables name a class only where it is
not the usual one of a family's operand of that name, so this module and a table line together tell an operand's class.

Read-only names (SCC, VCCZ, the apertures) are no destinations here: LLVM takes some of them there and encodes another register.
Sources: AMD CDNA3 ISA guide, chapters 3 and 13; every class is probed against LLVM's assembler by tools/isa.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import lru_cache

from asmevo.ir.isa.model import Encoding, Family, OpcodeDef, OperandSpec
from asmevo.ir.registers import EXEC, FLAT_SCRATCH, M0, TTMP, VCC, XNACK_MASK, RegisterFile, RegisterRange


class Constants(enum.Enum):
    """Which constants an operand takes."""

    NONE = "no constant"
    INLINE = "inline constant"
    LITERAL = "inline constant or 32-bit literal"
    OFFSET = "immediate byte offset"
    IMMEDIATE = "immediate"
    """An immediate field of the encoding, never a register."""


@dataclass(frozen=True, slots=True)
class OperandClass:
    """The registers and constants that an operand takes.

    `named` are the scalar registers by name that it takes beside SGPRs; `source` stands for all read-only ones (SCC, VCCZ,
    EXECZ, apertures). `fixed` is the only text allowed, where there is only one.
    """

    name: str
    files: frozenset[RegisterFile] = frozenset()
    named: frozenset[str] = frozenset()
    constants: Constants = Constants.NONE
    fixed: str = ""


_V, _A, _S = RegisterFile.VGPR, RegisterFile.AGPR, RegisterFile.SGPR
_SAVED = frozenset({"vcc", "flat_scratch", "xnack_mask", "ttmp"})
_EXEC = _SAVED | {"exec"}
_SCALAR = _EXEC | {"m0"}
_READABLE = _SCALAR | {"source"}


def _class(
    name: str, *files: RegisterFile, named: frozenset[str] = frozenset(), takes: Constants = Constants.NONE
) -> OperandClass:
    return OperandClass(name, frozenset(files), named, takes)


CLASSES: dict[str, OperandClass] = {
    found.name: found
    for found in (
        _class("vgpr", _V),
        _class("agpr", _A),
        _class("vector", _V, _A),
        _class("even-vector", _V, _A),
        _class("accumulator", _V, _A, named=frozenset({"source"}), takes=Constants.INLINE),
        _class("src", _V, _S, named=_READABLE, takes=Constants.LITERAL),
        _class("src-nolit", _V, _S, named=_READABLE, takes=Constants.INLINE),
        _class("ssrc", _S, named=_READABLE, takes=Constants.LITERAL),
        _class("ssrc-nolit", _S, named=_READABLE, takes=Constants.INLINE),
        _class("sreg", _S, named=_SCALAR),
        _class("sreg-no-m0", _S, named=_EXEC),
        _class("sgpr", _S, named=_SAVED),
        _class("mask", _S, named=_EXEC),
        _class("smem-offset", _S, named=_SCALAR, takes=Constants.OFFSET),
        _class("immediate", takes=Constants.IMMEDIATE),
        OperandClass("vcc", fixed="vcc"),
        OperandClass("off", fixed="off"),
    )
}
"""Every operand class, by the name that tables and pages use."""

_SCALAR_ALU = {"sdst": "sreg", "ssrc0": "ssrc", "ssrc1": "ssrc"}
_VECTOR_ALU = {"vdst": "vgpr", "sdst": "mask", "src0": "src-nolit", "src1": "src-nolit", "src2": "src-nolit"}
_BUFFER = {"vdata": "vector", "vaddr": "vgpr", "srsrc": "sreg", "soffset": "ssrc-nolit"}
_ADDRESSED = {"vdst": "vector", "vdata": "vector", "vaddr": "vgpr", "saddr": "sgpr"}
_USUAL: dict[Family, dict[str, str]] = {
    Family.SOP1: _SCALAR_ALU,
    Family.SOP2: _SCALAR_ALU,
    Family.SOPC: _SCALAR_ALU,
    Family.SOPK: {"sdst": "sreg", "ssrc0": "sreg"},
    Family.SOPP: {},
    Family.SMEM: {"sdata": "sgpr", "sbase": "sreg", "soffset": "smem-offset"},
    Family.VOP1: _VECTOR_ALU,
    Family.VOP2: _VECTOR_ALU,
    Family.VOP3: _VECTOR_ALU,
    Family.VOP3P: _VECTOR_ALU,
    Family.VOPC: _VECTOR_ALU,
    Family.MATRIX: {
        "vdst": "vector", "src0": "vector", "src1": "vector", "src2": "accumulator",
        "idx": "vgpr", "scale0": "vgpr", "scale1": "vgpr",
    },
    Family.DS: {"vdst": "vector", "addr": "vgpr", "data0": "vector", "data1": "vector"},
    Family.MUBUF: _BUFFER,
    Family.MTBUF: _BUFFER,
    Family.FLAT: _ADDRESSED,
    Family.GLOBAL: _ADDRESSED,
    Family.SCRATCH: _ADDRESSED | {"saddr": "sreg"},
}  # fmt: skip
_NAMED_UNITS = {
    "flat_scratch": range(FLAT_SCRATCH, FLAT_SCRATCH + 2),
    "xnack_mask": range(XNACK_MASK, XNACK_MASK + 2),
    "vcc": range(VCC, VCC + 2),
    "ttmp": range(TTMP, TTMP + 16),
    "m0": range(M0, M0 + 1),
    "exec": range(EXEC, EXEC + 2),
}
_WIDEST_SCALAR_SOURCE_BITS = 64
_SINGLE_BITS = 32


@lru_cache(maxsize=8192)
def operand_class(definition: OpcodeDef, index: int, encoding: Encoding) -> OperandClass:
    """The class of operand `index` as printed in `encoding`, which must be one of the definition's."""
    spec = definition.operands[index]
    name = spec.takes or _USUAL[definition.family].get(spec.name, "immediate")
    return CLASSES[_in_encoding(definition, spec, name, encoding)]


def _in_encoding(definition: OpcodeDef, spec: OperandSpec, name: str, encoding: Encoding) -> str:
    if encoding is Encoding.ONLY:
        # No scalar register or constant is wider than a pair.
        return "vgpr" if name == "src-nolit" and spec.bits > _WIDEST_SCALAR_SOURCE_BITS else name
    if name == "mask" and not (encoding is Encoding.E64 or (encoding is Encoding.SDWA and definition.family is Family.VOPC)):
        return "vcc"
    if name != "src-nolit":
        return name
    if encoding is Encoding.DPP:
        return "vgpr"
    if encoding is Encoding.E32:
        return "src" if spec.name == "src0" else "vgpr"
    return name


def alignment(takes: OperandClass, file: RegisterFile, bits: int) -> int:
    """The multiple that the number of a register, or of the first of a tuple, must be.

    On gfx90a and later vector tuples start at an even register; scalar pairs too, and wider scalar ones at a multiple of four.
    """
    if bits <= _SINGLE_BITS:
        return 2 if takes.name == "even-vector" else 1
    return 4 if file is RegisterFile.SGPR and bits > _WIDEST_SCALAR_SOURCE_BITS else 2


def takes_register(takes: OperandClass, bits: int, place: RegisterRange) -> bool:
    """Whether a register may be printed as an operand of class `takes` and `bits` wide: its file or name, width, alignment.

    Read-only registers (SCC, VCCZ, EXECZ) have one width and fit wherever the class has `source` and a pair at most.
    """
    if place.file is not RegisterFile.SPECIAL:
        aligned = place.index % alignment(takes, place.file, bits) == 0
        return place.file in takes.files and place.count * 32 == bits and aligned
    for name, units in _NAMED_UNITS.items():
        if place.unit in units:
            last = place.unit + place.count - 1
            aligned = (place.unit - units.start) % alignment(takes, RegisterFile.SGPR, bits) == 0
            named = name in takes.named or takes.fixed == name
            return named and last in units and aligned and place.count * 32 == (bits or place.count * 32)
    return "source" in takes.named and (bits <= _WIDEST_SCALAR_SOURCE_BITS or takes.name == "accumulator")


def same_file(definition: OpcodeDef) -> frozenset[str]:
    """Names of the operands that must all be VGPRs or all be AGPRs: one bit of the encoding speaks for them."""
    if definition.family is Family.MATRIX:
        return frozenset({"vdst", "src2"})
    return frozenset({"vdst", "vdata", "data0", "data1"})
