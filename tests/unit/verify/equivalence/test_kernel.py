from asmevo.ir.kernel import Block, Kernel
from asmevo.verify.equivalence.kernel import edited_windows, prove_kernel
from asmevo.verify.verdict import Outcome
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


def test_what_a_later_block_reads_is_live() -> None:
    assert not prove_kernel(kernel(), kernel(HEAD.replace("v_add_u32_e32 v3", "v_add_u32_e32 v9"))).outcome.is_success


def test_unchanged_code_before_a_window_counts() -> None:
    after = kernel(HEAD.replace("v_add_u32_e32 v3, 3, v1", "v_lshl_add_u32 v3, v0, v2, v1"))
    before = kernel(HEAD.replace("v_add_u32_e32 v3, 3, v1", "v_lshl_add_u32 v3, v0, 1, v1"))
    assert prove_kernel(before, after).outcome is Outcome.PROVED


def test_two_edits_that_are_right_only_together_are_not_proved_across_blocks() -> None:
    """v7 replaces v3 in both blocks: legal as a whole, but neither window alone keeps what both kernels need."""
    after = kernel(HEAD.replace("v3, 3", "v7, 3"), TAIL.replace("v2, v3", "v2, v7"))
    assert not prove_kernel(kernel(), after).outcome.is_success


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
