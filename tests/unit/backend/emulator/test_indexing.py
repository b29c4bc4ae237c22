"""VGPR indexing: M0 moves the registers of vector ALU operations while MODE says so, and strict mode checks the moved ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.ir.abi import KernelDescriptor

from .small_kernels import POINTERS, dispatch, kernel, output, words

STORE = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32_e32 v1, 2, v0
{body}
s_waitcnt lgkmcnt(0)
global_store_dword v1, v{result}, s[4:5]
"""
ROWS = "\n".join(f"v_add_u32_e32 v{n}, {n}, v0" for n in range(4, 8))
"""v4 to v7 hold the lane plus their own number."""


def faults(body: str, *, mode: str = "strict"):
    return run(kernel(body), dispatch(output("out", 64)), mode=mode).faults


def stored(body: str, result: int, items: int = 64, mode: str = "strict"):
    done = run(kernel(STORE.format(body=body, result=result)), dispatch(output("out", items), items=items), mode=mode)
    assert done.faults == ()
    return done.buffers[0].view(np.uint32)


@pytest.mark.parametrize("mode", ["strict", "fast"])
@pytest.mark.parametrize("index", range(4))
def test_a_source_moves(index: int, mode: str):
    on = f"s_mov_b32 s6, {index}\ns_set_gpr_idx_on s6, gpr_idx(SRC0)"
    got = stored(f"{ROWS}\n{on}\nv_mov_b32_e32 v2, v4\ns_set_gpr_idx_off", 2, mode=mode)
    assert (got == np.arange(64) + 4 + index).all()


@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_a_destination_moves_and_only_it_becomes_valid(mode: str):
    body = "s_mov_b32 s6, 5\ns_set_gpr_idx_on s6, gpr_idx(DST)\nv_mov_b32_e32 v2, v0\ns_set_gpr_idx_off"
    assert (stored(body, 7, mode=mode) == np.arange(64)).all()
    (fault,) = faults(f"{body}\nv_mov_b32_e32 v3, v2")
    assert fault.kind == "uninitialised-register"
    assert "v2" in fault.message


@pytest.mark.parametrize(
    ("moved", "value"),
    [("SRC0", 8 + 5), ("SRC1", 7 + 6), ("SRC2", 7 + 5), ("SRC0,SRC1", 8 + 6), ("DST", 7 + 5)],
)
def test_each_operand_moves_on_its_own(moved: str, value: int):
    add = f"s_mov_b32 s6, 1\ns_set_gpr_idx_on s6, gpr_idx({moved})\nv_add_u32_e32 v12, v7, v5\ns_set_gpr_idx_off"
    rows = f"{ROWS}\nv_add_u32_e32 v8, 8, v0"
    got = stored(f"{rows}\n{add}", 13 if moved == "DST" else 12)
    assert (got == 2 * np.arange(64) + value).all()


def test_both_sources_in_one_register_are_checked_apart():
    on = "s_mov_b32 s6, 1\ns_set_gpr_idx_on s6, gpr_idx(SRC1)"
    text = f"v_mov_b32_e32 v{{n}}, 3\n{on}\nv_add_u32_e32 v2, v4, v4"
    assert [f.kind for f in faults(text.format(n=4))] == ["uninitialised-register"]
    assert [f.kind for f in faults(text.format(n=5))] == ["uninitialised-register"]
    assert faults("v_mov_b32_e32 v5, 3\n" + text.format(n=4)) == ()


