"""A difference refutes only when a run of both windows shows it, and rests on documented bits."""

import pytest

from asmevo.verify.equivalence import compare
from asmevo.verify.equivalence.extents import Extent, are_apart, residues_apart, trailing_zeros
from asmevo.verify.equivalence.nearly import FLOAT_ORDER, OTHER_WAVES
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.solver import Prover
from asmevo.verify.verdict import Counterexample, Outcome
from windows import judge, outcome

REFUTED = [
    ("ds_write_b32 v1, v2", "ds_write_b32 v1, v3", ""),
    ("ds_write_b32 v1, v2", "ds_write_b32 v1, v2 offset:4", ""),
    ("ds_write_b32 v1, v2\nds_read_b32 v0, v3", "ds_read_b32 v0, v3\nds_write_b32 v1, v2", "v0"),
    ("global_store_dword v[4:5], v1, off", "global_store_dword v[4:5], v1, off offset:4", ""),
    ("global_store_dword v1, v2, s[4:5]", "global_store_dword v1, v3, s[4:5]", ""),
    ("global_load_dword v0, v[4:5], off", "global_load_dword v0, v[4:5], off offset:8", "v0"),
    ("buffer_load_dword v0, v1, s[4:7], 0 offen", "buffer_load_dword v0, v1, s[4:7], 0 offen offset:4", "v0"),
    ("buffer_store_dword v1, v2, s[4:7], 0 offen", "buffer_store_dword v1, v2, s[4:7], s8 offen", ""),
    ("s_load_dwordx2 s[0:1], s[4:5], 0x0", "s_load_dwordx2 s[0:1], s[4:5], 0x8", "s0 s1"),
    ("s_load_dwordx2 s[0:1], s[4:5], 0x0\ns_load_dword s2, s[0:1], 0x0",
     "s_load_dwordx2 s[0:1], s[4:5], 0x0\ns_load_dword s2, s[0:1], 0x4", "s2"),
    ("v_mfma_f32_4x4x1_16b_f32 a[0:3], v1, v2, a[0:3]", "v_mfma_f32_4x4x1_16b_f32 a[0:3], v2, v2, a[0:3]", "a0-3"),
    ("v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf",
     "v_mov_b32_dpp v0, v1 row_shl:2 row_mask:0xf bank_mask:0xf", "v0"),
    ("v_readlane_b32 s0, v1, 3", "v_readlane_b32 s0, v1, 4", "s0"),
    ("v_cmp_lt_f32_e32 vcc, v1, v2", "v_cmp_gt_f32_e32 vcc, v1, v2", "vcc"),
    ("s_mov_b64 exec, s[0:1]\nv_mov_b32_e32 v0, v1", "v_mov_b32_e32 v0, v1\ns_mov_b64 exec, s[0:1]", "v0 exec"),
]  # fmt: skip

UNSETTLED = [
    ("v_max_f32_e32 v0, v1, v2", "v_max_f32_e32 v0, v2, v1"),  # zeros of different signs, payloads
    ("v_mul_f32_e32 v0, 1.0, v1", "v_mov_b32_e32 v0, v1"),  # denormals aside, signalling NaNs
    # Their last bits are not published, and may make these the same.
    ("v_rsq_f32_e32 v0, v1\nv_rcp_f32_e32 v0, v0", "v_sqrt_f32_e32 v0, v1"),
    ("v_rcp_f32_e32 v0, v1\nv_add_f32_e32 v0, v0, v2", "v_rcp_f32_e32 v0, v1\nv_add_f32_e32 v0, v2, v0"),
    ("v_accvgpr_write_b32 a0, v1\nv_accvgpr_read_b32 v0, a0", "v_accvgpr_write_b32 a0, v1\nv_mov_b32_e32 v0, v1"),
]

