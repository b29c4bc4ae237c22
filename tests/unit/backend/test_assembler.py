from __future__ import annotations

import re

import pytest

from asmevo.backend.assembler import assemble
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.disassembler import disassemble


def test_one_encoding_for_each_text_in_order() -> None:
    texts = ["s_nop 0", "s_mov_b32 s0, 0x12345", "s_nop 0", "s_branch 65531", ".long 0xdeadbeef", "v_add_f32 v0, 1.0, v2"]
    assert [bits.hex() for bits in assemble(texts, "gfx942")] == [
        "000080bf", "ff0080be45230100", "000080bf", "fbff82bf", "efbeadde", "f2040002",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]",
        "v_add_f32_e64 v0, -v1, |v2| clamp",
        "s_waitcnt vmcnt(3) lgkmcnt(0)",
        "s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 4)",
        'ds_swizzle_b32 v1, v2 offset:swizzle(BITMASK_PERM,"01pip")',
        "v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:1",
        "buffer_load_dword v0, v1, s[0:3], 0 offen offset:4095 sc0",
        "tbuffer_load_format_x v0, v1, s[0:3], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen",
    ],
)
def test_text_comes_back_from_the_disassembler(text: str) -> None:
    assert disassemble(assemble([text], "gfx942")[0], "gfx942")[0].text == text


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "s_nop 0\ns_nop 1", "here: s_nop 0", ".byte 3", ".long here", ".long 0x100000000", "s_nop 0 ; note",
        "s_nop 0 // note", "s_nop 0 /* note", "x = 5", "x=5", "x =5", "s_branch .", "s_branch .+4", "# 3", "s_mov_b32 s0, here",
        "s_mov_b32 s0, asmevo_line_0", "s_nop \\x", "s_nop '0'", '.include "/etc/passwd"', "s_nop 0" + " " * 600, "s_nop 0\0",
    ],
)  # fmt: skip
def test_what_is_not_one_plain_instruction_is_refused(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        assemble(["s_nop 0", text], "gfx942")
    problem = caught.value.diagnostics[0]
    assert (problem.code, problem.span and problem.span.line) == ("E0604", 2)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("v_bogus v0", 1),
        ("s_branch here", 10),
        ("s_branch 1f", 10),
        ("s_branch 70000", 10),
        ("s_nop 0 s_nop 0", 9),
        ("v_add_f32 v0, v1", 1),
        # LLVM accepts these and cuts the number.
        ("s_nop 70000", 1),
        ("s_nop 0x10000000000", 1),
        ("buffer_load_dword v0, off, s[0:3], 0 offset:5000", 1),
    ],
)
def test_what_the_assembler_refuses_or_cuts_names_line_and_column(text: str, column: int) -> None:
    with pytest.raises(DiagnosticError) as caught:
        assemble(["s_nop 0", "s_nop 1", text], "gfx942")
    problem = caught.value.diagnostics[0]
    assert problem.code == "E0603"
    assert problem.span is not None
    assert (problem.span.line, problem.span.column, problem.span.source) == (3, column, text)


def test_instruction_of_another_chip_is_refused() -> None:
    text = "v_prng_b32 v0, v1"
    assert assemble([text], "gfx950")
    with pytest.raises(DiagnosticError):
        assemble([text], "gfx942")


def test_a_refused_batch_leaves_nothing_behind() -> None:
    with pytest.raises(DiagnosticError):
        assemble(["v_mov_b32 v7, v8", "v_bogus"], "gfx942")
    assert assemble(["v_mov_b32 v7, v8"], "gfx942") == [bytes.fromhex("08030e7e")]


def test_unknown_target_is_refused() -> None:
    with pytest.raises(DiagnosticError) as caught:
        assemble(["s_nop 0"], "gfx1100")
    assert caught.value.diagnostics[0].code == "E0602"


@pytest.mark.parametrize("text", ["s_nop 07", "ds_read_b32 v0, v1 offset:017"])
def test_a_leading_zero_is_octal(text: str) -> None:
    number = re.search(r"0[0-7]+$", text)
    assert number is not None
    plain = text[: number.start()] + str(int(number.group(), 8))
    assert assemble([text], "gfx942") == assemble([plain], "gfx942")


def test_a_word_with_a_leading_zero_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="E0604"):
        assemble([".long 017"], "gfx942")


def test_octal_numbers_are_numbers() -> None:
    octal, decimal = (f"buffer_load_dword v0, off, s[0:3], 0 offset:{number}" for number in ("017", "15"))
    assert assemble([octal], "gfx942") == assemble([decimal], "gfx942")
