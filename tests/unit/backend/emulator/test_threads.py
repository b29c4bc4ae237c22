"""Work-groups spread over threads: results, counts and reports are those of one thread, whatever groups do to each other."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from asmevo.backend.emulator import engine, layout, prepare, run
from asmevo.backend.emulator.native import native
from asmevo.backend.emulator.setup import build_order
from asmevo.backend.launch import Dispatch, RunResult
from asmevo.ir.kernel import Kernel

from .small_kernels import POINTERS, dispatch, kernel, output, words

GROUPS = 64
ORDER = [
    *([0, 1, 0], [1, 2, 1], [0, 2, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]),
    *([1, 1, 1], [0, 0, 1], [1, 2, 0], [1, 0, 0], [0, 2, 0], [0, 0, 0]),
]
"""The order of seed 5 on a grid of 2 x 3 x 2."""
MINE = (
    POINTERS
    + """
s_lshl_b32 s8, s2, 8
v_add_u32_e32 v1, s8, v1
"""
)
"""v1 is the item's byte offset in the whole grid."""
TWICE = kernel(
    MINE
    + """
global_load_dword v2, v1, s[4:5]
s_waitcnt vmcnt(0)
v_add_u32_e32 v2, v2, v2
global_store_dword v1, v2, s[6:7]
"""
)


def launch(groups: int = GROUPS) -> Dispatch:
    return dispatch(words("in", np.arange(64 * groups)), output("out", 64 * groups), groups=groups)


def shared(count: int = 64 * GROUPS, groups: int = GROUPS) -> Dispatch:
    return dispatch(words("in", np.arange(count)), words("both", np.zeros(count), writable=True), groups=groups)


def same(a: RunResult, b: RunResult) -> bool:
    arrays = zip((*a.buffers, *a.written), (*b.buffers, *b.written), strict=True)
    plain = (a.executions, a.faults, a.wave_instructions, a.approximate) == (
        b.executions,
        b.faults,
        b.wave_instructions,
        b.approximate,
    )
    return plain and all(np.array_equal(x, y) for x, y in arrays)


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of threads of each attempt."""
    made: list[int] = []
    attempt = engine._attempt

    def counted(*arguments, watch=None):
        if watch is None:
            made.append(arguments[-1])
        return attempt(*arguments, watch=watch)

    monkeypatch.setattr(engine, "_attempt", counted)
    return made


def check(code: Kernel, what: Dispatch, attempts: list[int], expected: list[int], **options: object) -> RunResult:
    """The result with one thread, after that with two, three and eight was seen to be the same."""
    alone = run(code, what, threads=1, **options)
    for threads in (2, 3, 8):
        attempts.clear()
        assert same(run(code, what, threads=threads, **options), alone)
        assert attempts == [threads if n > 1 else 1 for n in expected]
    return alone


@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_groups_of_their_own_bytes_run_once(attempts: list[int], mode: str):
    result = check(TWICE, launch(), attempts, [2], mode=mode)
    assert (result.buffers[1].view(np.uint32) == 2 * np.arange(64 * GROUPS)).all()
    assert result.written[1].all()
    assert not result.faults


def test_groups_that_write_the_same_bytes_are_run_again_alone(attempts: list[int]):
    last = kernel(POINTERS + "v_mov_b32_e32 v2, s2\nglobal_store_dword v1, v2, s[6:7]")
    what = dispatch(words("in", np.arange(64)), output("out", 64), groups=500)
    alone = run(last, what, threads=1, mode="fast")
    for seed in range(3):
        for mode in ("strict", "fast"):
            attempts.clear()
            assert same(run(last, what, threads=2, mode=mode, seed=seed), run(last, what, threads=1, mode=mode, seed=seed))
            assert attempts[-1] == 1
    assert len(set(alone.buffers[1].view(np.uint32).tolist())) == 1
    assert [f.kind for f in run(last, what, threads=2).faults] == ["race"]


def _clashing(plan_maps: list[bytes]) -> bool:
    arrays = [np.frombuffer(m * 32, np.uint8).copy() for m in plan_maps]
    merge = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)(native().symbol("asm_merge"))
    clash = merge(arrays[0].ctypes.data, arrays[1].ctypes.data, len(arrays[0])) != 0
    assert (arrays[0] == np.frombuffer(plan_maps[0] * 32, np.uint8) | arrays[1]).all()
    return clash


@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        (b"\1\3", b"\1\1", False),
        (b"\1\5", b"\5\5", False),
        (b"\3\1", b"\1\3", False),
        (b"\1\3", b"\1\5", True),
        (b"\5\1", b"\3\1", True),
        (b"\1\3", b"\1\3", True),
        (b"\1\7", b"\1\5", True),
        (b"\4\2", b"\2\4", True),
        (b"\2\4", b"\4\0", True),
        (b"\2\0", b"\0\4", False),
        (b"\x02\xf9", b"\xf9\x02", False),
    ],
)
def test_what_threads_may_not_share(first: bytes, second: bytes, clash: bool):
    assert _clashing([first, second]) is clash
    assert _clashing([second, first]) is clash


def test_a_neighbours_output_is_read_as_one_thread_would(attempts: list[int]):
    chain = kernel(
        MINE
        + """
