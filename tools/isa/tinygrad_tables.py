"""Compares the tables with tinygrad's operand tables (MIT), which are made from AMD's machine-readable ISA of CDNA4.

Widths and operand kinds only: that source has neither roles nor implicit operands.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

from asmevo.ir.isa import permitted_bits, variants
from asmevo.ir.isa.model import Encoding, Flag, OpcodeDef
from asmevo.ir.isa.operands import operand_class
from tools.isa.differences import Difference

SOURCE = "tinygrad"
TARGET = "gfx950"
MODULE = "tinygrad.runtime.autogen.amd.cdna.operands"
# The manual's name, where the assembler's is another.
_NAMES = {"v_accvgpr_read": "v_accvgpr_read_b32", "v_accvgpr_write": "v_accvgpr_write_b32"}
_FIELDS = {"addr": "vaddr", "data": "vdata", "vsrc1": "src1", "scale_src0": "scale0", "scale_src1": "scale1"}
# Fields of the encoding that hold something else than their name says.
_OTHER_NAMES = {
    "simm16": ("hwreg", "imm32"),
    "sdst": ("ssrc0",),
    "vdst": ("sdst",),
    "sdata": ("imm",),
    "ssrc1": ("gpr_idx",),
}
_SHORT = ("VOP1Op", "VOP2Op", "VOPCOp")
# What each of the source's operand types is here; several where the source does not tell them apart.
_CLASSES: Mapping[str, frozenset[str]] = {
    "OPR_VGPR": frozenset({"vgpr"}),
    "OPR_SRC_VGPR": frozenset({"vgpr"}),
    "OPR_VGPR_OR_LDS": frozenset({"vgpr"}),
    "OPR_ACCVGPR": frozenset({"agpr"}),
    "OPR_SRC_ACCVGPR": frozenset({"agpr"}),
    "OPR_VGPR_OR_ACCVGPR": frozenset({"vector", "even-vector"}),
    "OPR_SRC_VGPR_OR_ACCVGPR": frozenset({"vector"}),
    "OPR_SRC_VGPR_OR_ACCVGPR_OR_CONST": frozenset({"accumulator"}),
    "OPR_SRC": frozenset({"src"}),
    "OPR_SRC_NOLDS": frozenset({"src"}),
    "OPR_SRC_NOLIT": frozenset({"src-nolit"}),
    "OPR_SRC_SIMPLE": frozenset({"src-nolit"}),
    "OPR_SSRC": frozenset({"ssrc"}),
    "OPR_SSRC_NOLIT": frozenset({"ssrc-nolit"}),
    "OPR_SSRC_LANESEL": frozenset({"ssrc-nolit"}),
    "OPR_SREG": frozenset({"sreg", "sgpr", "mask"}),
    "OPR_SDST": frozenset({"sreg", "mask"}),
    "OPR_SREG_NOVCC": frozenset({"sreg-no-m0"}),
    "OPR_SMEM_OFFSET": frozenset({"smem-offset"}),
    **{
        name: frozenset({"immediate"})
        for name in (
            "OPR_SIMM4",
            "OPR_SIMM8",
            "OPR_SIMM16",
            "OPR_LABEL",
            "OPR_HWREG",
            "OPR_SENDMSG",
            "OPR_WAITCNT",
        )
    },
}


def unavailable() -> str:
    """Why the comparison cannot be made here; empty when it can."""
    found = importlib.util.find_spec("tinygrad")
    return "" if found else "tinygrad is not installed (pip install tinygrad)"


def differences() -> Iterator[Difference]:
    """All differences, on gfx950."""
    operands: Mapping[Any, Mapping[str, tuple[Any, int, Any]]] = importlib.import_module(MODULE).OPERANDS
    for opcode, fields in operands.items():
        kind = type(opcode).__name__
        name = _mnemonic(opcode.name)
        found = [definition for definition in variants(name) if TARGET in definition.targets]
        if not found:
            yield Difference(SOURCE, TARGET, name, "exists", "no", kind)
            continue
        yield from _compare(kind, name, found, fields)


def _mnemonic(name: str) -> str:
    plain = name.lower()
    # A VOP3 opcode of a shorter instruction carries a suffix in some of the source's enumerations.
    for suffix in ("_e32", "_e64"):
        plain = plain.removesuffix(suffix)
    return _NAMES.get(plain, plain.replace("v_mad_mix", "v_fma_mix"))


def _encoding(kind: str, definition: OpcodeDef) -> Encoding | None:
    wanted = Encoding.E32 if kind in _SHORT else Encoding.E64
    if wanted in definition.encodings:
        return wanted
    return Encoding.ONLY if Encoding.ONLY in definition.encodings else None


def _compare(kind: str, name: str, found: list[OpcodeDef], fields: Mapping[str, tuple[Any, int, Any]]) -> Iterator[Difference]:
    encoding = _encoding(kind, found[0])
    if encoding is None:
        yield Difference(SOURCE, TARGET, name, "encoding", "no", kind)
        return
    # The form with most operands: the one that returns a value, or writes registers rather than LDS.
    definition = max(found, key=lambda d: len(d.operands))
    names = [spec.name for spec in definition.operands]
    for field, (_, bits, takes) in fields.items():
        ours = _our_name(field, definition)
        if ours not in names:
            yield Difference(SOURCE, TARGET, name, f"operand {field}", "no", takes.name)
            continue
        index = names.index(ours)
        spec = definition.operands[index]
        width = -(-bits // 32) * 32
        widest = max(permitted_bits(definition, index))
        if widest and width != widest:
            yield Difference(SOURCE, TARGET, name, f"{field} bits", str(widest), str(width))
        mine = operand_class(definition, index, encoding)
        if mine.name not in _CLASSES[takes.name]:
            yield Difference(SOURCE, TARGET, name + encoding.value, f"{field} takes", mine.name, takes.name)
    theirs = {_our_name(field, definition) for field in fields}
    for index, spec in enumerate(definition.operands):
        # What is printed but not encoded, as the source tells only what is encoded.
        fixed = operand_class(definition, index, encoding).fixed
        if spec.name not in theirs and not fixed:
            yield Difference(SOURCE, TARGET, name, f"operand {spec.name}", "yes", "no")


def _our_name(field: str, definition: OpcodeDef) -> str:
    names = {spec.name for spec in definition.operands}
    candidates = [_FIELDS.get(field, field), *_OTHER_NAMES.get(field, ())]
    if field == "src2" and Flag.SMFMAC in definition.flags:
        candidates = ["idx"]
    return next((name for name in candidates if name in names), field)
