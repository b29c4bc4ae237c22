"""Bounds of loops: recurrences, units, matrix chains."""

from asmevo.ir.analysis.cost.loop_bounds import LoopBound, LoopBounds
from asmevo.ir.analysis.manager import AnalysisManager
from programs import kernel_of

END = "\n s_add_i32 s8, s8, 1\n s_cmp_lt_i32 s8, s9\n s_cbranch_scc1 again\nout:\n s_endpgm"


def bound(body: str) -> LoopBound:
    [found] = AnalysisManager(kernel_of("s_mov_b32 s8, 0\nagain:\n" + body + END)).get(LoopBounds).loops
    return found


def test_a_scalar_counter_is_a_recurrence_of_one_slot():
    found = bound("v_mov_b32_e32 v1, v0")
    assert found.recurrence_cycles == 4
    assert found.recurrence == (("again", 1),)
    assert found.issue_cycles["wave"] == 16


def test_a_pointer_chase_is_bound_by_its_latency():
    found = bound("global_load_dwordx2 v[2:3], v[2:3], off\n s_waitcnt vmcnt(0)")
    assert found.recurrence_cycles > 280
    assert found.recurrence == (("again", 0),)
    assert found.bound_cycles == found.recurrence_cycles


def test_independent_loads_are_no_recurrence():
    assert bound("global_load_dwordx2 v[4:5], v[2:3], off\n s_waitcnt vmcnt(0)").recurrence_cycles == 4


def test_a_recurrence_through_two_instructions_adds_up():
    found = bound("v_exp_f32_e32 v1, v2\n v_rcp_f32_e32 v2, v1")
    assert found.recurrence_cycles == 32
    assert found.recurrence == (("again", 0), ("again", 1))


def test_a_recurrence_may_go_through_one_register_of_several():
    pair = "v_lshlrev_b64 v[2:3], 1, v[4:5]\n v_exp_f32_e32 v{0}, v{1}"
    assert bound(pair.format(5, 3)).recurrence_cycles == bound(pair.format(4, 2)).recurrence_cycles > 4
    assert bound(pair.format(5, 6)).recurrence_cycles == 4
    assert bound(pair.format(5, 3)).recurrence == (("again", 0), ("again", 1))


MFMA = "v_mfma_f32_32x32x8_f16 a[{0}:{1}], v[0:1], v[2:3], a[{0}:{1}]"


def test_one_matrix_chain_is_bound_by_latency_and_several_are_not():
    chain = bound("\n".join([MFMA.format(0, 15)] * 4)).matrix
    assert (chain.instructions, chain.longest) == (4, 4)
    apart = bound("\n".join(MFMA.format(16 * n, 16 * n + 15) for n in range(4))).matrix
    assert (apart.instructions, apart.longest) == (4, 1)
    assert chain.latency_cycles == 4 * apart.latency_cycles
    assert chain.issue_cycles == apart.issue_cycles
    assert not apart.is_latency_bound


def test_a_chain_ends_where_the_accumulator_is_set_anew():
    clear = "v_accvgpr_write_b32 a0, v9\n"
    assert bound(MFMA.format(0, 15) + "\n" + MFMA.format(0, 15)).matrix.longest == 2
    everything = "\n".join(f"v_accvgpr_write_b32 a{n}, v9" for n in range(16))
    assert bound(MFMA.format(0, 15) + "\n" + everything + "\n" + MFMA.format(0, 15)).matrix.longest == 1
    assert clear


def test_branches_inside_are_told():
    body = "s_cbranch_vccz skip\n inner:\n v_mov_b32_e32 v1, v0\nskip:\n v_mov_b32_e32 v1, v0"
    assert bound(body).branches
    assert not bound("v_mov_b32_e32 v1, v0").branches
