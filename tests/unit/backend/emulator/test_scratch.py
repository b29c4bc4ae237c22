"""Scratch memory: each lane's own, defined only where it was written, and gone with the work-group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.diagnostics import DiagnosticError
from asmevo.ir.abi import KernelDescriptor
from asmevo.ir.kernel import Kernel

from .small_kernels import POINTERS, dispatch, kernel, output, words

DATA = np.random.default_rng(5).integers(0, 1 << 32, 1024, np.uint32)
_KERNARG, _PRIVATE_BUFFER, _FLAT_INIT = 1 << 3, 1, 1 << 5
_RSRC2_GROUP_X, _RSRC2_PRIVATE = 1 << 7, 1


def with_scratch(text: str, size: int = 64, target: str = "gfx942") -> Kernel:
    """A kernel whose lanes have `size` bytes; on gfx90a s[0:3] describe them, s[4:5] is the kernarg, s9 the wave's offset."""
    made = kernel(text)
    by_hand = target == "gfx90a"
    users = 8 if by_hand else 2
    properties = _KERNARG | (_PRIVATE_BUFFER | _FLAT_INIT if by_hand else 0)
    rsrc2 = _RSRC2_PRIVATE | users << 1 | _RSRC2_GROUP_X
    descriptor = KernelDescriptor(b"", 0, size, 16, 0, 0xF0 << 12 | 7, rsrc2, 15, properties, 0, 0)
    return replace(made, target=target, descriptor=descriptor)


ROUND_TRIP = (
    POINTERS
    + """
v_xor_b32_e32 v2, 0x1234, v0
scratch_store_dword off, v2, off offset:8
v_mov_b32_e32 v3, 4
scratch_store_byte v3, v0, off
s_mov_b32 s8, 4
s_waitcnt vmcnt(0)
scratch_load_dword v4, v3, off offset:4
scratch_load_ubyte v5, off, s8
s_waitcnt vmcnt(0)
v_lshl_add_u32 v4, v5, 16, v4
global_store_dword v1, v4, s[6:7]
"""
)


@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_a_lane_reads_what_it_wrote(mode: str) -> None:
    made = run(with_scratch(ROUND_TRIP), dispatch(words("in", DATA), output("out", 64)), mode=mode)
    assert made.faults == ()
    lanes = np.arange(64)
    assert (made.buffers[1].view(np.uint32) == (lanes << 16) + (lanes ^ 0x1234)).all()


def test_wide_accesses_keep_the_order_of_dwords() -> None:
    text = (
        POINTERS
        + """
v_lshlrev_b32_e32 v8, 4, v0
global_load_dwordx4 v[2:5], v8, s[4:5]
s_waitcnt vmcnt(0)
scratch_store_dwordx4 off, v[2:5], off offset:16
s_waitcnt vmcnt(0)
scratch_load_dwordx3 v[10:12], off, off offset:20
scratch_load_dword v9, off, off offset:16
s_waitcnt vmcnt(0)
global_store_dwordx4 v8, v[9:12], s[6:7]
"""
    )
    made = run(with_scratch(text), dispatch(words("in", DATA), output("out", 256)))
    assert made.faults == ()
    assert (made.buffers[1].view(np.uint32) == DATA[:256]).all()


@pytest.mark.parametrize(
    ("line", "size", "kind", "text"),
    [
        (
            "scratch_store_dwordx2 off, v[0:1], off offset:60",
            64,
            "out-of-bounds",
            "scratch+0x3c, beyond the 64 bytes of a lane",
        ),
        ("scratch_load_dword v2, off, off offset:4", 64, "uninitialised-memory", "scratch+0x4, which was never written"),
        ("scratch_store_dword off, v0, off", 0, "out-of-bounds", "scratch+0x0, beyond the 0 bytes of a lane"),
        ("scratch_store_dword off, v0, off offset:2", 64, "misaligned", "scratch+0x2, which is misaligned"),
    ],
)
def test_bad_accesses_are_named(line: str, size: int, kind: str, text: str) -> None:
    made = run(with_scratch(POINTERS + line, size), dispatch(words("in", DATA), output("out", 64)))
    assert [fault.kind for fault in made.faults] == [kind]
    assert text in made.faults[0].message


def test_a_later_group_does_not_see_what_an_earlier_one_left() -> None:
    text = (
        POINTERS
        + """
s_cmp_eq_u32 s2, 0
s_cbranch_scc1 store
scratch_load_dword v2, off, off
s_endpgm
store:
scratch_store_dword off, v0, off
"""
    )
    for seed in range(4):
        made = run(with_scratch(text), dispatch(words("in", DATA), output("out", 64), groups=2), seed=seed, threads=1)
        assert [fault.kind for fault in made.faults] == ["uninitialised-memory"]


def test_waves_and_threads_have_their_own() -> None:
    text = """
s_load_dwordx4 s[4:7], s[0:1], 0x0
s_lshl_b32 s8, s2, 8
v_or_b32_e32 v2, s8, v0
scratch_store_dword off, v2, off
v_lshlrev_b32_e32 v1, 2, v2
s_waitcnt vmcnt(0) lgkmcnt(0)
s_barrier
scratch_load_dword v3, off, off
s_waitcnt vmcnt(0)
global_store_dword v1, v3, s[6:7]
"""
    launch = dispatch(words("in", DATA), output("out", 256 * 8), items=256, groups=8)
    for threads in (1, 2):
        made = run(with_scratch(text), launch, threads=threads)
        assert made.faults == ()
        assert (made.buffers[1].view(np.uint32) == np.arange(256 * 8)).all()


def test_a_lane_may_not_ask_for_more_than_there_is() -> None:
    with pytest.raises(DiagnosticError, match="scratch memory"):
        run(with_scratch(POINTERS, 1 << 20), dispatch(words("in", DATA), output("out", 64)))


def test_gfx90a_reaches_scratch_by_a_swizzled_descriptor() -> None:
    text = """
s_load_dwordx4 s[12:15], s[4:5], 0x0
s_add_u32 s0, s0, s9
s_addc_u32 s1, s1, 0
v_add_u32_e32 v2, 100, v0
v_add_u32_e32 v3, 1000, v0
v_mov_b32_e32 v6, 4
buffer_store_dwordx2 v[2:3], off, s[0:3], 0 offset:8
buffer_store_byte v0, v6, s[0:3], 0 offen
s_waitcnt vmcnt(0) lgkmcnt(0)
buffer_load_dword v4, v6, s[0:3], 0 offen offset:8
buffer_load_ubyte v5, off, s[0:3], 0 offset:4
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt vmcnt(0)
v_lshl_add_u32 v4, v5, 16, v4
global_store_dword v1, v4, s[14:15]
"""
    made = run(with_scratch(text, target="gfx90a"), dispatch(words("in", DATA), output("out", 128), items=128))
    assert made.faults == ()
    lanes = np.arange(128)
    assert (made.buffers[1].view(np.uint32) == ((lanes & 255) << 16) + lanes + 1000).all()
