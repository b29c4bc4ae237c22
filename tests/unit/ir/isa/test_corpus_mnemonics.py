"""Every mnemonic of the production objects: in the tables, complete, and understood or opaque for a reason."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from asmevo.frontend.line import parse_line
from asmevo.ir.isa import base_mnemonic, definitions, variants
from asmevo.ir.isa.hazards import operations
from asmevo.ir.isa.model import Encoding, OpcodeDef
from asmevo.ir.isa.operands import operand_class
from asmevo.ir.semantics import program_of, unsupported_reason
from tools.isa.forms import Form, forms

COUNTS = Path(__file__).with_name("corpus_mnemonics.tsv")
NO_REASON = "this form has no semantics"


@cache
def counts() -> dict[str, dict[str, int]]:
    """For each printed mnemonic, how often it is in the objects of each target."""
    found: dict[str, dict[str, int]] = {}
    for line in COUNTS.read_text().splitlines():
        if not line.startswith("#"):
            name, gfx942, gfx950 = line.split("\t")
            found[name] = {"gfx942": int(gfx942), "gfx950": int(gfx950)}
    return found


def encoding_of(mnemonic: str) -> Encoding:
    return Encoding(mnemonic[len(base_mnemonic(mnemonic)) :])


def printed_forms(mnemonic: str, target: str) -> list[Form]:
    """The forms that a printed mnemonic may stand for."""
    found = [d for d in variants(mnemonic) if target in d.targets]
    return [form for d in found for form in forms(d, target) if form.encoding is encoding_of(mnemonic)]


def targets_of(mnemonic: str) -> list[str]:
    return [target for target, count in counts()[mnemonic].items() if count]


def test_the_counts_are_those_of_the_objects() -> None:
    assert len(counts()) == 307
    assert sum(1 for n in counts().values() if n["gfx942"]) == 265
    assert sum(1 for n in counts().values() if n["gfx950"]) == 219
    assert sum(n["gfx942"] for n in counts().values()) == 6_724_505
    assert sum(n["gfx950"] for n in counts().values()) == 7_003_580


@pytest.mark.parametrize("mnemonic", counts())
def test_a_production_mnemonic_is_complete(mnemonic: str) -> None:
    for target in targets_of(mnemonic):
        found = printed_forms(mnemonic, target)
        assert found, f"{target} has no {mnemonic}"
        for form in found:
            check_complete(form)


def check_complete(form: Form) -> None:
    """Everything that a tool asks about an instruction is answered."""
    definition = form.definition
    instruction = parse_line(form.line())
    assert instruction.definition is not None, form.line()
    for index in range(len(definition.operands)):
        assert operand_class(definition, index, form.encoding).name
    assert operations(definition, definition.mnemonic + form.encoding.value, {}) is not None
    if program_of(instruction) is None:
        assert unsupported_reason(definition.mnemonic) != NO_REASON, form.line()


def every_definition() -> list[OpcodeDef]:
    return [definition for found in definitions().values() for definition in found]


def test_every_opcode_is_understood_or_has_a_reason() -> None:
    without: list[str] = []
    for definition in every_definition():
        target = sorted(definition.targets)[-1]
        form = next(iter(forms(definition, target)))
        if program_of(parse_line(form.line())) is None and unsupported_reason(definition.mnemonic) == NO_REASON:
            without.append(form.line())
    assert without == []


WITHOUT_MEANING = """
ds_read_b64_tr_b16 ds_read_b64_tr_b4 ds_read_b64_tr_b8 global_load_lds_dwordx4 s_set_gpr_idx_off s_set_gpr_idx_on s_setvskip
v_cvt_scalef32_pk_bf16_fp8 v_cvt_scalef32_pk_fp4_f32 v_mfma_f32_16x16x128_f8f6f4 v_mfma_f32_32x32x64_f8f6f4
v_mfma_scale_f32_16x16x128_f8f6f4 v_mfma_scale_f32_32x32x64_f8f6f4 v_permlane16_swap_b32_e32 v_permlane32_swap_b32_e32
v_smfmac_f32_16x16x128_fp8_fp8
""".split()


def test_only_known_production_mnemonics_have_no_meaning() -> None:
    opaque = {
        mnemonic
        for mnemonic in counts()
        for form in printed_forms(mnemonic, targets_of(mnemonic)[0])[:1]
        if program_of(parse_line(form.line())) is None
    }
    assert opaque <= set(WITHOUT_MEANING)
