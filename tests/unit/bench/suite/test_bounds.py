"""The bound that no order beats: below every schedule, and reached where nothing can wait."""

import pytest

from asmevo.backend.timing.model import estimate
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from asmevo.search.profile import profile_kernel
from asmevo.verify.launch.dispatches import load_launches
from bench.suite.bounds import least_cycles
from bench.suite.entries import KERNELS, LAUNCHES
from tests.programs import kernel_of


@pytest.mark.parametrize("name", ["gelu", "group_norm", "moe_lora"])
def test_no_schedule_is_faster(name):
    from asmevo.frontend.codeobject import load_file
    from asmevo.frontend.recover import recover

    kernel = recover(load_file(KERNELS / f"{name}.co"))
    profile = profile_kernel(kernel, load_launches(LAUNCHES / f"{name}.toml", kernel))
    least = least_cycles(kernel, profile.estimate)
    assert 0 < least < profile.estimate.total_cycles
    result = PassManager(parse_pipeline("O3"), executions=profile.executions).run(kernel).kernel
    assert estimate(result, dict(profile.executions)).total_cycles >= least


def least(text):
    kernel = kernel_of(text)
    found = estimate(kernel, {i.uid: 1 for i in kernel.instructions()})
    return least_cycles(kernel, found), found.total_cycles


def test_independent_work_is_bound_by_its_slots():
    bound, cycles = least("".join(f"v_mov_b32_e32 v{n}, 0\n" for n in range(20)) + "s_endpgm\n")
    assert bound == 21 * 4
    assert cycles >= bound


def test_a_value_from_the_block_before_is_waited_for():
    text = "s_load_dword s4, s[0:1], 0x0\ns_branch next\nnext:\n{}v_mov_b32_e32 v0, {}\ns_endpgm\n"
    needs, _ = least(text.format("s_waitcnt lgkmcnt(0)\n", "s4"))
    idle, _ = least(text.format("s_waitcnt lgkmcnt(0)\n", "s5"))
    assert needs > idle + 100


def test_what_no_one_needs_is_not_waited_for():
    chain, _ = least("v_exp_f32_e32 v0, v0\n" * 8 + "s_endpgm\n")
    apart, _ = least("".join(f"v_exp_f32_e32 v{n}, v{n}\n" for n in range(8)) + "s_endpgm\n")
    assert chain >= apart
    stores, cycles = least("global_store_dword v[0:1], v2, off\ns_waitcnt vmcnt(0)\ns_endpgm\n")
    assert stores < cycles


def test_who_waits_for_one_waits_for_those_before_it():
    read = "ds_read_b32 v2, v3\ns_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v0, v2\ns_endpgm\n"
    alone, _ = least(read)
    behind, cycles = least("s_load_dword s4, s[0:1], 0x0\n" + read)
    assert alone + 50 < behind <= cycles


def test_a_barrier_waits_for_what_must_be_complete():
    text = "ds_write_b32 v3, v2\n{}s_barrier\nv_mov_b32_e32 v0, 0\ns_endpgm\n"
    waited, cycles = least(text.format("s_waitcnt lgkmcnt(0)\n"))
    free, _ = least(text.format(""))
    assert free < waited <= cycles
