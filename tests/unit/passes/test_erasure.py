"""Erasing instructions: what the rest waits for is complete, and a block that cannot be mended is left alone."""

import pytest

from asmevo.frontend.parser import parse_source
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.needed import WaitState
from asmevo.ir.printer import print_instruction
from asmevo.passes.erasure import without
from asmevo.passes.wait_states import AllowedShortfalls

LOADS = """
k:
  global_load_dword v2, v1, s[2:3]
  global_load_dword v3, v1, s[2:3] offset:4
  {}
  s_branch next
next:
  {}
  global_store_dword v1, v2, s[4:5]
  s_endpgm
"""


def erased(text, positions):
    kernel = parse_source(text)
    manager = AnalysisManager(kernel)
    left = without(kernel, "k", positions, manager.get(WaitState), manager.get(AllowedShortfalls))
    return left if left is None else [print_instruction(i) for i in left]


def test_nothing_erased_is_nothing_changed():
    text = LOADS.format("s_waitcnt vmcnt(0)", "s_nop 0")
    kept = [print_instruction(i) for i in parse_source(text).block("k").instructions]
    assert erased(text, frozenset()) == kept


def test_a_wait_behind_an_erased_load_counts_anew():
    left = erased(LOADS.format("s_waitcnt vmcnt(1)", "s_nop 0"), {1})
    assert left == ["global_load_dword v2, v1, s[2:3]", "s_waitcnt vmcnt(0)", "s_branch next"]


def test_an_erased_oldest_load_takes_its_wait_along():
    left = erased(LOADS.format("s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(0)"), {0})
    assert left == ["global_load_dword v3, v1, s[2:3] offset:4", "s_branch next"]


@pytest.mark.parametrize("position", [0, 1])
def test_a_wait_of_another_block_is_never_left_short(position):
    """Without the younger load the wait behind the branch would no longer cover the older one."""
    left = erased(LOADS.format("s_nop 0", "s_waitcnt vmcnt(1)"), {position})
    assert (left is None) == (position == 1)


def test_arithmetic_needs_no_new_waits():
    text = "k:\n  global_load_dword v2, v1, s[2:3]\n  v_mov_b32_e32 v9, v1\n  s_waitcnt vmcnt(0)\n  s_endpgm\n"
    assert erased(text, {1}) == ["global_load_dword v2, v1, s[2:3]", "s_waitcnt vmcnt(0)", "s_endpgm"]
