"""How the judges are put together: what one of them refuses is refused, whatever the others say."""

from dataclasses import replace

import pytest

from asmevo.frontend.parser import parse_source
from asmevo.verify.judge import Judge, Level, static_verdict
from asmevo.verify.verdict import Outcome

SHARED = """k:
  ds_write_b32 v0, v1
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v2, v3
  s_waitcnt lgkmcnt(0)
  v_cmp_lt_f32_e32 vcc, v2, v1
  s_nop 3
  v_div_fmas_f32 v2, v2, v2, v1
  global_store_dword v4, v2, s[2:3]
  s_endpgm
"""


def without(kernel, uid):
    block = kernel.blocks[0]
    return replace(kernel, blocks=(replace(block, instructions=tuple(i for i in block.instructions if i.uid != uid)),))


@pytest.mark.parametrize(
    ("uid", "method"),
    [(1, "static waits"), (4, "static waits"), (6, "static hazards")],
    ids=["LDS write at the barrier", "LDS read before its use", "VCC before v_div_fmas"],
)
@pytest.mark.parametrize("level", [Level.STATIC, Level.SMT])
def test_what_the_static_checks_refuse_is_refuted_at_every_level(uid, method, level):
    kernel = parse_source(SHARED)
    verdict = Judge(level)(kernel, without(kernel, uid))
    assert verdict.outcome is Outcome.REFUTED
    assert (verdict.basis[-1].method, verdict.basis[-1].outcome) == (method, Outcome.REFUTED)
    assert verdict.counterexample is not None


def test_a_kernel_may_replace_itself():
    kernel = parse_source(SHARED)
    assert static_verdict(kernel, kernel).outcome is Outcome.PROVED
    assert Judge(Level.SMT)(kernel, kernel).outcome is Outcome.IDENTICAL


def test_what_the_original_lacks_is_named_and_not_blamed():
    kernel = without(without(parse_source(SHARED), 1), 6)
    verdict = static_verdict(kernel, kernel)
    assert verdict.outcome is Outcome.PROVED
    assert "the original lacks too" in verdict.basis[1].detail


def test_static_alone_is_no_verdict_on_values():
    kernel = parse_source(SHARED)
    changed = parse_source(SHARED.replace("v4, v2, s[2:3]", "v4, v1, s[2:3]"))
    assert Judge(Level.STATIC)(kernel, changed).outcome is Outcome.UNKNOWN
    assert not Judge(Level.SMT)(kernel, changed).outcome.is_success


def test_a_test_never_makes_up_for_no_launch():
    kernel = parse_source(SHARED)
    changed = parse_source(SHARED.replace("v4, v2, s[2:3]", "v4, v1, s[2:3]"))
    assert not Judge(Level.EMULATE, ())(kernel, changed).outcome.is_success
