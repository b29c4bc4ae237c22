"""Generic addresses: global memory, LDS and scratch memory by their apertures."""

from __future__ import annotations

import numpy as np
import pytest

from asmevo.backend.emulator import run

from .small_kernels import POINTERS, dispatch, output, words
from .test_scratch import with_scratch

DATA = np.random.default_rng(9).integers(0, 1 << 32, 64, np.uint32)
BASES = POINTERS + "s_mov_b64 s[8:9], src_shared_base\ns_mov_b64 s[10:11], src_private_base\nv_mov_b32_e32 v4, v1\n"
STORE = "s_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_store_dword v1, v6, s[6:7]\n"


def launch(*, lds: int = 1024):
    return dispatch(words("in", DATA), output("out", 64), lds=lds)


@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_lds_by_its_aperture(mode: str) -> None:
    text = (
        BASES
        + """
v_mov_b32_e32 v5, s9
v_add_u32_e32 v7, 9, v0
flat_store_dword v[4:5], v7
s_waitcnt vmcnt(0) lgkmcnt(0)
ds_read_b32 v6, v1
"""
        + STORE
    )
    made = run(with_scratch(text), launch(), mode=mode)
    assert made.faults == ()
    assert (made.buffers[1].view(np.uint32) == np.arange(64) + 9).all()


def test_an_atomic_in_lds_returns_the_old_value() -> None:
    text = (
        BASES
        + """
v_mov_b32_e32 v5, s9
v_mov_b32_e32 v8, 5
ds_write_b32 v1, v0
s_waitcnt lgkmcnt(0)
flat_atomic_add v6, v[4:5], v8 sc0
"""
        + STORE
    )
    made = run(with_scratch(text), launch())
    assert made.faults == ()
    assert (made.buffers[1].view(np.uint32) == np.arange(64)).all()


def test_scratch_by_its_aperture_and_global_memory_in_one_access() -> None:
    text = (
        BASES
        + """
scratch_store_dword off, v0, off offset:8
v_mov_b32_e32 v9, s5
v_add_co_u32_e32 v8, vcc, s4, v1
v_addc_co_u32_e32 v9, vcc, 0, v9, vcc
v_mov_b32_e32 v10, s11
v_cmp_gt_u32_e32 vcc, 32, v0
v_mov_b32_e32 v11, 8
v_cndmask_b32_e32 v8, v8, v11, vcc
v_cndmask_b32_e32 v9, v9, v10, vcc
s_waitcnt vmcnt(0)
flat_load_dword v6, v[8:9]
"""
        + STORE
    )
    made = run(with_scratch(text), launch())
    assert made.faults == ()
    assert made.buffers[1].view(np.uint32).tolist() == [*range(32), *DATA[32:].tolist()]


@pytest.mark.parametrize(
    ("lines", "kind", "text"),
    [
        ("v_mov_b32_e32 v5, s11\nflat_load_dword v6, v[4:5]", "out-of-bounds", "flat_load_dword accesses"),
        ("v_mov_b32_e32 v5, s9\nflat_load_dword v6, v[4:5] offset:1024", "out-of-bounds", "LDS+0x400"),
        ("v_mov_b32_e32 v5, s9\nflat_load_dword v6, v[4:5]", "uninitialised-memory", "LDS+0x0"),
        ("v_mov_b32_e32 v5, s9\nv_mov_b32_dpp v5, v0 row_shl:1 row_mask:0x1 bank_mask:0xf\nflat_load_dword v6, v[4:5]",
         "unsupported", "lanes in LDS and lanes elsewhere"),
    ],
)  # fmt: skip
def test_bad_addresses_are_named(lines: str, kind: str, text: str) -> None:
    made = run(with_scratch(BASES + lines), launch())
    assert [fault.kind for fault in made.faults] == [kind]
    assert text in made.faults[0].message
