"""Races on global memory: what orders two waves and what does not, and what a report says. Barriers that waves meet apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.backend.emulator import run
from asmevo.backend.launch import Dispatch, Fault, RunResult

from .small_kernels import POINTERS, dispatch, kernel, output, words

SEEDS = range(6)
PARTNER = POINTERS + "v_xor_b32_e32 v2, 0x100, v1\n"
"""v1 is the item's byte offset, v2 that of the item 64 further or nearer: another wave's."""
PUBLISH = "global_store_dword v1, v0, s[6:7]\n{between}\nglobal_load_dword v3, v2, s[6:7]\ns_waitcnt vmcnt(0)"


def two_waves(**options: int) -> Dispatch:
    return dispatch(words("in", np.arange(128)), output("out", 128), items=128, **options)


def outcomes(text: str, what: Dispatch, seeds=SEEDS, **options: object) -> set[str]:
    """Kinds of fault over some seeds, `clean` where there is none."""
    code = kernel(text)
    results = [run(code, what, seed=seed, **options) for seed in seeds]
    return {fault.kind for r in results for fault in r.faults} | ({"clean"} if any(not r.faults for r in results) else set())


def only_fault(text: str, what: Dispatch, **options: object) -> Fault:
    (fault,) = run(kernel(text), what, **options).faults
    return fault


@pytest.mark.parametrize(
    ("between", "expected"), [("s_barrier", {"clean"}), ("s_waitcnt vmcnt(0)", {"race", "uninitialised-memory"})]
)
def test_another_waves_store_needs_a_barrier(between: str, expected: set[str]):
    assert outcomes(PARTNER + PUBLISH.format(between=between), two_waves()) <= expected


def test_a_store_after_another_waves_load_needs_a_barrier():
    text = PARTNER + "global_load_dword v3, v2, s[6:7]\n{between}\nglobal_store_dword v1, v0, s[6:7]"
    what = dispatch(words("in", [0]), words("both", np.zeros(128), writable=True), items=128)
    assert outcomes(text.format(between="s_barrier"), what) == {"clean"}
    assert outcomes(text.format(between="s_nop 0"), what) == {"race"}


def test_two_waves_that_read_one_byte_are_both_remembered():
    text = (
        POINTERS
        + """
v_mov_b32_e32 v2, 0
global_load_dword v3, v2, s[6:7]
{between}
s_waitcnt vmcnt(0)
global_store_dword v2, v3, s[6:7] offset:4
v_cmp_gt_u32_e32 vcc, 64, v0
s_cbranch_vccz done
{between}
v_add_u32_e32 v3, 1, v3
global_store_dword v2, v3, s[6:7]
done:
s_nop 0
"""
    )
    what = dispatch(words("in", [0]), words("both", [7, 0], writable=True), items=192)
    assert outcomes(text.format(between="s_barrier"), what) == {"clean"}
    assert outcomes(text.format(between="s_nop 0"), what) == {"race"}


def test_the_same_value_twice_is_no_race_and_another_one_is():
    text = POINTERS + "v_mov_b32_e32 v2, 0\nv_mov_b32_e32 v3, {value}\nglobal_store_dword v2, v3, s[6:7]"
    for what in (two_waves(), dispatch(words("in", [0]), output("out", 1), groups=3)):
        assert outcomes(text.format(value=5), what) == {"clean"}
    assert outcomes(text.format(value="s2"), dispatch(words("in", [0]), output("out", 1), groups=3)) == {"race"}
    assert outcomes(text.format(value="v0"), two_waves()) == {"race"}


def test_neighbouring_bytes_of_two_waves_are_apart():
    text = POINTERS + "v_lshrrev_b32_e32 v4, 6, v0\nglobal_store_byte v4, v4, s[6:7]"
    assert outcomes(text, two_waves()) == {"clean"}


def test_a_wave_sees_its_own_stores_and_loads_in_order():
    text = POINTERS + "global_store_dword v1, v0, s[6:7]\nglobal_load_dword v3, v1, s[6:7]\nglobal_store_dword v1, v1, s[6:7]"
    assert outcomes(text, two_waves()) == {"clean"}


def test_a_barrier_orders_without_a_wait_as_the_compiler_takes_for_granted():
    """clang emits no wait between a store, a work-group's release, s_barrier and another wave's load."""
    result = run(kernel(PARTNER + PUBLISH.format(between="s_barrier") + "\nglobal_store_dword v1, v3, s[6:7] offset:512"), WIDE)
    assert not result.faults
    assert (result.buffers[1].view(np.uint32)[128:] == np.arange(128) ^ 64).all()


WIDE = dispatch(words("in", np.arange(128)), output("out", 256), items=128)


def test_a_scalar_load_does_not_wait_for_the_waves_own_vector_store():
    text = (
        POINTERS
        + "v_mov_b32_e32 v2, 7\nglobal_store_dword v1, v2, s[6:7]\n{wait}\ns_load_dword s9, s[6:7], 0x4\ns_waitcnt lgkmcnt(0)"
    )
    fault = only_fault(text.format(wait="s_nop 0"), dispatch(words("in", [0]), output("out", 64)))
    assert fault.kind == "race"
    assert "scalar" in fault.message
    assert "global_store_dword" in fault.message
    assert outcomes(text.format(wait="s_waitcnt vmcnt(0)"), dispatch(words("in", [0]), output("out", 64))) == {"clean"}


def test_another_waves_atomic_and_plain_access_conflict_but_atomics_do_not():
    atomic = POINTERS + "v_mov_b32_e32 v2, 0\nv_mov_b32_e32 v3, 1\nglobal_atomic_add v2, v3, s[6:7]\n{more}"
    what = dispatch(words("in", [0]), words("count", [0], writable=True), items=128)
    assert outcomes(atomic.format(more=""), what) == {"clean"}
    assert outcomes(atomic.format(more="global_load_dword v4, v2, s[6:7]"), what) == {"race"}
    assert outcomes(atomic.format(more="global_load_dword v4, v2, s[6:7] sc1"), what) == {"clean"}
    assert outcomes(atomic.format(more="s_barrier\nglobal_load_dword v4, v2, s[6:7]"), what) == {"clean"}


LAST = (
    POINTERS
    + """
