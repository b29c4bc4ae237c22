"""The smaller analyses: bank conflicts, coalescing, dead code, excess waits, kernarg slots, post-dominators, occupancy."""

from dataclasses import replace

import pytest

from asmevo.ir.abi import KernelArgument, KernelMetadata
from asmevo.ir.analysis.control.postdominance import PostDominance
from asmevo.ir.analysis.cost.occupancy_steps import OccupancySteps, scalar_limit, vector_limit, waves_for_lds, waves_for_scalars
from asmevo.ir.analysis.cost.pressure import waves_for_vector_total
from asmevo.ir.analysis.dataflow.dead_code import DeadCode
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.memory.bank_conflicts import BankConflicts
from asmevo.ir.analysis.memory.coalescing import Coalescing
from asmevo.ir.analysis.memory.kernargs import KernargUse
from asmevo.ir.analysis.waits.redundancy import Redundancy
from asmevo.ir.instruction import WaitCounts
from asmevo.ir.registers import AGPR0, EXEC, VGPR0, RegisterFile, units
from programs import kernel_of


def manager(text: str) -> AnalysisManager:
    return AnalysisManager(kernel_of(text))


def test_a_column_of_lds_conflicts_and_a_padded_one_does_not():
    def extra(stride):
        text = f"v_mul_u32_u24_e32 v1, {stride}, v0\n v_and_b32_e32 v2, 63, v0\n v_mul_lo_u32 v1, v2, s20\n"
        text = (
            f"v_and_b32_e32 v2, 63, v0\n s_movk_i32 s8, {stride:#x}\n v_mul_lo_u32 v1, v2, s8\n ds_read_b32 v3, v1\n s_endpgm"
        )
        [use] = manager(text).get(BankConflicts).uses
        assert use.cost is not None
        return use.cost.extra

    assert extra(128) == 62
    assert extra(132) == 0


def test_unknown_lds_addresses_have_no_cost():
    [use] = manager("ds_read_b32 v3, v1\n s_endpgm").get(BankConflicts).uses
    assert use.cost is None


def test_coalescing_counts_segments():
    def touched(shift):
        text = f"v_lshlrev_b32_e32 v1, {shift}, v0\n global_load_dword v2, v1, s[6:7]\n s_endpgm"
        [use] = manager(text).get(Coalescing).uses
        return [(s.size_bytes, s.touched, s.least) for s in use.segments]

    assert touched(2) == [(64, 4, 4), (128, 2, 2)]
    assert touched(7) == [(64, 64, 4), (128, 64, 2)]
    [unknown] = manager("global_load_dword v2, v1, s[6:7]\n s_endpgm").get(Coalescing).uses
    assert unknown.segments == ()


def dead(text: str) -> list[tuple[str, int]]:
    return [(found.label, found.index) for found in manager(text).get(DeadCode).instructions]


STORE = "global_store_dword v0, v1, s[0:1]\n s_endpgm"


def test_dead_code_is_found_on_all_paths_only():
    assert dead("v_mov_b32_e32 v2, 0\n v_mov_b32_e32 v1, 0\n" + STORE) == [("entry", 0)]
    branch = "v_mov_b32_e32 v1, 0\n s_cbranch_scc1 use\nskip:\n s_endpgm\nuse:\n" + STORE
    assert dead(branch) == []


def test_a_result_that_other_lanes_keep_is_not_dead():
    text = "v_mov_b32_e32 v1, 0\n s_and_saveexec_b64 s[8:9], vcc\n v_mov_b32_e32 v1, 1\n s_or_b64 exec, exec, s[8:9]\n" + STORE
    assert dead(text) == []


@pytest.mark.parametrize(
    "kept", ["s_mov_b64 exec, -1", "s_barrier", "ds_write_b32 v0, v1", "s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0", "s_nop 0"]
)
def test_effects_beyond_registers_are_never_dead(kept):
    assert dead(kept + "\n s_endpgm") == []


def test_an_scc_that_is_read_keeps_its_instruction():
    assert dead("s_cmp_eq_u32 s4, 0\n s_cbranch_scc1 out\nout:\n s_endpgm") == []
    assert dead("s_cmp_eq_u32 s4, 0\n s_endpgm") == [("entry", 0)]


