"""Finding definitions: suffixes, forms chosen by operands and modifiers, and every instruction of real kernels."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.disassembler import disassemble
from asmevo.frontend.line import parse_line
from asmevo.ir.instruction import Register
from asmevo.ir.isa import base_mnemonic, canonical, definitions, lookup, permitted_bits, resolve, variants
from asmevo.ir.isa.model import Access, Encoding, OpcodeDef
from asmevo.ir.isa.operands import operand_class, takes_register
from asmevo.ir.registers import RegisterRange

CORPUS = os.environ.get("ASMEVO_CORPUS")


def names(mnemonic: str, count: int, *modifiers: str) -> list[str]:
    found = resolve(mnemonic, count, modifiers)
    assert found is not None
    return [operand.name for operand in found.operands]


@pytest.mark.parametrize("suffix", ["", "_e32", "_e64", "_sdwa", "_dpp"])
def test_suffixes_come_off(suffix: str) -> None:
    assert lookup(f"v_add_f32{suffix}") is lookup("v_add_f32")
    assert base_mnemonic(f"v_add_f32{suffix}") == "v_add_f32"


@pytest.mark.parametrize("mnemonic", ["", "v_frobnicate", "v_add_f32_e16", "_e32", ".long"])
def test_unknown_mnemonics(mnemonic: str) -> None:
    assert lookup(mnemonic) is None
    assert variants(mnemonic) == ()
    assert resolve(mnemonic, 0) is None


def test_a_wrong_operand_count_has_no_definition() -> None:
    assert resolve("v_add_f32", 2) is None
    assert resolve("s_endpgm", 2) is None


def test_returning_atomics_are_chosen_by_count_or_bit() -> None:
    assert names("global_atomic_add", 3) == ["vaddr", "vdata", "saddr"]
    assert names("global_atomic_add", 4, "sc0") == ["vdst", "vaddr", "vdata", "saddr"]
    assert resolve("global_atomic_add", 3, ("sc0",)) is None
    plain, returning = resolve("buffer_atomic_add", 4), resolve("buffer_atomic_add", 4, ("glc",))
    assert plain is not None
    assert returning is not None
    assert (plain.access, returning.access) == (Access.ATOMIC, Access.ATOMIC_RETURN)
    scalar = resolve("s_atomic_inc", 3, ("glc",))
    assert scalar is not None
    assert scalar.access is Access.ATOMIC_RETURN


def test_a_bit_of_scope_on_a_load_selects_nothing() -> None:
    assert resolve("global_load_dword", 3, ("sc0", "sc1")) is lookup("global_load_dword")


def test_loads_to_lds_have_no_destination() -> None:
    assert names("buffer_load_dword", 4, "offen") == ["vdata", "vaddr", "srsrc", "soffset"]
    assert names("buffer_load_dword", 3, "offen", "lds") == ["vaddr", "srsrc", "soffset"]
    assert resolve("buffer_load_dword", 3, ("offen",)) is None


def test_printed_vcc_is_an_operand() -> None:
    assert names("v_cmp_lt_f32_e32", 3) == ["sdst", "src0", "src1"]
    assert names("v_cndmask_b32_e32", 4) == ["vdst", "src0", "src1", "src2"]
    assert names("v_addc_co_u32_e32", 5) == ["vdst", "sdst", "src0", "src1", "src2"]


@pytest.mark.parametrize(
    ("mnemonic", "target", "printed"),
    [
        ("v_mfma_f32_32x32x8f16", "gfx942", "v_mfma_f32_32x32x8_f16"),
        ("v_mfma_f32_32x32x8f16", "gfx90a", "v_mfma_f32_32x32x8f16"),
        ("v_mfma_f32_32x32x8_f16", "gfx942", "v_mfma_f32_32x32x8_f16"),
        ("v_mul_lo_i32", "gfx90a", "v_mul_lo_u32"),
        ("v_add_f32_e64", "gfx942", "v_add_f32_e64"),
        ("v_frobnicate", "gfx942", "v_frobnicate"),
    ],
)
def test_older_spellings_have_one_printed_name(mnemonic: str, target: str, printed: str) -> None:
    assert canonical(mnemonic, target) == printed


def test_addresses_may_have_several_widths() -> None:
    load, buffer = lookup("global_load_dword"), lookup("buffer_load_dword")
    assert load is not None
    assert buffer is not None
    assert permitted_bits(load, 1) == (32, 64)
    assert permitted_bits(load, 2) == (0, 64)
    assert permitted_bits(buffer, 1) == (0, 32, 64)
    assert permitted_bits(buffer, 2) == (128,)


def test_no_two_definitions_fit_one_instruction() -> None:
    for mnemonic, found in definitions().items():
        shapes = Counter((len(d.operands), d.access) for d in found)
        assert max(shapes.values()) == 1, mnemonic


def test_the_tables_have_the_size_that_was_counted() -> None:
    assert sum("gfx942" in found[0].targets for found in definitions().values()) == 1180
    assert len(definitions()) == 1301


def fits(definition: OpcodeDef, index: int, encoding: Encoding, place: RegisterRange) -> bool:
    """Whether an operand takes a register, in one of the widths that it may have."""
    takes = operand_class(definition, index, encoding)
    return any(takes_register(takes, bits, place) for bits in permitted_bits(definition, index))


@pytest.mark.slow
@pytest.mark.skipif(CORPUS is None, reason="ASMEVO_CORPUS names no folder of gfx942 code objects")
def test_every_instruction_of_the_corpus_has_a_definition_that_fits() -> None:
    files = sorted(Path(CORPUS or "").rglob("*.co"))
    assert files
    seen: set[str] = set()
    problems: list[str] = []
    for file in files:
        code = load_file(file)
        for entry in code.kernels:
            for decoded in disassemble(code.code(entry), code.target):
                if decoded.text is None or decoded.text in seen:
                    continue
                seen.add(decoded.text)
                instruction = parse_line(decoded.text)
                definition = instruction.definition
                assert definition is not None
                encoding = Encoding(instruction.mnemonic[len(base_mnemonic(instruction.mnemonic)) :])
                problems += [
                    f"{decoded.text}: {spec.name}"
                    for index, (operand, spec) in enumerate(zip(instruction.operands, definition.operands, strict=True))
                    if isinstance(operand, Register) and not fits(definition, index, encoding, operand.range)
                ]
    assert problems == []