s_lshl_b32 s8, s2, 9
v_add_u32_e32 v5, s8, v1
v_add_u32_e32 v6, s2, v0
global_store_dword v5, v6, s[4:5] offset:16
{barrier}
v_readfirstlane_b32 s9, v0
s_cmp_lg_u32 s9, 0
s_cbranch_scc1 meet
{wait}
s_mov_b64 s[12:13], exec
s_mov_b64 exec, 1
v_mov_b32_e32 v2, 0
v_mov_b32_e32 v3, 1
{count}
s_waitcnt vmcnt(0)
ds_write_b32 v2, v4
s_mov_b64 exec, s[12:13]
meet:
s_waitcnt lgkmcnt(0)
s_barrier
v_mov_b32_e32 v2, 0
ds_read_b32 v4, v2
s_waitcnt lgkmcnt(0)
v_readfirstlane_b32 s9, v4
s_cmp_lg_u32 s9, 3
s_cbranch_scc1 done
v_mov_b32_e32 v7, 0
s_mov_b32 s10, 0
again:
s_lshl_b32 s11, s10, 9
v_add_u32_e32 v5, s11, v1
global_load_dword v6, v5, s[4:5] offset:16
s_waitcnt vmcnt(0)
v_add_u32_e32 v7, v7, v6
s_add_u32 s10, s10, 1
s_cmp_lg_u32 s10, 4
s_cbranch_scc1 again
global_store_dword v1, v7, s[6:7]
done:
s_nop 0
"""
)
"""Four work-groups store, count themselves, and the last one adds up what all have stored, as compilers lower it."""


def last(
    barrier: str = "s_barrier", wait: str = "s_waitcnt vmcnt(0)", count: str = "global_atomic_add v4, v2, v3, s[4:5] sc0"
) -> str:
    return LAST.format(barrier=barrier, wait=wait, count=count)


def partial_sums() -> Dispatch:
    return dispatch(
        words("work", np.zeros(4 + 4 * 128), writable=True),
        words("out", np.zeros(128), writable=True),
        items=128,
        groups=4,
        lds=4,
    )


def test_the_last_work_group_may_read_what_the_others_released():
    for seed in SEEDS:
        result: RunResult = run(kernel(last()), partial_sums(), seed=seed)
        assert not result.faults, result.faults
        assert (result.buffers[1].view(np.uint32) == 4 * np.arange(128) + 6).all()


PLAIN_COUNT = """
global_load_dword v4, v2, s[4:5]
s_waitcnt vmcnt(0)
v_add_u32_e32 v3, v4, v3
global_store_dword v2, v3, s[4:5]
"""


@pytest.mark.parametrize(
    "broken",
    [
        last(wait="s_nop 0"),
        last(barrier="s_nop 0"),
        last(count=PLAIN_COUNT),
    ],
    ids=["no wait before the atomic", "no barrier before the atomic", "no atomic"],
)
def test_without_a_release_it_may_not(broken: str):
    assert outcomes(broken, partial_sums()) == {"race"}


def test_a_report_names_both_sides():
    text = PARTNER + PUBLISH.format(between="s_waitcnt vmcnt(0)")
    fault = only_fault(text, dispatch(words("in", [0]), words("out", np.zeros(128), writable=True), items=128))
    code = list(kernel(text).instructions())
    by_uid = {i.uid: i.mnemonic for i in code}
    assert fault.kernel == "small"
    assert fault.place is not None
    assert fault.place.startswith("out+0x")
    assert {by_uid[fault.uid], by_uid[fault.cause]} == {"global_load_dword", "global_store_dword"}
    assert by_uid[fault.cause] in fault.message
    assert f"wave {1 - fault.wave}" in fault.message


def test_a_report_across_work_groups_names_the_other_one():
    text = POINTERS + "v_mov_b32_e32 v2, s2\nglobal_store_dword v1, v2, s[6:7]"
    fault = only_fault(text, dispatch(words("in", [0]), output("out", 64), groups=2))
    other = 1 - fault.workgroup[0]
    assert f"work-group ({other}, 0, 0)" in fault.message
    assert fault.place == "out+0x0"
    assert fault.cause == fault.uid


def test_a_report_of_lds_names_the_store_that_was_not_waited_for():
    text = "v_lshlrev_b32_e32 v1, 2, v0\nv_xor_b32_e32 v2, 0x100, v1\nds_write_b32 v1, v0\ns_barrier\nds_read_b32 v3, v2\n"
    fault = only_fault(text + "s_waitcnt lgkmcnt(0)", dispatch(items=128, lds=512))
    assert (fault.kind, fault.cause) == ("race", 2)
    assert "has not waited for" in fault.message
    assert fault.place is not None
    assert fault.place.startswith("LDS+0x")


def test_a_load_that_was_overwritten_while_outstanding_is_at_fault_itself():
    text = "v_lshlrev_b32_e32 v1, 2, v0\nv_xor_b32_e32 v2, 0x100, v1\nds_write_b32 v1, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
    text += "ds_read_b32 v3, v2\ns_barrier\ns_waitcnt lgkmcnt(0)\nds_write_b32 v1, v0\ns_waitcnt lgkmcnt(0)"
    fault = only_fault(text, dispatch(items=128, lds=512))
    assert (fault.kind, fault.uid, fault.cause) == ("race", 5, 8)


def test_a_report_of_a_pending_register_names_the_load():
    fault = only_fault(POINTERS + "global_load_dword v2, v1, s[4:5]\nv_mov_b32_e32 v3, v2", two_waves())
    assert (fault.kind, fault.register, fault.cause) == ("pending-read", "v2", 3)


LOADS = POINTERS + "v_mov_b32_e32 v2, 0\nds_write_b32 v1, v1\ns_waitcnt lgkmcnt(0)\n"
WITH_LDS = dispatch(words("in", np.arange(160)), output("out", 128), items=64, lds=1024)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("global_load_dword v2, v1, s[4:5]", "global_load_dword v2, v1, s[4:5] offset:4", "clean"),
        ("global_load_dwordx4 v[2:5], v1, s[4:5]", "global_load_dword v3, v1, s[4:5] offset:4", "clean"),
        ("global_load_ubyte v2, v1, s[4:5]", "global_load_sbyte v2, v1, s[4:5] offset:4", "clean"),
        ("global_load_short_d16 v2, v1, s[4:5]", "global_load_dword v2, v1, s[4:5]", "clean"),
        ("global_load_short_d16 v2, v1, s[4:5]", "global_load_short_d16_hi v2, v1, s[4:5]", "pending-write"),
        ("global_load_dword v2, v1, s[4:5]", "ds_read_b32 v2, v1", "pending-write"),
        ("ds_read_b32 v2, v1", "global_load_dword v2, v1, s[4:5]", "pending-write"),
        ("ds_read_b32 v2, v1", "ds_read_b32 v2, v1 offset:4", "pending-write"),
        ("flat_load_dword v2, v[6:7]", "global_load_dword v2, v1, s[4:5]", "pending-write"),
        ("s_load_dword s9, s[4:5], 0x0", "s_load_dword s9, s[4:5], 0x4", "pending-write"),
        ("global_load_dword v2, v1, s[4:5]", "v_mov_b32_e32 v2, 0", "pending-write"),
    ],
)
def test_a_load_over_an_outstanding_one_is_allowed_where_loads_return_in_order(first: str, second: str, expected: str):
    flat = "v_mov_b32_e32 v6, s4\nv_mov_b32_e32 v7, s5\n"
    text = f"{LOADS}{flat}{first}\n{second}\ns_waitcnt vmcnt(0) lgkmcnt(0)"
    assert outcomes(text, WITH_LDS, seeds=(0,)) == {expected}


def test_of_two_loads_to_a_register_the_later_one_stays_and_needs_the_wait():
    later = "s_mov_b64 s[12:13], exec\ns_mov_b64 exec, 0xff\nglobal_load_dword v2, v1, s[4:5] offset:4\n"
    later += "s_mov_b64 exec, s[12:13]\n"
    text = POINTERS + "global_load_dword v2, v1, s[4:5]\n" + later + "s_waitcnt vmcnt({n})\nglobal_store_dword v1, v2, s[6:7]"
    result = run(kernel(text.format(n=0)), WITH_LDS)
    assert not result.faults
    stored = result.buffers[1].view(np.uint32)[:64]
    assert (stored == np.arange(64) + (np.arange(64) < 8)).all()
    fault = only_fault(text.format(n=1), WITH_LDS)
    assert (fault.kind, fault.lane, fault.cause) == ("pending-read", 0, 6)
    others = text.replace("global_store", "s_mov_b64 exec, 0xff00\nglobal_store")
    assert outcomes(others.format(n=1), WITH_LDS) == {"clean"}


def test_every_byte_of_a_wide_access_is_looked_at():
    text = POINTERS + "v_lshlrev_b32_e32 v2, 4, v0\nglobal_store_dwordx4 v2, v[4:7], s[6:7]\n{between}\n"
    text = text.replace(
        "global_store", "v_mov_b32_e32 v4, 0\nv_mov_b32_e32 v5, 1\nv_mov_b32_e32 v6, 2\nv_mov_b32_e32 v7, v0\nglobal_store"
    )
    text += "v_xor_b32_e32 v3, 0x400, v2\nglobal_load_ubyte v8, v3, s[6:7] offset:{at}"
    what = dispatch(words("in", [0]), words("out", np.zeros(512), writable=True), items=128)
    for at in range(16):
        assert outcomes(text.format(between="s_nop 0", at=at), what) == {"race"}
        assert outcomes(text.format(between="s_barrier", at=at), what) == {"clean"}


# barriers


APART = """
v_readfirstlane_b32 s9, v0
s_cmp_lg_u32 s9, 0
s_cbranch_scc1 others
{first}
s_branch meet
others:
{second}
meet:
s_nop 0
{after}
"""


def barriers(first: int, second: int, after: int = 0) -> str:
    one = "s_barrier\n"
    return APART.format(first=one * first or "s_nop 0", second=one * second or "s_nop 0", after=one * after)


@pytest.mark.parametrize(
    "counts", [(1, 1, 0), (2, 2, 0), (1, 0, 0), (0, 1, 0), (0, 0, 2), (3, 3, 1), (1, 0, 1), (0, 1, 1), (2, 1, 0), (1, 2, 1)]
)
def test_waves_may_meet_at_different_barriers_and_may_end_early(counts: tuple[int, int, int]):
    """The hardware counts waves, and does not wait for those that have ended; a compiler's sort over some waves does this."""
    assert outcomes(barriers(*counts), dispatch(items=256)) == {"clean"}


