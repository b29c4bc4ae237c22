import itertools
from dataclasses import replace

import pytest

from asmevo.ir.kernel import Block, Kernel
from asmevo.verify.equivalence.divergence import AN_ACCESS
from asmevo.verify.equivalence.edited import edited_windows
from asmevo.verify.equivalence.facts import DEFAULT_ASSUMPTIONS, Assumption
from asmevo.verify.equivalence.kernel import not_proved, prove_kernel
from asmevo.verify.verdict import Basis, Counterexample, Outcome, Verdict
from windows import live, window

HEAD = """s_load_dwordx2 s[0:1], s[4:5], 0x0
v_mov_b32_e32 v2, 1
v_lshlrev_b32_e32 v1, 2, v0
v_add_u32_e32 v3, 3, v1
s_cmp_eq_u32 s6, 0
s_cbranch_scc1 .end"""
TAIL = """v_add_u32_e32 v2, v2, v3
s_waitcnt lgkmcnt(0)
global_store_dword v1, v2, s[0:1]"""


def kernel(head: str = HEAD, tail: str = TAIL, frozen: bool = False) -> Kernel:
    blocks = (
        Block(".head", tuple(window(head)), (".end", ".tail")),
        Block(".tail", tuple(window(tail)), (".end",), frozen=frozen),
        Block(".end", tuple(window("s_endpgm"))),
    )
    return Kernel("k", "gfx942", blocks, (".head",))


def test_the_same_kernel_is_identical() -> None:
    assert prove_kernel(kernel(), kernel()).outcome is Outcome.IDENTICAL


def test_only_the_differing_instructions_make_a_window() -> None:
    lines = HEAD.splitlines()
    lines[1], lines[2] = lines[2], lines[1]
    after = kernel("\n".join(lines))
    (found,) = edited_windows(kernel(), after)
    assert (found.label, found.start, len(found.before), len(found.after)) == (".head", 1, 2, 2)
    assert found.live_out & live("v1 v2 s0 s1 s6") == live("v1 v2 s0 s1 s6")
    assert not found.live_out & live("v3 v9")
    verdict = prove_kernel(kernel(), after)
    assert verdict.outcome is Outcome.PROVED
    assert "1 windows proved" in verdict.basis[0].detail
    assert "identical" in verdict.basis[0].detail


def test_a_wrong_window_is_refuted_with_its_place() -> None:
    verdict = prove_kernel(kernel(), kernel(HEAD.replace("v3, 3, v1", "v3, 4, v1")))
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.counterexample is not None
    assert ".head[3:4]" in verdict.reason


STORED = HEAD.replace("v_add_u32_e32 v3, 3, v1", "ds_write_b32 v1, v2\nds_write_b32 v1, v2 offset:2048\nds_read_b32 v3, v1")


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("v_mul_lo_u32 v3, v3, v0", "v_mul_lo_u32 v3, v3, v1"),
        ("v_exp_f32_e32 v3, v3", "v_log_f32_e32 v3, v3"),
    ],
)
def test_a_wrong_edit_behind_accesses_that_the_analyses_keep_apart_is_refuted(lines: str, wrong: str) -> None:
    before, after = (kernel(STORED.replace("s_cmp", f"{text}\ns_cmp")) for text in (lines, wrong))
    assert prove_kernel(before, after).outcome is Outcome.REFUTED


def test_a_window_is_not_refuted_by_values_that_the_analyses_rule_out() -> None:
    """v0 is a work-item number: 24 bits are enough, which the window alone does not know."""
    before, after = (
        kernel(STORED.replace("s_cmp", f"v_mul_{text} v3, v0, v0\ns_cmp")) for text in ("lo_u32", "hi_u32_u24_e32")
    )
    assert prove_kernel(before, after).outcome is Outcome.REFUTED
    right = kernel(STORED.replace("s_cmp", "v_mul_u32_u24_e32 v3, v0, v0\ns_cmp"))
    assert prove_kernel(before, right).outcome is not Outcome.REFUTED


def test_what_a_later_block_reads_is_live() -> None:
    assert not prove_kernel(kernel(), kernel(HEAD.replace("v_add_u32_e32 v3", "v_add_u32_e32 v9"))).outcome.is_success


def test_unchanged_code_before_a_window_counts() -> None:
    after = kernel(HEAD.replace("v_add_u32_e32 v3, 3, v1", "v_lshl_add_u32 v3, v0, v2, v1"))
    before = kernel(HEAD.replace("v_add_u32_e32 v3, 3, v1", "v_lshl_add_u32 v3, v0, 1, v1"))
    assert prove_kernel(before, after).outcome is Outcome.PROVED


