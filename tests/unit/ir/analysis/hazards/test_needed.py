"""Wait states by both readings, across blocks, and the least nops."""

import pytest

from asmevo.ir.analysis.hazards.needed import HazardState, Missing, NopNeeds
from asmevo.ir.analysis.manager import AnalysisManager
from programs import kernel_of

MFMA = "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]"


def state(text, target="gfx942"):
    return AnalysisManager(kernel_of(text, target)).get(HazardState)


def missing(*lines, target="gfx942"):
    found = state("\n".join((*lines, "s_endpgm")), target)
    return found.required_states("entry", len(lines) - 1)


@pytest.mark.parametrize(
    ("producer", "consumer", "states"),
    [
        ("v_readfirstlane_b32 s4, v0", "buffer_load_dword v1, v2, s[4:7], 0 offen", 5),
        ("v_readfirstlane_b32 s4, v0", "v_mov_b32_e32 v1, s4", 2),
        ("v_readfirstlane_b32 s4, v0", "v_readlane_b32 s5, v1, s4", 4),
        ("v_mov_b32_e32 v1, v0", "v_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", 2),
        ("v_mov_b32_e32 v1, v0", "v_readfirstlane_b32 s4, v1", 1),
        ("v_exp_f32_e32 v1, v0", "v_add_f32_e32 v2, v1, v1", 1),
        ("v_mov_b32_e32 v1, v0", "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", 2),
        ("v_cmpx_eq_u32_e32 vcc, v0, v1", "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", 4),
        ("v_div_scale_f32 v0, vcc, v1, v2, v3", "v_div_fmas_f32 v4, v5, v6, v7", 4),
        ("global_store_dwordx4 v0, v[4:7], s[0:1]", "v_mov_b32_e32 v4, 0", 2),
        (MFMA, "v_accvgpr_read_b32 v4, a0", 7),
        (MFMA, "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", 0),
        (MFMA, "v_mfma_f32_16x16x16_f16 a[4:7], v[0:1], v[2:3], a[2:5]", 5),
        (MFMA, "v_mfma_f32_16x16x16_f16 a[4:7], a[0:1], v[2:3], a[4:7]", 7),
        (MFMA, "global_store_dword v4, a0, s[0:1]", 7),
        ("v_mfma_f32_16x16x16_f16 a[4:7], v[0:1], v[2:3], a[0:3]", "v_accvgpr_write_b32 a0, v4", 3),
        ("v_mfma_f32_16x16x4_f32 a[0:3], v0, v1, a[0:3]", "v_accvgpr_read_b32 v4, a0", 10),
        ("v_mfma_f64_16x16x4_f64 v[8:15], v[0:1], v[2:3], v[8:15]", "global_store_dwordx2 v4, v[8:9], s[0:1]", 18),
    ],
)
def test_the_table_is_applied(producer, consumer, states):
    assert missing(producer, consumer).llvm == states
    if states:
        assert missing(producer, f"s_nop {min(states - 1, 15)}", *(["s_nop 1"] if states > 16 else []), consumer).llvm <= 0
        assert missing(producer, *["s_nop 0"] * (states - 1), consumer).llvm == 1


@pytest.mark.parametrize(
    ("producer", "consumer"),
    [
        ("v_readfirstlane_b32 s4, v0", "s_add_u32 s5, s4, s4"),
        ("v_exp_f32_e32 v1, v0", "v_exp_f32_e32 v2, v1"),
        ("v_mov_b32_e32 v1, v0", "v_add_f32_e32 v2, v1, v1"),
        ("v_mov_b32_e32 v1, v0", "ds_write_b32 v1, v2"),
        ("s_mov_b32 s4, s5", "v_mov_b32_e32 v1, s4"),
        ("global_store_dwordx2 v0, v[4:5], s[0:1]", "v_mov_b32_e32 v4, 0"),
    ],
)
def test_what_hardware_interlocks_needs_nothing(producer, consumer):
    assert missing(producer, consumer) == Missing(0, 0)


