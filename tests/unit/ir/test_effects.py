"""What single instructions read, write and kill, written as assembly."""

from __future__ import annotations

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.line import parse_line
from asmevo.ir.effects import EVERYTHING, SGPR_MASK, Effects, effects, may_skip_vectors, unread_halves
from asmevo.ir.instruction import Instruction
from asmevo.ir.registers import AGPR0, AGPR_MASK, EXEC_MASK, HWREG, M0, MODE, SCC, VCC_MASK, VGPR_MASK, VSKIP, unit_name, units

VECTOR = "exec_lo exec_hi vskip"


def of(text: str, **options: bool) -> Effects:
    return effects(parse_line(text), **options)


def named(mask: int) -> set[str]:
    return {unit_name(unit) for unit in units(mask)}


def names(text: str) -> set[str]:
    return set(text.split())


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("s_addc_u32 s4, s5, s6", "s5 s6 src_scc", "s4 src_scc"),
        ("s_mov_b64 exec, s[2:3]", "s2 s3", "exec_lo exec_hi"),
        ("s_and_saveexec_b64 s[0:1], vcc", "vcc_lo vcc_hi exec_lo exec_hi", "s0 s1 exec_lo exec_hi src_scc"),
        ("s_cmp_lt_u32 s0, 5", "s0", "src_scc"),
        ("s_cbranch_vccz L_0", "vcc_lo vcc_hi", ""),
        ("s_load_dwordx2 s[4:5], s[0:1], 0x10", "s0 s1", "s4 s5"),
        ("s_atomic_inc s4, s[0:1], s6 glc", "s0 s1 s4 s6", "s4"),
        ("v_add_f32_e32 v0, s1, v2", f"s1 v2 mode {VECTOR}", "v0"),
        ("v_cmp_lt_u32_e32 vcc, s1, v2", f"s1 v2 {VECTOR}", "vcc_lo vcc_hi"),
        ("v_cmpx_lt_u32_e32 vcc, s1, v2", f"s1 v2 {VECTOR}", "vcc_lo vcc_hi exec_lo exec_hi"),
        ("v_addc_co_u32_e64 v0, s[4:5], v1, v2, s[6:7]", f"v1 v2 s6 s7 {VECTOR}", "v0 s4 s5"),
        ("v_fmac_f32_e32 v0, v1, v2", f"v0 v1 v2 mode {VECTOR}", "v0"),
        ("v_readlane_b32 s4, v1, s6", "v1 s6 vskip", "s4"),
        ("v_writelane_b32 v1, s4, 3", "s4 v1 vskip", "v1"),
        ("v_swap_b32 v0, v1", f"v0 v1 {VECTOR}", "v0 v1"),
        ("v_accvgpr_write_b32 a3, v1", f"v1 {VECTOR}", "a3"),
        ("ds_read_b64 v[2:3], v0", f"v0 {VECTOR}", "v2 v3"),
        ("ds_write2_b32 v0, v1, v2 offset1:4", f"v0 v1 v2 {VECTOR}", ""),
        ("global_load_dword v4, v[0:1], off", f"v0 v1 {VECTOR}", "v4"),
        ("global_store_dword v0, v1, s[2:3]", f"v0 v1 s2 s3 {VECTOR}", ""),
        ("global_load_short_d16_hi v4, v0, s[2:3]", f"v0 v4 s2 s3 {VECTOR}", "v4"),
        ("buffer_load_dword v4, off, s[4:7], 0", f"s4 s5 s6 s7 {VECTOR}", "v4"),
        ("buffer_load_dword v4, s[4:7], 0 offen lds", f"v4 s4 s5 s6 s7 m0 {VECTOR}", ""),
        ("buffer_atomic_add v4, v0, s[4:7], s8 offen", f"v4 v0 s4 s5 s6 s7 s8 {VECTOR}", ""),
        ("buffer_atomic_add v4, v0, s[4:7], s8 offen sc0", f"v4 v0 s4 s5 s6 s7 s8 {VECTOR}", "v4"),
        ("s_nop 0", "", ""),
        ("s_waitcnt vmcnt(0)", "", ""),
    ],
)
def test_reads_and_writes(text: str, reads: str, writes: str) -> None:
    found = of(text)
    assert named(found.reads) == names(reads)
    assert named(found.writes) == names(writes)


