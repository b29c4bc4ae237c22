"""Every table line against LLVM's assembler: the shape it gives is accepted, one with a register a dword too wide is not."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from asmevo.backend.assembler import assemble
from asmevo.frontend.disassembler import disassemble
from asmevo.frontend.line import parse_line
from asmevo.frontend.llvm import assemble_object
from asmevo.ir.instruction import Register
from asmevo.ir.isa import definitions, permitted_bits
from asmevo.ir.isa.model import Access, Family, OpcodeDef

TARGETS = ("gfx90a", "gfx942", "gfx950")
SCALAR_NAMES = {"sdst", "ssrc0", "ssrc1", "sdata", "sbase", "soffset", "srsrc", "saddr"}
LANE_SELECTS = {"v_readlane_b32": ("src1",), "v_writelane_b32": ("src0", "src1")}
WORDS = {"hwreg": "hwreg(HW_REG_MODE)", "gpr_idx": "gpr_idx(SRC0)", "imm32": "0x1234"}
MANY_ENCODINGS = {Family.VOP1, Family.VOP2, Family.VOPC}
# Spellings of gfx90a that the assembler takes for an instruction of another shape on later chips.
REUSED_SPELLINGS = {"v_mfma_f32_32x32x4bf16"}
# The assembler takes any width here (more data registers than a wave sync reads), so a wrong one proves nothing.
LAX = ("ds_gws_",)


def file_of(definition: OpcodeDef, index: int) -> str:
    """The register file that an operand of the definition is written with here."""
    name, mnemonic = definition.operands[index].name, definition.mnemonic
    if name in SCALAR_NAMES or name in LANE_SELECTS.get(mnemonic, ()):
        return "s"
    if definition.family is Family.VOP2 and name == "src2" and definition.operands[index].bits == 64:
        return "s"
    accumulation = {"v_accvgpr_mov_b32": ("vdst", "src0"), "v_accvgpr_read_b32": ("src0",), "v_accvgpr_write_b32": ("vdst",)}
    return "a" if name in accumulation.get(mnemonic, ()) else "v"


def register(file: str, count: int, position: int) -> str:
    """A register tuple that satisfies every alignment rule and overlaps no other operand's."""
    if count == 1:
        return f"{file}{(3 if file == 's' else 240) + position}"
    first = 16 + 16 * position if file == "s" else 32 * position
    return f"{file}[{first}:{first + count - 1}]"


