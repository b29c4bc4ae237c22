"""LDS phases and bank conflicts: the measured patterns of the sources, and what they must not call a conflict."""

import pytest

from asmevo.ir.isa.lds_banks import bank_cycles, phases

LANES = range(64)


def cost(size, addresses, target="gfx942", is_load=True):
    served = phases(target, size, is_load=is_load)
    assert served is not None
    return bank_cycles(served, addresses, size)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("is_load", [True, False])
def test_consecutive_lanes_never_conflict_and_every_lane_is_served_once(target, size, is_load):
    served = phases(target, size, is_load=is_load)
    assert served is not None
    assert sorted(lane for group in served.groups for lane in group) == list(LANES)
    found = cost(size, [lane * size for lane in LANES], target, is_load)
    assert found.extra == 0
    assert found.ideal == len(served.groups)


@pytest.mark.parametrize(("stride", "cycles"), [(0, 2), (1, 2), (2, 4), (3, 2), (4, 8), (8, 16), (16, 32), (32, 64)])
def test_dword_reads_by_stride(stride, cycles):
    assert cost(4, [lane * stride * 4 for lane in LANES]).cycles == cycles


def test_lanes_that_are_off_cost_nothing():
    addresses = [lane * 128 if lane < 4 else None for lane in LANES]
    assert cost(4, addresses).cycles == 4
    assert cost(4, [None] * 64).cycles == 0


def test_wide_reads_are_served_in_groups_that_are_no_runs():
    # Lanes 0-3 and 20-23 share a phase: equal banks in lanes 0 and 20 conflict, in lanes 0 and 4 they do not.
    addresses: list[int | None] = [None] * 64
    addresses[0], addresses[20] = 0, 128
    assert cost(16, addresses).extra == 1
    addresses[20], addresses[4] = None, 128
    assert cost(16, addresses).extra == 0


def test_gfx950_has_twice_the_banks_for_wide_reads_only():
    addresses = [128 if lane == 1 else 0 if lane == 0 else None for lane in LANES]
    assert cost(8, addresses, "gfx942").extra == 1
    assert cost(8, addresses, "gfx950").extra == 0
    assert cost(8, addresses, "gfx950", is_load=False).extra == 1


def test_what_no_source_tells_is_unknown():
    assert phases("gfx942", 12, is_load=False) is None
