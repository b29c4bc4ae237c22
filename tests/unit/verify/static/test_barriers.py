"""A barrier is called redundant only where no two waves can meet: each test takes one premise away."""

from dataclasses import replace

import pytest

from asmevo.frontend.parser import parse_source
from asmevo.ir.abi import KernelMetadata
from asmevo.verify.judge import Judge, Level
from asmevo.verify.static.barriers import check_removed_barriers, removed_barriers, without_barriers
from asmevo.verify.verdict import Outcome

TREE = """k:
  v_lshlrev_b32_e32 v1, 2, v0
  ds_write_b32 v1, v1
  s_waitcnt lgkmcnt(0)
  v_cmp_gt_u32_e32 vcc, 64, v0
  s_barrier
  s_and_saveexec_b64 s[4:5], vcc
  s_cbranch_execz end_first
first:
  ds_read_b32 v2, v1 offset:128
  s_waitcnt lgkmcnt(0)
  ds_write_b32 v1, v2
end_first:
  s_or_b64 exec, exec, s[4:5]
  v_cmp_gt_u32_e32 vcc, 32, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_and_saveexec_b64 s[4:5], vcc
  s_cbranch_execz end
second:
  ds_read_b32 v2, v1 offset:64
  s_waitcnt lgkmcnt(0)
  ds_write_b32 v1, v2
end:
  s_endpgm
"""
LINE = KernelMetadata("k", "k.kd", max_flat_workgroup_size=256, required_workgroup_size=(256, 1, 1))


def kernel_of(text=TREE, metadata=LINE):
    return replace(parse_source(text), metadata=metadata)


def barriers(kernel):
    return [i.uid for i in kernel.instructions() if i.mnemonic == "s_barrier"]


def outcome(kernel, position=-1):
    return check_removed_barriers(kernel, frozenset({barriers(kernel)[position]}))


def test_a_barrier_around_which_one_wave_works_is_redundant():
    basis = outcome(kernel_of())
    assert basis.outcome is Outcome.PROVED
    assert basis.assumptions


def test_the_judge_proves_its_removal():
    kernel = kernel_of()
    after = without_barriers(kernel, frozenset({barriers(kernel)[-1]}))
    verdict = Judge(Level.SMT)(kernel, after)
    assert verdict.outcome is Outcome.PROVED
    assert "static barriers" in [basis.method for basis in verdict.basis]


def test_a_barrier_after_writes_of_all_waves_is_not():
    basis = outcome(kernel_of(), 0)
    assert basis.outcome is Outcome.UNKNOWN
    assert "ds_write_b32" in basis.detail


def test_barriers_are_taken_together():
    kernel = kernel_of()
    assert check_removed_barriers(kernel, frozenset(barriers(kernel))).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("vcc, 32, v0", "vcc, 32, v1"),
        ("v_cmp_gt_u32_e32 vcc, 32, v0", "v_cmp_lt_u32_e32 vcc, 32, v0"),
        ("v_cmp_gt_u32_e32 vcc, 32, v0", "v_cmp_ne_u32_e32 vcc, 32, v0"),
        ("v_cmp_gt_u32_e32 vcc, 32, v0", "v_cmp_gt_u32_e32 vcc, s9, v0"),
        ("vcc, 64, v0", "vcc, 0x41, v0"),
        ("v_cmp_gt_u32_e32 vcc, 64, v0", "v_cmp_ge_u32_e32 vcc, 64, v0"),
        ("  v_cmp_gt_u32_e32 vcc, 32, v0", "  v_add_u32_e32 v0, 1, v0\n  v_cmp_gt_u32_e32 vcc, 32, v0"),
        ("s_cbranch_execz end\nsecond:", "s_mov_b64 exec, -1\nsecond:"),
        ("s_and_saveexec_b64 s[4:5], vcc\n  s_cbranch_execz end\n", "s_or_saveexec_b64 s[4:5], vcc\n  s_cbranch_execz end\n"),
        ("v_cmp_gt_u32_e32 vcc, 32, v0\n", "v_cmp_gt_u32_e32 vcc, 32, v0\n  s_mov_b64 vcc, s[8:9]\n"),
        ("\nfirst:\n", "\nfirst:\n  s_setvskip s0, 1\n"),
        ("\nfirst:\n", "\nfirst:\n  s_setpc_b64 s[0:1]\nbehind:\n"),
    ],
    ids=[
        "not the id", "above", "not equal", "unknown bound", "literal one too large", "one too large", "id changed",
        "EXEC set", "or for and", "mask replaced", "VSKIP", "computed jump",
    ],
)  # fmt: skip
def test_a_premise_that_is_gone_ends_the_proof(old, new):
    text = TREE.replace(old, new)
    assert text != TREE
    assert outcome(kernel_of(text)).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    "metadata",
    [None, replace(LINE, required_workgroup_size=None), replace(LINE, required_workgroup_size=(64, 4, 1))],
    ids=["no metadata", "no size", "two dimensions"],
)
def test_without_a_line_of_items_v0_tells_nothing(metadata):
    assert outcome(kernel_of(metadata=metadata)).outcome is Outcome.UNKNOWN


def test_a_work_group_of_one_wave_needs_no_barrier():
    kernel = kernel_of(metadata=KernelMetadata("k", "k.kd", max_flat_workgroup_size=64))
    assert check_removed_barriers(kernel, frozenset(barriers(kernel))).outcome is Outcome.PROVED


@pytest.mark.parametrize("place", ["\nsecond:\n", "\nfirst:\n"], ids=["not all waves pass it", "another is not passed by all"])
def test_every_wave_must_pass_the_barriers(place):
    text = TREE.replace(place, place + "  s_barrier\n")
    assert outcome(kernel_of(text)).outcome is Outcome.UNKNOWN


def test_a_barrier_in_a_loop_is_left_alone():
    text = TREE.replace("end_first:", "end_first:\n  s_nop 0\nagain:").replace(
        "end:\n", "end:\n  s_or_b64 exec, exec, s[4:5]\n  s_cbranch_scc1 again\nleave:\n"
    )
    assert outcome(kernel_of(text)).outcome is Outcome.UNKNOWN


def test_global_stores_of_other_waves_count():
    text = TREE.replace(
        "  v_cmp_gt_u32_e32 vcc, 32, v0", "  global_store_dword v1, v2, s[2:3]\n  v_cmp_gt_u32_e32 vcc, 32, v0"
    ).replace("end:\n", "end:\n  global_load_dword v3, v1, s[2:3]\n  s_waitcnt vmcnt(0)\n")
    assert "global_store_dword" in outcome(kernel_of(text)).detail


def test_lds_and_global_memory_do_not_meet():
    text = TREE.replace("  v_cmp_gt_u32_e32 vcc, 32, v0", "  global_store_dword v1, v2, s[2:3]\n  v_cmp_gt_u32_e32 vcc, 32, v0")
    assert outcome(kernel_of(text)).outcome is Outcome.PROVED
    flat = text.replace("global_store_dword v1, v2, s[2:3]", "flat_store_dword v[4:5], v2")
    assert outcome(kernel_of(flat)).outcome is Outcome.UNKNOWN


def test_an_added_barrier_is_not_a_removed_one():
    kernel = kernel_of()
    less = without_barriers(kernel, frozenset({barriers(kernel)[-1]}))
    assert removed_barriers(kernel, less) == frozenset({barriers(kernel)[-1]})
    assert removed_barriers(less, kernel) is None
    assert removed_barriers(kernel, kernel) == frozenset()
