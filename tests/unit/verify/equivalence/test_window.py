import time

import pytest

from asmevo.verify.equivalence import solver
from asmevo.verify.verdict import Outcome
from windows import judge, outcome

PROVED = [
    # reorders
    ("v_add_u32_e32 v0, v1, v2\nv_mul_f32_e32 v3, v4, v5", "v_mul_f32_e32 v3, v4, v5\nv_add_u32_e32 v0, v1, v2", "v0 v3"),
    ("s_add_u32 s0, s1, s2\nv_add_f32_e32 v0, v1, v2", "v_add_f32_e32 v0, v1, v2\ns_add_u32 s0, s1, s2", "s0 v0 scc"),
    ("ds_read_b32 v0, v1\nglobal_load_dword v2, v[4:5], off", "global_load_dword v2, v[4:5], off\nds_read_b32 v0, v1", "v0 v2"),
    ("ds_write_b32 v1, v2\nglobal_load_dword v0, v[4:5], off", "global_load_dword v0, v[4:5], off\nds_write_b32 v1, v2", "v0"),
    # renames of registers that end dead
    ("v_mov_b32_e32 v9, v1\nv_add_u32_e32 v0, v9, v2", "v_mov_b32_e32 v8, v1\nv_add_u32_e32 v0, v8, v2", "v0"),
    ("v_mul_f32_e32 v9, v1, v2\nv_add_f32_e32 v0, v9, v2", "v_mul_f32_e32 v8, v1, v2\nv_add_f32_e32 v0, v8, v2", "v0"),
    # waits and wait states
    ("s_waitcnt vmcnt(0)\nv_mov_b32_e32 v0, v1\ns_nop 4", "s_nop 0\nv_mov_b32_e32 v0, v1", "v0"),
    # forwarding, dead code, commuted integers
    ("v_mov_b32_e32 v0, v1\nv_add_u32_e32 v2, v0, v3", "v_mov_b32_e32 v0, v1\nv_add_u32_e32 v2, v1, v3", "v0 v2"),
    ("v_mov_b32_e32 v7, 1\nv_mov_b32_e32 v0, v1", "v_mov_b32_e32 v0, v1", "v0"),
    ("v_add_u32_e32 v0, v1, v2", "v_add_u32_e32 v0, v2, v1", "v0"),
    ("s_and_b32 s0, s1, s2", "s_and_b32 s0, s2, s1", "s0 scc"),
    # peepholes
    ("v_add_u32_e32 v0, v1, v2\nv_add_u32_e32 v0, v0, v3", "v_add3_u32 v0, v1, v2, v3", "v0"),
    ("v_lshlrev_b32_e32 v0, 3, v1\nv_add_u32_e32 v0, v0, v2", "v_lshl_add_u32 v0, v1, 3, v2", "v0"),
    ("v_and_b32_e32 v0, v1, v2\nv_or_b32_e32 v0, v0, v3", "v_and_or_b32 v0, v1, v2, v3", "v0"),
    ("v_mul_u32_u24_e32 v0, 4, v1", "v_and_b32_e32 v0, 0xffffff, v1\nv_lshlrev_b32_e32 v0, 2, v0", "v0"),
    ("s_mov_b32 s0, s2\ns_mov_b32 s1, s3", "s_mov_b64 s[0:1], s[2:3]", "s0 s1"),
    ("v_mov_b32_e32 v0, s4\nv_readlane_b32 s0, v0, 3", "v_mov_b32_e32 v0, s4\ns_mov_b32 s0, s4", "v0"),
    ("v_mul_lo_u32 v0, v1, 5", "v_lshl_add_u32 v0, v1, 2, v1", "v0"),
    # uniform, provably disjoint stores
    (
        "v_mov_b32_e32 v9, s0\nds_write_b32 v9, v1\nv_mov_b32_e32 v8, s0\nv_add_u32_e32 v8, 8, v8\nds_write_b32 v8, v2",
        "v_mov_b32_e32 v8, s0\nv_add_u32_e32 v8, 8, v8\nds_write_b32 v8, v2\nv_mov_b32_e32 v9, s0\nds_write_b32 v9, v1",
        "",
    ),
    # narrowing EXEC: a value made under the wider mask is still there
    (
        "v_mov_b32_e32 v9, v1\ns_and_b64 exec, exec, s[4:5]\nv_add_u32_e32 v0, v9, v2",
        "v_mov_b32_e32 v9, v1\ns_and_b64 exec, exec, s[4:5]\nv_add_u32_e32 v0, v1, v2",
        "v0 v9 exec scc",
    ),
    # masks
    (
        "v_cmp_lt_u32_e64 s[0:1], v1, v2\nv_cndmask_b32_e64 v0, v3, v4, s[0:1]",
        "v_cmp_lt_u32_e64 s[2:3], v1, v2\nv_cndmask_b32_e64 v0, v3, v4, s[2:3]",
        "v0",
    ),
]