def operand(definition: OpcodeDef, index: int, bits: int) -> str:
    spec = definition.operands[index]
    if definition.family in (Family.GLOBAL, Family.SCRATCH) and spec.name == "saddr":
        return "off"
    if definition.mnemonic.startswith("v_cmpx") and spec.name == "sdst" and bits == 64:
        return "vcc"
    if spec.bits == 0:
        return WORDS.get(spec.name, "1")
    # v_writelane takes one SGPR only: value and lane are then the same.
    return register(file_of(definition, index), bits // 32, 1 if definition.mnemonic == "v_writelane_b32" else index)


def modifiers(definition: OpcodeDef, target: str) -> str:
    words: list[str] = []
    if definition.family in (Family.MUBUF, Family.MTBUF) and any(spec.name == "vaddr" for spec in definition.operands):
        words.append("offen")
    if definition.access is Access.ATOMIC_RETURN and definition.family is not Family.DS:
        words.append("glc" if target == "gfx90a" or definition.family is Family.SMEM else "sc0")
    if definition.family is Family.MUBUF and "m0-lds" in {flag.value for flag in definition.flags}:
        words.append("lds")
    if definition.mnemonic.startswith("ds_gws_"):
        words.append("gds")
    return "".join(f" {word}" for word in words)


def line(definition: OpcodeDef, target: str, wrong: int | None = None) -> str:
    """The definition as an instruction; operand `wrong` a dword wider than it says."""
    operands = [operand(definition, index, spec.bits + 32 * (index == wrong)) for index, spec in enumerate(definition.operands)]
    return f"{definition.mnemonic} {', '.join(operands)}{modifiers(definition, target)}"


def forms(definition: OpcodeDef, target: str) -> Iterator[str]:
    """The definition in every encoding that it may have."""
    plain = line(definition, target)
    name, _, operands = plain.partition(" ")
    # e32 and the forms made from it print `vcc` where e64 has a pair.
    narrow = re.sub(r"\bs\[\d+:\d+\]", "vcc", operands)
    yield plain
    if definition.family not in MANY_ENCODINGS:
        return
    yield f"{name}_e64 {operands}"
    yield f"{name}_e32 {narrow}"
    yield f"{name} {narrow} row_newbcast:0 row_mask:0xe"
    yield f"{name} {narrow} quad_perm:[0,0,0,0] row_mask:0xe"
    yield f"{name} {narrow} dst_sel:DWORD src0_sel:WORD_1 src1_sel:DWORD"
    yield f"{name} {narrow} dst_sel:DWORD src0_sel:WORD_1"
    yield f"{name} {narrow} src0_sel:WORD_1 src1_sel:DWORD"


def refused(lines: list[str], target: str) -> dict[int, str]:
    """Number of each refused line, with the assembler's message."""
    return {error.line - 1: error.message for error in assemble_object("\n".join(lines) + "\n", target).errors}


@pytest.mark.parametrize("target", TARGETS)
def test_every_shape_assembles(target: str) -> None:
    lines = [line(d, target) for found in definitions().values() for d in found if target in d.targets]
    errors = refused(lines, target)
    assert {lines[number]: message for number, message in errors.items()} == {}


@pytest.mark.parametrize("target", TARGETS)
def test_a_register_one_dword_too_wide_is_refused(target: str) -> None:
    lines = [
        line(definition, target, wrong=index)
        for found in definitions().values()
        for definition in found
        if target in definition.targets and not definition.mnemonic.startswith(LAX)
        for index, spec in enumerate(definition.operands)
        if spec.bits and spec.name != "saddr" and spec.bits + 32 not in permitted_bits(definition, index)
    ]
    errors = refused(lines, target)
    assert [text for number, text in enumerate(lines) if number not in errors] == []


@pytest.mark.parametrize("target", TARGETS)
def test_every_printed_form_finds_its_definition(target: str) -> None:
    texts = [
        (definition, form)
        for found in definitions().values()
        for definition in found
        if target in definition.targets
        for form in forms(definition, target)
    ]
    errors = refused([form for _, form in texts], target)
    accepted = [pair for number, pair in enumerate(texts) if number not in errors]
    suffixes: set[str] = set()
    for (definition, form), encoding in zip(accepted, assemble([form for _, form in accepted], target), strict=True):
        printed = disassemble(encoding, target)[0].text
        if printed is None:
            # LLVM's disassembler refuses a v_cmpx e64 with a destination other than exec.
            assert definition.mnemonic.startswith("v_cmpx"), form
            continue
        instruction = parse_line(printed)
        suffixes.add(instruction.mnemonic.rpartition("_")[2])
        # Other spellings print the common one, with the same operands.
        assert instruction.definition is not None, printed
        assert instruction.definition.operands == definition.operands, (form, printed)
        for index, found in enumerate(instruction.operands):
            assert not isinstance(found, Register) or found.range.count * 32 in permitted_bits(definition, index), printed
    assert suffixes >= {"e32", "e64", "sdwa", "dpp"}


@pytest.mark.parametrize("target", TARGETS)
def test_a_definition_names_exactly_the_targets_that_have_the_instruction(target: str) -> None:
    mnemonics = list(definitions())
    errors = refused(mnemonics, target)
    absent = {mnemonics[number] for number, message in errors.items() if "not supported on this GPU" in message}
    if target != "gfx90a":
        absent |= REUSED_SPELLINGS
    assert {mnemonic for mnemonic in mnemonics if target not in definitions()[mnemonic][0].targets} == absent