def test_waves_have_their_own_index():
    body = f"""
{ROWS}
v_lshrrev_b32_e32 v3, 6, v0
v_readfirstlane_b32 s6, v3
s_nop 4
s_set_gpr_idx_on s6, gpr_idx(SRC0)
v_mov_b32_e32 v2, v4
s_set_gpr_idx_off
"""
    lanes = np.arange(256)
    assert (stored(body, 2, items=256) == lanes + 4 + lanes // 64).all()


def test_the_mode_spans_blocks_and_is_switched_by_each_control():
    body = f"""
{ROWS}
s_mov_b32 s6, 1
s_set_gpr_idx_on s6, gpr_idx(DST)
s_branch next
next:
s_set_gpr_idx_mode gpr_idx(SRC0)
s_mov_b32 s6, 0x302
s_set_gpr_idx_idx s6
v_mov_b32_e32 v2, v4
s_set_gpr_idx_off
v_add_u32_e32 v2, v2, v4
"""
    assert (stored(body, 2) == 2 * np.arange(64) + 6 + 4).all()


def test_an_enable_given_as_a_number():
    body = f"{ROWS}\ns_set_gpr_idx_on 2, 1\nv_mov_b32_e32 v2, v4\ns_set_gpr_idx_off"
    assert (stored(body, 2) == np.arange(64) + 6).all()


def test_lane_moves_and_masks():
    body = """
v_mov_b32_e32 v7, 0
v_mov_b32_e32 v8, 0
s_set_gpr_idx_on 3, gpr_idx(DST)
v_writelane_b32 v4, 9, 5
s_set_gpr_idx_off
s_set_gpr_idx_on 3, gpr_idx(SRC0)
v_cmp_eq_u32_e32 vcc, v4, v8
v_readlane_b32 s7, v4, 5
s_set_gpr_idx_off
v_cndmask_b32_e64 v2, 1, 2, vcc
v_add_u32_e32 v2, s7, v2
"""
    assert (stored(body, 2) == np.where(np.arange(64) == 5, 10, 11)).all()


def test_64_bit_registers_move_by_the_same_index():
    body = "v_mov_b32_e32 v6, 1\nv_mov_b32_e32 v7, v0\ns_set_gpr_idx_on 2, gpr_idx(SRC1)\nv_lshlrev_b64 v[2:3], 0, v[4:5]"
    assert (stored(f"{body}\ns_set_gpr_idx_off", 3) == np.arange(64)).all()
    (fault,) = faults("s_set_gpr_idx_on 2, gpr_idx(SRC1)\nv_lshlrev_b64 v[2:3], 0, v[4:5]")
    assert (fault.kind, "v6" in fault.message) == ("uninitialised-register", True)


@pytest.mark.parametrize("mode", ["strict", "fast"])
@pytest.mark.parametrize(
    ("moved", "text"),
    [
        ("SRC0", "v_mov_b32_e32 v2, v1"),
        ("DST", "v_mov_b32_e32 v1, v0"),
        ("SRC1", "v_lshlrev_b64 v[2:3], 0, v[0:1]"),
        ("DST", "v_lshlrev_b64 v[0:1], 0, v[4:5]"),
    ],
)
def test_a_register_beyond_the_file(moved: str, text: str, mode: str):
    (fault,) = faults(f"s_movk_i32 s6, 0xff\ns_set_gpr_idx_on s6, gpr_idx({moved})\n{text}", mode=mode)
    assert (fault.kind, "v256" in fault.message) == ("out-of-bounds", True)


def test_a_register_beyond_the_allocated_ones():
    plain = kernel("s_mov_b32 s6, 8\ns_set_gpr_idx_on s6, gpr_idx(DST)\nv_mov_b32_e32 v0, 0")
    small = replace(
        plain,
        descriptor=KernelDescriptor(
            bytes(64), 0, 0, 0, 0, rsrc1=0, rsrc2=0, rsrc3=1, properties=8, preload_dwords=0, preload_offset_dwords=0
        ),
    )
    assert run(plain, dispatch(output("out", 64))).faults == ()
    (fault,) = run(small, dispatch(output("out", 64))).faults
    assert (fault.kind, "v8" in fault.message) == ("out-of-bounds", True)


def test_a_load_that_lands_in_the_moved_register():
    text = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32_e32 v1, 0
v_mov_b32_e32 v3, 0
v_mov_b32_e32 v6, 0
s_waitcnt lgkmcnt(0)
global_store_dword v1, v1, s[4:5]
global_load_dword v6, v1, s[4:5]
s_set_gpr_idx_on 3, gpr_idx({moved})
v_mov_b32_e32 v{to}, v{source}
s_set_gpr_idx_off
"""
    assert [f.kind for f in faults(text.format(moved="SRC0", to=2, source=3))] == ["pending-read"]
    assert [f.kind for f in faults(text.format(moved="DST", to=3, source=1))] == ["pending-write"]
    assert faults(text.format(moved="DST", to=4, source=3)) == ()


@pytest.mark.parametrize(
    "text",
    [
        "v_mov_b32_sdwa v2, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0",
        "v_mov_b32_dpp v2, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
        "v_fmac_f32_e32 v0, v0, v0",
        "v_accvgpr_write_b32 a0, v0",
        "v_pk_fmac_f16 v0, v0, v0",
    ],
)
@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_forms_not_modelled_under_indexing_are_named(text: str, mode: str):
    assert faults(text, mode=mode) == ()
    (fault,) = faults(f"s_set_gpr_idx_on 0, gpr_idx(SRC0)\n{text}", mode=mode)
    assert fault.kind == "unsupported"
    assert "indexing" in fault.message


def test_memory_and_scalar_operations_do_not_move():
    body = "v_mov_b32_e32 v2, 7\ns_set_gpr_idx_on 9, gpr_idx(SRC0,SRC1,SRC2,DST)\ns_mov_b32 s8, 1"
    assert (stored(body, 2) == 7).all()


def test_the_rest_of_m0_stays_unwritten():
    assert [f.kind for f in faults("s_set_gpr_idx_on 1, gpr_idx(SRC0)\ns_set_gpr_idx_off\ns_mov_b32 s6, m0")] == [
        "uninitialised-register"
    ]
    assert faults("s_mov_b32 m0, 0\ns_set_gpr_idx_on 1, gpr_idx(SRC0)\ns_set_gpr_idx_off\ns_mov_b32 s6, m0") == ()


def test_packed_operations_move_their_pairs() -> None:
    text = (
        POINTERS
        + """
v_cvt_f32_u32_e32 v2, v0
v_mov_b32_e32 v3, 2.0
v_mov_b32_e32 v4, 0.5
v_mov_b32_e32 v5, 4.0
s_mov_b32 s9, 2
s_set_gpr_idx_on s9, gpr_idx(SRC0,DST)
v_pk_mul_f32 v[6:7], v[2:3], v[2:3] op_sel_hi:[1,0]
s_set_gpr_idx_off
v_lshlrev_b32_e32 v1, 3, v0
global_store_dwordx2 v1, v[8:9], s[6:7]
"""
    )
    made = run(kernel(text), dispatch(words("in", [0]), output("out", 128)))
    assert made.faults == ()
    lanes = np.arange(64, dtype=np.float32)
    assert (made.buffers[1].view(np.float32).reshape(64, 2) == np.stack([lanes * 0.5, lanes * 4], 1)).all()