REFUSED = [
    ("v_sub_u32_e32 v0, v1, v2", "v_sub_u32_e32 v0, v2, v1", "v0"),
    ("s_add_u32 s0, s1, 4", "s_add_u32 s0, s1, 5", "s0"),
    ("v_lshrrev_b32_e32 v0, 3, v1", "v_ashrrev_i32_e32 v0, 3, v1", "v0"),
    ("v_add_f32_e64 v0, -v1, v2", "v_add_f32_e64 v0, v1, v2", "v0"),
    ("v_add_f32_e64 v0, v1, v2 clamp", "v_add_f32_e64 v0, v1, v2", "v0"),
    ("v_add_f32_e64 v0, v1, v2 mul:2", "v_add_f32_e64 v0, v1, v2", "v0"),
    (
        "v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf",
        "v_mov_b32_dpp v0, v1 row_shl:2 row_mask:0xf bank_mask:0xf",
        "v0",
    ),
    ("ds_write_b32 v1, v2\nds_read_b32 v0, v3", "ds_read_b32 v0, v3\nds_write_b32 v1, v2", "v0"),
    ("ds_write_b32 v1, v2\nds_write_b32 v3, v4", "ds_write_b32 v3, v4\nds_write_b32 v1, v2", ""),
    ("ds_write_b32 v1, v2", "ds_write_b32 v1, v3", ""),
    ("ds_write_b32 v1, v2", "s_nop 0", ""),
    ("global_load_dword v0, v[2:3], off\ns_barrier", "s_barrier\nglobal_load_dword v0, v[2:3], off", "v0"),
    ("s_barrier", "s_nop 0", ""),
    ("v_mov_b32_e32 v0, v1", "v_mov_b32_e32 v0, v1\nv_mov_b32_e32 v5, v1", "v0 v5"),
    ("v_mov_b32_e32 v0, v1", "v_mov_b32_e32 v5, v1", "v0 v5"),
    ("s_mov_b32 s0, s1", "s_add_u32 s0, s1, 0", "s0 scc"),
    ("s_mov_b64 exec, s[0:1]\nv_mov_b32_e32 v0, v1", "v_mov_b32_e32 v0, v1\ns_mov_b64 exec, s[0:1]", "v0 exec"),
    ("v_cmp_eq_u32_e32 vcc, v0, v1", "v_cmp_ne_u32_e32 vcc, v0, v1", "vcc"),
    ("v_fma_f32 v0, v1, v2, v3", "v_mul_f32_e32 v0, v1, v2\nv_add_f32_e32 v0, v0, v3", "v0"),
    ("v_add_f32_e32 v0, v1, v2\nv_add_f32_e32 v0, v0, v3", "v_add_f32_e32 v0, v2, v3\nv_add_f32_e32 v0, v1, v0", "v0"),
    ("global_load_dword v0, v[2:3], off sc1\nglobal_load_dword v1, v[4:5], off",
     "global_load_dword v1, v[4:5], off\nglobal_load_dword v0, v[2:3], off sc1", "v0 v1"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "needed"), PROVED)