MEET_APART = """
v_lshlrev_b32_e32 v1, 2, v0
v_readfirstlane_b32 s9, v0
s_cmp_lg_u32 s9, 0
s_cbranch_scc1 others
{first}
v_mov_b32_e32 v2, 0x100
ds_read_b32 v3, v2
s_branch meet
others:
ds_write_b32 v1, v0
s_waitcnt lgkmcnt(0)
{second}
meet:
s_waitcnt lgkmcnt(0)
"""


@pytest.mark.parametrize(
    ("counts", "expected"), [((1, 1), {"clean"}), ((2, 1), {"clean"}), ((1, 0), {"clean"}), ((0, 1), {"race"})]
)
def test_barriers_that_waves_meet_apart_order_as_the_hardware_counts_them(counts: tuple[int, int], expected: set[str]):
    """Wave 0 reads what wave 1 stores: after its first barrier that is stored, and before it, by the order of waves, or not."""
    first, second = ("s_barrier\n" * count for count in counts)
    found = outcomes(MEET_APART.format(first=first, second=second), dispatch(items=128, lds=512))
    assert found <= expected | {"uninitialised-memory"}
    assert ("race" in found) == ("race" in expected)


def test_waves_that_meet_apart_are_noted_with_both_barriers():
    code = kernel(MEET_APART.format(first="s_barrier\n", second="s_barrier\n"))
    found = run(code, dispatch(items=128, lds=512), seed=0)
    assert not found.faults
    barriers_of = [i for block in code.blocks for i in block.instructions if i.mnemonic == "s_barrier"]
    assert found.apart is not None
    assert found.apart.uids == tuple(i.uid for i in barriers_of)
    together = kernel("s_barrier\ns_barrier\n")
    assert run(together, dispatch(items=256), seed=0).apart is None