def test_two_edits_that_are_right_only_together_are_proved_as_a_region() -> None:
    """v7 replaces v3 in both blocks: legal as a whole, but neither window alone keeps what both kernels need."""
    after = kernel(HEAD.replace("v3, 3", "v7, 3"), TAIL.replace("v2, v3", "v2, v7"))
    verdict = prove_kernel(kernel(), after)
    assert verdict.outcome is Outcome.PROVED
    assert "as part of region .head .tail" in verdict.basis[0].detail


def test_one_of_two_edits_that_need_each_other_is_not_refuted_by_itself() -> None:
    after = kernel(HEAD.replace("v3, 3", "v7, 3"), TAIL.replace("v2, v3", "v2, v8"))
    verdict = prove_kernel(kernel(), after)
    assert verdict.outcome in (Outcome.UNKNOWN, Outcome.REFUTED)
    one_only = prove_kernel(kernel(), kernel(HEAD.replace("v3, 3", "v7, 3")))
    assert one_only.outcome is Outcome.REFUTED


def test_other_blocks_edges_and_frozen_code_are_unsupported() -> None:
    one = kernel()
    other = Kernel("k", "gfx942", (*one.blocks[:1], *one.blocks[2:]), one.roots)
    assert prove_kernel(one, other).outcome is Outcome.UNSUPPORTED
    changed = kernel(tail=TAIL.replace("v2, v3", "v3, v2"), frozen=True)
    assert prove_kernel(kernel(frozen=True), changed).outcome is Outcome.UNSUPPORTED


def test_a_kernel_that_may_skip_vectors_needs_both_readings() -> None:
    skip = HEAD.replace("s_cmp_eq_u32 s6, 0", "s_setvskip s6, 1\ns_cmp_eq_u32 s6, 0")
    swapped = skip.replace(
        "v_mov_b32_e32 v2, 1\nv_lshlrev_b32_e32 v1, 2, v0", "v_lshlrev_b32_e32 v1, 2, v0\nv_mov_b32_e32 v2, 1"
    )
    assert prove_kernel(kernel(skip), kernel(swapped)).outcome is Outcome.PROVED
    mixed = skip.replace("v_mov_b32_e32 v2, 1", "v_mov_b32_e32 v2, s6").replace(
        "s_cmp_eq_u32 s6", "s_mov_b32 s6, 0\ns_cmp_eq_u32 s6"
    )
    assert prove_kernel(kernel(skip), kernel(mixed)).outcome is not Outcome.PROVED


def test_relative_register_numbers_are_unsupported() -> None:
    on = HEAD.replace("v_mov_b32_e32 v2, 1", "s_set_gpr_idx_on s6, gpr_idx(SRC0)\nv_mov_b32_e32 v2, 1")
    assert prove_kernel(kernel(on), kernel(on.replace("v3, 3, v1", "v3, v1, 3"))).outcome is Outcome.UNSUPPORTED
    assert prove_kernel(kernel(on), kernel(on, TAIL.replace("v2, v2, v3", "v2, v3, v2"))).outcome is Outcome.UNSUPPORTED