def test_a_legal_edit_is_proved(before: str, after: str, needed: str) -> None:
    verdict = judge(before, after, needed)
    assert verdict.outcome is Outcome.PROVED, verdict.reason


@pytest.mark.parametrize(("before", "after", "needed"), REFUSED)
def test_a_wrong_edit_is_never_proved(before: str, after: str, needed: str) -> None:
    assert outcome(before, after, needed) in (Outcome.REFUTED, Outcome.UNKNOWN)
    assert outcome(after, before, needed) in (Outcome.REFUTED, Outcome.UNKNOWN)


def test_the_same_text_is_identical_even_where_nothing_is_modelled() -> None:
    text = "s_setvskip s0, 1\nv_mov_b32_e32 v0, v1"
    assert outcome(text, text, "v0") is Outcome.IDENTICAL


def test_a_refutation_names_place_lane_and_values() -> None:
    verdict = judge("v_add_u32_e32 v3, 1, v1", "v_add_u32_e32 v3, 2, v1", "v3")
    assert verdict.outcome is Outcome.REFUTED
    found = verdict.counterexample
    assert found is not None
    assert found.where.startswith("v3 lane ")
    assert int(found.after.split()[0], 16) - int(found.before.split()[0], 16) in (1, 1 - (1 << 32))


def test_a_difference_by_documented_float_bits_is_refuted() -> None:
    assert outcome("v_add_f32_e64 v0, -v1, v2", "v_add_f32_e64 v0, v1, v2", "v0") is Outcome.REFUTED
    assert outcome("v_fma_f32 v0, v1, v2, v3", "v_mul_f32_e32 v0, v1, v2\nv_add_f32_e32 v0, v0, v3", "v0") is Outcome.REFUTED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("v_mul_f32_e32 v0, 1.0, v1", "v_mov_b32_e32 v0, v1"),  # differs for NaNs and flushed denormals only
        ("v_rsq_f32_e32 v0, v1\nv_rcp_f32_e32 v0, v0", "v_sqrt_f32_e32 v0, v1"),  # last bits are not published
        ("v_max_f32_e32 v0, v1, v2", "v_max_f32_e32 v0, v2, v1"),
        ("v_pack_b32_f16 v0, v1, v2", "v_and_b32_e32 v0, 0xffff, v1\nv_lshl_or_b32 v0, v2, 16, v0"),
        ("v_accvgpr_write_b32 a0, v1\nv_accvgpr_read_b32 v0, a0", "v_accvgpr_write_b32 a0, v1\nv_mov_b32_e32 v0, v1"),
    ],
)
def test_a_difference_that_rests_on_what_is_not_known_is_unknown(before: str, after: str) -> None:
    assert outcome(before, after, "v0") is Outcome.UNKNOWN


def test_equal_floats_in_other_order_are_not_refuted() -> None:
    assert outcome("v_add_f32_e32 v0, v1, v2", "v_add_f32_e32 v0, v2, v1", "v0") is Outcome.UNKNOWN


def test_overlapping_uniform_stores_keep_their_order() -> None:
    head = "v_mov_b32_e32 v9, s0\nv_add_u32_e32 v8, 4, v9\n"
    one, other = "ds_write_b64 v9, v[2:3]", "ds_write_b32 v8, v4"
    assert outcome(f"{head}{one}\n{other}", f"{head}{other}\n{one}", "") is Outcome.REFUTED


def test_the_verdict_says_that_waits_are_proved_elsewhere() -> None:
    verdict = judge("s_waitcnt vmcnt(0)", "s_nop 0", "v0")
    assert verdict.outcome is Outcome.PROVED
    assert any("static checks" in a for b in verdict.basis for a in b.assumptions)