SPIN = (
    POINTERS
    + """
v_mov_b32_e32 v2, 0
v_mov_b32_e32 v3, 1
s_mov_b64 s[12:13], exec
s_mov_b64 exec, 1
global_atomic_add v2, v3, s[6:7]
s_mov_b64 exec, s[12:13]
s_waitcnt vmcnt(0)
again:
s_load_dword s9, s[6:7], 0x0 glc
s_waitcnt lgkmcnt(0)
s_cmp_lg_u32 s9, {arrivals}
s_cbranch_scc1 again
{then}
"""
)
"""Every wave counts itself in memory and spins until so many have."""


def counted(*, items: int = 256) -> Dispatch:
    return dispatch(words("in", [0]), words("both", np.zeros(400), writable=True), items=items)


def test_waves_that_spin_on_each_other_make_progress_the_same_for_a_seed():
    code = kernel(SPIN.format(arrivals=4, then="global_store_dword v1, v0, s[6:7] offset:64"))
    for mode in ("strict", "fast"):
        for seed in SEEDS:
            results = [run(code, counted(), seed=seed, mode=mode) for _ in range(2)]
            assert not results[0].faults
            assert results[0].wave_instructions == results[1].wave_instructions
            assert (results[0].buffers[1].view(np.uint32)[16:272] == np.arange(256)).all()


