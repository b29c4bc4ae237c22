from collections import Counter

import pytest

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.verify.infer.types import TypeGuesser
from unit.backend.emulator.small_kernels import kernel


def guess(load, *uses, stores=()):
    made = kernel("\n".join((load, "s_waitcnt vmcnt(0)", *uses)))
    numbers = {"loads": [0] if not stores else [], "stores": [len(uses) + 1] if stores else []}
    width = made.blocks[0].instructions[0].definition.memory_bytes or 4
    return TypeGuesser(made, AnalysisManager(made)).guess(**numbers, is_scalar=False, widths=Counter([width]))


LOAD = "global_load_dword v2, v1, s[4:5]"


@pytest.mark.parametrize(
    ("load", "use", "dtype"),
    [
        (LOAD, "v_add_f32_e32 v3, v2, v2", "f32"),
        (LOAD, "v_pk_fma_f16 v3, v2, v2, v2", "f16"),
        (LOAD, "v_cvt_f32_f16_e32 v3, v2", "f16"),
        (LOAD, "v_lshlrev_b32_e32 v3, 16, v2", "bf16"),
        (LOAD, "v_cvt_f32_fp8_e32 v3, v2", "fp8"),
        (LOAD, "v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[8:9], 0", "f16"),
        (LOAD, "v_mfma_f32_16x16x32_bf8_fp8 v[4:7], v[2:3], v[8:9], 0", "fp8"),
        (LOAD, "v_mad_u32_u24 v3, v2, v2, v2", "u32"),
        (LOAD, "global_load_dword v3, v2, s[6:7]", "i32"),
        (LOAD, "v_mov_b32_e32 v3, v2", "f32"),
        ("global_load_ushort v2, v1, s[4:5]", "v_add_f32_e32 v3, v2, v2", "f16"),
        ("global_load_ubyte v2, v1, s[4:5]", "v_mov_b32_e32 v3, v2", "u8"),
        ("global_load_dwordx2 v[2:3], v1, s[4:5]", "v_add_f64 v[4:5], v[2:3], v[2:3]", "f64"),
        ("global_atomic_add v1, v2, s[4:5]", "s_nop 0", "u32"),
        ("global_atomic_add_f32 v1, v2, s[4:5]", "s_nop 0", "f32"),
    ],
)
def test_loads(load, use, dtype):
    assert guess(load, use) == dtype


def test_the_first_reader_counts():
    assert guess(LOAD, "v_add_f32_e32 v3, v2, v2", "v_mov_b32_e32 v2, 0", "v_add_u32_e32 v4, v2, v2") == "f32"


@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        ("v_cvt_f16_f32_e32 v2, v3", "f16"),
        ("v_cvt_pkrtz_f16_f32 v2, v3, v4", "f16"),
        ("v_mul_f32_e32 v2, v3, v4", "f32"),
        ("v_mov_b32_e32 v2, v3", "f32"),
    ],
)
def test_stores(make, dtype):
    assert guess(LOAD, make, "global_store_dword v1, v2, s[4:5]", stores=(2,)) == dtype