def test_liveness_by_register_file():
    text = "v_accvgpr_write_b32 a3, v9\n v_accvgpr_read_b32 v1, a3\n v_add_u32_e32 v1, s8, v1\n" + STORE
    found = manager(text).get(Liveness)
    live = {file: set(units(found.live_in_file("entry", 0, file))) for file in RegisterFile}
    assert live[RegisterFile.AGPR] == {AGPR0 + 3}
    assert live[RegisterFile.VGPR] == {VGPR0}
    assert live[RegisterFile.SGPR] == {0, 1, 8}
    assert EXEC in live[RegisterFile.SPECIAL]


def test_blocks_that_no_path_reaches_are_named():
    assert manager("s_endpgm\nlost:\n s_endpgm").get(DeadCode).unreachable == ("lost",)


def test_excess_waits_and_nops():
    text = "global_load_dword v1, v0, s[0:1]\n s_waitcnt vmcnt(0) lgkmcnt(0)\n s_nop 3\n s_waitcnt lgkmcnt(0)\n" + STORE
    found = manager(text).get(Redundancy)
    assert [(w.index, w.enough, w.is_redundant) for w in found.waits] == [
        (1, WaitCounts(vmcnt=0), False),
        (3, WaitCounts(), True),
    ]
    assert [(n.index, n.current, n.enough_llvm) for n in found.nops] == [(2, 4, 0)]
    assert manager("global_load_dword v1, v0, s[0:1]\n s_waitcnt vmcnt(0)\n" + STORE).get(Redundancy).waits == ()


def test_kernarg_slots_are_matched_to_arguments():
    arguments = (
        KernelArgument("a", 0, 8, "global_buffer"),
        KernelArgument("n", 8, 4, "by_value"),
        KernelArgument("m", 12, 4, "by_value"),
    )
    moved = "s_add_u32 s0, s0, 8\n s_addc_u32 s1, s1, 0\n"
    text = f"s_load_dwordx2 s[4:5], s[0:1], 0x0\n {moved} s_load_dword s6, s[0:1], 0x0\n s_endpgm"
    kernel = replace(kernel_of(text), metadata=KernelMetadata("k", "k.kd", arguments))
    use = AnalysisManager(kernel).get(KernargUse)
    assert [(s.offset, s.bytes, [a.name for a in s.arguments]) for s in use.slots] == [(0, 8, ["a"]), (8, 4, ["n"])]
    assert [a.name for a in use.unused] == ["m"]
    assert use.complete


def test_a_kernarg_read_by_an_unknown_offset_makes_the_list_incomplete():
    text = "s_add_u32 s0, s0, s20\n s_addc_u32 s1, s1, 0\n s_load_dword s6, s[0:1], 0x0\n s_endpgm"
    assert not manager(text).get(KernargUse).complete


def test_post_dominators_of_a_diamond_and_a_loop():
    text = "s_cbranch_scc1 b\na:\n s_nop 0\n s_branch c\nb:\n s_nop 0\nc:\n s_cbranch_scc1 c\nd:\n s_endpgm"
    found = manager(text).get(PostDominance)
    assert found.immediate == {"entry": "c", "a": "c", "b": "c", "c": "d", "d": None}
    assert found.postdominates("c", "entry")
    assert not found.postdominates("a", "entry")


def test_endless_code_has_no_post_dominator():
    assert manager("s_nop 0\nagain:\n s_branch again").get(PostDominance).immediate == {"entry": None, "again": None}


@pytest.mark.parametrize("waves", range(1, 9))
def test_limits_are_the_most_that_still_hold_so_many_waves(waves):
    assert waves_for_vector_total(vector_limit(waves)) >= waves
    assert waves_for_vector_total(vector_limit(waves) + 1) < waves
    assert waves_for_scalars(scalar_limit(waves)) >= waves
    assert waves_for_scalars(scalar_limit(waves) + 1) < waves


def test_lds_of_gfx950_holds_more_groups():
    assert waves_for_lds("gfx942", 32768, 4) == 2
    assert waves_for_lds("gfx950", 32768, 4) == 4
    assert waves_for_lds("gfx942", 0, 4) == 8
    assert waves_for_lds("gfx942", 70000, 4) == 0


def test_steps_say_what_to_save():
    found = manager("v_mov_b32_e32 v129, 0\n s_endpgm").get(OccupancySteps)
    vectors = found.resources[0]
    assert (vectors.allocated, vectors.waves) == (130, 3)
    assert (vectors.savings[0].waves, vectors.savings[0].limit, vectors.savings[0].saving) == (4, 128, 2)
    assert found.limiting == ("vector registers",)
