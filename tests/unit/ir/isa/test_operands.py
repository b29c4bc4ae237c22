"""Operand classes: which one an operand has in each encoding, alignment, and files that belong together."""

from __future__ import annotations

import pytest

from asmevo.ir.isa import definitions, lookup
from asmevo.ir.isa.model import Encoding, OpcodeDef
from asmevo.ir.isa.operands import CLASSES, alignment, operand_class, same_file, takes_register
from asmevo.ir.registers import AGPR0, EXEC, M0, SCC, TTMP, VCC, VGPR0, RegisterFile, RegisterRange


def get(mnemonic: str) -> OpcodeDef:
    found = lookup(mnemonic)
    assert found is not None
    return found


def takes(mnemonic: str, encoding: Encoding = Encoding.ONLY) -> str:
    definition = get(mnemonic)
    return " ".join(operand_class(definition, index, encoding).name for index in range(len(definition.operands)))


@pytest.mark.parametrize(
    ("mnemonic", "encoding", "classes"),
    [
        ("v_add_f32", Encoding.E32, "vgpr src vgpr"),
        ("v_add_f32", Encoding.E64, "vgpr src-nolit src-nolit"),
        ("v_add_f32", Encoding.SDWA, "vgpr src-nolit src-nolit"),
        ("v_add_f32", Encoding.DPP, "vgpr vgpr vgpr"),
        ("v_addc_co_u32", Encoding.E32, "vgpr vcc src vgpr vcc"),
        ("v_addc_co_u32", Encoding.E64, "vgpr mask src-nolit src-nolit mask"),
        ("v_addc_co_u32", Encoding.SDWA, "vgpr vcc src-nolit src-nolit vcc"),
        ("v_cmp_lt_f32", Encoding.E32, "vcc src vgpr"),
        ("v_cmp_lt_f32", Encoding.SDWA, "mask src-nolit src-nolit"),
        ("v_fmaak_f32", Encoding.ONLY, "vgpr src vgpr immediate"),
        ("v_readlane_b32", Encoding.ONLY, "sreg-no-m0 vgpr ssrc-nolit"),
        ("v_fma_f32", Encoding.ONLY, "vgpr src-nolit src-nolit src-nolit"),
        ("v_mqsad_u32_u8", Encoding.ONLY, "vgpr src-nolit src-nolit vgpr"),
        ("v_mfma_f32_32x32x8_f16", Encoding.ONLY, "vector vector vector accumulator"),
        ("v_accvgpr_read_b32", Encoding.ONLY, "vgpr agpr"),
        ("s_mov_b32", Encoding.ONLY, "sreg ssrc"),
        ("s_movk_i32", Encoding.ONLY, "sreg immediate"),
        ("s_load_dword", Encoding.ONLY, "sgpr sreg smem-offset"),
        ("buffer_load_dword", Encoding.ONLY, "vector vgpr sreg ssrc-nolit"),
        ("global_load_dword", Encoding.ONLY, "vector vgpr sgpr"),
    ],
)
def test_class_by_encoding(mnemonic: str, encoding: Encoding, classes: str) -> None:
    assert takes(mnemonic, encoding) == classes


def test_every_operand_of_every_encoding_has_a_class() -> None:
    for definition in (d for found in definitions().values() for d in found):
        for encoding in definition.encodings:
            for index in range(len(definition.operands)):
                assert operand_class(definition, index, encoding).name in CLASSES


def test_every_class_is_used() -> None:
    used = {
        operand_class(definition, index, encoding).name
        for found in definitions().values()
        for definition in found
        for encoding in definition.encodings
        for index in range(len(definition.operands))
    }
    # `off` stands in for an address, which is another class's operand.
    assert used == set(CLASSES) - {"off"}


@pytest.mark.parametrize(
    ("name", "file", "bits", "multiple"),
    [
        ("vgpr", RegisterFile.VGPR, 32, 1),
        ("vgpr", RegisterFile.VGPR, 64, 2),
        ("vector", RegisterFile.AGPR, 512, 2),
        ("even-vector", RegisterFile.VGPR, 32, 2),
        ("sreg", RegisterFile.SGPR, 32, 1),
        ("sreg", RegisterFile.SGPR, 64, 2),
        ("sreg", RegisterFile.SGPR, 128, 4),
        ("sgpr", RegisterFile.SGPR, 512, 4),
    ],
)
def test_alignment(name: str, file: RegisterFile, bits: int, multiple: int) -> None:
    assert alignment(CLASSES[name], file, bits) == multiple


@pytest.mark.parametrize(
    ("name", "bits", "unit", "count", "allowed"),
    [
        ("vgpr", 64, VGPR0 + 2, 2, True),
        ("vgpr", 64, VGPR0 + 3, 2, False),
        ("vgpr", 64, VGPR0 + 2, 1, False),
        ("vgpr", 32, AGPR0, 1, False),
        ("even-vector", 32, AGPR0 + 1, 1, False),
        ("sreg", 128, 6, 4, False),
        ("sreg", 128, 8, 4, True),
        ("sreg", 64, EXEC, 2, True),
        ("sreg", 32, M0, 1, True),
        ("sreg-no-m0", 32, M0, 1, False),
        ("sreg", 64, M0, 2, False),
        ("sgpr", 64, EXEC, 2, False),
        ("sreg", 32, SCC, 1, False),
        ("ssrc", 32, SCC, 1, True),
        ("vgpr", 128, SCC, 1, False),
        ("sreg", 128, TTMP + 4, 4, True),
        ("sreg", 128, TTMP + 2, 4, False),
        ("sreg", 64, VCC + 1, 2, False),
        ("vcc", 0, VCC, 2, True),
        ("vcc", 0, EXEC, 2, False),
    ],
)
def test_registers_that_fit(name: str, bits: int, unit: int, count: int, allowed: bool) -> None:
    assert takes_register(CLASSES[name], bits, RegisterRange(unit, count)) == allowed


def test_no_destination_is_a_read_only_name() -> None:
    for definition in (d for found in definitions().values() for d in found):
        for encoding in definition.encodings:
            for index, spec in enumerate(definition.operands):
                if spec.role.value != "read":
                    assert "source" not in operand_class(definition, index, encoding).named, definition.mnemonic


def test_data_of_one_instruction_is_in_one_file() -> None:
    assert same_file(get("v_mfma_f32_32x32x8_f16")) == {"vdst", "src2"}
    assert {"vdst", "vdata"} <= same_file(get("global_atomic_add"))
    assert {"vdst", "data0", "data1"} <= same_file(get("ds_wrxchg2_rtn_b32"))
