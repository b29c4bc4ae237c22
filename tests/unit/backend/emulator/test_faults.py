"""What strict mode must refuse: each fault kind has a kernel that commits it, and one that does not."""

from __future__ import annotations

import numpy as np
import pytest

from asmevo.backend.emulator import run

from .small_kernels import POINTERS, dispatch, kernel, output, words

COPY = (
    POINTERS
    + """
global_load_dword v2, v1, s[4:5]
{wait}
global_store_dword v1, v2, s[6:7]
"""
)


def launch(**options: int):
    return dispatch(words("in", np.arange(64)), output("out", 64), **options)


def kinds(text: str, what=None, **options: object) -> list[str]:
    return [f.kind for f in run(kernel(text), what or launch(), **options).faults]


def test_a_waited_load_is_copied():
    result = run(kernel(COPY.format(wait="s_waitcnt vmcnt(0)")), launch())
    assert result.faults == ()
    assert (result.buffers[1].view(np.uint32) == np.arange(64)).all()
    assert result.written[1].all()
    assert not result.written[0].any()


def test_a_missing_wait_is_named():
    (fault,) = run(kernel(COPY.format(wait="s_nop 0")), launch()).faults
    assert fault.kind == "pending-read"
    assert "v2" in fault.message
    assert "global_load_dword" in fault.message


def test_a_wait_that_is_one_too_weak_is_found():
    text = (
        POINTERS
        + """
global_load_dword v2, v1, s[4:5]
global_load_dword v3, v1, s[4:5]
s_waitcnt vmcnt({n})
v_add_u32_e32 v4, v{r}, v1
"""
    )
    assert kinds(text.format(n=1, r=2)) == []
    assert kinds(text.format(n=1, r=3)) == ["pending-read"]
    assert kinds(text.format(n=2, r=2)) == ["pending-read"]


def test_scalar_loads_are_certain_only_at_zero():
    text = "s_load_dword s4, s[0:1], 0x0\ns_load_dword s5, s[0:1], 0x4\ns_waitcnt lgkmcnt({n})\ns_mov_b32 s6, s4"
    assert kinds(text.format(n=1)) == ["pending-read"]
    assert kinds(text.format(n=0)) == []


def test_overwriting_a_pending_register():
    assert kinds(POINTERS + "global_load_dword v2, v1, s[4:5]\nv_mov_b32_e32 v2, 0") == ["pending-write"]


@pytest.mark.parametrize("text", ["v_add_u32_e32 v2, v0, v9", "s_add_u32 s9, s8, 1", "v_cndmask_b32_e32 v2, v0, v0, vcc"])
def test_an_unwritten_register(text: str):
    assert kinds(text) == ["uninitialised-register"]


def test_the_half_of_a_pair_that_a_packed_instruction_does_not_take_may_be_unwritten():
    text = "s_mov_b32 s10, 2.0\nv_mov_b32_e32 v2, 1.0\nv_mov_b32_e32 v3, 1.0\nv_pk_mul_f32 v[2:3], v[2:3], s[10:11]"
    assert kinds(text) == ["uninitialised-register"]
    assert kinds(f"{text} op_sel_hi:[1,0]") == []


def test_only_active_lanes_must_be_written():
    text = "s_mov_b64 exec, 1\nv_mov_b32_e32 v2, 0\n{more}\nv_add_u32_e32 v3, v2, v2"
    assert kinds(text.format(more="s_nop 0")) == []
    assert kinds(text.format(more="s_mov_b64 exec, 3")) == ["uninitialised-register"]


def test_an_output_read_before_it_is_written():
    assert kinds(POINTERS + "global_load_dword v2, v1, s[6:7]") == ["uninitialised-memory"]


def test_an_address_outside_every_buffer_names_buffer_and_lane():
    short = dispatch(words("in", np.arange(60)), output("out", 64))
    (fault,) = run(kernel(COPY.format(wait="s_waitcnt vmcnt(0)")), short).faults
    assert (fault.kind, fault.lane) == ("out-of-bounds", 60)
    assert "in+0xf0" in fault.message


def test_a_misaligned_atomic():
    assert kinds(POINTERS + "global_atomic_add v1, v0, s[6:7] offset:2") == ["misaligned"]


def test_loads_and_stores_of_global_memory_may_begin_at_any_byte():
    text = """
v_lshlrev_b32_e32 v3, 3, v0
global_load_dwordx2 v[4:5], v1, s[4:5] offset:1
s_waitcnt vmcnt(0)
global_store_dword v3, v4, s[6:7] offset:2
"""
    launch = dispatch(words("in", np.arange(66)), output("out", 130))
    made = run(kernel(POINTERS + text), launch)
    assert made.faults == ()
    expected = np.arange(64, dtype=np.uint32) >> 8 | np.arange(1, 65, dtype=np.uint32) << 24
    assert (made.buffers[1][2:514].reshape(64, 8)[:, :4].copy().view(np.uint32)[:, 0] == expected).all()


SELECT = """
v_cmp_gt_u32_e32 vcc, 32, v0
s_mov_b64 s[8:9], exec
s_and_b64 exec, exec, vcc
v_mov_b32_e32 v3, 7
s_mov_b64 exec, s[8:9]
v_cndmask_b32_e32 v4, {sources}, vcc
global_store_dword v1, v4, s[6:7]
"""


def test_a_selection_needs_only_what_each_lane_takes():
    launch = dispatch(words("in", np.arange(64)), output("out", 64))
    made = run(kernel(POINTERS + SELECT.format(sources="v0, v3")), launch)
    assert made.faults == ()
    assert made.buffers[1].view(np.uint32).tolist() == [7] * 32 + list(range(32, 64))
    (fault,) = run(kernel(POINTERS + SELECT.format(sources="v3, v0")), launch).faults
    assert (fault.kind, fault.lane) == ("uninitialised-register", 32)
    assert "v_cndmask_b32_e32 reads v3" in fault.message