def test_carry_in_is_needed_by_the_compiler_only():
    found = missing("v_cmp_eq_u32_e32 vcc, v0, v1", "v_cndmask_b32_e32 v2, v3, v4, vcc")
    assert found == Missing(llvm=2, physical=0)


def test_a_replaced_scalar_is_no_hazard():
    assert missing("v_readlane_b32 s4, v0, 0", "s_and_b32 s4, s4, 1", "v_mov_b32_e32 v1, s4") == Missing(0, 0)


def test_a_busy_matrix_unit_counts_in_the_physical_reading():
    other = "v_mfma_f32_16x16x16_f16 a[{0}:{1}], v[0:1], v[2:3], a[{0}:{1}]"
    lines = (MFMA, other.format(4, 7), other.format(8, 11), "v_accvgpr_read_b32 v4, a0")
    assert missing(*lines) == Missing(llvm=5, physical=0)


def test_a_wait_may_outlast_the_matrix_unit():
    """What issues behind a wait may find the unit free: its pairs have no slots from that; those of what came before have."""
    matrix = "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[26:27], v[0:15]"
    late = (matrix, "s_waitcnt lgkmcnt(0)", "v_perm_b32 v16, v23, v24, s0", matrix)
    assert missing(*late) == Missing(llvm=2, physical=2)
    early = ("v_perm_b32 v26, v23, v24, s0", "s_nop 1", matrix.replace("v[0:15]", "v[32:47]"), "s_waitcnt lgkmcnt(0)", matrix)
    assert missing(*early) == Missing(llvm=0, physical=0)


def test_packed_f32_waits_for_the_matrix_unit_by_itself():
    lines = (
        "v_mfma_f32_16x16x16_f16 v[8:11], v[0:1], v[2:3], v[8:11]",
        "v_pk_mul_f32 v[20:21], v[22:23], v[22:23]",
        "v_mov_b32_e32 v4, v8",
    )
    assert missing(*lines) == Missing(llvm=6, physical=1)


def test_a_hazard_crosses_a_back_edge():
    text = f"""
    entry:
        s_nop 0
    loop:
        v_accvgpr_read_b32 v4, a0
        s_nop 7
        {MFMA}
        s_cbranch_scc1 loop
    exit:
        s_endpgm
    """
    assert state(text).required_states("loop", 0) == Missing(llvm=6, physical=3)


def test_the_nearest_path_decides():
    text = f"""
    entry:
        {MFMA}
        s_cbranch_scc1 join
    side:
        s_nop 7
    join:
        v_accvgpr_read_b32 v4, a0
        s_endpgm
    """
    assert state(text).required_states("join", 0).llvm == 6


def nops(text):
    return AnalysisManager(kernel_of(text)).get(NopNeeds).llvm


def test_nops_shrink_to_the_need():
    assert nops(f"{MFMA}\n s_nop 9\n v_accvgpr_read_b32 v4, a0\n s_endpgm") == {("entry", 1): 7}
    assert nops("v_mov_b32_e32 v1, v0\n s_nop 3\n v_mov_b32_e32 v2, v1\n s_endpgm") == {("entry", 1): 0}


def test_two_nops_share_one_need():
    found = nops(f"{MFMA}\n s_nop 7\n s_nop 7\n v_accvgpr_read_b32 v4, a0\n s_endpgm")
    assert sum(found.values()) == 7


def test_a_pair_that_is_too_close_does_not_come_closer():
    assert nops(f"{MFMA}\n s_nop 2\n v_accvgpr_read_b32 v4, a0\n s_endpgm") == {("entry", 1): 3}


def test_the_longest_of_several_needs_decides():
    text = f"{MFMA}\n v_mov_b32_e32 v9, v0\n s_nop 9\n v_readfirstlane_b32 s4, v9\n v_accvgpr_read_b32 v4, a0\n s_endpgm"
    assert nops(text) == {("entry", 2): 5}
