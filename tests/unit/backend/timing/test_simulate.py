"""Work-groups on a compute unit: barriers, priorities, fetch, memory levels, and what is refused."""

import numpy as np
import pytest

from asmevo.backend.timing import chip
from asmevo.backend.timing.simulate import Assumptions, Recorded, Way, simulate
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.source import parse_source

ADD = "v_add_f32_e32 v4, v5, v6"
FMA = "v_fma_f32 v4, v5, v6, v7"


def kernel(*lines, target="gfx942"):
    return parse_source(f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"\nprobe:\n' + "\n".join(lines) + "\n s_endpgm\n", "p.s")


def cycles(*lines, waves=1, **assumed):
    assumed.setdefault("group_waves", 1)
    assumed.setdefault("fetch", False)
    return simulate(kernel(*lines), Assumptions(**assumed), waves=waves).cycles


def way(*blocks):
    return Way(np.array(blocks, np.int64))


def test_it_starts_with_the_launch_of_the_group_and_says_what_it_rests_on():
    found = simulate(kernel(ADD), Assumptions(group_waves=1, groups=1))
    assert found.cycles == chip("mi300x").group_launch.value + 8
    assert found.wave_instructions == 2
    assert found.chip == "MI300X"
    assert any("nothing was measured" in note for note in found.notes)
    assert any("L2" in note for note in found.notes)


@pytest.mark.parametrize(("target", "name"), [("gfx90a", "MI250X"), ("gfx942", "MI300X"), ("gfx950", "MI355X")])
def test_the_target_chooses_the_chip(target, name):
    assert simulate(kernel(ADD, target=target)).chip == name
    assert simulate(kernel(ADD), chip=chip("mi308x")).chip == "MI308X"


def test_a_barrier_waits_for_the_last_wave():
    """One wave of four does long work before the barrier: the others lose that time there."""
    probe = kernel(*[ADD] * 100, "second:", "s_barrier", "third:", ADD)
    with_work, without = way(0, 1, 2), way(1, 2)
    found = simulate(probe, Recorded((with_work, without, without, without), 4, "l2", fetch=False))
    lost = found.stalls_by_cause["barrier"]
    assert lost == pytest.approx(3 * 400, abs=150)
    even = simulate(probe, Recorded((with_work,) * 4, 4, "l2", fetch=False))
    assert even.stalls_by_cause["barrier"] < 200
    assert found.cycles == pytest.approx(even.cycles, abs=60)


def test_a_wave_that_ends_does_not_hold_the_barrier_up():
    probe = kernel("s_nop 0", "second:", "s_barrier", ADD)
    found = simulate(probe, Recorded((way(0), way(0, 1)), 2, "l2", groups=1, fetch=False))
    assert found.wave_instructions == 5
    assert found.cycles < 400


def test_the_next_group_takes_the_place_of_one_that_ended():
    one, four = (cycles(*[ADD] * 50, groups=n, group_waves=4) for n in (1, 4))
    assert four == pytest.approx(4 * one, rel=0.05)
    at_once = cycles(*[ADD] * 50, groups=4, group_waves=4, waves=4)
    # Four waves a SIMD share its vector unit, but start together.
    assert at_once < four - 2 * chip("mi300x").group_launch.value


def test_priority_decides_who_issues_first():
    """Of two waves of one SIMD that want the vector unit all the time, the one with priority ends first."""
    probe = kernel("s_setprio 3", *[ADD] * 60, "second:", *[ADD] * 60)
    runs = Recorded((way(1), way(1), way(1), way(1), way(0), way(0), way(0), way(0)), 1, "l2", fetch=False)
    found = simulate(probe, runs, places=8)
    later = [i.uid for i in probe.blocks[0].instructions]
    first = sum(sum(found.stalls.get(uid, {}).values()) for uid in later)
    second = sum(sum(causes.values()) for uid, causes in found.stalls.items() if uid not in later)
    assert first < second / 4


def test_s_sleep_and_s_nop_hold_the_wave():
    base = cycles(ADD, ADD)
    assert cycles(ADD, "s_sleep 3", ADD) - base == 192
    assert cycles(ADD, "s_nop 4", ADD) - base == 20


def test_a_result_takes_longer_to_memory_than_to_the_vector_unit():
    """TGSQ: 8 cycles from the VALU write of an address to the load, 4 to the next VALU instruction."""
    to_load = cycles("v_add_u32_e32 v8, v6, v7", "global_load_dword v4, v8, s[0:1]")
    no_need = cycles("v_add_u32_e32 v9, v6, v7", "global_load_dword v4, v8, s[0:1]")
    assert to_load - no_need == 4


def test_code_across_a_fetch_window_waits():
    aligned, off = (cycles(*["s_nop 0"] * n, *[FMA] * 64, fetch=True) for n in (2, 1))
    assert off - aligned == pytest.approx(64, abs=12)
    assert cycles(*["s_nop 0"] * 2, *[ADD] * 64, fetch=True) == cycles(*["s_nop 0"] * 2, *[ADD] * 64)


def test_a_loop_whose_first_instruction_lies_across_windows_pays_each_round():
    def loop(pad):
        lines = [*["s_nop 0"] * pad, "again:", FMA, *[ADD] * 20, "s_cbranch_scc1 again"]
        return simulate(kernel(*lines), Assumptions(group_waves=1, loop_rounds=32))

    good, bad = loop(8), loop(7)
    assert bad.stalls_by_cause["fetch"] - good.stalls_by_cause.get("fetch", 0) >= 31 * 16


LOADS = ["global_load_dwordx4 v[4:7], v0, s[0:1]", "s_waitcnt vmcnt(0)"]


def test_memory_levels_are_ordered_by_latency_and_share():
    figures = [cycles(*LOADS * 20, memory=level, groups=4, waves=1) for level in ("l2", "mall", "hbm")]
    assert figures == sorted(figures)
    assert figures[0] > 20 * chip("mi300x").vmem_latency.value
    alone = cycles(*LOADS * 20, memory="hbm", groups=4, active_units=1)
    assert alone < figures[2]


def test_known_lines_hit_in_the_vector_cache_the_second_time():
    """Four accesses of four lines each, twice over: the second round finds them."""
    rows = np.array([(4, 4 * n, 4) for n in range(4)] * 2, np.int64)
    lines = np.arange(16, dtype=np.int64)
    probe = kernel(*LOADS * 8)
    found = simulate(probe, Recorded((Way(np.zeros(1, np.int64), rows, lines),), 1, "hbm", groups=1, fetch=False))
    assert found.traffic.hit_bytes == 16 * 128
    assert found.traffic.far_bytes == 16 * 128


def test_half_of_the_new_lines_come_from_far_where_others_share_them():
    rows = np.array([(4, 4 * n, 4) for n in range(8)], np.int64)
    one = Way(np.zeros(1, np.int64), rows, np.arange(32, dtype=np.int64))
    found = simulate(kernel(*LOADS * 8), Recorded((one,), 1, "hbm", groups=1, new_lines_far=0.5, fetch=False))
    assert found.traffic.far_bytes == found.traffic.near_bytes == 16 * 128


def test_recorded_bank_conflicts_take_the_array():
    reads = [*(f"ds_read_b32 v{n}, v0" for n in range(4, 36)), "s_waitcnt lgkmcnt(0)"]

    def way_of(clocks):
        return Way(np.zeros(1, np.int64), np.array([(clocks, 0, 0)] * 32, np.int64), np.zeros(0, np.int64))

    free, bad = (simulate(kernel(*reads), Recorded((way_of(n),), 1, "l2", fetch=False), places=4).cycles for n in (2, 32))
    assert bad - free == pytest.approx(32 * 4 * 32 - 32 * 2 * 4, rel=0.1)


def test_stores_on_their_way_count():
    probe = kernel("global_store_dwordx4 v9, v[4:7], s[0:1]")
    found = simulate(probe, Assumptions(group_waves=1, fetch=False))
    assert found.traffic.stored_bytes == 4 * 1024
    assert found.cycles > 4 * 16 * 4


def test_a_loop_runs_as_often_as_it_is_counted():
    probe = kernel("s_nop 0", "again:", ADD, "s_cbranch_scc1 again", "done:", ADD)
    counts = {i.uid: n for block, n in zip(probe.blocks, (2, 200, 2), strict=True) for i in block.instructions}
    found = simulate(probe, Assumptions(executions=counts, waves_counted=2, group_waves=1, groups=1, fetch=False))
    assert found.issues[probe.blocks[1].instructions[0].uid] == 100
    assert found.issues[probe.blocks[2].instructions[0].uid] == 1


def test_a_way_that_is_cut_says_so(monkeypatch):
    monkeypatch.setattr("asmevo.backend.timing.simulate._MAX_WAY", 100)
    found = simulate(kernel("again:", ADD, "s_cbranch_scc1 again"), Assumptions(group_waves=1, loop_rounds=1000))
    assert any("cut after 100 instructions" in note for note in found.notes)
    assert found.wave_instructions < 110 * 4


def test_events_tell_when_each_instruction_was_next_and_issued():
    found = simulate(kernel(*LOADS, ADD), Assumptions(group_waves=1, groups=1, fetch=False), timeline=10)
    assert len(found.events) == 4
    wait = found.events[1]
    assert wait.issued - wait.ready > 250
    assert wait.released == wait.issued + 4
    assert (
        simulate(kernel(*LOADS, ADD), Assumptions(group_waves=1, groups=1), timeline=10, skip=3).events[0].uid
        == found.events[3].uid
    )


def test_the_same_input_gives_the_same_output():
    assert simulate(kernel(*LOADS * 5)) == simulate(kernel(*LOADS * 5))


@pytest.mark.parametrize(
    ("options", "basis", "message"),
    [
        ({"waves": 0}, {}, "waves per SIMD"),
        ({"waves": 9}, {}, "waves per SIMD"),
        ({"places": 40}, {"group_waves": 1}, "room for 32 waves"),
        ({}, {"group_waves": 33}, "work-group of 33 waves"),
        ({}, {"memory": "disk"}, "memory level"),
    ],
)
def test_what_the_chip_does_not_have_is_refused(options, basis, message):
    with pytest.raises(DiagnosticError, match=message) as caught:
        simulate(kernel(ADD), Assumptions(**basis), **options)
    assert caught.value.diagnostics[0].code == "E0230"


def test_a_simulation_that_does_not_end_is_refused(monkeypatch):
    monkeypatch.setattr("asmevo.backend.timing.simulate.MAX_INSTRUCTIONS", 50)
    with pytest.raises(DiagnosticError, match="E0237"):
        simulate(kernel(*[ADD] * 100), Assumptions(group_waves=1))