class TestFacts:
    """What the analyses know of a window's entry, from another block."""

    NARROW = HEAD.replace("v_mov_b32_e32 v2, 1", "v_and_b32_e32 v2, 0xff, v0")

    def test_a_range_from_another_block_is_used_and_named(self) -> None:
        before = kernel(self.NARROW, TAIL.replace("v_add_u32_e32 v2, v2, v3", "v_lshrrev_b32_e32 v2, 1, v2"))
        after = kernel(self.NARROW, TAIL.replace("v_add_u32_e32 v2, v2, v3", "v_ashrrev_i32_e32 v2, 1, v2"))
        verdict = prove_kernel(before, after)
        assert verdict.outcome is Outcome.PROVED, verdict.reason
        assert Assumption.LANE_VALUES.value in verdict.basis[0].assumptions
        alone = prove_kernel(before, after, assumed=frozenset())
        assert Assumption.LANE_VALUES.value not in alone.basis[0].assumptions

    def test_without_the_range_it_is_not_proved(self) -> None:
        before = kernel(HEAD.replace("v_mov_b32_e32 v2, 1", "v_mov_b32_e32 v2, v0"), "v_lshrrev_b32_e32 v2, 1, v9\n" + TAIL)
        after = kernel(HEAD.replace("v_mov_b32_e32 v2, 1", "v_mov_b32_e32 v2, v0"), "v_ashrrev_i32_e32 v2, 1, v9\n" + TAIL)
        assert not prove_kernel(before, after).outcome.is_success

    def test_a_proof_that_needs_no_facts_names_none(self) -> None:
        after = kernel(HEAD.replace("v3, 3, v1", "v3, v1, 3"))
        assert not {a.value for a in Assumption} & set(prove_kernel(kernel(), after).basis[0].assumptions)

    def test_lds_accesses_that_are_apart_may_change_places(self) -> None:
        head = HEAD.replace("v_mov_b32_e32 v2, 1", "v_and_b32_e32 v5, 63, v0\nv_lshlrev_b32_e32 v5, 2, v5")
        store, load = "ds_write_b32 v5, v1", "ds_read_b32 v2, v5 offset:{}"

        def tail(first: str, second: str, offset: int) -> str:
            return f"{first}\n{second}\n{TAIL}".format(offset)

        def outcome(offset: int, assumed: frozenset[Assumption]) -> Outcome:
            before, after = (kernel(head, tail(*pair, offset)) for pair in ((store, load), (load, store)))
            numbered = [_numbered(k) for k in (before, after)]
            return prove_kernel(*numbered, assumed=assumed).outcome

        assert outcome(4, DEFAULT_ASSUMPTIONS) is not Outcome.PROVED
        assert outcome(256, DEFAULT_ASSUMPTIONS) is Outcome.PROVED
        assert outcome(256, frozenset()) is not Outcome.PROVED


def _numbered(made: Kernel) -> Kernel:
    count = itertools.count()
    return replace(
        made,
        blocks=tuple(replace(b, instructions=tuple(replace(i, uid=next(count)) for i in b.instructions)) for b in made.blocks),
    )


def test_an_access_that_may_come_from_another_edited_window_refutes_nothing() -> None:
    load = "global_load_dword v4, v1, s[0:1]\n"
    before = kernel(tail=load + TAIL)
    after = kernel(head=HEAD.replace("s_cmp", load + "s_cmp"))
    moved_to, moved_from = edited_windows(before, after)
    fault = Counterexample(AN_ACCESS, "without a fault", "out-of-bounds")
    verdict = Verdict(Outcome.REFUTED, (Basis("z3", Outcome.REFUTED, "an access"),), fault, "an access faults")
    undecided = Verdict(Outcome.UNKNOWN, (Basis("z3", Outcome.UNKNOWN, "no time"),), reason="no time")
    told = not_proved([(moved_to, verdict), (moved_from, undecided)], before, undecided)
    assert told.outcome is Outcome.UNKNOWN
    assert "the original may make that access" in told.reason
    assert not_proved([(moved_to, verdict)], before, undecided).outcome is Outcome.REFUTED


LOOP = "s_sub_u32 s9, s9, 1\ns_cmp_lg_u32 s9, 0\ns_cbranch_scc1 .loop"
LOAD = "global_load_dword v5, v[2:3], off"
USE = "s_waitcnt vmcnt(0)\nglobal_store_dword v[6:7], v5, off\ns_endpgm"


def looped(head: str, tail: str) -> Kernel:
    """A kernel with a loop between head and tail, so that no region holds both."""
    blocks = (
        Block(".head", tuple(window(f"s_mov_b32 s9, 4{head}")), (".loop",)),
        Block(".loop", tuple(window(LOOP)), (".tail", ".loop")),
        Block(".tail", tuple(window(tail))),
    )
    return Kernel("k", "gfx942", blocks, (".head",))


def test_what_an_earlier_window_made_refutes_nothing_by_itself() -> None:
    before = looped("", f"{LOAD}\n{USE}")
    verdict = prove_kernel(before, looped(f"\n{LOAD.replace('v5', 'v9')}", f"s_waitcnt vmcnt(0)\nv_mov_b32_e32 v5, v9\n{USE}"))
    assert verdict.outcome is Outcome.UNKNOWN
    # A register that the original needs there, too, holds the same in both.
    wrong = prove_kernel(before, looped("", f"{LOAD}\ns_waitcnt vmcnt(0)\nv_mov_b32_e32 v5, v6\n{USE}"))
    assert wrong.outcome is Outcome.REFUTED
