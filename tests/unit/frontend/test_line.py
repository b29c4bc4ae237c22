import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.diagnostics import DiagnosticError, Span
from asmevo.frontend.line import LineParser, parse_line
from asmevo.ir.instruction import Immediate, Label, Modifier, Register, Symbolic, WaitCounts
from asmevo.ir.printer import print_instruction
from asmevo.ir.registers import VCC, VGPR0, RegisterRange

PRINTED = """
v_add_u32_e32 v47, v48, v47
v_mfma_f32_16x16x32_fp8_fp8 v[128:131], a[0:1], v[160:161], v[128:131]
v_mul_f32_dpp v128, v15, v128 row_newbcast:0 row_mask:0xf bank_mask:0xf
v_mov_b32_dpp v9, v9 row_shl:8 row_mask:0xf bank_mask:0xf bound_ctrl:1
v_subrev_f32_dpp v64, v158, v64 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
ds_write_b32 v46, v128 offset:18688
ds_read2_b64 v[0:3], v4 offset0:1 offset1:255
ds_swizzle_b32 v1, v2 offset:swizzle(QUAD_PERM,0,1,2,3)
ds_swizzle_b32 v1, v2 offset:swizzle(BITMASK_PERM,"00p11")
s_mov_b64 exec, s[20:21]
s_mov_b32 s26, -16
s_mov_b32 s48, 1.0
s_mov_b32 s1, 0xffff
buffer_load_dwordx4 a[4:7], v32, s[24:27], 0 offen offset:1024
buffer_load_dword v24, s[20:23], 0 offen lds
buffer_store_dwordx4 v[40:43], v12, s[16:19], 0 offen sc0 nt sc1
buffer_load_dword v24, off, s[20:23], s3
v_max3_f32 v20, |v128|, -|v129|, -v20
v_fma_f32 v0, neg(1), |2.0|, v1
v_cvt_pk_fp8_f32 v128, v130, v131 op_sel:[0,0,1]
v_cvt_f32_f16_sdwa v83, v81 dst_sel:DWORD dst_unused:UNUSED_PRESERVE src0_sel:WORD_1
v_add_u32_sdwa v65, sext(v3), sext(v99) dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_2 src1_sel:BYTE_1
v_addc_co_u32_e32 v64, vcc, 0, v64, vcc
v_add_f32_e64 v1, v2, v3 clamp mul:2
global_load_dwordx4 a[0:3], v[22:23], off
global_atomic_cmpswap_x2 v[56:57], v48, v[52:55], s[8:9] sc0 sc1
s_load_dword s64, s[0:1], 0xc0
s_load_dword s5, s[2:3], s7 offset:0x12
s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s5
s_getreg_b32 s5, hwreg(HW_REG_XCC_ID)
s_set_gpr_idx_on s40, gpr_idx(SRC0,DST)
s_sendmsg sendmsg(MSG_INTERRUPT)
s_waitcnt vmcnt(8) lgkmcnt(0)
s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)
s_cbranch_scc0 L_01f0
s_branch 65535
v_add_u32_e32 v1, ttmp5, v2
s_mov_b64 s[0:1], ttmp[4:5]
v_mov_b32_e32 v1, src_shared_base
s_barrier
""".strip().splitlines()


@pytest.mark.parametrize("text", PRINTED)
def test_what_llvm_prints_comes_back_word_for_word(text: str) -> None:
    instruction = parse_line(text)
    assert print_instruction(instruction) == text
    assert instruction.definition is not None
    assert len(instruction.operands) == len(instruction.definition.operands)


def test_operands_have_their_units_and_values() -> None:
    assert parse_line("v_addc_co_u32_e32 v64, vcc, 0x3f800000, v[3], vcc").operands == (
        Register(RegisterRange(VGPR0 + 64)),
        Register(RegisterRange(VCC, 2)),
        Immediate(0x3F800000, "0x3f800000"),
        Register(RegisterRange(VGPR0 + 3)),
        Register(RegisterRange(VCC, 2)),
    )
    assert parse_line("s_mov_b32 s0, -4").operands[1] == Immediate(0xFFFFFFFC, "-4")
    assert parse_line("v_mul_f32_e32 v0, -0.5, v1").operands[1] == Immediate(0xBF000000, "-0.5", is_float=True)
    inverse_two_pi = "0.15915494309189532"
    assert parse_line(f"v_mul_f64 v[0:1], v[2:3], {inverse_two_pi}").operands[2] == Immediate(0x3E22F983, inverse_two_pi, True)
    assert parse_line("s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s0").operands[0] == Symbolic(
        "hwreg(HW_REG_MODE, 4, 2)", 1 | 4 << 6 | 1 << 11
    )
    assert parse_line("s_branch loop").operands == (Label("loop"),)


def test_other_spellings_mean_the_printed_one() -> None:
    assert parse_line("s_waitcnt 0x0f70").operands == (WaitCounts(vmcnt=0),)
    for text in ("s_waitcnt vmcnt(3) & lgkmcnt(0)", "s_waitcnt lgkmcnt(0), vmcnt(3)", "s_waitcnt vmcnt(3)  lgkmcnt_sat(0)"):
        assert parse_line(text).operands == (WaitCounts(vmcnt=3, lgkmcnt=0),)
    assert parse_line("s_waitcnt vmcnt_sat(99)").operands == (WaitCounts(),)
    assert parse_line("v_mov_b32_dpp v0, v1 row_shr:1 bound_ctrl:0").modifier("bound_ctrl") == 1
    assert parse_line("s_mov_b64 s[2:3], [s4, s5]") == parse_line("s_mov_b64\ts[2:3], s[4:5]")
    assert parse_line("s_mov_b32 s0, scc") == parse_line("s_mov_b32 s0, src_scc")
    assert parse_line("ds_swizzle_b32 v1, v2 offset:swizzle(SWAP,1)").modifiers == (Modifier("offset", 0x041F),)