@pytest.mark.parametrize("text", ["v_cndmask_b32_e64 v0, v1, v2, s[4:5]", "v_mul_f32_e32 v0, v1, v2", "ds_read_b32 v0, v1"])
def test_a_vector_result_is_a_kill_only_under_full_exec(text: str) -> None:
    assert of(text).kills == 0
    assert named(of(text, exec_full=True).kills) == {"v0"}


def test_scalar_and_matrix_results_are_kills_under_any_exec() -> None:
    assert named(of("s_add_u32 s0, s1, s2").kills) == {"s0", "src_scc"}
    assert named(of("v_cmp_lt_u32_e64 s[4:5], v0, v1").kills) == {"s4", "s5"}
    assert named(of("v_readfirstlane_b32 s0, v1").kills) == {"s0"}
    assert named(of("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0").kills) == {"v0", "v1", "v2", "v3"}
    assert of("v_accvgpr_read_b32 v0, a1").kills == 0


def test_an_accumulating_matrix_instruction_reads_its_result_register() -> None:
    found = of("v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[8:11], v12")
    assert found.reads & found.writes == found.writes


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        ("v_cvt_f16_f32_sdwa v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD", True),
        ("v_cvt_f16_f32_sdwa v0, v1 dst_sel:WORD_1 src0_sel:DWORD", True),
        ("v_cvt_f16_f32_sdwa v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD", False),
        ("v_cvt_f32_f16_sdwa v0, v1 dst_sel:DWORD dst_unused:UNUSED_PRESERVE src0_sel:WORD_1", False),
        ("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf", True),
        ("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", False),
        ("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xe bank_mask:0xf bound_ctrl:1", True),
        ("v_mov_b32_dpp v0, v1 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf", True),
        ("v_cvt_pk_u16_u32 v0, v1, v2", False),
        ("v_mad_legacy_f16 v0, v1, v2, v3", False),
    ],
)
def test_modifiers_that_keep_part_of_the_destination(text: str, keeps: bool) -> None:
    assert ("v0" in named(of(text).reads)) == keeps


def test_a_lane_permutation_within_the_row_keeps_nothing_under_full_exec() -> None:
    text = "v_mov_b32_dpp v0, v1 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf"
    assert "v0" not in named(of(text, exec_full=True).reads)
    shifted = "v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf"
    assert "v0" in named(of(shifted, exec_full=True).reads)


def test_sources_made_from_other_registers() -> None:
    assert of("s_mov_b32 s0, src_execz").reads & EXEC_MASK == EXEC_MASK
    assert of("s_mov_b32 s0, src_vccz").reads & VCC_MASK == VCC_MASK


def test_hardware_registers_by_name() -> None:
    mode = of("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15")
    assert mode.writes == mode.reads == 1 << MODE | 1 << VSKIP
    assert mode.kills == 0
    other = of("s_setreg_b32 hwreg(HW_REG_TRAPSTS), s0")
    assert named(other.writes) == {"hwreg"}
    read = of("s_getreg_b32 s0, hwreg(HW_REG_HW_ID)")
    assert (named(read.reads), named(read.kills)) == ({"hwreg"}, {"s0"})


def test_mode_switches_are_no_kills() -> None:
    found = of("s_setvskip 0, 0")
    assert found.writes == 1 << MODE | 1 << VSKIP
    assert found.kills == 0


