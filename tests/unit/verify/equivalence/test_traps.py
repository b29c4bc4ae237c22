"""The traps in which an equivalence checker for this machine proves what is false."""

from asmevo.verify.verdict import Outcome
from windows import outcome

MFMA = "v_mfma_f32_4x4x1_16b_f32 a[0:3], v1, v2, a[0:3]"


def proved(before: str, after: str, needed: str) -> bool:
    return outcome(before, after, needed) is Outcome.PROVED


def refused(before: str, after: str, needed: str) -> bool:
    """Not proved, and not because something is not modelled."""
    return outcome(before, after, needed) in (Outcome.REFUTED, Outcome.UNKNOWN)


class TestCrossLane:
    def test_an_mfma_sees_inactive_lanes(self) -> None:
        # v1 equals v5 in active lanes only; the matrix reads all.
        before = f"v_mov_b32_e32 v1, v5\n{MFMA}"
        assert refused(before, before.replace("v1, v2, a", "v5, v2, a"), "a0-3 v1")

    def test_an_mfma_may_move_where_its_registers_are_untouched(self) -> None:
        move = "v_mov_b32_e32 v9, v5"
        assert proved(f"{move}\n{MFMA}", f"{MFMA}\n{move}", "a0-3 v9")

    def test_an_mfma_does_not_move_across_its_operands_write(self) -> None:
        move = "v_mov_b32_e32 v1, v5"
        assert refused(f"{move}\n{MFMA}", f"{MFMA}\n{move}", "a0-3 v1")

    def test_an_mfma_writes_inactive_lanes(self) -> None:
        copy = "v_accvgpr_read_b32 v9, a0"
        assert refused(f"{copy}\n{MFMA}", f"{MFMA}\n{copy}", "a0-3 v9")

    def test_an_mfma_may_move_across_an_exec_change(self) -> None:
        change = "s_mov_b64 exec, s[0:1]"
        assert proved(f"{change}\n{MFMA}", f"{MFMA}\n{change}", "a0-3 exec")

    def test_readlane_sees_inactive_lanes(self) -> None:
        before = "v_mov_b32_e32 v1, v5\nv_readlane_b32 s0, v1, 3"
        assert refused(before, "v_mov_b32_e32 v1, v5\nv_readlane_b32 s0, v5, 3", "s0 v1")

    def test_bpermute_sees_other_lanes(self) -> None:
        before = "v_mov_b32_e32 v1, v5\ns_mov_b64 exec, s[2:3]\nds_bpermute_b32 v0, v4, v1"
        assert refused(before, before.replace("v4, v1", "v4, v5"), "v0 v1 exec")

    def test_writelane_ignores_exec(self) -> None:
        lane, change = "v_writelane_b32 v0, s0, 3", "s_mov_b64 exec, s[2:3]"
        assert proved(f"{lane}\n{change}", f"{change}\n{lane}", "v0 exec")
        add = "v_add_u32_e32 v0, v0, v1"
        assert refused(f"{lane}\n{add}", f"{add}\n{lane}", "v0")

    def test_values_equal_in_one_lane_are_not_equal_matrices(self) -> None:
        before = "v_add_u32_e32 v1, v5, v6\nv_add_u32_e32 v3, v6, v5\n" + MFMA
        assert refused(before, before.replace("v1, v2, a", "v3, v2, a"), "a0-3 v1 v3")