def test_a_wave_that_spins_for_ever_ends_at_the_budget():
    result = run(kernel(SPIN.format(arrivals=5, then="")), counted(), max_instructions=300_000)
    assert [fault.kind for fault in result.faults] == ["budget"]
    assert result.wave_instructions == 300_000


def test_a_wave_that_was_stopped_still_knows_its_own_accesses():
    """It read and wrote bytes before it made room for the others, and does so again after."""
    own = "global_store_dword v1, v0, s[6:7] offset:64\nglobal_load_dword v4, v1, s[6:7] offset:64\ns_waitcnt vmcnt(0)\n"
    code = SPIN.replace("v_mov_b32_e32 v2, 0", own + "v_mov_b32_e32 v2, 0", 1)
    assert outcomes(code.format(arrivals=4, then=own), counted()) == {"clean"}
    theirs = "v_xor_b32_e32 v5, 0x100, v1\nglobal_load_dword v4, v5, s[6:7] offset:64"
    assert outcomes(code.format(arrivals=4, then=own.replace("v0", "v1") + theirs), counted()) == {"race"}


# lanes that are off


def test_no_lane_means_no_access():
    off = POINTERS + "s_mov_b64 exec, 0\n"
    quiet = [
        *("global_store_dword v9, v9, s[6:7]", "global_load_dword v9, v9, s[4:5]", "global_atomic_add v9, v9, s[6:7]"),
        *("ds_write_b32 v9, v9", "ds_read_b32 v9, v9", "ds_add_u32 v9, v9", "v_mov_b32_e32 v9, v8"),
    ]
    for line in quiet:
        assert outcomes(off + line + "\ns_waitcnt vmcnt(0) lgkmcnt(0)", two_waves(), seeds=(0,)) == {"clean"}, line


