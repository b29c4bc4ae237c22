"""Missing waits are found on every path, and waits are relaxed only as far as every path allows."""

import pytest

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.needed import WaitNeeds, WaitState
from asmevo.ir.instruction import WaitCounts
from programs import kernel_of

NONE = WaitCounts()


def missing(text):
    return [(label, index, needed) for label, index, needed in AnalysisManager(kernel_of(text)).get(WaitState).missing()]


def needs(text):
    return AnalysisManager(kernel_of(text)).get(WaitNeeds).by_site


LOADS = """
    global_load_dword v1, v0, s[0:1]
    global_load_dword v2, v0, s[0:1] offset:4
"""


def test_a_use_without_wait_is_found():
    assert missing(LOADS + "v_add_f32_e32 v3, v1, v1\n s_endpgm") == [("entry", 2, WaitCounts(vmcnt=1))]


def test_overwriting_a_pending_destination_is_found():
    assert missing(LOADS + "v_mov_b32_e32 v2, 0\n s_endpgm") == [("entry", 2, WaitCounts(vmcnt=0))]


def test_a_load_may_follow_a_load_into_the_same_register():
    assert missing(LOADS + "global_load_dword v1, v0, s[0:1]\n s_waitcnt vmcnt(0)\n s_endpgm") == []


def test_an_address_or_stored_register_may_be_overwritten():
    assert missing("global_store_dword v0, v1, s[0:1]\n v_mov_b32_e32 v1, 0\n v_mov_b32_e32 v0, 0\n s_endpgm") == []


def test_the_wait_must_be_strong_enough():
    assert missing(LOADS + "s_waitcnt vmcnt(1)\n v_mov_b32_e32 v3, v1\n s_endpgm") == []
    assert missing(LOADS + "s_waitcnt vmcnt(1)\n v_mov_b32_e32 v3, v2\n s_endpgm") != []


def test_scalar_loads_return_out_of_order():
    text = "s_load_dword s4, s[0:1], 0x0\n s_load_dword s5, s[0:1], 0x4\n s_waitcnt lgkmcnt(1)\n s_mov_b32 s6, s4\n s_endpgm"
    assert missing(text) == [("entry", 3, WaitCounts(lgkmcnt=0))]


def test_lds_returns_in_order_unless_scalar_loads_are_mixed_in():
    reads = "ds_read_b32 v1, v0\n ds_read_b32 v2, v0\n"
    tail = "s_waitcnt lgkmcnt(1)\n v_mov_b32_e32 v3, v1\n s_endpgm"
    assert missing(reads + tail) == []
    assert missing("s_load_dword s4, s[0:1], 0x0\n" + reads + tail) == [("entry", 4, WaitCounts(lgkmcnt=0))]


def test_flat_needs_both_counters_at_zero():
    flat = "flat_load_dword v1, v[2:3]\n"
    assert missing(flat + "s_waitcnt vmcnt(0)\n v_mov_b32_e32 v4, v1\n s_endpgm") == [("entry", 2, WaitCounts(lgkmcnt=0))]
    assert missing(flat + "s_waitcnt vmcnt(0) lgkmcnt(0)\n v_mov_b32_e32 v4, v1\n s_endpgm") == []


def test_a_pending_load_is_carried_around_a_loop():
    text = """
    entry:
        s_nop 0
    loop:
        v_mov_b32_e32 v3, v1
        global_load_dword v1, v0, s[0:1]
        s_cbranch_scc1 loop
    exit:
        s_endpgm
    """
    assert missing(text) == [("loop", 0, WaitCounts(vmcnt=0))]


def test_one_path_without_wait_is_enough():
    text = """
    entry:
        global_load_dword v1, v0, s[0:1]
        s_cbranch_scc1 join
    side:
        s_waitcnt vmcnt(0)
    join:
        v_mov_b32_e32 v2, v1
        s_endpgm
    """
    assert missing(text) == [("join", 0, WaitCounts(vmcnt=0))]


def test_a_wait_is_relaxed_to_the_oldest_use():
    text = LOADS + "s_waitcnt vmcnt(0)\n v_mov_b32_e32 v3, v1\n s_waitcnt vmcnt(0)\n v_mov_b32_e32 v4, v2\n s_endpgm"
    assert needs(text) == {("entry", 2): WaitCounts(vmcnt=1), ("entry", 4): WaitCounts(vmcnt=0)}


def test_one_of_two_equal_waits_goes():
    text = LOADS + "s_waitcnt vmcnt(0)\n s_waitcnt vmcnt(0)\n v_mov_b32_e32 v3, v2\n s_endpgm"
    found = needs(text)
    assert sorted(found.values(), key=str) == sorted([NONE, WaitCounts(vmcnt=0)], key=str)


def test_a_wait_before_the_end_goes():
    assert needs("global_store_dword v0, v1, s[0:1]\n s_waitcnt vmcnt(0)\n s_endpgm") == {("entry", 1): NONE}


@pytest.mark.parametrize(
    ("before", "wait", "after"),
    [
        ("ds_write_b32 v0, v1", "s_waitcnt lgkmcnt(0)", "s_barrier"),
        ("buffer_load_dword v0, s[4:7], 0 offen lds", "s_waitcnt vmcnt(0)", "s_barrier"),
        ("buffer_load_dword v0, s[4:7], 0 offen lds", "s_waitcnt vmcnt(0)", "ds_read_b32 v2, v3"),
        ("global_store_dword v0, v1, s[0:1]", "s_waitcnt vmcnt(0)", "s_barrier"),
        ("global_store_dword v0, v1, s[0:1]", "s_waitcnt vmcnt(0)", "global_atomic_add v0, v1, s[0:1] sc1"),
        ("global_store_dword v0, v1, s[0:1]", "s_waitcnt vmcnt(0)", "global_store_dword v2, v3, s[0:1] sc0 sc1"),
        ("buffer_wbl2 sc1", "s_waitcnt vmcnt(0)", "global_store_dword v2, v3, s[0:1] sc1"),
        ("global_load_dword v1, v0, s[0:1] sc1", "s_waitcnt vmcnt(0)", "buffer_inv sc1"),
    ],
)
def test_waits_that_sharing_may_rely_on_stay(before, wait, after):
    kernel = f"{before}\n{wait}\n{after}\n s_endpgm"
    (kept,) = needs(kernel).values()
    assert kept != NONE


def test_a_full_wait_that_makes_a_later_partial_one_meaningful_stays():
    """Without the first wait the scalar load could still be pending at the second, which then says nothing."""
    text = """
        s_load_dword s4, s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        ds_read_b32 v1, v0
        ds_read_b32 v2, v0
        s_waitcnt lgkmcnt(1)
        v_mov_b32_e32 v3, v1
        s_endpgm
    """
    assert needs(text)["entry", 1] == WaitCounts(lgkmcnt=0)


def test_relaxed_waits_hold_together_around_a_loop():
    text = """
    entry:
        global_load_dword v1, v0, s[0:1]
    loop:
        s_waitcnt vmcnt(0)
        v_mov_b32_e32 v3, v1
        global_load_dword v1, v0, s[0:1]
        global_load_dword v2, v0, s[0:1]
        s_waitcnt vmcnt(0)
        s_cbranch_scc1 loop
    exit:
        v_mov_b32_e32 v4, v2
        s_endpgm
    """
    found = needs(text)
    # v1 is covered by the wait at the loop's head or at its end; both cannot go, and v2 needs the one at the end.
    assert found["loop", 4].vmcnt == 0
    assert found["loop", 0].vmcnt is not None