class TestLds:
    def test_same_base_and_other_offset_may_be_another_lanes_address(self) -> None:
        before = "ds_write_b32 v1, v2\nds_write_b32 v1, v3 offset:4"
        assert refused(before, "ds_write_b32 v1, v3 offset:4\nds_write_b32 v1, v2", "")

    def test_a_read_does_not_pass_a_write_at_another_offset(self) -> None:
        before = "ds_write_b32 v1, v2\nds_read_b32 v0, v1 offset:4"
        assert refused(before, "ds_read_b32 v0, v1 offset:4\nds_write_b32 v1, v2", "v0")

    def test_a_read_does_not_pass_a_load_to_lds(self) -> None:
        load = "buffer_load_dword v2, s[4:7], 0 offen lds"
        assert refused(f"{load}\nds_read_b32 v0, v1", f"ds_read_b32 v0, v1\n{load}", "v0")

    def test_a_load_to_lds_depends_on_m0(self) -> None:
        load = "buffer_load_dword v2, s[4:7], 0 offen lds"
        assert refused(f"{load}\ns_mov_b32 m0, s0", f"s_mov_b32 m0, s0\n{load}", "m0")

    def test_a_transposing_read_sees_stores_and_other_lanes_addresses(self) -> None:
        read, store = "ds_read_b64_tr_b16 v[2:3], v1", "ds_write_b32 v4, v5"
        assert outcome(f"{read}\n{store}", f"{store}\n{read}", "v2 v3", target="gfx950") in (Outcome.REFUTED, Outcome.UNKNOWN)
        other, add = read.replace("v[2:3]", "v[6:7]"), "v_add_u32_e32 v8, v9, v10"
        both = f"{read}\n{other} offset:8\n{add}", f"{add}\n{other} offset:8\n{read}"
        assert outcome(*both, "v2 v3 v6 v7 v8", target="gfx950") is Outcome.PROVED
        move = "v_mov_b32_e32 v1, v11"
        assert (
            outcome(f"{move}\n{read}", f"{move}\n{read.replace('v1', 'v11')}", "v1 v2 v3", target="gfx950")
            is not Outcome.PROVED
        )


class TestBounds:
    def test_a_buffer_offset_is_not_folded_into_the_address(self) -> None:
        before = "v_add_u32_e32 v1, 16, v1\nbuffer_load_dword v0, v1, s[4:7], 0 offen"
        assert refused(before, "v_add_u32_e32 v1, 16, v1\nbuffer_load_dword v0, v1, s[4:7], 0 offen offset:16", "v0")

    def test_two_buffer_loads_are_not_one_wide_load(self) -> None:
        before = "buffer_load_dword v0, v9, s[4:7], 0 offen\nbuffer_load_dword v1, v9, s[4:7], 0 offen offset:4"
        assert refused(before, "buffer_load_dwordx2 v[0:1], v9, s[4:7], 0 offen", "v0 v1")

    def test_two_lds_reads_are_not_one_wide_read_without_alignment(self) -> None:
        assert refused("ds_read_b32 v0, v9\nds_read_b32 v1, v9 offset:4", "ds_read_b64 v[0:1], v9", "v0 v1")


class TestModes:
    swap = ("v_mov_b32_e32 v0, v1\nv_mov_b32_e32 v2, v0", "v_mov_b32_e32 v0, v1\nv_mov_b32_e32 v2, v1")

    def test_where_vectors_may_be_skipped_both_readings_must_hold(self) -> None:
        before, after = "v_mov_b32_e32 v0, 1\nv_readlane_b32 s0, v0, 0", "v_mov_b32_e32 v0, 1\ns_mov_b32 s0, 1"
        assert outcome("s_mov_b32 s0, s1\nv_mov_b32_e32 v0, 1", "v_mov_b32_e32 v0, 1\ns_mov_b32 s0, s1", "s0 v0",
                       vskip=True) is Outcome.PROVED  # fmt: skip
        assert outcome(before, after, "s0", vskip=True) is not Outcome.PROVED

    def test_nothing_is_folded_across_vskip(self) -> None:
        cut = "v_mov_b32_e32 v0, v1\ns_setvskip s0, 1\n"
        assert not proved(cut + "v_mov_b32_e32 v2, v0", cut + "v_mov_b32_e32 v2, v1", "v0 v2")

    def test_a_float_does_not_cross_a_mode_change(self) -> None:
        mode, add = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3", "v_add_f32_e32 v0, v1, v2"
        assert not proved(f"{mode}\n{add}", f"{add}\n{mode}", "v0 mode")