def test_an_exhausted_budget_is_unknown() -> None:
    before = "v_mul_hi_u32 v0, v1, v2"
    after = "v_mul_hi_u32 v9, v1, v2\nv_mov_b32_e32 v0, v9"
    assert outcome(before, after, "v0") is Outcome.PROVED  # needs no solver
    wide = "v_mul_hi_u32 v0, v1, v2\nv_mul_hi_i32 v3, v1, v2\nv_ashrrev_i32_e32 v4, 31, v1\nv_and_b32_e32 v4, v4, v2"
    other = (
        wide + "\nv_ashrrev_i32_e32 v5, 31, v2\nv_and_b32_e32 v5, v5, v1\nv_sub_u32_e32 v0, v0, v4\nv_sub_u32_e32 v3, v0, v5"
    )
    assert outcome(wide, other, "v3", timeout_s=0.0) is Outcome.UNKNOWN


@pytest.mark.parametrize("text", ["s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3", "s_setvskip s0, 1", "s_getpc_b64 s[0:1]"])
def test_what_is_not_modelled_splits_the_window_or_is_refused(text: str) -> None:
    moved = judge(f"{text}\nv_mov_b32_e32 v0, v1", f"v_mov_b32_e32 v0, v1\n{text}", "v0")
    assert moved.outcome in (Outcome.UNSUPPORTED, Outcome.REFUTED, Outcome.UNKNOWN)
    dropped = judge(f"{text}\nv_mov_b32_e32 v0, v1", "v_mov_b32_e32 v0, v1", "v0")
    assert dropped.outcome is Outcome.UNSUPPORTED
    assert text.split(maxsplit=1)[0] in dropped.reason
    swap = ("v_mov_b32_e32 v0, v1\nv_mov_b32_e32 v2, v3", "v_mov_b32_e32 v2, v3\nv_mov_b32_e32 v0, v1")
    assert outcome(f"{swap[0]}\n{text}", f"{swap[1]}\n{text}", "v0 v2") is Outcome.PROVED


def test_a_register_that_is_dead_at_the_end_is_not_dead_at_a_split() -> None:
    text = "s_setvskip s0, 1"
    assert outcome(f"v_mov_b32_e32 v9, v1\n{text}", f"v_mov_b32_e32 v8, v1\n{text}", "v0") is not Outcome.PROVED


def test_relative_register_numbers_are_refused() -> None:
    on, off = "s_set_gpr_idx_on s0, gpr_idx(SRC0)", "s_set_gpr_idx_off"
    swap = ("v_mov_b32_e32 v0, v1\nv_mov_b32_e32 v2, v3", "v_mov_b32_e32 v2, v3\nv_mov_b32_e32 v0, v1")
    assert outcome(f"{on}\n{swap[0]}\n{off}", f"{on}\n{swap[1]}\n{off}", "v0 v2") is Outcome.UNSUPPORTED
    assert outcome(f"{on}\n{off}\n{swap[0]}", f"{on}\n{off}\n{swap[1]}", "v0 v2") is Outcome.PROVED


HALVES = """v_and_b32_e32 v4, 0xffff, v1
v_lshrrev_b32_e32 v5, 16, v1
v_mul_lo_u32 v4, v4, v2
v_mul_lo_u32 v5, v5, v2
v_lshlrev_b32_e32 v5, 16, v5
v_add_u32_e32 v0, v4, v5"""


def test_a_check_keeps_to_its_budget_of_time() -> None:
    """A product by halves, which no solver shows equal in this time."""
    started = time.process_time()
    verdict = judge("v_mul_lo_u32 v0, v1, v2", HALVES, "v0", timeout_s=1.0)
    assert verdict.outcome is Outcome.UNKNOWN
    assert "budget" in verdict.reason
    assert time.process_time() - started < 3.0


def test_a_check_keeps_to_its_budget_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "_MEMORY_MB", 1)
    verdict = judge("v_mul_lo_u32 v0, v1, v2", HALVES, "v0", timeout_s=60.0)
    assert verdict.outcome is Outcome.UNKNOWN
    assert "budget" in verdict.reason
