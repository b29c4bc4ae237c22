"""Every table line against LLVM: names, forms, printed spelling, cache bits, and what goes in every operand's place."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import pytest

from asmevo.backend.assembler import assemble
from asmevo.frontend.disassembler import disassemble
from asmevo.frontend.line import parse_line
from asmevo.ir.instruction import Register
from asmevo.ir.isa import canonical, lookup, permitted_bits
from asmevo.ir.isa.model import Encoding, OpcodeDef
from tools.isa import llvm_shapes
from tools.isa.differences import Difference, load_entries, settle
from tools.isa.forms import all_forms, forms
from tools.isa.probe import candidates, refused

TARGETS = ("gfx90a", "gfx942", "gfx950")
SAMPLE = 60
"""Of so many forms one has its operands probed; `make isa-check` and the slow test probe all."""


def get(mnemonic: str) -> OpcodeDef:
    found = lookup(mnemonic)
    assert found is not None
    return found


def unsettled(found: list[Difference]) -> list[str]:
    return [str(difference) for difference in settle(found, load_entries(), ()).open]


@pytest.mark.parametrize("target", TARGETS)
def test_the_tables_have_exactly_the_names_that_the_assembler_accepts(target: str) -> None:
    assert unsettled(list(llvm_shapes.name_differences(target))) == []


@pytest.mark.parametrize("target", TARGETS)
def test_every_form_assembles(target: str) -> None:
    assert unsettled(list(llvm_shapes.form_differences(list(all_forms(target)), target))) == []


@pytest.mark.parametrize("target", TARGETS)
def test_no_opcode_has_an_encoding_that_the_tables_lack(target: str) -> None:
    assert list(llvm_shapes.encoding_differences(target)) == []


def test_a_missing_encoding_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = replace(get("v_cvt_pk_f32_fp8"), encodings=frozenset({Encoding.E32}))
    monkeypatch.setattr(llvm_shapes, "definitions", lambda: {fewer.mnemonic: (fewer,)})
    found = {difference.mnemonic for difference in llvm_shapes.encoding_differences("gfx942")}
    assert found == {f"{fewer.mnemonic}{suffix}" for suffix in ("_e64", "_sdwa", "_dpp")}


@pytest.mark.parametrize("target", TARGETS)
def test_cache_bits_are_those_that_the_assembler_accepts(target: str) -> None:
    assert list(llvm_shapes.cache_bit_differences(list(all_forms(target)), target)) == []


@pytest.mark.parametrize("target", TARGETS)
def test_operands_take_exactly_what_the_assembler_accepts(target: str) -> None:
    chosen = list(all_forms(target))[TARGETS.index(target) :: SAMPLE]
    assert unsettled(list(llvm_shapes.operand_differences(chosen, target, list(candidates())))) == []


@pytest.mark.slow
def test_all_operands_take_exactly_what_the_assembler_accepts_and_no_reason_is_stale() -> None:
    found = [difference for target in TARGETS for difference in llvm_shapes.differences(target)]
    result = settle(found, load_entries(), {llvm_shapes.SOURCE})
    assert result.open == ()
    assert result.stale == ()


@pytest.mark.parametrize("target", TARGETS)
def test_every_form_is_printed_as_the_tables_say_and_finds_its_definition(target: str) -> None:
    found = list(all_forms(target))
    wrong = refused([form.line() for form in found], target)
    good = [form for number, form in enumerate(found) if number not in wrong]
    encodings = assemble([form.line() for form in good], target)
    printed_at = {line.offset: line.text for line in disassemble(b"".join(encodings), target)}
    offsets = accumulate(map(len, encodings), initial=0)
    for form, offset in zip(good, offsets, strict=False):
        printed = printed_at[offset]
        if printed is None:
            # LLVM's disassembler refuses a v_cmpx e64 with a destination other than exec.
            assert form.definition.mnemonic.startswith("v_cmpx"), form.line()
            continue
        instruction = parse_line(printed)
        wanted = canonical(form.definition.mnemonic, target)
        assert instruction.mnemonic == wanted + form.encoding.value, (form.line(), printed)
        assert instruction.definition is not None, printed
        shapes = [(spec.name, spec.role, spec.bits) for spec in instruction.definition.operands]
        assert shapes == [(spec.name, spec.role, spec.bits) for spec in form.definition.operands], (form.line(), printed)
        for index, operand in enumerate(instruction.operands):
            if isinstance(operand, Register):
                assert operand.range.count * 32 in permitted_bits(instruction.definition, index), printed


def only(mnemonic: str, target: str = "gfx942"):
    return next(iter(forms(get(mnemonic), target)))


@pytest.mark.parametrize(
    ("mnemonic", "bits"),
    [("v_add_f64", (64, 64, 32)), ("v_add_f32", (32, 64, 32)), ("ds_read_b64", (96, 32)), ("s_and_b64", (32, 64, 64))],
)
def test_a_wrong_width_is_found(mnemonic: str, bits: tuple[int, ...]) -> None:
    wrong = replace(only(mnemonic), bits=bits)
    assert list(llvm_shapes.operand_differences([wrong], "gfx942", list(candidates())))


@pytest.mark.parametrize(
    ("mnemonic", "operand", "takes"),
    [("v_readfirstlane_b32", 1, "agpr"), ("s_mov_b32", 0, "ssrc"), ("v_add_f64", 1, "vgpr"), ("ds_write_b32", 1, "vgpr")],
)
def test_a_wrong_class_is_found(mnemonic: str, operand: int, takes: str) -> None:
    form = only(mnemonic)
    specs = list(form.definition.operands)
    specs[operand] = replace(specs[operand], takes=takes)
    wrong = replace(form, definition=replace(form.definition, operands=tuple(specs)))
    assert unsettled(list(llvm_shapes.operand_differences([wrong], "gfx942", list(candidates()))))


def test_a_form_that_does_not_exist_is_found() -> None:
    sdwa = replace(only("v_add_f64"), encoding=Encoding.SDWA)
    assert unsettled(list(llvm_shapes.form_differences([sdwa], "gfx942")))


def test_a_wrong_cache_bit_is_found() -> None:
    plain = replace(get("ds_read_b32"), space=get("global_load_dword").space)
    assert list(llvm_shapes.cache_bit_differences(list(forms(plain, "gfx942")), "gfx942"))