class TestPartialWrites:
    def test_dpp_without_bound_ctrl_keeps_the_old_value(self) -> None:
        dpp = "v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf"
        assert refused(f"v_mov_b32_e32 v0, v5\n{dpp}", dpp, "v0")

    def test_bound_ctrl_matters(self) -> None:
        dpp = "v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf"
        assert refused(dpp, f"{dpp} bound_ctrl:0", "v0")

    def test_row_masks_matter(self) -> None:
        dpp = "v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:0"
        assert refused(dpp, dpp.replace("row_mask:0xf", "row_mask:0xa"), "v0")

    def test_dpp_depends_on_exec_of_other_lanes(self) -> None:
        change = "s_mov_b64 exec, s[0:1]"
        dpp = "v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0"
        assert refused(f"{dpp}\n{change}", f"{change}\n{dpp}", "v0 exec")

    def test_sdwa_preserve_reads_the_old_value(self) -> None:
        sdwa = "v_add_u32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD"
        assert refused(f"v_mov_b32_e32 v0, v5\n{sdwa}", sdwa, "v0")

    def test_writelane_reads_the_old_value(self) -> None:
        lane = "v_writelane_b32 v0, s0, 3"
        assert refused(f"v_mov_b32_e32 v0, v5\n{lane}", lane, "v0")

    def test_d16_loads_read_the_old_value(self) -> None:
        load = "global_load_short_d16_hi v0, v[2:3], off"
        assert refused(f"v_mov_b32_e32 v0, v5\n{load}", load, "v0")


class TestFlagsAndExec:
    def test_reassociation_changes_scc(self) -> None:
        before = "s_add_u32 s4, s0, s1\ns_add_u32 s4, s4, s2"
        after = "s_add_u32 s4, s1, s2\ns_add_u32 s4, s4, s0"
        assert proved(before, after, "s4")
        assert refused(before, after, "s4 scc")

    def test_folding_a_mov_across_a_wider_exec_is_illegal(self) -> None:
        head = "v_mov_b32_e32 v9, v1\ns_mov_b64 exec, -1\n"
        assert refused(head + "v_add_u32_e32 v0, v9, v2", head + "v_add_u32_e32 v0, v1, v2", "v0 v9 exec")

    def test_a_write_under_exec_does_not_replace_the_old_value(self) -> None:
        head = "v_mov_b32_e32 v0, v5\ns_and_b64 exec, exec, s[0:1]\nv_mov_b32_e32 v0, v6"
        assert refused(head, head.split("\n", 1)[1], "v0 exec")


class TestFloats:
    def test_times_one_is_not_a_move(self) -> None:
        assert refused("v_mul_f32_e32 v0, 1.0, v1", "v_mov_b32_e32 v0, v1", "v0")

    def test_max_with_itself_is_not_a_move(self) -> None:
        assert refused("v_max_f32_e32 v0, v1, v1", "v_mov_b32_e32 v0, v1", "v0")

    def test_operands_of_max_are_not_swapped(self) -> None:
        assert refused("v_max_f32_e32 v0, v1, v2", "v_max_f32_e32 v0, v2, v1", "v0")

    def test_negation_is_a_sign_bit(self) -> None:
        assert proved("v_add_f32_e64 v0, -v1, v2", "v_xor_b32_e32 v9, 0x80000000, v1\nv_add_f32_e32 v0, v9, v2", "v0")


class TestAccumulators:
    """Whether v_accvgpr_* obey EXEC is not settled, so both readings must hold."""

    def test_an_acc_write_is_not_what_a_wider_exec_sees(self) -> None:
        head = "v_accvgpr_write_b32 a0, v1\ns_mov_b64 exec, -1\n"
        assert refused(head + "v_accvgpr_read_b32 v0, a0", head + "v_mov_b32_e32 v0, v1", "a0 v0 exec")

    def test_an_acc_read_is_not_a_move(self) -> None:
        before = "v_accvgpr_write_b32 a0, v1\nv_accvgpr_read_b32 v0, a0"
        assert refused(before, "v_accvgpr_write_b32 a0, v1\nv_mov_b32_e32 v0, v1", "a0 v0")

    def test_an_acc_write_is_not_unconditional_nor_masked(self) -> None:
        before = "v_accvgpr_write_b32 a0, v1\nv_accvgpr_write_b32 a0, v2"
        assert proved(before, "v_accvgpr_write_b32 a0, v2", "a0")
        change = "s_mov_b64 exec, s[0:1]"
        one = "v_accvgpr_write_b32 a0, v1"
        assert refused(f"{one}\n{change}", f"{change}\n{one}", "a0 exec")
