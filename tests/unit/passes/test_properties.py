"""What every pass promises, on random straight-line code: sound IR, waits and wait states on every path, and no idle change."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.diagnostics import Severity
from asmevo.frontend.parser import parse_source
from asmevo.ir.printer import print_kernel
from asmevo.ir.verifier import verify_kernel
from asmevo.passes.copy_elim import CopyElim
from asmevo.passes.dce import Dce
from asmevo.passes.encode_compact import EncodeCompact
from asmevo.passes.list_schedule import ListSchedule
from asmevo.passes.load_hoist import LoadHoist
from asmevo.passes.loop_align import LoopAlign
from asmevo.passes.manager import PassManager
from asmevo.passes.nop_trim import NopTrim
from asmevo.passes.pack_f32 import PackF32
from asmevo.passes.pipeline import pipeline_text
from asmevo.passes.resource_trim import ResourceTrim
from asmevo.passes.unpack_f32 import UnpackF32
from asmevo.passes.unroll_prefetch import UnrollPrefetch
from asmevo.passes.waitcnt_hoist import WaitcntHoist
from asmevo.passes.waitcnt_insert import WaitcntInsert
from asmevo.passes.waitcnt_relax import WaitcntRelax
from asmevo.verify.static.hazards import check_hazards
from asmevo.verify.static.waits import check_waits

vector = st.integers(0, 5).map(lambda n: f"v{n}")
quad = st.sampled_from(["v[8:11]", "v[12:15]"])
scalar = st.integers(8, 12).map(lambda n: f"s{n}")
offset = st.sampled_from(["", " offset:4", " offset:64"])
CHOICES = (
    st.builds("v_add_f32_e32 {}, {}, {}".format, vector, vector, vector),
    st.builds("v_mul_f32_e32 {}, {}, {}".format, vector, scalar, vector),
    st.builds("v_rcp_f32_e32 {}, {}".format, vector, vector),
    st.builds("v_cmp_lt_f32_e32 vcc, {}, {}".format, vector, vector),
    st.builds("v_cndmask_b32_e32 {}, {}, {}, vcc".format, vector, vector, vector),
    st.builds("v_div_fmas_f32 {}, {}, {}, {}".format, vector, vector, vector, vector),
    st.builds("v_readfirstlane_b32 {}, {}".format, scalar, vector),
    st.builds("s_add_i32 {}, {}, {}".format, scalar, scalar, scalar),
    st.builds("s_load_dword {}, s[0:1], 0x{:x}".format, scalar, st.integers(0, 3).map(lambda n: 4 * n)),
    st.builds("global_load_dword {}, {}, s[2:3]{}".format, vector, vector, offset),
    st.builds("global_store_dword {}, {}, s[4:5]{}".format, vector, vector, offset),
    st.builds("ds_read_b32 {}, {}{}".format, vector, vector, offset),
    st.builds("ds_write_b32 {}, {}{}".format, vector, vector, offset),
    st.builds("v_mfma_f32_16x16x16_f16 {}, v[16:17], v[18:19], {}".format, quad, quad),
    st.builds("v_add_f32_e32 {}, v8, v12".format, vector),
    st.sampled_from(["s_barrier", "s_setprio 1", "s_setprio 0"]),
)
lines = st.lists(st.one_of(*CHOICES), min_size=2, max_size=14)
REORDERING = [ListSchedule(), ListSchedule(bias=0.0, variants=False)]
FILLING = [WaitcntRelax(), WaitcntInsert(), NopTrim(), NopTrim(physical=True)]
HOISTING = [LoadHoist(), WaitcntHoist(), UnrollPrefetch()]
DATAFLOW = [CopyElim(), EncodeCompact(), LoopAlign(), PackF32(), UnpackF32()]
PASSES = [*FILLING, Dce(), Dce(loads=False), ResourceTrim(), *HOISTING, *DATAFLOW, *REORDERING]
LAVISH = ("s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)", "s_nop 15", "s_nop 3")


def names(item):
    return pipeline_text([item])


def careful(body):
    """A kernel that waits for everything before each instruction: right, and slow."""
    return parse_source("\n".join(["k:", *(line for text in body for line in (*LAVISH, text)), *LAVISH, "s_endpgm"]))


def branching(bodies, targets, *, fillers=LAVISH):
    """Blocks of careful code; each may go on or branch to any of them, itself and earlier ones included."""
    text = []
    for number, (body, target) in enumerate(zip(bodies, targets, strict=True)):
        text += [f"b{number}:", *(line for item in body for line in (*fillers, item)), *fillers]
        text.append(f"s_cbranch_scc1 b{target % len(bodies)}")
    return parse_source("\n".join([*text, "end:", "s_endpgm"]))


def errors(kernel):
    return [f for f in (*check_waits(kernel), *check_hazards(kernel)) if f.severity is Severity.ERROR]


def run(item, kernel):
    return PassManager([item]).run(kernel)


@pytest.mark.parametrize("item", PASSES, ids=names)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(body=lines)
def test_right_code_stays_right(item, body):
    kernel = careful(body)
    assert errors(kernel) == []
    after = run(item, kernel).kernel
    assert verify_kernel(after, kernel) == []
    assert errors(after) == []


@pytest.mark.parametrize("item", PASSES, ids=names)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(bodies=st.lists(lines, min_size=2, max_size=4), targets=st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_right_code_with_loops_stays_right(item, bodies, targets):
    """Twice, since the first run takes most waits and nops away that kept the blocks apart."""
    kernel = branching(bodies, targets[: len(bodies)])
    assert errors(kernel) == []
    lean = PassManager([WaitcntRelax(), NopTrim()]).run(kernel).kernel
    after = run(item, lean).kernel
    assert verify_kernel(after, lean) == []
    assert errors(after) == []


@settings(max_examples=20, deadline=None, derandomize=True)
@given(body=lines)
def test_what_one_pass_leaves_the_next_may_use(body):
    kernel = careful(body)
    after = PassManager([WaitcntRelax(), NopTrim(), ListSchedule(), WaitcntRelax(), NopTrim()]).run(kernel).kernel
    assert verify_kernel(after, kernel) == []
    assert errors(after) == []


@pytest.mark.parametrize("item", [*FILLING, Dce(), Dce(loads=False), ResourceTrim()], ids=names)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(body=lines, kept=st.integers(0, 1 << 30))
def test_a_second_run_changes_nothing_more(item, body, kept):
    """Also of code that is short of waits and wait states: what is missing is neither mended nor made worse."""
    source = random.Random(kept)
    text = ["k:"]
    for line in body:
        text += [filler for filler in LAVISH if source.random() < 0.4]
        text.append(line)
    once = run(item, parse_source("\n".join([*text, "s_endpgm"]))).kernel
    again = run(item, once)
    assert print_kernel(again.kernel) == print_kernel(once)
    assert not again.changed


@pytest.mark.parametrize("item", PASSES, ids=names)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(body=lines)
def test_unchanged_means_the_same_text(item, body):
    kernel = parse_source("\n".join(["k:", *body, "s_endpgm"]))
    result = run(item, kernel)
    assert result.changed == (print_kernel(result.kernel) != print_kernel(kernel))


@pytest.mark.parametrize("item", REORDERING, ids=names)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(body=lines)
def test_scheduling_keeps_the_instructions(item, body):
    """Only waits and nops come and go."""
    kernel = careful(body)

    def kept(found):
        return sorted(i.uid for i in found.instructions() if i.mnemonic not in ("s_nop", "s_waitcnt"))

    assert kept(run(item, kernel).kernel) == kept(kernel)