def test_indexed_scalar_moves_touch_any_scalar() -> None:
    assert of("s_movrels_b32 s0, s1").reads == SGPR_MASK | 1 << M0
    moved = of("s_movreld_b32 s0, s1")
    assert (moved.writes, moved.kills) == (SGPR_MASK, 0)


@pytest.mark.parametrize("text", ["s_setpc_b64 s[0:1]", "s_swappc_b64 s[0:1], s[2:3]"])
def test_control_that_leaves_the_kernel_is_opaque(text: str) -> None:
    assert of(text) == Effects(EVERYTHING, EVERYTHING, 0)


def test_raw_data_is_opaque() -> None:
    assert effects(Instruction(".long")) == Effects(EVERYTHING, EVERYTHING, 0)


def test_a_vector_instruction_that_may_be_skipped_kills_nothing() -> None:
    for text in ("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0", "v_cmp_lt_u32_e64 s[4:5], v0, v1"):
        assert of(text, may_skip=True).kills == 0
    assert named(of("s_mov_b32 s0, s1", may_skip=True).kills) == {"s0"}


def test_who_may_set_vskip() -> None:
    def lines(*texts: str) -> list[Instruction]:
        return [parse_line(text) for text in texts]

    assert not may_skip_vectors(lines("s_nop 0", "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS), 1"))
    assert may_skip_vectors(lines("s_nop 0", "s_setvskip s0, 0"))
    assert may_skip_vectors(lines("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1"))
    assert may_skip_vectors([Instruction(".long")])


def test_an_indexed_vector_instruction_may_touch_any_vgpr() -> None:
    found = of("v_mov_b32_e32 v0, s1", indexed=True, exec_full=True)
    assert (found.writes, found.kills) == (VGPR_MASK, 0)
    assert found.reads & VGPR_MASK == 0
    assert of("v_add_u32_e32 v0, v1, v2", indexed=True).reads & VGPR_MASK == VGPR_MASK
    assert of("v_accvgpr_read_b32 v0, a1", indexed=True).reads & (VGPR_MASK | AGPR_MASK) == 1 << AGPR0 + 1


def test_operands_that_do_not_fit_the_definition_are_refused() -> None:
    whole = parse_line("v_add_f32_e32 v0, v1, v2")
    with pytest.raises(DiagnosticError, match="E0310"):
        effects(whole.edited(operands=whole.operands[:2]))


def test_every_effect_kills_what_it_writes_only() -> None:
    for text in ("v_div_scale_f32 v0, vcc, v1, v2, v3", "s_bitset1_b32 s0, s1", "ds_add_rtn_u32 v0, v1, v2"):
        found = of(text, exec_full=True)
        assert found.kills & ~found.writes == 0
        assert found.kills == found.writes
    assert of("s_nop 0").reads & (1 << SCC | 1 << HWREG) == 0


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("v_pk_fma_f32 v[0:1], v[2:3], s[4:5], v[6:7]", set()),
        ("v_pk_fma_f32 v[0:1], v[2:3], s[4:5], v[6:7] op_sel_hi:[1,0,1]", {"s5"}),
        ("v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[1,0]", {"v2", "v5"}),
        ("v_pk_mul_f32 v[0:1], v[2:3], v[2:3] op_sel:[1,0] op_sel_hi:[1,0]", set()),
        ("v_pk_add_f32 v[0:1], v[2:3], 1.0 op_sel:[1,0] op_sel_hi:[1,0]", {"v2"}),
        ("v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]", {"v2", "v5"}),
        ("v_pk_add_f16 v0, v1, v2 op_sel_hi:[0,0]", set()),
        ("v_add_f64 v[0:1], v[2:3], v[4:5]", set()),
    ],
)
def test_packed_numbers_are_taken_out_of_the_halves_that_op_sel_names(text, unread) -> None:
    instruction = parse_line(text)
    assert {unit_name(unit) for unit in units(unread_halves(instruction))} == unread
    assert unread_halves(instruction) & ~effects(instruction).reads == 0