v_sub_u32_e32 v3, v1, v1
v_cmp_gt_u32_e64 s[10:11], s8, v3
v_subrev_u32_e32 v4, 0x100, v1
v_cndmask_b32_e64 v4, v1, v4, s[10:11]
global_load_dword v2, v4, s[6:7]
s_waitcnt vmcnt(0)
v_add_u32_e32 v2, 1, v2
global_store_dword v1, v2, s[6:7]
"""
    )
    for seed in range(4):
        alone = run(chain, shared(), threads=1, seed=seed, mode="fast")
        assert alone.buffers[1].view(np.uint32).max() > 1
        assert same(run(chain, shared(), threads=2, seed=seed, mode="fast"), alone)
        strict = run(chain, shared(), threads=1, seed=seed)
        assert [f.kind for f in strict.faults] == ["race"]
        assert same(run(chain, shared(), threads=2, seed=seed), strict)


def test_global_atomics_and_the_clock_keep_groups_in_order(attempts: list[int]):
    atomic = kernel(POINTERS + "v_mov_b32_e32 v3, 0\nglobal_atomic_add v2, v3, v0, s[6:7] sc0\ns_waitcnt vmcnt(0)")
    clock = kernel(MINE + "s_memtime s[10:11]\ns_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v2, s10\nglobal_store_dword v1, v2, s[6:7]")
    for code in (atomic, clock):
        assert prepare(code).serial
        check(code, shared(), attempts, [1])
    assert not prepare(TWICE).serial
    assert not prepare(kernel("v_mov_b32_e32 v1, 0\nds_add_u32 v1, v0")).serial


def test_the_first_fault_is_that_of_one_thread(attempts: list[int]):
    what = dispatch(words("in", np.arange(64 * GROUPS - 70)), output("out", 64 * GROUPS), groups=GROUPS)
    for seed in range(4):
        result = check(TWICE, what, attempts, [2, 1], seed=seed)
        (fault,) = result.faults
        assert fault.kind == "out-of-bounds"
        assert fault.workgroup[0] >= GROUPS - 2


def test_the_budget_is_that_of_the_whole_run(attempts: list[int]):
    total = run(TWICE, launch(), threads=1).wave_instructions
    assert not check(TWICE, launch(), attempts, [2], max_instructions=total).faults
    (fault,) = check(TWICE, launch(), attempts, [2, 1], max_instructions=total - 1).faults
    assert fault.kind == "budget"


@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_what_a_group_left_behind_is_not_seen(attempts: list[int], mode: str):
    """The lane that is read was never written; LDS and registers of the groups before must not show through."""
    stale = kernel(
        MINE
        + """
s_mov_b64 s[12:13], exec
s_mov_b64 exec, 1
v_add_u32_e32 v5, s2, v0
s_mov_b64 exec, s[12:13]
v_readlane_b32 s9, v5, 7
v_mov_b32_e32 v2, s9
global_store_dword v1, v2, s[6:7]
s_waitcnt vmcnt(0)
v_mov_b32_e32 v5, s2
v_accvgpr_write_b32 a3, v5
"""
    )
    result = check(stale, launch(), attempts, [2], mode=mode)
    assert not result.faults
    assert not result.buffers[1].any()


def test_stale_lds_is_zero_in_fast_mode(attempts: list[int]):
    text = MINE + "v_mov_b32_e32 v3, 0\nds_read_b32 v2, v3\ns_waitcnt lgkmcnt(0)\nds_write_b32 v3, v1\n"
    text += "global_store_dword v1, v2, s[6:7]"
    what = dispatch(words("in", np.arange(64)), output("out", 64 * GROUPS), groups=GROUPS, lds=4)
    assert not check(kernel(text), what, attempts, [2], mode="fast").buffers[1].any()
    assert [f.kind for f in run(kernel(text), what).faults] == ["uninitialised-memory"]


def test_orders_are_the_same_on_every_machine():
    order = build_order((2, 3, 2), 5)
    assert order.groups.tolist() == ORDER
    assert sorted(order.groups.tolist()) == sorted([x, y, z] for x in range(2) for y in range(3) for z in range(2))
    assert (order.seeds != 0).all()
    assert build_order((2, 3, 2), 6).groups.tolist() != ORDER


def test_waves_meet_in_many_orders():
    """The last wave to store before the barrier wins: over the seeds each of four must have been the last."""
    text = POINTERS + "v_mov_b32_e32 v3, 0\nglobal_store_dword v3, v0, s[6:7]"
    what = dispatch(words("in", [0]), output("out", 1), items=256)
    last = {int(run(kernel(text), what, seed=seed, mode="fast").buffers[1].view(np.uint32)[0]) for seed in range(40)}
    assert last == {63, 127, 191, 255}


def test_an_interrupt_stops_the_other_threads():
    shared = np.zeros(2, np.uint64)
    calls: list[int] = []

    def step(address: int) -> int:
        calls.append(address)
        if address == 0:
            raise KeyboardInterrupt
        return layout.END if shared[1] else layout.CONTINUE

    with pytest.raises(KeyboardInterrupt):
        engine._in_threads(step, [0, 1, 2], shared)
    assert {1, 2} <= set(calls)


def test_a_long_run_goes_on_after_each_pause(attempts: list[int]):
    text = MINE + "s_mov_b32 s9, 0x7fff\nagain:\ns_add_u32 s9, s9, -1\ns_cmp_lg_u32 s9, 0\ns_cbranch_scc1 again\n"
    code = kernel(text + "v_mov_b32_e32 v2, s2\nglobal_store_dword v1, v2, s[6:7]")
    result = check(code, launch(), attempts, [2], mode="fast")
    assert result.wave_instructions > 5_000_000
    assert (result.buffers[1].view(np.uint32) == np.arange(64 * GROUPS) // 64).all()
