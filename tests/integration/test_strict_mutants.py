"""Strict emulation must report broken kernels, and must not report those that are right, in any wave order.

The quick test takes some mutants of each kind; the slow one all of ten kernels: the shipped ones, and two in tests/data/strict
whose waves hand data to each other through global memory, ordered by a barrier and by an atomic.
"""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from asmevo.backend.emulator import run
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.launch.dispatches import load_launches
from strict_mutants import ADDRESS, BARRIER, DEFINITION, KINDS, PAST, WAIT, Fate, Original, mutants
from support import EXAMPLES, SHIPPED

SHARED = Path(__file__).resolve().parents[1] / "data" / "strict"
NAMES = [*SHIPPED, *sorted(path.stem for path in SHARED.glob("*.co"))]
ORDERS = 20
QUICK = {WAIT: 3, BARRIER: 2, ADDRESS: 2, PAST: 2, DEFINITION: 3}
"""Mutants of each kind that the quick test makes of a kernel."""

_ONE_LANE = "the only lane that is on is the first work-item's, whose number is the zero that is not moved"
_ONE_WAVE = "only the first wave works on the last elements, so that there is nothing to order"
_MASKED = "the lanes that it fills are not stored"
_COVERED = "a wait before it, on every way that lanes can take, covers the same loads"
_UNREAD = "pointers to Triton's scratch memory, which the kernel never reads; s13 is written again before it is read"
EXPLAINED = {
    "vector_add": {
        "L_0100[3] v_and_or_b32 256": "work-item numbers are below 256: their parts, put together, are what was there",
        "L_0100[9] v_mov_b32_e32 261": _MASKED,
        "L_0168[4] v_mov_b32_e32 263": _MASKED,
        "L_01b0[3] v_mov_b32_e32 266": _MASKED,
        "L_01e8[2] v_mov_b32_e32 267": _MASKED,
        "L_0290[0] s_waitcnt vmcnt(0)": _COVERED,
        "L_02ac[0] s_waitcnt vmcnt(0)": _COVERED,
        "L_02c8[0] s_waitcnt vmcnt(0)": _COVERED,
    },
    "reduce_sum": {"L_0260[0] v_mov_b32_e32 256": _ONE_LANE},
    "attention_fwd": {
        "L_0000[2] s_load_dwordx4 +4": _UNREAD,
        "L_0000[2] s_load_dwordx4 12": _UNREAD,
        "L_0548[10] s_waitcnt vmcnt(0)": "all loads before hang on one condition, and the last has a wait of its own",
        "L_1fa0[0] s_waitcnt lgkmcnt(0)": "only without any keys does a wave come there with the permute outstanding",
    },
    "grid_sum": {"L_02cc[3] v_mov_b32_e32 256": _ONE_LANE, "L_01a8[6] s_barrier ": _ONE_WAVE},
}
"""Mutants that nothing reports and no proof clears, and why they are harmless."""


def original(name, seeds=(0, 1)):
    """A kernel with its launches, run."""
    folder = SHARED if name not in SHIPPED else None
    kernel = recover(load_file((folder or EXAMPLES / "kernels") / f"{name}.co"))
    return Original(kernel, load_launches((folder or EXAMPLES / "launches") / f"{name}.toml", kernel), seeds)


def silent(name, judged):
    """Where mutants were silent without an explanation."""
    known = EXPLAINED.get(name, {})
    return [(j.mutant.kind, j.mutant.where, j.why) for j in judged if j.fate is Fate.SILENT and j.mutant.where not in known]


@pytest.mark.parametrize("name", NAMES)
def test_some_mutants_are_reported(name):
    subject = original(name)
    pick = random.Random(5)
    judged = []
    for kind in KINDS:
        found = [m for m in mutants(subject, kind) if m.uid in subject.executed]
        judged += [subject.judge(m) for m in pick.sample(found, min(QUICK[kind], len(found)))]
    assert silent(name, judged) == []
    assert any(j.fate is Fate.REPORTED for j in judged)


@pytest.mark.parametrize("name", NAMES)
def test_a_buffer_that_is_one_element_too_short_is_reported(name):
    subject = original(name, seeds=(0,))
    for _, dispatch, seed, before in subject.runs:
        for number, buffer in enumerate(dispatch.buffers):
            size = {"f32": 4, "u32": 4, "i32": 4, "f16": 2, "bf16": 2, "u8": 1}[buffer.dtype]
            if buffer.writable and not before.written[number][-1]:
                continue  # which bins are counted depends on the data
            shorter = replace(buffer, data=buffer.data[:-size])
            buffers = (*dispatch.buffers[:number], shorter, *dispatch.buffers[number + 1 :])
            faults = run(subject.kernel, replace(dispatch, buffers=buffers), seed=seed).faults
            assert [f.kind for f in faults] == ["out-of-bounds"], (dispatch.name, buffer.name)
            assert faults[0].place is not None
            assert faults[0].place.startswith(f"{buffer.name}+0x")


@pytest.mark.parametrize("name", ["grid_sum", "exchange"])
def test_kernels_that_share_global_memory_are_clean_and_right_in_any_order(name):
    subject = original(name, seeds=range(ORDERS))
    for _, dispatch, _, result in subject.runs:
        data = next(b.data for b in dispatch.buffers if b.name == "data").view("u4")
        if name == "grid_sum":
            assert result.buffers[3].view("u4")[0] == data.sum(dtype="u4")
        else:
            turned = data.reshape(-1, 256)[:, ::-1] * 3
            assert (result.buffers[2].view("u4").reshape(-1, 256) == turned + range(256)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_mutant_is_silent(name):
    subject = original(name)
    judged = [subject.judge(m) for kind in KINDS for m in mutants(subject, kind)]
    for kind in KINDS:
        fates = Counter(j.fate.value for j in judged if j.mutant.kind == kind)
        print(f"{name} | {kind} | {dict(sorted(fates.items()))}")
    assert silent(name, judged) == []
    explained = {j.mutant.where for j in judged if j.fate is Fate.SILENT}
    assert set(EXPLAINED.get(name, {})) == explained


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_originals_are_clean_in_twenty_wave_orders(name):
    subject = original(name, seeds=range(ORDERS))
    assert len(subject.runs) >= ORDERS
