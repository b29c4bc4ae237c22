"""Loops, liveness, uses and pressure on small control-flow graphs."""

from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.cost.pressure import Pressure, waves_for_registers
from asmevo.ir.analysis.dataflow.defuse import DefUse
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.registers import SCC, VGPR0
from programs import kernel_of

LOOP = """
entry:
    s_mov_b32 s4, 8
    v_mov_b32_e32 v1, 0
outer:
    s_mov_b32 s5, 4
inner:
    v_add_u32_e32 v1, v1, v0
    s_sub_u32 s5, s5, 1
    s_cmp_lg_u32 s5, 0
    s_cbranch_scc1 inner
latch:
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 outer
exit:
    global_store_dword v2, v1, s[0:1]
    s_endpgm
"""


def analyses(text):
    return AnalysisManager(kernel_of(text))


def test_a_result_is_computed_once():
    manager = analyses(LOOP)
    assert manager.get(Loops) is manager.get(Loops)


def test_natural_loops_nest():
    loops = analyses(LOOP).get(Loops)
    assert [(loop.header, sorted(loop.blocks), loop.depth) for loop in loops.loops] == [
        ("outer", ["inner", "latch", "outer"], 1),
        ("inner", ["inner"], 2),
    ]
    assert loops.dominates("entry", "exit")
    assert not loops.dominates("exit", "entry")


def test_a_cycle_with_two_ways_in_is_not_a_loop():
    loops = analyses("""
    entry:
        s_cbranch_scc1 b
    a:
        s_nop 0
    b:
        s_cbranch_scc0 a
    exit:
        s_endpgm
    """).get(Loops)
    assert loops.loops == ()
    assert loops.irreducible


def test_scalars_live_around_the_loop():
    live = analyses(LOOP).get(Liveness)
    assert live.live_in["inner"] >> 4 & 1
    assert not live.live_in["exit"] >> 4 & 1
    assert live.live_after("inner", 2) >> SCC & 1
    assert not live.live_after("inner", 0) >> SCC & 1


def test_a_vector_write_does_not_free_lanes_that_are_off():
    """v1 is rewritten only where the branch goes; the other lanes still need the first value."""
    text = """
    entry:
        v_mov_b32_e32 v1, 0
        s_and_saveexec_b64 s[4:5], vcc
        v_mov_b32_e32 v1, 1
        s_or_b64 exec, exec, s[4:5]
        global_store_dword v2, v1, s[0:1]
        s_endpgm
    """
    live = analyses(text).get(Liveness)
    assert live.live_after("entry", 0) >> (VGPR0 + 1) & 1
    assert live.live_after("entry", 1) >> (VGPR0 + 1) & 1


def test_without_exec_changes_a_vector_write_ends_the_old_value():
    live = analyses("""
    entry:
        v_mov_b32_e32 v1, v3
        v_mov_b32_e32 v1, v4
        global_store_dword v2, v1, s[0:1]
        s_endpgm
    """).get(Liveness)
    assert not live.live_after("entry", 0) >> (VGPR0 + 1) & 1


def test_a_cross_lane_read_needs_lanes_that_are_off():
    live = analyses("""
    entry:
        v_mov_b32_e32 v1, v4
        v_readlane_b32 s4, v1, 3
        s_endpgm
    """).get(Liveness)
    assert live.live_before("entry", 0) >> (VGPR0 + 1) & 1


def test_everything_is_live_where_control_leaves_unseen():
    live = analyses("entry:\n s_setpc_b64 s[4:5]").get(Liveness)
    assert live.live_before("entry", 0) >> (VGPR0 + 200) & 1


def test_definitions_and_uses_cross_blocks():
    uses = analyses(LOOP).get(DefUse)
    assert uses.definitions("exit", 0, VGPR0 + 1) == {("entry", 1), ("inner", 0), ("", -1)}
    assert ("exit", 0) in uses.uses("entry", 1)
    assert uses.definitions("inner", 1, 5) == {("outer", 0), ("inner", 1)}


def test_pressure_counts_named_and_live_registers():
    pressure = analyses(LOOP).get(Pressure)
    assert (pressure.vgprs, pressure.named_vgprs, pressure.named_sgprs) == (3, 3, 6)


def test_occupancy_steps():
    steps = {64: 8, 72: 7, 80: 6, 96: 5, 97: 4, 128: 4, 168: 3, 256: 2}
    assert {n: waves_for_registers(n, 0, 16) for n in steps} == steps
    assert waves_for_registers(256, 256, 16) == 1