REFUSED = [
    ("v_add_f3_e32 v0, v1, v2", "E0122", 1, 12, "did you mean 'v_add_f32_e32'?"),
    ("v_add_f32_e32 v0, v1", "E0128", 1, 13, None),
    ("v_add_f32_e32 v0, v1, v2, v3", "E0128", 27, 2, None),
    ("s_add_u32 s0, s1, of", "E0123", 19, 2, "did you mean 'off'?"),
    ("s_mov_b32 s0, foo", "E0123", 15, 3, None),
    ("v_mov_b32_e32 v256, v1", "E0125", 15, 4, None),
    ("s_mov_b32 s102, s1", "E0125", 11, 4, None),
    ("v_mov_b32_e32 v[3:1], v1", "E0125", 15, 1, None),
    ("s_mov_b64 s[0:1], [s2,s4]", "E0125", 23, 2, None),
    ("s_mov_b32 s0, 0x1ffffffff", "E0126", 15, 11, None),
    ("s_waitcnt vmcnt(64)", "E0126", 17, 2, None),
    ("s_waitcnt vmcnt(1) vmcnt(2)", "E0127", 20, 5, None),
    ("buffer_load_dword v0, v1, s[0:3], 0 offen offset:4096", "E0127", 43, 6, None),
    ("global_load_dword v0, v[2:3], off offset:4096", "E0127", 35, 6, None),
    ("ds_read_b32 v0, v1 ofset:4", "E0127", 20, 5, "did you mean 'offset'?"),
    ("v_mov_b32_dpp v0, v1 quad_perm:[0,1,2]", "E0127", 22, 9, None),
    ("v_mov_b32_dpp v0, v1 row_shl:16", "E0127", 22, 7, None),
    ("v_mov_b32_sdwa v0, v1 dst_sel:BYTE_4", "E0127", 23, 7, None),
    ("buffer_load_dword v0, v1, s[0:3], 0 offen offen", "E0127", 43, 5, None),
    ("v_add_f32_e64 v0, |-v1|, v2", "E0124", 21, 2, None),
    ("s_setreg_b32 hwreg(HW_REG_MOD), s0", "E0124", 14, 5, None),
    ("s_mov_b32 s0, s1 s2", "E0121", 18, 2, "write ',', a modifier or the end of the line here"),
    ("s_mov_b32 s0,", "E0121", 14, 1, None),
    ("v_mov_b32_e32 v0, v1 @", "E0121", 22, 1, None),
    ("", "E0121", 1, 1, None),
    ("v_mov_b32_sdwa v0, sext(sext(v1)) dst_sel:DWORD", "E0124", 25, 4, None),
    ("s_nop " + "0" * 1100, "E0121", 1, 1106, None),
]


@pytest.mark.parametrize(("text", "code", "column", "length", "help_text"), REFUSED)
def test_errors_say_what_and_where(text: str, code: str, column: int, length: int, help_text: str | None) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_line(text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span is not None
    assert (diagnostic.code, diagnostic.span.column, diagnostic.span.length) == (code, column, length)
    assert diagnostic.span.source == text
    if help_text:
        assert diagnostic.help == help_text


def test_error_stands_in_its_own_line_though_the_shape_came_from_another() -> None:
    parser = LineParser()
    parser.parse("buffer_load_dword v0, v1, s[0:3], 0 offen offset:16")
    with pytest.raises(DiagnosticError) as caught:
        parser.parse("buffer_load_dword v100, v100, s[0:3], 0 offen offset:5000", Span("k.s", 7, 3, source="  buffer"))
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert (span.file, span.line, span.column) == ("k.s", 7, 3 + 46)


def test_operand_count_names_what_the_opcode_wants() -> None:
    with pytest.raises(DiagnosticError, match=r"v_add_f32_e32 takes 3 operands \(vdst, src0, src1\), 2 given"):
        parse_line("v_add_f32_e32 v0, v1")


def test_an_opcode_without_a_definition_is_kept_on_request_only() -> None:
    assert parse_line("v_unheard_of v1, v2", allow_opaque=True).definition is None
    with pytest.raises(DiagnosticError, match="E0122"):
        parse_line("v_unheard_of v1, v2")


def _with_numbers(text: str, numbers: list[int]) -> str:
    """The line with every decimal number replaced in turn: same shape, other holes."""
    replacement = iter(numbers)
    mnemonic, space, rest = text.partition(" ")
    return mnemonic + space + re.sub(r"(?<![\w.])\d+(?![\w.])|(?<=\b[sva])\d+\b", lambda _: str(next(replacement, 0)), rest)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PRINTED), st.lists(st.integers(0, 300), min_size=12, max_size=12))
def test_templates_agree_with_the_grammar(text: str, numbers: list[int]) -> None:
    line = _with_numbers(text, numbers)
    remembering = LineParser()
    remembering.parse(text)

    def outcome(parse: Callable[[str], object]) -> object:
        try:
            return parse(line)
        except DiagnosticError as error:
            return error.diagnostics

    assert outcome(remembering.parse) == outcome(LineParser().parse_with_grammar)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='vs_b32mo [](),:|-0x9."&;\tabcdef', max_size=60))
def test_any_text_is_an_instruction_or_a_diagnostic(text: str) -> None:
    def code() -> str:
        try:
            parse_line(text, allow_opaque=True)
        except DiagnosticError as error:
            return error.diagnostics[0].code
        return "E012"

    assert code().startswith("E012")
