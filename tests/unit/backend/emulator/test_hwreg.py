"""Hardware registers and apertures: what they read as, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from asmevo.backend.emulator import hwreg, run

from .small_kernels import POINTERS, dispatch, kernel, output, words

DATA = np.arange(64, dtype=np.uint32)
STORE = """
v_mov_b32_e32 v2, s8
v_lshlrev_b32_e32 v1, 2, v0
v_lshl_add_u32 v1, s2, 8, v1
global_store_dword v1, v2, s[6:7]
"""


def read(line: str, *, items: int = 64, groups: int = 1, count: int = 64) -> np.ndarray:
    launch = dispatch(words("in", DATA), output("out", count), items=items, groups=groups)
    made = run(kernel(POINTERS + line + STORE), launch)
    assert made.faults == ()
    return made.buffers[1].view(np.uint32)


def test_a_group_runs_on_the_die_of_its_number() -> None:
    found = read("s_getreg_b32 s8, hwreg(HW_REG_XCC_ID, 0, 4)", groups=20, count=20 * 64)
    assert (found.reshape(20, 64) == np.arange(20)[:, None] % 8).all()


def test_waves_of_a_group_go_round_the_simds() -> None:
    line = "s_getreg_b32 s8, hwreg(HW_REG_HW_ID, 4, 2)"
    assert (read(line, items=384, count=384).reshape(6, 64) == [[n % 4] for n in range(6)]).all()


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ("s_cmp_eq_u32 s2, s2\ns_getreg_b32 s8, hwreg(HW_REG_STATUS, 0, 1)", 1),
        ("s_cmp_lg_u32 s2, s2\ns_getreg_b32 s8, hwreg(HW_REG_STATUS, 0, 1)", 0),
        ("s_getreg_b32 s8, hwreg(HW_REG_STATUS, 16, 1)", 1),
        ("s_getreg_b32 s8, hwreg(HW_REG_SH_MEM_BASES, 16, 16)", 1),
        ("s_getreg_b32 s8, hwreg(HW_REG_SH_MEM_BASES, 0, 16)", 2),
        ("s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 8), 5\ns_getreg_b32 s8, hwreg(HW_REG_TRAPSTS)", 5),
        ("s_mov_b64 s[8:9], src_shared_base\ns_mov_b32 s8, s9", 0x10000),
        ("s_mov_b64 s[8:9], src_private_base\ns_mov_b32 s8, s9", 0x20000),
        ("s_mov_b32 s8, src_shared_base", 0),
    ],
)
def test_values(lines: str, value: int) -> None:
    assert (read(lines) == value).all()


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("s_setreg_imm32_b32 hwreg(HW_REG_HW_ID, 0, 4), 1", "writing"),
        ("s_getreg_b32 s8, hwreg(HW_REG_TBA_LO)", "reading"),
        ("s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), s2", "writing"),
    ],
)
def test_what_is_not_modelled_is_named(line: str, word: str) -> None:
    made = run(kernel(POINTERS + line), dispatch(words("in", DATA), output("out", 64)))
    assert [fault.kind for fault in made.faults] == ["unsupported"]
    assert f"does not model {word} hwreg(HW_REG_" in made.faults[0].message


def test_fields_of_printed_registers() -> None:
    assert hwreg.field("hwreg(HW_REG_MODE, 4, 2)") == (1, 4, 2)
    assert hwreg.field("hwreg(MODE)") == (1, 0, 32)
    assert hwreg.field("hwreg(20)") == (20, 0, 32)
    assert hwreg.field("hwreg(HW_REG_NONE)") is None
    assert hwreg.field("s0") is None
