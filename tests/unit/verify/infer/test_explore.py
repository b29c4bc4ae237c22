"""Small kernels without metadata: which slots are pointers, pointers in buffers, contents, and launches that do not end."""

import time

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.verify.infer.explore import Explorer, compare
from asmevo.verify.infer.probe import MAX_ARENA_BYTES, Geometry, Prober
from asmevo.verify.infer.proposal import Hints, propose
from asmevo.verify.infer.slots import SlotKind, find_slots
from asmevo.verify.infer.text import as_toml
from asmevo.verify.launch.dispatches import parse_launches
from unit.backend.emulator.small_kernels import kernel

STORE = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
s_load_dword s6, s[0:1], 0x8
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
v_mul_lo_u32 v1, v1, s6
v_mov_b32_e32 v2, 1.0
global_store_dword v1, v2, s[4:5]
"""
NESTED = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
s_waitcnt lgkmcnt(0)
s_load_dwordx2 s[6:7], s[4:5], 0x10
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_load_dword v2, v1, s[6:7]
s_waitcnt vmcnt(0)
v_add_f32_e32 v2, v2, v2
global_store_dword v1, v2, s[6:7] offset:256
"""
COUNTED = """
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
s_load_dword s8, s[4:5], 0x0
s_waitcnt lgkmcnt(0)
v_cmp_gt_u32_e32 vcc, s8, v0
s_and_b64 exec, exec, vcc
v_mov_b32_e32 v2, 0
global_store_dword v1, v2, s[6:7]
"""
ENDLESS = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
s_waitcnt lgkmcnt(0)
again:
s_load_dword s6, s[4:5], 0x0
s_waitcnt lgkmcnt(0)
s_cmp_lg_u32 s6, 7
s_cbranch_scc1 again
"""
FAR = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
s_load_dword s6, s[0:1], 0x8
v_mov_b32_e32 v2, 0
s_waitcnt lgkmcnt(0)
s_lshl_b32 s6, s6, 21
v_mov_b32_e32 v1, s6
global_store_dword v1, v2, s[4:5]
"""


def explorer(text, seconds=20.0):
    made = kernel(text)
    slots = tuple(find_slots(made, AnalysisManager(made)))
    return Explorer(made, slots, (64, 1, 1), 0, time.monotonic() + seconds)


def test_slots_without_metadata_come_from_the_code():
    slots = explorer(STORE).slots
    assert [(slot.offset, slot.size, slot.kind) for slot in slots] == [(0, 8, SlotKind.POINTER), (8, 4, SlotKind.SCALAR)]


def test_a_stride_is_found():
    looked = explorer(STORE)
    launch = looked.explore()
    (use,) = launch.probe.uses
    assert (use.written, use.read, use.step) == ((0, 63 * 64 * 4 + 4), None, 256)
    effect = looked.scalar_effects(launch)[8]
    assert (effect.role, effect.moved) == ("stride", {0: 63 * 64 * 4})


def test_a_pointer_in_a_buffer_is_followed():
    found = propose(kernel(NESTED), Hints((64, 1, 1)), 20)
    text = as_toml(found)
    table, page = found.buffers
    assert table.to == ("", "", page.name)
    assert page.slot is None
    assert (page.use.read, page.use.written) == ((0, 256), (256, 512))
    assert 'fill = "pointers"' in text
    assert found.runs
    (dispatch,) = parse_launches(text, "proposed", kernel(NESTED))
    assert [(link.source, link.offset, link.target) for link in dispatch.links] == [(0, 16, 1)]


def test_a_count_in_a_buffer_is_tried():
    found = propose(kernel(COUNTED), Hints((64, 1, 1)), 20)
    count, target = found.buffers
    assert (count.fill, count.value, count.dtype) == ("constant", 64, "u32")
    assert target.use.written == (0, 256)
    assert found.runs


def test_a_kernel_that_waits_for_others_is_given_up():
    found = propose(kernel(ENDLESS), Hints((64, 1, 1)), 3)
    assert not found.runs
    assert "NOT RUN TO ITS END while probing: more than 20,000 accesses" in as_toml(found)


def test_an_arena_does_not_grow_beyond_its_limit():
    made = kernel(FAR)
    probe = Prober(made, 16).run(Geometry((1, 1, 1), (64, 1, 1)), [0], {8: (64).to_bytes(4, "little")})
    assert probe.too_far == 0
    assert not probe.is_finished
    assert max(use.bytes for use in probe.uses) <= MAX_ARENA_BYTES


def test_effects_name_what_ended_a_run():
    looked = explorer(STORE)
    launch = looked.explore()
    effect = compare(launch.probe, looked.at(launch, (1, 1, 1), {8: 1 << 20}))
    assert (effect.ended_early, effect.role) == ("a buffer would be larger than what is tried", "unclear")