DIVISION = """
v_cvt_f32_u32_e32 v4, s48
s_sub_i32 s31, 0, s48
v_rcp_iflag_f32_e32 v4, v4
v_mul_f32_e32 v4, 0x4f7ffffe, v4
v_cvt_u32_f32_e32 v4, v4
v_mul_lo_u32 v5, s31, v4
v_mul_hi_u32 v5, v4, v5
v_add_u32_e32 v4, v4, v5
v_mul_hi_u32 v4, s32, v4
v_mul_lo_u32 v5, v4, s48
v_sub_u32_e32 v7, s32, v5
v_add_u32_e32 v6, 1, v4
v_cmp_le_u32_e32 vcc, s48, v7
v_cndmask_b32_e32 v4, v4, v6, vcc
v_readfirstlane_b32 s32, v4
"""
"""The quotient of s32 by s48, corrected once."""
QUIET = "\n".join(f"v_add_f32_e32 v{k}, v{k}, v4" for k in (1, 2, 3))
FIRST = "v_mfma_f32_16x16x32_f16 a[0:3], v[0:3], v[4:7], a[0:3]"
SECOND = "v_mfma_f32_16x16x32_f16 a[0:3], v[8:11], v[12:15], a[0:3]"
LASTING = [
    ("v_rcp_f32_e32 v0, v1", "v_rcp_f32_e32 v0, v2", "v0"),
    ("v_exp_f32_e32 v0, v1\nv_mul_f32_e32 v0, v0, v2", "v_exp_f32_e32 v0, v1", "v0"),
    ("v_log_f32_e32 v0, v1\nv_cmp_lt_f32_e32 vcc, v0, v2", "v_log_f32_e32 v0, v1\nv_cmp_gt_f32_e32 vcc, v0, v2", "vcc"),
    ("v_sqrt_f32_e32 v0, v1\nds_write_b32 v3, v0", "v_sqrt_f32_e32 v0, v2\nds_write_b32 v3, v0", ""),
    ("v_rsq_f64_e32 v[0:1], v[2:3]", "v_rsq_f64_e32 v[0:1], v[4:5]", "v0-1"),
    ("v_rcp_f16_e32 v0, v1", "v_rcp_f16_e32 v0, v2", "v0"),
    (FIRST, SECOND, "a0-3"),
    (f"{FIRST}\n{SECOND}", FIRST, "a0-3"),
]  # fmt: skip
"""Wrong whatever the bits are that no source documents."""


@pytest.mark.parametrize(("before", "after", "needed"), REFUTED)
def test_a_difference_is_confirmed_by_a_run(before: str, after: str, needed: str) -> None:
    verdict = judge(before, after, needed, timeout_s=60.0)
    assert verdict.outcome is Outcome.REFUTED, verdict.reason
    assert verdict.basis[0].method == "emulator"
    assert isinstance(verdict.counterexample, Counterexample)
    assert verdict.counterexample.before != verdict.counterexample.after


@pytest.mark.parametrize(("before", "after"), UNSETTLED)
def test_undocumented_bits_refute_nothing(before: str, after: str) -> None:
    assert outcome(before, after, "v0") is Outcome.UNKNOWN


@pytest.mark.parametrize(("before", "after", "needed"), LASTING)
def test_a_difference_that_undocumented_bits_do_not_explain_refutes(before: str, after: str, needed: str) -> None:
    assert outcome(before, after, needed, target="gfx950") is Outcome.REFUTED


def test_products_of_floats_added_in_another_order_differ_in_undocumented_bits_only() -> None:
    verdict = judge(f"{FIRST}\n{SECOND}", f"{SECOND}\n{FIRST}", "a0-3", target="gfx950")
    assert verdict.outcome is Outcome.UNKNOWN
    assert "nothing but bits that no source documents" in verdict.reason


@pytest.mark.parametrize(
    ("before", "after", "needed", "what"),
    [
        ("ds_write_b32 v1, v2", "ds_write_b32 v1, v2 offset:1", "", "misaligned"),
        ("global_load_dword v0, v[4:5], off", "v_add_u32_e32 v5, 4, v5\nglobal_load_dword v0, v[4:5], off", "v0",
         "out-of-bounds"),
    ],
)  # fmt: skip
def test_an_access_that_only_the_edit_cannot_make_refutes(before: str, after: str, needed: str, what: str) -> None:
    verdict = judge(before, after, needed)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.counterexample is not None
    assert verdict.counterexample.where == "an access"
    assert verdict.counterexample.after.startswith(what)


def test_an_access_that_the_original_cannot_make_either_shows_nothing() -> None:
    verdict = judge("ds_write_b32 v1, v2 offset:1", "ds_write_b32 v1, v3 offset:1", "")
    assert verdict.outcome is Outcome.UNKNOWN
    assert "an access of the original faults" in verdict.reason


