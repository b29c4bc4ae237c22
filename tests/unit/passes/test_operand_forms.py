"""Which operands an encoding takes, and shortest forms; the assembler is the reference for both."""

import pytest

from asmevo.backend.assembler import assemble
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.parser import parse_line
from asmevo.ir.instruction import Register
from asmevo.ir.printer import print_instruction
from asmevo.ir.registers import RegisterRange
from asmevo.passes.operand_forms import encodable, is_inline, lengthened, number, shortened


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("v_add_f32_e64 v1, v2, v3", "v_add_f32_e32 v1, v2, v3"),
        ("v_add_f32_e64 v1, v2, s3", None),
        ("v_add_f32_e64 v1, s2, v3", "v_add_f32_e32 v1, s2, v3"),
        ("v_sub_f32_e64 v1, v2, s3", "v_subrev_f32_e32 v1, s3, v2"),
        ("v_add_u32_e64 v1, v2, s3", "v_add_u32_e32 v1, s3, v2"),
        ("v_add_u32_e64 v1, s2, s2", None),
        ("v_cndmask_b32_e64 v1, v2, v3, vcc", "v_cndmask_b32_e32 v1, v2, v3, vcc"),
        ("v_cndmask_b32_e64 v1, v2, v3, s[0:1]", None),
        ("v_add_co_u32_e64 v1, vcc, v2, v3", "v_add_co_u32_e32 v1, vcc, v2, v3"),
        ("v_add_co_u32_e64 v1, s[0:1], v2, v3", None),
        ("v_cmp_lt_f32_e64 vcc, v2, v3", "v_cmp_lt_f32_e32 vcc, v2, v3"),
        ("v_mul_f32_e64 v1, -v2, v3", None),
        ("v_mul_f32_e64 v1, v2, v3 clamp", None),
        ("v_lshlrev_b32_e64 v1, v3, 2", None),
        ("v_fma_f32 v1, v2, v3, v1", None),
        ("s_mov_b32 s3, 0xffff8000", "s_movk_i32 s3, 0x8000"),
        ("s_mov_b32 s3, 0x8000", None),
        ("s_mov_b32 m0, 0x1234", None),
        ("s_add_i32 s3, s3, 0x100", "s_addk_i32 s3, 0x100"),
        ("s_add_i32 s3, s4, 0x100", None),
        ("s_mul_i32 s3, 0x100, s3", "s_mulk_i32 s3, 0x100"),
        ("s_mov_b32 s3, 5", None),
    ],
)
def test_short_forms_are_shorter(text, short):
    found = shortened(parse_line(text))
    assert (found and print_instruction(found)) == short
    if short is not None:
        old, new = assemble([text, short], "gfx942")
        assert len(new) == 4 < len(old)


@pytest.mark.parametrize(
    "text",
    ["v_add_f32_e32 v1, v2, v3", "v_cmp_lt_f32_e32 vcc, s2, v3", "v_cndmask_b32_e32 v1, v2, v3, vcc", "v_mov_b32_e32 v1, 2"],
)
def test_long_forms_lead_back(text):
    longer = lengthened(parse_line(text))
    assert longer is not None
    assert len(assemble([print_instruction(longer)], "gfx942")[0]) == 8
    short = shortened(longer)
    assert short is not None
    assert print_instruction(short) == text


def test_a_literal_has_no_long_form():
    assert lengthened(parse_line("v_mov_b32_e32 v1, 0x12345")) is None


@pytest.mark.parametrize(
    ("text", "index", "operand", "fits"),
    [
        ("v_add_f32_e32 v1, v2, v3", 1, "s4", True),
        ("v_add_f32_e32 v1, v2, v3", 2, "s4", False),
        ("v_add_f32_e64 v1, s2, v3", 2, "s4", False),
        ("v_add_f32_e64 v1, s2, v3", 2, "s2", True),
        ("v_cndmask_b32_e32 v1, v2, v3, vcc", 1, "s4", False),
        ("v_add_f32_e32 v1, v2, v3", 1, "a4", False),
        ("ds_write_b32 v1, v2", 1, "a4", True),
        ("ds_write_b32 v1, v2", 0, "s4", False),
        ("ds_write2_b32 v1, v2, v3", 1, "a4", False),
        ("global_store_dword v0, v2, s[2:3]", 0, "a4", False),
        ("v_fma_f32 v1, v2, s3, v4", 1, "s9", False),
        ("s_add_i32 s1, s2, s3", 1, "v4", False),
    ],
)
def test_operands_fit_as_the_assembler_says(text, index, operand, fits):
    before = parse_line(text)
    files = {"s": 0, "v": 256, "a": 512}
    operands = list(before.operands)
    operands[index] = Register(RegisterRange(files[operand[0]] + int(operand[1:])))
    after = before.edited(operands=tuple(operands))
    assert encodable(before)
    assert encodable(after) == fits
    accepted = True
    try:
        assemble([print_instruction(after)], "gfx942")
    except DiagnosticError:
        accepted = False
    assert accepted == fits


@pytest.mark.parametrize(
    ("value", "text"), [(64, "64"), (65, "0x41"), (-16, "-16"), (-17, "0xffffffef"), (0x3F800000, "0x3f800000")]
)
def test_numbers_print_as_what_they_are(value, text):
    assert number(value).text == text


@pytest.mark.parametrize(
    ("value", "inline"), [(64, True), (65, False), (0xFFFFFFF0, True), (0xFFFFFFEF, False), (0x3F800000, True)]
)
def test_inline_constants(value, inline):
    assert is_inline(value) == inline
