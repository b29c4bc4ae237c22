"""Rewrites that experts use: proved where they hold, and not where they don't."""

import pytest

from asmevo.ir.registers import VGPR0
from asmevo.verify.equivalence.facts import Facts
from asmevo.verify.verdict import Outcome
from windows import judge, live, outcome


def bits(unit: int, below: int, aligned: int = 1) -> dict[int, tuple[int, int]]:
    """A unit that is less than `below` and a multiple of `aligned`, both powers of two."""
    return {unit: (0xFFFFFFFF & ~(below - 1) | aligned - 1, 0)}


V1, V2 = VGPR0 + 1, VGPR0 + 2
SMALL = {**bits(V1, 1 << 16), **bits(V2, 1 << 16)}
SHORT = {**bits(V1, 1 << 8), **bits(V2, 1 << 8)}
ALIGNED = bits(V1, 1 << 16, 16)
FULL = {126: (0, 0xFFFFFFFF), 127: (0, 0xFFFFFFFF)}
CARRIED = "v_add_co_u32_e32 v0, vcc, v2, v4\nv_addc_co_u32_e32 v1, vcc, v3, v5, vcc"
TIMES = "v_mul_lo_u32 v0, v1, v2"
PRODUCTS = tuple(f"v_mfma_i32_16x16x32_i8 v[0:3], v[{k}:{k + 1}], v[{k + 2}:{k + 3}], v[0:3]" for k in (4, 8))
ROWS = [
    # i24 multiply for a full one: only with a range
    (TIMES, "v_mul_u32_u24_e32 v0, v1, v2", "v0", {}, False),
    (TIMES, "v_mul_u32_u24_e32 v0, v1, v2", "v0", SMALL, True),
    (TIMES, "v_mul_i32_i24_e32 v0, v1, v2", "v0", SMALL, True),
    (TIMES, "v_mul_i32_i24_e32 v0, v1, v2", "v0", bits(V1, 1 << 24), False),
    ("v_mad_u32_u24 v0, v1, v2, v3", f"{TIMES}\nv_add_u32_e32 v0, v0, v3", "v0", SMALL, True),
    ("v_mad_u32_u24 v0, v1, v2, v3", f"{TIMES}\nv_add_u32_e32 v0, v0, v3", "v0", {}, False),
    # sums of matrix products: of integers in any order, of floats not
    (f"{PRODUCTS[0]}\n{PRODUCTS[1]}", f"{PRODUCTS[1]}\n{PRODUCTS[0]}", "v0-3", {}, True),
    (f"{PRODUCTS[0]}\n{PRODUCTS[1]}", f"{PRODUCTS[1]}\n{PRODUCTS[1]}", "v0-3", {}, False),
    (PRODUCTS[0], PRODUCTS[0].replace(", v[0:3]", ", 0"), "v0-3", {}, False),
    (
        f"{PRODUCTS[0]}\n{PRODUCTS[1]}".replace("i32", "f32").replace("_i8", "_fp8_fp8"),
        f"{PRODUCTS[1]}\n{PRODUCTS[0]}".replace("i32", "f32").replace("_i8", "_fp8_fp8"),
        "v0-3",
        {},
        False,
    ),
    # whether a float is a NaN does not depend on signs or order
    ("v_cmp_u_f32_e64 vcc, v1, v1", "v_cmp_u_f32_e64 vcc, -v1, |v1|", "vcc", {}, True),
    ("v_cmp_o_f32_e64 vcc, v1, v2", "v_cmp_o_f32_e64 vcc, v2, v1", "vcc", {}, True),
    ("v_cmp_u_f16_e64 vcc, v1, v2", "v_cmp_u_f16_e64 vcc, v2, v2", "vcc", {}, False),
    ("v_cmp_eq_f32_e64 vcc, v1, v2", "v_cmp_eq_f32_e64 vcc, v2, v1", "vcc", {}, True),
    ("v_cmp_eq_f32_e64 vcc, v1, v2", "v_cmp_eq_f32_e64 vcc, v2, -v1", "vcc", {}, False),
    # encodings
    ("v_add_u32_e64 v0, v1, v2", "v_add_u32_e32 v0, v1, v2", "v0", {}, True),
    ("v_mul_f32_e64 v0, v1, v2", "v_mul_f32_e32 v0, v1, v2", "v0", {}, True),
    ("v_mul_f32_e64 v0, v1, -v2", "v_mul_f32_e32 v0, v1, v2", "v0", {}, False),
    ("v_cmp_lt_u32_e64 vcc, v1, v2", "v_cmp_lt_u32_e32 vcc, v1, v2", "vcc", {}, True),
    ("v_cmp_lt_u32_e64 s[0:1], v1, v2", "v_cmp_lt_u32_e32 vcc, v1, v2", "vcc s0 s1", {}, False),
    # loads joined
    ("ds_read_b32 v2, v1\nds_read_b32 v3, v1 offset:4", "ds_read_b64 v[2:3], v1", "v2 v3", ALIGNED, True),
    ("ds_read_b32 v2, v1\nds_read_b32 v3, v1 offset:4", "ds_read_b64 v[2:3], v1", "v2 v3", {}, False),
    ("ds_read_b32 v2, v1\nds_read_b32 v3, v1 offset:4", "ds_read2_b32 v[2:3], v1 offset1:1", "v2 v3", {}, True),
    ("ds_read_b32 v2, v1\nds_read_b32 v3, v1 offset:8", "ds_read2_b32 v[2:3], v1 offset1:1", "v2 v3", {}, False),
    ("ds_read_b64 v[2:3], v1\nds_read_b64 v[4:5], v1 offset:8", "ds_read_b128 v[2:5], v1", "v2-5", ALIGNED, True),
    ("ds_read_b64 v[2:3], v1\nds_read_b64 v[4:5], v1 offset:16", "ds_read_b128 v[2:5], v1", "v2-5", ALIGNED, False),
    (
        "global_load_dword v2, v[4:5], off\nglobal_load_dword v3, v[4:5], off offset:4",
        "global_load_dwordx2 v[2:3], v[4:5], off",
        "v2 v3",
        {},
        True,
    ),
    (
        "global_load_dword v2, v[4:5], off\nglobal_load_dword v3, v[4:5], off offset:-4",
        "global_load_dwordx2 v[2:3], v[4:5], off",
        "v2 v3",
        {},
        False,
    ),
    ("ds_write_b32 v1, v2\nds_write_b32 v1, v3 offset:4", "ds_write_b64 v1, v[2:3]", "", ALIGNED, True),
    ("ds_write_b32 v1, v2\nds_write_b32 v1, v3 offset:4", "ds_write_b64 v1, v[2:3]", "", {}, False),
    ("v_add_u32_e32 v9, 64, v1\nds_read_b32 v0, v9", "ds_read_b32 v0, v1 offset:64", "v0", {}, True),
    ("v_add_u32_e32 v9, 64, v1\nds_read_b32 v0, v9", "ds_read_b32 v0, v1 offset:60", "v0", {}, False),
    # accesses moved across each other: apart for all lanes by alignment, or not
    (
        "ds_write_b32 v1, v2\nds_read_b32 v0, v1 offset:4",
        "ds_read_b32 v0, v1 offset:4\nds_write_b32 v1, v2",
        "v0",
        ALIGNED,
        True,
    ),
    ("ds_write_b32 v1, v2\nds_read_b32 v0, v1 offset:4", "ds_read_b32 v0, v1 offset:4\nds_write_b32 v1, v2", "v0", {}, False),
    (
        "ds_write_b32 v1, v2\nds_read_b32 v0, v1 offset:16",
        "ds_read_b32 v0, v1 offset:16\nds_write_b32 v1, v2",
        "v0",
        ALIGNED,
        False,
    ),
    (
        "ds_write_b32 v1, v2\nds_write_b32 v1, v3 offset:4",
        "ds_write_b32 v1, v3 offset:4\nds_write_b32 v1, v2",
        "",
        ALIGNED,
        True,
    ),
    ("ds_write_b32 v1, v2\nds_write_b32 v1, v3 offset:4", "ds_write_b32 v1, v3 offset:4\nds_write_b32 v1, v2", "", {}, False),
    # moves folded
    ("v_mov_b32_e32 v8, v1\nv_mov_b32_e32 v9, v8\nv_add_u32_e32 v0, v9, v2", "v_add_u32_e32 v0, v1, v2", "v0", {}, True),
    (
        "v_mov_b32_e32 v8, v1\nv_add_u32_e32 v1, 1, v1\nv_add_u32_e32 v0, v8, v2",
        "v_add_u32_e32 v1, 1, v1\nv_add_u32_e32 v0, v1, v2",
        "v0 v1",
        {},
        False,
    ),
    # waits and wait states
    (
        "s_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32_e32 v0, v1",
        "s_waitcnt vmcnt(0)\nv_mov_b32_e32 v0, v1\ns_waitcnt lgkmcnt(0)",
        "v0",
        {},
        True,
    ),
    ("s_nop 7\nv_mov_b32_e32 v0, v1", "s_nop 1\nv_mov_b32_e32 v0, v1", "v0", {}, True),
    # sums in another order
    (
        "v_add_u32_e32 v0, v1, v2\nv_add_u32_e32 v0, v0, v3",
        "v_add_u32_e32 v0, v2, v3\nv_add_u32_e32 v0, v1, v0",
        "v0",
        {},
        True,
    ),
    (
        "v_add_f32_e32 v0, v1, v2\nv_add_f32_e32 v0, v0, v3",
        "v_add_f32_e32 v0, v2, v3\nv_add_f32_e32 v0, v1, v0",
        "v0",
        {},
        False,
    ),
    ("s_add_u32 s0, s1, s2\ns_add_u32 s0, s0, s3", "s_add_u32 s0, s2, s3\ns_add_u32 s0, s1, s0", "s0", {}, True),
    ("s_add_u32 s0, s1, s2\ns_add_u32 s0, s0, s3", "s_add_u32 s0, s2, s3\ns_add_u32 s0, s1, s0", "s0 scc", {}, False),
    # selections
    ("v_cmp_lt_i32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v2, v1, vcc", "v_min_i32_e32 v0, v1, v2", "v0", {}, True),
    ("v_cmp_lt_i32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v1, v2, vcc", "v_min_i32_e32 v0, v1, v2", "v0", {}, False),
    ("v_cmp_lt_i32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v2, v1, vcc", "v_min_u32_e32 v0, v1, v2", "v0", {}, False),
    ("v_cmp_lt_f32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v2, v1, vcc", "v_min_f32_e32 v0, v1, v2", "v0", {}, False),
    (
        "v_cmp_lt_f32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v2, v1, vcc",
        "v_cmp_nlt_f32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v1, v2, vcc",
        "v0",
        {},
        True,
    ),
    (
        "v_cmp_lt_f32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v2, v1, vcc",
        "v_cmp_ge_f32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v1, v2, vcc",
        "v0",
        {},
        False,
    ),
    # sums of 64 bits by carry, or by one instruction
    (CARRIED, "v_lshl_add_u64 v[0:1], v[2:3], 0, v[4:5]", "v0 v1", {}, True),
    (CARRIED, "v_lshl_add_u64 v[0:1], v[2:3], 1, v[4:5]", "v0 v1", {}, False),
    (CARRIED, "v_lshl_add_u64 v[0:1], v[2:3], 0, v[4:5]", "v0 v1 vcc", {}, False),
    (CARRIED, CARRIED.replace("v_addc_co_u32_e32 v1, vcc, v3, v5, vcc", "v_add_u32_e32 v1, v3, v5"), "v0 v1", {}, False),
    # a lane of what all lanes were given: not of lanes that EXEC left out
    ("v_mov_b32_e32 v9, s1\nv_readlane_b32 s0, v9, 3", "v_mov_b32_e32 v9, s1\ns_mov_b32 s0, s1", "s0 v9", {}, False),
    ("v_mov_b32_e32 v9, s1\nv_readlane_b32 s0, v9, 3", "v_mov_b32_e32 v9, s1\ns_mov_b32 s0, s1", "s0 v9", FULL, True),
    # shifts and divisions that ranges make equal
    ("v_ashrrev_i32_e32 v0, 3, v1", "v_lshrrev_b32_e32 v0, 3, v1", "v0", SHORT, True),
    ("v_ashrrev_i32_e32 v0, 3, v1", "v_lshrrev_b32_e32 v0, 3, v1", "v0", {}, False),
    ("v_and_b32_e32 v0, 0xff, v1", "v_mov_b32_e32 v0, v1", "v0", SHORT, True),
    ("v_and_b32_e32 v0, 0x7f, v1", "v_mov_b32_e32 v0, v1", "v0", SHORT, False),
    ("v_lshl_or_b32 v0, v1, 8, v2", "v_lshl_add_u32 v0, v1, 8, v2", "v0", SHORT, True),
    ("v_lshl_or_b32 v0, v1, 7, v2", "v_lshl_add_u32 v0, v1, 7, v2", "v0", SHORT, False),
]