@pytest.mark.parametrize(
    ("before", "after", "needed"),
    [
        ("ds_write_b32 v1, v2 offset:64\nds_write_b32 v1, v3 offset:8256",
         "ds_write_b32 v1, v3 offset:8256\nds_write_b32 v1, v2 offset:64", ""),
        ("s_add_u32 s0, s0, s2\ns_addc_u32 s1, s1, 0\ns_load_dword s3, s[0:1], 0x0",
         "s_add_u32 s0, s0, s2\ns_load_dword s3, s[0:1], 0x0", "s1 s3"),
        ("buffer_load_dword v0, v1, s[4:7], 0 idxen", "buffer_load_dword v0, v2, s[4:7], 0 idxen", "v0"),
        ("s_lshr_b32 s0, s1, s2\ns_cmp_lt_u32 s0, s3\ns_cselect_b32 s4, s5, s6",
         "s_lshr_b32 s0, s1, s2\ns_cmp_le_u32 s0, s3\ns_cselect_b32 s4, s5, s6", "s4"),
        ("v_perm_b32 v0, v1, v2, s0", "v_perm_b32 v0, v1, v3, s0", "v0"),
        ("buffer_load_dword v1, s[4:7], 0 offen lds\nds_read_b128 v[8:11], v2 offset:4288",
         "ds_read_b128 v[8:11], v2 offset:4288\nbuffer_load_dword v1, s[4:7], 0 offen lds", "v8-11"),
        # Bits that an address masks away.
        ("v_and_b32_e32 v0, 0xffffff, v0\nv_lshlrev_b32_e32 v0, 2, v0\nbuffer_load_dword v1, v0, s[4:7], 0 offen",
         "v_lshlrev_b32_e32 v0, 2, v0\nbuffer_load_dword v1, v0, s[4:7], 0 offen", "v1"),
        ("s_and_b32 s1, s1, 0xffff\ns_load_dword s2, s[0:1], 0x0", "s_load_dword s2, s[0:1], 0x0", "s2"),
        # A pointer's upper half, loaded where another pointer is.
        ("s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_load_dwordx2 s[6:7], s[0:1], 0x8\ns_and_b32 s7, s7, 0xffff\n"
         "s_load_dword s8, s[6:7], 0x0\ns_and_b32 s5, s5, 0xffff",
         "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_load_dwordx2 s[6:7], s[0:1], 0x8\ns_and_b32 s7, s7, 0xffff\n"
         "s_load_dword s8, s[6:7], 0x0", "s5 s8"),
        # A constant that puts small offsets out of the buffer's range.
        ("v_add_u32_e32 v2, 0x12000, v1\nbuffer_load_dword v0, v2, s[4:7], 0 offen",
         "v_add_u32_e32 v2, 0x12004, v1\nbuffer_load_dword v0, v2, s[4:7], 0 offen", "v0"),
        # Lanes that a mask switches on are any.
        ("s_mov_b64 exec, s[36:37]\nv_mov_b32_e32 v6, v5\ns_cmp_lt_u32 s3, s4\ns_cselect_b32 s20, s36, 0\n"
         "s_mov_b64 exec, s[20:21]\nglobal_load_dword v1, v6, s[8:9]",
         "s_mov_b64 exec, s[36:37]\nv_mov_b32_e32 v6, v5\ns_cmp_le_u32 s3, s4\ns_cselect_b32 s20, s36, 0\n"
         "s_mov_b64 exec, s[20:21]\nglobal_load_dword v1, v6, s[8:9]", "v1"),
        # The last bit of a division by way of floats.
        (DIVISION, DIVISION.replace("v_add_u32_e32 v6, 1, v4", "v_add_u32_e32 v6, 0, v4"), "s32"),
    ],
)  # fmt: skip
def test_states_for_differences_that_random_ones_miss(before: str, after: str, needed: str) -> None:
    assert outcome(before, after, needed) is Outcome.REFUTED


def test_a_solver_that_takes_all_of_its_time_leaves_some_for_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: Prover, *_: object) -> bool:
        self.timed_out = True
        return False

    monkeypatch.setattr(Prover, "equal", never)
    text = "s_lshr_b32 s0, s1, s2\ns_cmp_lt_u32 s0, s3\ns_cselect_b32 s4, s5, s6"
    monkeypatch.setattr(compare, "_FIRST", ())
    monkeypatch.setattr(compare, "_STATES", 0)
    assert outcome(text, text.replace("_lt_", "_gt_"), "s4") is Outcome.REFUTED


