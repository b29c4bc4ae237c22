"""Loops unrolled by the number of active lanes: proved, and refused wherever a round without lanes would do something."""

from dataclasses import replace

import pytest

from asmevo.frontend.parser import parse_source
from asmevo.ir.printer import print_kernel
from asmevo.passes.manager import PassManager
from asmevo.passes.unroll_prefetch import UnrollPrefetch
from asmevo.verify.judge import Judge, Level
from asmevo.verify.unrolled import METHOD, with_unrolled_loops
from asmevo.verify.verdict import Outcome

HEAD = """
start:
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v9, 0
  s_mov_b64 s[6:7], 0
  s_mov_b32 s9, 0
  s_mov_b64 s[10:11], exec
  s_mov_b64 s[16:17], exec
"""
BODY = """
  global_load_dword v1, v0, s[2:3]
  v_add_u32_e32 v0, 0x400, v0
  v_cmp_le_u32_e32 vcc, s8, v0
  s_or_b64 s[6:7], vcc, s[6:7]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v6, v6, v1
  {more}
  s_andn2_b64 exec, exec, s[6:7]
"""
TAIL = """
  s_cbranch_execnz loop
end:
  s_mov_b64 exec, s[10:11]
  global_store_dword v9, v6, s[4:5]
  {use}
  s_endpgm
"""


def kernel_of(rounds=1, more="s_nop 0", use="s_nop 0"):
    return parse_source(HEAD + "loop:\n" + BODY.format(more=more) * rounds + TAIL.format(use=use))


def verdict(before, after):
    return Judge(Level.SMT, timeout_s=60.0)(before, after)


@pytest.mark.parametrize("rounds", [2, 3, 4])
@pytest.mark.parametrize(
    "more",
    ["s_nop 0", "ds_add_u32 v1, v6", "global_store_dword v0, v6, s[4:5]", "s_add_i32 s9, s9, 1"],
    ids=["nothing else", "LDS", "a store", "a count that nobody reads"],
)
def test_copies_of_a_round_are_proved(rounds, more):
    """By the rule itself: no load moves, so stores are no matter."""
    found = verdict(kernel_of(more=more), kernel_of(rounds, more=more))
    assert found.outcome is Outcome.PROVED, found.reason
    assert METHOD in [basis.method for basis in found.basis]


@pytest.mark.parametrize(
    ("more", "use"),
    [
        ("s_add_i32 s9, s9, 1", "v_mov_b32_e32 v7, s9\n  global_store_dword v9, v7, s[4:5] offset:4"),
        ("s_mov_b64 exec, s[16:17]", "s_nop 0"),
        ("s_barrier", "s_nop 0"),
        ("v_readfirstlane_b32 s9, v6", "v_mov_b32_e32 v7, s9\n  global_store_dword v9, v7, s[4:5] offset:4"),
    ],
    ids=["a count that is read", "lanes come back", "a barrier", "a lane's value that is read"],
)
def test_a_round_that_is_not_idle_is_refused(more, use):
    assert not verdict(kernel_of(more=more, use=use), kernel_of(2, more=more, use=use)).outcome.is_success


def test_a_count_of_rounds_that_is_not_whole_is_refused():
    wrong = print_kernel(kernel_of(2)).replace("v_add_f32_e32 v6, v6, v1", "v_mov_b32_e32 v7, v1", 1)
    assert not verdict(kernel_of(), parse_source(wrong)).outcome.is_success


def test_another_kind_of_loop_stays():
    before = parse_source(print_kernel(kernel_of()).replace("s_cbranch_execnz", "s_cbranch_scc1"))
    after = parse_source(print_kernel(kernel_of(2)).replace("s_cbranch_execnz", "s_cbranch_scc1"))
    assert with_unrolled_loops(before, after) == (before, ())


def test_a_frozen_loop_stays():
    before, after = kernel_of(), kernel_of(2)
    frozen = replace(before, blocks=tuple(replace(b, frozen=b.label == "loop") for b in before.blocks))
    assert with_unrolled_loops(frozen, after) == (frozen, ())


@pytest.fixture(scope="module")
def unrolled():
    result = PassManager([UnrollPrefetch(most=2)]).run(kernel_of())
    assert result.changed
    return result


def test_what_the_pass_makes_is_proved(unrolled):
    assert verdict(kernel_of(), unrolled.kernel).outcome is Outcome.PROVED


def test_the_profile_follows_the_rounds(unrolled):
    """Sixteen assumed rounds are eight of two."""
    loop = unrolled.kernel.block("loop")
    assert {unrolled.executions[i.uid] for i in loop.instructions} == {8}
    assert {unrolled.executions[i.uid] for i in unrolled.kernel.block("end").instructions} == {1}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("s_andn2_b64 exec, exec, s[0:1]", "s_nop 0"),
        ("v_add_u32_e32 v3, 0x400, v3", "v_add_u32_e32 v3, 0x800, v3"),
        ("v_mov_b32_e32 v1, v2", "s_nop 0"),
        ("s_mov_b64 exec, s[12:13]", "s_nop 0"),
        ("s_or_b64 s[0:1], vcc, s[0:1]", "s_mov_b64 s[0:1], 0"),
    ],
    ids=["loads for lanes that left", "another address", "no datum", "lanes not restored", "lanes that had left come back"],
)
def test_wrong_rounds_are_refused(unrolled, old, new):
    text = print_kernel(unrolled.kernel)
    assert old in text
    assert not verdict(kernel_of(), parse_source(text.replace(old, new, 1))).outcome.is_success