def test_a_selection_of_what_was_not_waited_for():
    text = "global_load_dword v2, v1, s[4:5]\nv_cmp_gt_u32_e32 vcc, 32, v0\nv_cndmask_b32_e32 v3, v0, v2, vcc"
    assert kinds(POINTERS + text) == ["pending-read"]


def test_a_store_to_an_input():
    assert kinds(POINTERS + "global_store_dword v1, v0, s[4:5]") == ["write-to-readonly"]


def test_the_budget():
    assert kinds("again:\ns_branch again", max_instructions=1000) == ["budget"]


def test_a_trap_and_an_instruction_without_semantics():
    assert kinds("s_trap 2") == ["trap"]
    assert kinds("v_cubeid_f32 v0, v0, v0, v0") == ["unsupported"]


EXCHANGE = """
v_lshlrev_b32_e32 v1, 2, v0
v_xor_b32_e32 v2, 0x100, v1
ds_write_b32 v1, v0
{wait}
{barrier}
ds_read_b32 v3, v2
s_waitcnt lgkmcnt(0)
"""


@pytest.mark.parametrize("seed", range(4))
def test_lds_exchange_needs_both_the_wait_and_the_barrier(seed: int):
    def outcome(wait: str, barrier: str) -> list[str]:
        return kinds(EXCHANGE.format(wait=wait, barrier=barrier), dispatch(items=128, lds=512), seed=seed)

    assert outcome("s_waitcnt lgkmcnt(0)", "s_barrier") == []
    assert outcome("s_nop 0", "s_barrier") == ["race"]
    assert outcome("s_waitcnt lgkmcnt(0)", "s_nop 0")[0] in ("race", "uninitialised-memory")


def test_reading_on_while_another_wave_overwrites():
    text = EXCHANGE.format(wait="s_waitcnt lgkmcnt(0)", barrier="s_barrier")
    text += "{barrier}\nds_write_b32 v1, v3\ns_waitcnt lgkmcnt(0)"
    assert kinds(text.format(barrier="s_barrier"), dispatch(items=128, lds=512)) == []
    assert kinds(text.format(barrier="s_nop 0"), dispatch(items=128, lds=512)) == ["race"]


def test_an_lds_read_still_in_flight_across_a_barrier():
    text = """
v_lshlrev_b32_e32 v1, 2, v0
v_xor_b32_e32 v2, 0x100, v1
ds_write_b32 v1, v0
s_waitcnt lgkmcnt(0)
s_barrier
ds_read_b32 v3, v2
{wait}
s_barrier
ds_write_b32 v1, v0
s_waitcnt lgkmcnt(0)
"""
    assert kinds(text.format(wait="s_waitcnt lgkmcnt(0)"), dispatch(items=128, lds=512)) == []
    assert kinds(text.format(wait="s_nop 0"), dispatch(items=128, lds=512)) == ["race"]


def test_an_atomic_that_was_not_waited_for_is_not_yet_seen():
    text = """
v_mov_b32_e32 v1, 0
v_readfirstlane_b32 s4, v0
s_cmp_lg_u32 s4, 0
s_cbranch_scc1 others
ds_write_b32 v1, v1
s_waitcnt lgkmcnt(0)
others:
s_barrier
ds_add_u32 v1, v0
{wait}
s_barrier
ds_read_b32 v3, v1
s_waitcnt lgkmcnt(0)
"""
    assert kinds(text.format(wait="s_waitcnt lgkmcnt(0)"), dispatch(items=128, lds=4)) == []
    assert kinds(text.format(wait="s_nop 0"), dispatch(items=128, lds=4)) == ["race"]


def test_lds_bounds_and_definedness():
    assert kinds("v_mov_b32_e32 v1, 0\nds_read_b32 v2, v1", dispatch(lds=4)) == ["uninitialised-memory"]
    assert kinds("v_mov_b32_e32 v1, 4\nds_write_b32 v1, v1", dispatch(lds=4)) == ["out-of-bounds"]


def test_a_wave_sees_its_own_earlier_lds_stores():
    text = "v_lshlrev_b32_e32 v1, 2, v0\nds_write_b32 v1, v0\nds_read_b32 v2, v1\n"
    text += "s_waitcnt lgkmcnt(0)\nv_add_u32_e32 v3, v2, v2"
    assert kinds(text, dispatch(lds=256)) == []


def test_a_permute_is_pending_until_it_is_waited_for():
    text = "v_lshlrev_b32_e32 v1, 2, v0\nds_bpermute_b32 v2, v1, v0\n{wait}\nv_add_u32_e32 v3, v2, v2"
    assert kinds(text.format(wait="s_waitcnt lgkmcnt(0)")) == []
    assert kinds(text.format(wait="s_nop 0")) == ["pending-read"]


def test_waves_that_end_do_not_hold_up_a_barrier():
    text = "v_cmp_gt_u32_e32 vcc, 64, v0\ns_cbranch_vccz done\ns_barrier\ndone:\ns_nop 0"
    assert kinds(text, dispatch(items=256)) == []


def test_fast_mode_still_checks_bounds():
    assert kinds(COPY.format(wait="s_nop 0"), mode="fast") == []
    small = dispatch(words("in", np.arange(60)), output("out", 64))
    assert kinds(COPY.format(wait="s_nop 0"), small, mode="fast") == ["out-of-bounds"]