@pytest.mark.parametrize(("before", "after", "needed", "known", "holds"), ROWS)
def test_expert_rewrite(before: str, after: str, needed: str, known: dict[int, tuple[int, int]], holds: bool) -> None:
    facts = Facts(known, assumptions=("ranges",) if known else ())
    for one, other in ((before, after), (after, before)):
        verdict = judge(one, other, needed, facts=facts)
        assert (verdict.outcome is Outcome.PROVED) is holds, (verdict.outcome, verdict.reason)
        if not holds:
            assert verdict.outcome in (Outcome.REFUTED, Outcome.UNKNOWN)


def test_a_full_exec_makes_lanes_alike() -> None:
    before = "v_mov_b32_e32 v1, v5\nv_readlane_b32 s0, v1, 3"
    after = "v_mov_b32_e32 v1, v5\nv_readlane_b32 s0, v5, 3"
    full = Facts({126: (0, 0xFFFFFFFF), 127: (0, 0xFFFFFFFF)}, assumptions=("EXEC is full",))
    assert outcome(before, after, "s0 v1") is not Outcome.PROVED
    verdict = judge(before, after, "s0 v1", facts=full)
    assert verdict.outcome is Outcome.PROVED
    assert "EXEC is full" in verdict.basis[0].assumptions


def test_a_refutation_keeps_to_the_facts() -> None:
    """The lowest bit is known to be 0, so what only it would show is no counterexample."""
    known = Facts(bits(V1, 1 << 16, 2), assumptions=("aligned",))
    assert outcome("v_and_b32_e32 v0, 1, v1", "v_mov_b32_e32 v0, 0", "v0", facts=known) is Outcome.PROVED
    verdict = judge("v_and_b32_e32 v0, 2, v1", "v_mov_b32_e32 v0, 0", "v0", facts=known)
    assert verdict.outcome is Outcome.REFUTED
    assert live("v0")
