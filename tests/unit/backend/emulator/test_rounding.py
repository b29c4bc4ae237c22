"""MODE's rounding: every operation that rounds, in each direction, against the reference interpreter and by known values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.parser import parse_line
from asmevo.frontend.recover import recover
from asmevo.verify.launch.dispatches import load_launches
from machines import Step, differences, random_machine
from reference_step import run_reference
from support import EXAMPLES

from .small_kernels import POINTERS, dispatch, kernel, output, words

DENORMALS = 0xF0
LINES = (
    "v_add_f32 v0, v1, v2",
    "v_mul_f32 v0, v1, v2",
    "v_fma_f32 v0, v1, v2, v3",
    "v_add_f64 v[0:1], v[2:3], v[4:5]",
    "v_mul_f64 v[0:1], v[2:3], v[4:5]",
    "v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
    "v_ldexp_f64 v[0:1], v[2:3], v4",
    "v_fract_f64 v[0:1], v[2:3]",
    "v_add_f16 v0, v1, v2",
    "v_mul_f16 v0, v1, v2",
    "v_fma_f16 v0, v1, v2, v3",
    "v_pk_fma_f16 v0, v1, v2, v3",
    "v_fract_f32 v0, v1",
    "v_fract_f16 v0, v1",
    "v_ldexp_f32 v0, v1, v2",
    "v_ldexp_f16 v0, v1, v2",
    "v_cvt_f16_f32 v0, v1",
    "v_cvt_f32_f64 v0, v[2:3]",
    "v_cvt_f32_i32 v0, v1",
    "v_cvt_f32_u32 v0, v1",
    "v_cvt_f16_u16 v0, v1",
    "v_cvt_f16_i16 v0, v1",
    "v_cvt_pkrtz_f16_f32 v0, v1, v2",
    "v_mul_f32 v0, v1, v2 mul:4",
    "v_dot2_f32_f16 v0, v1, v2, v3",
    "v_div_fmas_f32 v0, v1, v2, v3",
    "v_rcp_f32 v0, v1",
)
DIRECTIONS = (0x0, 0x5, 0xA, 0xF, 0x6, 0xD)
"""Both fields alike, then apart."""


@pytest.mark.parametrize("line", LINES)
def test_directions_agree_with_the_reference(line: str) -> None:
    i = parse_line(line)
    step = Step(i, rounds=True)
    for seed, direction in enumerate(DIRECTIONS):
        machine = random_machine(seed, DENORMALS * (seed % 2) | direction | 1 << 9)
        found = differences(step.run(machine), run_reference(i, machine))
        assert not found, f"{line}, MODE {direction:#x}: {found[:3]} of {len(found)}"


def test_bf16_follows_the_direction_of_f32() -> None:
    i = parse_line("v_cvt_pk_bf16_f32 v0, v1, v2")
    step = Step(i, target="gfx950", rounds=True)
    for direction in DIRECTIONS:
        machine = random_machine(direction, DENORMALS | direction)
        assert not differences(step.run(machine), run_reference(i, machine, "gfx950"))


@pytest.mark.parametrize(
    ("direction", "third", "minus", "difference", "largest"),
    [
        (0, 0x3EAAAAAB, 0xBEAAAAAB, 0x00000000, 0x7F800000),
        (1, 0x3EAAAAAB, 0xBEAAAAAA, 0x00000000, 0x7F800000),
        (2, 0x3EAAAAAA, 0xBEAAAAAB, 0x80000000, 0x7F7FFFFF),
        (3, 0x3EAAAAAA, 0xBEAAAAAA, 0x00000000, 0x7F7FFFFF),
    ],
)
def test_known_results(direction: int, third: int, minus: int, difference: int, largest: int) -> None:
    double = np.array([1 / 3], np.float64).view(np.uint32)
    machine = random_machine(0, DENORMALS | direction)
    machine.vector[2], machine.vector[3] = double[0], double[1]
    machine.vector[4], machine.vector[5] = double[0], double[1] | 1 << 31
    machine.vector[6] = 0x7F7FFFFF
    lines = (
        "v_cvt_f32_f64 v10, v[2:3]",
        "v_cvt_f32_f64 v11, v[4:5]",
        "v_sub_f32 v12, v6, v6",
        "v_add_f32 v13, v6, v6",
    )
    after = Step(*(parse_line(line) for line in lines), rounds=True).run(machine)
    assert [int(after.vector[n, 0]) for n in range(10, 14)] == [third, minus, difference, largest]


def test_a_kernel_may_change_the_direction_as_it_runs() -> None:
    text = (
        POINTERS
        + """
global_load_dword v2, v1, s[4:5]
s_waitcnt vmcnt(0)
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
v_add_f32_e32 v3, 1.0, v2
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 2
v_add_f32_e32 v4, 1.0, v2
v_sub_u32_e32 v3, v3, v4
global_store_dword v1, v3, s[6:7]
"""
    )
    values = np.full(64, 1e-6, np.float32)
    values[::2] = 2.0
    made = run(kernel(text), dispatch(words("in", values.view(np.uint32)), output("out", 64)))
    assert made.faults == ()
    assert made.buffers[1].view(np.uint32).tolist() == [0, 1] * 32


def test_a_kernel_may_begin_with_a_direction() -> None:
    code = recover(load_file(EXAMPLES / "kernels" / "softmax.co"))
    (what, *_) = load_launches(EXAMPLES / "launches" / "softmax.toml", code)
    descriptor = code.descriptor
    assert descriptor is not None
    usual = run(code, what)
    (place,) = [n for n, buffer in enumerate(what.buffers) if buffer.writable]
    for bit in (12, 13):
        made = run(replace(code, descriptor=replace(descriptor, rsrc1=descriptor.rsrc1 | 1 << bit)), what)
        assert made.faults == ()
        values, others = (result.buffers[place].view(np.float32) for result in (usual, made))
        assert np.allclose(values, others, 1e-5)
        assert (values != others).any()