def test_a_shared_approximate_value_does_not_hide_a_difference() -> None:
    head = "v_rcp_f32_e32 v9, v1\n"
    assert outcome(head + "v_add_f32_e32 v0, v9, v2", head + "v_sub_f32_e32 v0, v9, v2", "v0") is Outcome.REFUTED


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("s_barrier\nds_read_b32 v0, v1", "ds_read_b32 v0, v1", OTHER_WAVES),
        ("v_mul_f32_e32 v0, v1, v2", "v_mul_f32_e32 v0, v2, v1", FLOAT_ORDER),
        ("v_fma_f32 v0, v1, v2, v3", "v_fma_f32 v0, v2, v1, v3", FLOAT_ORDER),
        ("v_max_f32_e32 v0, v1, v2", "v_max_f32_e32 v0, v2, v1", FLOAT_ORDER),
        (f"{QUIET}\nv_max3_f32 v0, |v1|, v2, v3", f"{QUIET}\nv_max3_f32 v0, v3, v2, |v1|", FLOAT_ORDER),
        (f"{QUIET}\nv_max_f32 v0, v1, v2", f"{QUIET}\nv_max_f32 v0, v1, v2\nv_max_f32 v0, v0, v2", FLOAT_ORDER),
    ],
)
def test_what_alone_keeps_windows_from_being_equal_is_said_and_proves_nothing(before: str, after: str, reason: str) -> None:
    verdict = judge(before, after, "v0")
    assert verdict.outcome is Outcome.UNKNOWN
    assert reason in verdict.reason


def test_a_dropped_barrier_does_not_hide_another_difference() -> None:
    assert outcome("s_barrier\nds_read_b32 v0, v1", "ds_read_b32 v0, v2", "v0") is Outcome.REFUTED


def test_the_report_says_where_the_windows_part() -> None:
    before = "v_lshlrev_b32_e32 v3, 2, v1\nv_add_u32_e32 v4, v3, v2\nv_xor_b32_e32 v5, v4, v3"
    verdict = judge(before, before.replace("2, v1", "3, v1"), "v5")
    assert verdict.counterexample is not None
    detail = verdict.counterexample.detail
    assert "last changed by v_xor_b32_e32 [2] before and v_xor_b32_e32 [2] after" in detail
    assert "parted at v_lshlrev_b32_e32 [0]: v3 lane" in detail
    assert verdict.counterexample.where.startswith("v5 lane ")


def test_a_memory_difference_names_its_byte() -> None:
    verdict = judge("ds_write_b8 v1, v2", "ds_write_b8 v1, v3", "")
    assert verdict.counterexample is not None
    assert verdict.counterexample.where.startswith("lds+0x")


def test_extents() -> None:
    rows = Extent("base", tuple((64 * k, 64 * k + 4) for k in range(64)))
    assert are_apart(rows, Extent("base", tuple((64 * k + 4, 64 * k + 8) for k in range(64))))
    assert not are_apart(rows, Extent("base", ((4, 65),)))
    assert not are_apart(rows, Extent("other base", ((4, 8),)))
    assert not are_apart(rows, Extent(None, ((4, 8),)))
    assert not are_apart(rows, rows)
    assert are_apart(Extent(None, (), "a"), Extent(None, (), "b"))
    assert not are_apart(Extent(None, (), "a"), Extent(None, (), "a"))


def test_residues() -> None:
    n = Normaliser()
    x, y = (n.table.node("var", 32, (), unit, True) for unit in (300, 301))
    one, other = n.make("mul", 32, (x, n.const(32, 16))), n.make("mul", 32, (y, n.const(32, 8)))

    def plus(term: object, k: int) -> object:
        return n.make("add", 32, (term, n.const(32, k)))  # type: ignore[arg-type]

    assert trailing_zeros(one) == 4
    assert trailing_zeros(x) == 0
    assert residues_apart(one, 4, plus(other, 4), 4)  # type: ignore[arg-type]
    assert not residues_apart(one, 4, plus(other, 8), 4)  # type: ignore[arg-type]
    assert not residues_apart(one, 8, plus(other, 4), 4)  # type: ignore[arg-type]
    assert not residues_apart(x, 4, plus(x, 4), 4)  # type: ignore[arg-type]
    assert residues_apart(plus(one, 12), 4, one, 8)  # type: ignore[arg-type]
    assert not residues_apart(plus(one, 12), 8, one, 8)  # type: ignore[arg-type]
