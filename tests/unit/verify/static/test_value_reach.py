"""Whether a value is noticed: it is when memory, a branch, EXEC or a mode depends on it on some path, and only then."""

import pytest

from asmevo.frontend.source import parse_source
from asmevo.verify.static.value_reach import first_effect


def noticed(text, index=0):
    kernel = parse_source(f"top:\n{text}\n s_endpgm\n", "t.s")
    found = first_effect(kernel, "top", index)
    return found.mnemonic if found else None


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("v_mov_b32_e32 v1, v2\nglobal_store_dword v[4:5], v1, off", "global_store_dword"),
        ("v_mov_b32_e32 v1, v2\nds_read_b32 v3, v1", "ds_read_b32"),
        ("s_mov_b32 s4, s3\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 end\nend:", "s_cbranch_scc1"),
        ("v_cmp_eq_u32_e32 vcc, v1, v2\ns_and_saveexec_b64 s[4:5], vcc", "s_and_saveexec_b64"),
        ("v_readfirstlane_b32 s4, v1\ns_mov_b32 m0, s4\nbuffer_load_dword v3, s[8:11], 0 lds", "buffer_load_dword"),
        ("s_mov_b32 s4, s3\ns_setreg_b32 hwreg(HW_REG_MODE), s4", "s_setreg_b32"),
        ("ds_write_b32 v1, v2", "ds_write_b32"),
    ],
)  # fmt: skip
def test_a_value_is_followed_to_what_depends_on_it(text, by):
    assert noticed(text) == by


@pytest.mark.parametrize(
    "text",
    [
        "s_mov_b32 s4, s3",
        "v_add_u32_e32 v1, v1, v2\nv_mul_lo_u32 v3, v1, v1",
        "s_mov_b32 s4, s3\ns_mov_b32 s4, 0\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 end\nend:",
        "v_mov_b32_e32 v1, v2\nglobal_store_dword v[4:5], v6, off",
    ],
)
def test_a_value_that_nothing_depends_on_is_not_noticed(text):
    assert noticed(text) is None


def test_a_value_is_followed_around_a_loop():
    text = "v_mov_b32_e32 v1, s4\n global_store_dword v[4:5], v1, off\n s_mov_b32 s4, s3\n s_cbranch_scc1 loop\n s_endpgm\n"
    kernel = parse_source(f"loop:\n{text}", "t.s")
    found = first_effect(kernel, "loop", 2)
    assert found is not None
    assert found.mnemonic == "global_store_dword"


def test_a_vector_write_may_leave_the_value_in_other_lanes():
    assert noticed("v_mov_b32_e32 v1, v2\nv_mov_b32_e32 v1, 0\nglobal_store_dword v[4:5], v1, off") == "global_store_dword"
