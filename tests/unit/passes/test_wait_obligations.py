from asmevo.frontend.line import parse_line
from asmevo.ir.analysis.waits.brackets import Brackets
from asmevo.ir.instruction import WaitCounts
from asmevo.passes.fillers import is_filler
from asmevo.passes.wait_obligations import WaitObligations


def obligations(*lines, entering=None):
    instructions = [parse_line(line) for line in lines]
    nodes = [i for i in instructions if not is_filler(i)]
    return WaitObligations.of(entering or Brackets(), instructions), nodes


def test_a_use_gets_the_weakest_wait():
    found, nodes = obligations(
        "global_load_dword v1, v0, s[0:1]",
        "global_load_dword v2, v0, s[0:1]",
        "s_waitcnt vmcnt(0)",
        "v_add_f32_e32 v3, v1, v1",
        "v_add_f32_e32 v4, v2, v2",
    )
    assert found.waits(range(len(nodes))) == [None, None, WaitCounts(vmcnt=1), WaitCounts(vmcnt=0), None]


def test_the_end_leaves_no_more_outstanding_than_the_original():
    """The original waits for everything at its end, although nothing here needs it: a later barrier may."""
    found, _ = obligations("ds_write_b32 v0, v1", "v_mov_b32_e32 v2, v3", "s_waitcnt lgkmcnt(0)")
    assert found.waits([1, 0]) == [None, None, WaitCounts(lgkmcnt=0)]


def test_nothing_is_added_when_the_original_left_it_outstanding():
    found, _ = obligations("global_load_dword v1, v0, s[0:1]", "v_mov_b32_e32 v2, v3")
    assert found.waits([1, 0]) == [None, None, None]


def test_scalar_loads_are_waited_for_at_zero():
    found, _ = obligations(
        "s_load_dword s4, s[0:1], 0x0",
        "s_load_dword s5, s[0:1], 0x4",
        "s_waitcnt lgkmcnt(0)",
        "s_add_u32 s6, s4, s4",
    )
    assert found.waits([0, 1, 2]) == [None, None, WaitCounts(lgkmcnt=0), None]


def test_sharing_that_was_covered_stays_covered():
    """A store that was complete before a scoped atomic must be complete before it in every order."""
    found, _ = obligations(
        "global_store_dword v0, v1, s[0:1]",
        "s_waitcnt vmcnt(0)",
        "global_atomic_add v0, v1, s[0:1] sc1",
    )
    assert found.waits([0, 1])[1] == WaitCounts(vmcnt=0)


def test_a_barrier_finds_no_more_outstanding_than_before():
    """The store must be complete at the barrier in every order, also when other work moves in between."""
    found, nodes = obligations(
        "ds_write_b32 v0, v1", "s_waitcnt lgkmcnt(0)", "s_barrier", "v_mov_b32_e32 v2, v3", "ds_read_b32 v4, v5"
    )
    assert [n.mnemonic for n in nodes] == ["ds_write_b32", "s_barrier", "v_mov_b32_e32", "ds_read_b32"]
    assert found.waits([0, 2, 1, 3]) == [None, None, WaitCounts(lgkmcnt=0), None, None]