def test_a_load_without_lanes_still_counts():
    text = POINTERS + "global_load_dword v2, v1, s[4:5]\ns_mov_b64 s[12:13], exec\ns_mov_b64 exec, 0\n"
    text += "global_load_dword v3, v1, s[4:5]\ns_mov_b64 exec, s[12:13]\ns_waitcnt vmcnt({n})\nv_mov_b32_e32 v4, v2"
    assert outcomes(text.format(n=1), two_waves()) == {"clean"}
    assert outcomes(text.format(n=2), two_waves()) == {"pending-read"}


def test_the_first_lane_is_lane_0_when_none_is_on():
    text = "s_mov_b64 exec, {mask}\nv_mov_b32_e32 v3, v0\ns_mov_b64 exec, {then}\nv_readfirstlane_b32 s9, v3"
    assert outcomes(text.format(mask=1, then=0), dispatch()) == {"clean"}
    assert outcomes(text.format(mask=2, then=0), dispatch()) == {"uninitialised-register"}
    assert outcomes(text.format(mask=2, then=6), dispatch()) == {"clean"}
    assert outcomes(text.format(mask=2, then=4), dispatch()) == {"uninitialised-register"}


# several faults


MANY = (
    POINTERS
    + """
global_load_dword v2, v1, s[4:5]
v_add_u32_e32 v3, v2, v2
v_add_u32_e32 v4, v9, v3
global_load_dword v5, v1, s[6:7]
s_waitcnt vmcnt(0)
global_store_dword v1, v5, s[4:5]
global_load_dword v7, v1, s[4:5] offset:256
s_waitcnt vmcnt(0)
ds_write_b32 v1, v7 offset:64
ds_read_b32 v8, v1
s_waitcnt lgkmcnt(0)
"""
)
KINDS = ["pending-read", *["uninitialised-register", "uninitialised-memory", "write-to-readonly"]]
KINDS += ["out-of-bounds", "out-of-bounds", "uninitialised-memory"]


def test_several_faults_of_one_run_each_reported_once():
    what = dispatch(words("in", np.arange(64)), output("out", 64), lds=256)
    faults = run(kernel(MANY), what, max_faults=20).faults
    assert all("by its index" not in f.message for f in faults)
    assert [f.kind for f in faults] == KINDS
    assert len({f.uid for f in faults}) == len(KINDS)
    for most in (1, 3):
        assert [f.kind for f in run(kernel(MANY), what, max_faults=most).faults] == KINDS[:most]


def test_forgiven_accesses_beyond_lds_change_nothing_else():
    text = "v_mov_b32_e32 v1, 0x7ffffff0\nds_write_b128 v1, v[4:7]\nds_read_b128 v[8:11], v1\nds_add_u32 v1, v0\n"
    text += "s_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v1, 0\nds_write_b32 v1, v1\ns_waitcnt lgkmcnt(0)"
    faults = run(kernel(text), dispatch(lds=64), max_faults=9).faults
    assert [f.kind for f in faults] == ["uninitialised-register", *["out-of-bounds"] * 2]


def test_what_nothing_can_follow_ends_the_reports():
    text = "v_mov_b32_e32 v2, v9\ns_trap 2\nv_mov_b32_e32 v2, v8"
    assert [f.kind for f in run(kernel(text), dispatch(), max_faults=9).faults] == ["uninitialised-register", "trap"]
    loop = "v_mov_b32_e32 v2, v9\nagain:\ns_branch again"
    faults = run(kernel(loop), dispatch(), max_faults=9, max_instructions=500).faults
    assert [f.kind for f in faults] == ["uninitialised-register", "budget"]


def test_forgiven_faults_do_not_stay_forgiven():
    code = kernel("v_mov_b32_e32 v2, v9")
    for _ in range(2):
        assert [f.kind for f in run(code, dispatch(), max_faults=2).faults] == ["uninitialised-register"]


@pytest.mark.slow
def test_a_run_with_more_stretches_than_can_be_numbered_is_refused_by_name():
    text = POINTERS + "s_mov_b32 s9, 0x500000\nagain:\nglobal_store_dword v1, v0, s[6:7]\ns_barrier\ns_add_u32 s9, s9, -1\n"
    text += "s_cmp_lg_u32 s9, 0\ns_cbranch_scc1 again"
    fault = only_fault(text, dispatch(words("in", [0]), output("out", 64)))
    assert fault.kind == "unsupported"
    assert "race check" in fault.message


