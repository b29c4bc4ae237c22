"""Memory forms in both modes, against plain NumPy."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from asmevo.backend.emulator import run

from .small_kernels import POINTERS, dispatch, kernel, output, words

NARROW = {"ubyte": np.uint8, "sbyte": np.int8, "ushort": np.uint16, "sshort": np.int16}
DATA = np.random.default_rng(3).integers(0, 1 << 32, 1024, np.uint32)


def result(text: str, count: int = 64, mode: str = "strict", **options: int) -> np.ndarray:
    made = run(kernel(text), dispatch(words("in", DATA), output("out", count), **options), mode=mode)
    assert made.faults == ()
    return made.buffers[1]


@pytest.mark.parametrize("mode", ["strict", "fast"])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_wide_loads_and_stores(mode: str, size: int):
    suffix = {1: "", 2: "x2", 3: "x3", 4: "x4"}[size]
    rows = "v2" if size == 1 else f"v[2:{1 + size}]"
    text = (
        POINTERS
        + f"""
v_mul_u32_u24_e32 v8, {4 * size}, v0
global_load_dword{suffix} {rows}, v8, s[4:5]
s_waitcnt vmcnt(0)
global_store_dword{suffix} v8, {rows}, s[6:7]
"""
    )
    assert (result(text, 64 * size, mode).view(np.uint32) == DATA[: 64 * size]).all()


@pytest.mark.parametrize(("name", "dtype"), NARROW.items())
def test_narrow_loads_extend(name: str, dtype: type):
    size = np.dtype(dtype).itemsize
    text = (
        POINTERS
        + f"""
v_mul_u32_u24_e32 v8, {size}, v0
global_load_{name} v2, v8, s[4:5]
s_waitcnt vmcnt(0)
global_store_dword v1, v2, s[6:7]
"""
    )
    assert (result(text).view(np.int32) == DATA.view(dtype)[:64].astype(np.int32)).all()


def test_half_loads_keep_the_other_half():
    text = (
        POINTERS
        + """
v_mov_b32_e32 v2, 0x12345678
global_load_short_d16_hi v2, v1, s[4:5]
s_waitcnt vmcnt(0)
global_store_dword v1, v2, s[6:7]
"""
    )
    expected = (DATA[:64] & 0xFFFF) << 16 | 0x5678
    assert (result(text).view(np.uint32) == expected).all()


@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_buffer_loads_out_of_range_give_zero_and_stores_are_dropped(mode: str):
    text = (
        POINTERS
        + """
s_mov_b64 s[8:9], s[4:5]
s_movk_i32 s10, 0xa4
s_mov_b32 s11, 0x27000
v_lshlrev_b32_e32 v8, 4, v0
buffer_load_dwordx4 v[2:5], v8, s[8:11], 0 offen
s_waitcnt vmcnt(0)
global_store_dwordx4 v8, v[2:5], s[6:7]
"""
    )
    got = result(text, 256, mode).view(np.uint32)
    assert (got[:41] == DATA[:41]).all()
    assert (got[41:] == 0).all()
    stores = (
        POINTERS
        + """
s_mov_b64 s[8:9], s[6:7]
s_movk_i32 s10, 0x80
s_mov_b32 s11, 0x27000
buffer_store_dword v0, v1, s[8:11], 0 offen
"""
    )
    made = run(kernel(stores), dispatch(words("in", DATA), output("out", 64)), mode=mode)
    assert made.faults == ()
    assert made.written[1].sum() == 128


@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_lds_two_address_forms(mode: str):
    text = (
        POINTERS
        + """
v_lshlrev_b32_e32 v8, 3, v0
v_mov_b32_e32 v2, v0
v_add_u32_e32 v3, 100, v0
ds_write2_b32 v8, v2, v3 offset1:1
s_waitcnt lgkmcnt(0)
ds_read2_b32 v[4:5], v8 offset0:1 offset1:0
s_waitcnt lgkmcnt(0)
global_store_dwordx2 v8, v[4:5], s[6:7]
"""
    )
    got = result(text, 128, mode, lds=512).view(np.uint32).reshape(64, 2)
    assert (got == np.stack([np.arange(64) + 100, np.arange(64)], 1)).all()


@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_atomics_add_every_lane_and_return_the_old_value(mode: str):
    text = (
        POINTERS
        + """
