"""Recorded ways: the emulator's own counts, real addresses, and refusals of what faults or does not end."""

import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.backend.launch import Buffer, Dispatch, PointerSlot
from asmevo.backend.timing import chip
from asmevo.backend.timing.addresses import bank_costs
from asmevo.backend.timing.record import record
from asmevo.backend.timing.simulate import simulate
from asmevo.backend.timing.whole import dispatch_timing, extrapolated
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.frontend.source import parse_source
from asmevo.verify.launch.dispatches import load_launches
from support import EXAMPLES, SHIPPED


def shipped(name):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    return kernel, load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_recorded_launch_issues_what_the_emulator_executes(name):
    """Every work-group recorded and simulated once: instruction by instruction the counts of a plain run."""
    kernel, dispatches = shipped(name)
    dispatch = min(dispatches, key=lambda d: d.grid[0] * d.grid[1] * d.grid[2])
    total = dispatch.grid[0] * dispatch.grid[1] * dispatch.grid[2]
    recording = record(kernel, dispatch, groups=total)
    found = simulate(kernel, recording.recorded(chip("mi300x"), groups=total))
    plain = run(kernel, dispatch, mode="fast")
    assert found.issues == {uid: count for uid, count in plain.executions.items() if count}
    assert recording.wave_instructions == found.wave_instructions == plain.wave_instructions


def lds_kernel(stride):
    """One wave: lane n reads LDS at n * stride dwords (an odd loop of two rounds around it), then stores at its own lane."""
    return parse_source(
        f"""
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
probe:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mul_u32_u24_e32 v1, {4 * stride}, v0
  s_mov_b32 s6, 2
again:
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s6, s6, 1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 again
  v_lshlrev_b32_e32 v2, 2, v0
  global_store_dword v2, v0, s[4:5]
  s_endpgm
""",
        "lds.s",
    )


def dispatch_of(size=256, groups=1, lds=65536):
    buffer = Buffer("out", np.zeros(size, np.uint8), True, dtype="u32")
    return Dispatch("probe", "probe", (groups, 1, 1), (64, 1, 1), bytes(8), (PointerSlot(0, 0),), (buffer,), lds)


@pytest.mark.parametrize(("stride", "clocks"), [(1, 2), (2, 4), (8, 16), (32, 64), (33, 2)])
def test_addresses_tell_bank_conflicts_and_lines(stride, clocks):
    (way,) = record(lds_kernel(stride), dispatch_of()).ways
    assert way.blocks.tolist() == [0, 1, 1, 2]
    assert way.accesses[1:3, 0].tolist() == [clocks, clocks]
    # The store covers 256 bytes: four pieces of 64. The pointer is one scalar line.
    assert way.accesses[3, 2] == 4
    assert way.accesses[0, 2] == 1


@pytest.mark.parametrize(("stride", "clocks"), [(256, 64), (512, 33), (1024, 17)])
def test_lanes_outside_of_lds_take_no_bank(stride, clocks):
    """PYHIP's stride scan: lanes beyond 64 KiB take no bank, but a phase takes a clock at least."""
    lanes = np.arange(64, dtype=np.uint64)[None, :] * np.uint64(4 * stride)
    assert bank_costs(lanes, np.ones((1, 64), bool), 4, 65536, "gfx942", True).tolist() == [clocks]


def test_a_launch_that_faults_is_refused():
    with pytest.raises(DiagnosticError, match="E0504"):
        record(lds_kernel(1), dispatch_of(size=16))


def test_a_launch_that_does_not_end_is_refused(monkeypatch):
    monkeypatch.setattr("asmevo.backend.timing.record.MAX_INSTRUCTIONS", 1000)
    text = '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\nprobe:\n s_nop 0\nagain:\n s_nop 0\n s_branch again\n s_endpgm\n'
    with pytest.raises(DiagnosticError, match="E0237"):
        record(parse_source(text, "p.s"), dispatch_of())


def test_the_memory_level_is_the_first_that_holds_the_buffers():
    small = record(lds_kernel(1), dispatch_of())
    assert small.recorded(chip("mi300x")).memory == "l2"
    assert small.recorded(chip("mi300x"), "hbm").memory == "hbm"
    large = record(lds_kernel(1), dispatch_of(size=40 << 20))
    assert large.recorded(chip("mi300x")).memory == "mall"
    assert large.recorded(chip("mi250x")).memory == "hbm"


def test_a_dispatch_fills_compute_units_in_turn():
    kernel = lds_kernel(1)
    one = dispatch_timing(kernel, dispatch_of(groups=304, lds=1024))
    two = dispatch_timing(kernel, dispatch_of(groups=305, lds=1024))
    many = dispatch_timing(kernel, dispatch_of(groups=304 * 40, lds=1024))
    assert (one.per_unit, two.per_unit, many.per_unit) == (1, 2, 40)
    assert (two.resident, many.resident) == (2, 32)
    assert one.fitting == 32
    assert many.cycles > two.cycles >= one.cycles
    assert one.microseconds == pytest.approx(one.cycles / 2100)
    assert all(0 <= a.share <= 1 for a in (*one.achieved, *two.achieved))


def test_what_is_not_simulated_costs_what_the_last_half_did():
    kernel, dispatches = shipped("softmax")
    recording = record(kernel, dispatches[0])
    whole = {n: simulate(kernel, recording.recorded(chip("mi300x"), groups=n), places=2) for n in (4, 8, 32)}
    estimated = extrapolated(whole[8], lambda n: whole[n].cycles, 2, 32)
    assert estimated == pytest.approx(whole[32].cycles, rel=0.05)
    assert extrapolated(whole[8], lambda n: whole[n].cycles, 2, 8) == whole[8].cycles