@pytest.mark.parametrize("value", ["v1", "v0"])
def test_two_waves_may_leave_the_same_bytes_in_lds(value: str):
    """Both waves store at the same places: byte offsets modulo 256, which are equal, or item numbers, which are not."""
    text = (
        "v_lshlrev_b32_e32 v1, 2, v0\nv_and_b32_e32 v1, 0xff, v1\nds_write_b32 v1, {value}\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
    )
    text += "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)"
    assert outcomes(text.format(value=value), dispatch(items=128, lds=256)) == {"clean" if value == "v1" else "race"}


@pytest.mark.parametrize("shift", [0, 8])
def test_two_waves_may_load_the_same_bytes_to_the_same_place_in_lds(shift: int):
    """Wave n loads from n << shift: the same bytes, or others."""
    text = (
        POINTERS
        + f"""
s_mov_b32 s6, 0x400
s_mov_b32 s7, 0x20000
v_readfirstlane_b32 s9, v0
s_lshr_b32 s9, s9, 6
s_lshl_b32 s9, s9, {shift}
{"s_mov_b32 s9, 0" if not shift else "s_nop 0"}
v_and_b32_e32 v1, 0xff, v1
s_mov_b32 m0, 0
buffer_load_dword v1, s[4:7], s9 offen lds
s_waitcnt vmcnt(0)
s_barrier
ds_read_b32 v2, v1
s_waitcnt lgkmcnt(0)
"""
    )
    what = dispatch(words("in", np.arange(256)), output("out", 1), items=128, lds=256)
    assert outcomes(text, what) == {"race" if shift else "clean"}


# a model of two waves

ACCESSES = st.tuples(st.booleans(), st.sampled_from([1, 2, 4, 8, 16]), st.integers(0, 24))
"""Whether it writes, its size in bytes, and where."""
SUFFIXES = {1: "byte", 2: "short", 4: "dword", 8: "dwordx2", 16: "dwordx4"}
Epoch = list[tuple[bool, int, int]]


def lines_of(epoch: Epoch, first: int) -> list[str]:
    """Code of the accesses of an epoch; each store has bytes that no other has."""
    lines: list[str] = []
    for number, (writes, size, at) in enumerate(epoch, first):
        registers = "v[4:7]" if size == 16 else "v[4:5]" if size == 8 else "v4"
        if writes:
            value = number * 0x01010101
            lines += [f"v_mov_b32_e32 v{r}, 0x{value:x}" for r in range(4, 8)]
            lines.append(f"global_store_{SUFFIXES[size]} v2, {registers}, s[6:7] offset:{at}")
        else:
            kind = {1: "ubyte", 2: "ushort"}.get(size, SUFFIXES[size])
            lines += [f"global_load_{kind} {registers}, v2, s[6:7] offset:{at}", "s_waitcnt vmcnt(0)"]
    return lines


def conflict(one: Epoch, other: Epoch) -> bool:
    """Whether two waves touch a byte between two barriers, and one writes it."""
    return any((a[0] or b[0]) and a[2] < b[2] + b[1] and b[2] < a[2] + a[1] for a in one for b in other)


@given(
    st.lists(st.tuples(st.lists(ACCESSES, max_size=4), st.lists(ACCESSES, max_size=4)), min_size=1, max_size=3),
    st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_races_are_those_of_a_model_that_looks_at_bytes(epochs: list[tuple[Epoch, Epoch]], seed: int):
    """Accesses of every size at every place, so that dwords are covered as a whole, in part, and across."""
    waves: list[list[str]] = [[], []]
    for number, pair in enumerate(epochs):
        for wave, epoch in enumerate(pair):
            waves[wave] += lines_of(epoch, 1 + 100 * wave + 10 * number)
            waves[wave].append("s_barrier")
    head = "v_mov_b32_e32 v2, 0\nv_readfirstlane_b32 s9, v0\ns_mov_b64 exec, 1\ns_cmp_lg_u32 s9, 0\ns_cbranch_scc1 other\n"
    text = POINTERS + head + "\n".join(waves[0]) + "\ns_branch done\nother:\n" + "\n".join(waves[1]) + "\ndone:\ns_nop 0"
    what = dispatch(words("in", [0]), words("both", np.zeros(16), writable=True), items=128)
    expected = {"race"} if any(conflict(*pair) for pair in epochs) else {"clean"}
    assert outcomes(text, what, seeds=(seed,)) == expected