v_mov_b32_e32 v2, 0
v_mov_b32_e32 v3, 2
global_atomic_add v4, v2, v3, s[4:5] sc0
s_waitcnt vmcnt(0)
global_store_dword v1, v4, s[6:7]
"""
    )
    made = run(kernel(text), dispatch(words("in", [5] + [0] * 63, writable=True), output("out", 64)), mode=mode)
    assert made.faults == ()
    assert (made.buffers[1].view(np.uint32) == 5 + 2 * np.arange(64)).all()
    assert made.buffers[0].view(np.uint32)[0] == 5 + 128


def test_compare_and_swap_in_lds():
    text = (
        POINTERS
        + """
v_mov_b32_e32 v2, 0
v_mov_b32_e32 v3, 7
ds_write_b32 v2, v2
s_waitcnt lgkmcnt(0)
ds_cmpst_rtn_b32 v4, v2, v2, v3
s_waitcnt lgkmcnt(0)
global_store_dword v1, v4, s[6:7]
"""
    )
    assert (result(text, lds=4).view(np.uint32) == [0] + [7] * 63).all()


def test_scalar_arguments_and_group_numbers():
    text = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
s_load_dword s6, s[0:1], 0x8
s_waitcnt lgkmcnt(0)
s_mul_i32 s7, s2, 0x100
v_lshlrev_b32_e32 v1, 2, v0
v_add_u32_e32 v1, s7, v1
v_mov_b32_e32 v2, s6
global_store_dword v1, v2, s[4:5]
"""
    made = run(kernel(text), dispatch(output("out", 192), groups=3, extra=struct.pack("<i", -5)), seed=9)
    assert made.faults == ()
    assert (made.buffers[0].view(np.int32) == -5).all()


def test_writelane_readlane_and_permute():
    text = (
        POINTERS
        + """
s_movk_i32 s8, 0x7
v_mov_b32_e32 v2, 0
v_writelane_b32 v2, s8, 5
v_readlane_b32 s9, v2, 5
v_xor_b32_e32 v3, 4, v1
ds_permute_b32 v4, v3, v0
s_waitcnt lgkmcnt(0)
v_add_u32_e32 v4, s9, v4
global_store_dword v1, v4, s[6:7]
"""
    )
    assert (result(text).view(np.uint32) == (np.arange(64) ^ 1) + 7).all()


def test_vgpr_indexing_moves_sources_and_destinations():
    text = (
        POINTERS
        + """
v_mov_b32_e32 v10, 5
v_mov_b32_e32 v12, 7
s_mov_b32 s8, 2
s_set_gpr_idx_on s8, gpr_idx(SRC0)
v_mov_b32_e32 v4, v10
s_set_gpr_idx_off
s_set_gpr_idx_on s8, gpr_idx(DST)
v_mov_b32_e32 v4, v10
s_set_gpr_idx_off
v_lshl_add_u32 v4, v4, 4, v6
global_store_dword v1, v4, s[6:7]
"""
    )
    assert (result(text).view(np.uint32) == 7 * 16 + 5).all()


def test_an_index_beyond_the_registers_is_refused():
    text = "s_movk_i32 s8, 0xff\ns_set_gpr_idx_on s8, gpr_idx(SRC0)\nv_mov_b32_e32 v4, v1"
    (fault,) = run(kernel(text), dispatch()).faults
    assert fault.kind == "out-of-bounds"


def test_runs_are_reproducible_by_seed_and_leave_the_launch_alone():
    launch = dispatch(words("in", DATA), output("out", 64))
    text = kernel(POINTERS + "global_store_dword v1, v0, s[6:7]")
    first, second = (run(text, launch, seed=4) for _ in range(2))
    assert (first.buffers[1] == second.buffers[1]).all()
    assert first.executions == second.executions
    assert not launch.buffers[1].data.any()
    assert first.wave_instructions == sum(first.executions.values()) == 5
