"""The native engine against the reference interpreter, on forms of every family, and the compiled code's cache."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asmevo.backend.emulator import cache, compiled_handlers, prepare, reference_matrix
from asmevo.frontend.parser import parse_line
from asmevo.ir.semantics.matrix import plain_operation
from machines import Step, differences, random_machine
from reference_step import run_reference

from .small_kernels import POINTERS, kernel

EVERY_LANE = (1 << 64) - 1
FORMS = """
s_add_u32 s4, s5, s6
s_subb_u32 s4, s5, s6
s_lshl_b64 s[4:5], s[6:7], s8
s_and_saveexec_b64 s[4:5], vcc
s_bcnt1_i32_b64 s4, s[6:7]
s_bfe_i32 s4, s5, 0x80003
s_mul_hi_u32 s4, s5, s6
s_cmp_lt_i32 s4, s5
s_cselect_b32 s4, s5, -3
v_add_co_u32_e32 v1, vcc, v2, v3
v_addc_co_u32_e32 v1, vcc, v2, v3, vcc
v_mad_u64_u32 v[4:5], s[4:5], v6, v7, v[8:9]
v_lshl_add_u64 v[4:5], v[6:7], 2, s[4:5]
v_perm_b32 v1, v2, v3, v4
v_bfe_u32 v1, v2, 3, 9
v_add_f32_e32 v1, v2, v3
v_add_f32_e64 v1, -|v2|, v3 clamp
v_fma_f32 v1, v2, s3, -v4 mul:2
v_fmac_f32_e32 v1, v2, v3
v_max_f32_e32 v1, v2, v3
v_med3_f32 v1, v2, v3, v4
v_mul_f64 v[4:5], v[6:7], v[8:9]
v_fma_f64 v[4:5], v[6:7], v[8:9], v[10:11]
v_add_f16_e32 v1, v2, v3
v_fma_f16 v1, v2, v3, v4
v_fma_mix_f32 v1, v2, v3, v4 op_sel_hi:[1,0,1]
v_pk_fma_f16 v1, v2, v3, v4
v_pk_mul_f32 v[4:5], v[6:7], v[8:9] op_sel_hi:[0,1]
v_cvt_f16_f32_e32 v1, v2
v_cvt_f32_f16_e32 v1, v2
v_cvt_i32_f32_e32 v1, v2
v_cvt_u32_f32_e32 v1, v2
v_cvt_f32_u32_e32 v1, v2
v_cvt_pkrtz_f16_f32 v1, v2, v3
v_exp_f32_e32 v1, v2
v_log_f32_e32 v1, v2
v_rcp_f32_e32 v1, v2
v_rsq_f32_e32 v1, v2
v_sqrt_f32_e32 v1, v2
v_floor_f32_e32 v1, v2
v_fract_f32_e32 v1, v2
v_ldexp_f32 v1, v2, v3
v_frexp_mant_f32_e32 v1, v2
v_frexp_exp_i32_f32_e32 v1, v2
v_cmp_lt_f32_e32 vcc, v1, v2
v_cmp_class_f32_e64 s[4:5], v1, v2
v_cmpx_gt_u32_e32 vcc, v1, v2
v_cndmask_b32_e64 v1, v2, v3, s[4:5]
v_mov_b32_dpp v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
v_add_f32_dpp v1, v2, v1 row_shr:3 row_mask:0xa bank_mask:0xf bound_ctrl:0
v_mov_b32_dpp v1, v1 row_mirror row_mask:0xf bank_mask:0xf
v_and_b32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2 src1_sel:WORD_0
v_readfirstlane_b32 s4, v1
v_readlane_b32 s4, v1, s5
v_pk_add_u16 v1, v2, v3
v_dot4_i32_i8 v1, v2, v3, v4
""".strip().splitlines()


@pytest.mark.parametrize("text", FORMS)
@pytest.mark.parametrize(("mode", "mask"), [(0x3F0, EVERY_LANE), (0x300, 0x0123456789ABCDEF)])
def test_native_code_agrees_with_the_reference(text: str, mode: int, mask: int):
    instruction = parse_line(text)
    machine = random_machine(len(text), mode, mask)
    assert differences(Step(instruction).run(machine), run_reference(instruction, machine)) == []


@pytest.mark.parametrize(
    "name",
    [
        *("v_mfma_f32_4x4x4_16b_f16", "v_mfma_f32_16x16x16_bf16", "v_mfma_f32_16x16x4_f32", "v_mfma_f64_4x4x4_4b_f64"),
        *("v_mfma_i32_16x16x32_i8", "v_mfma_f32_16x16x32_fp8_bf8", "v_mfma_f32_16x16x8_xf32"),
    ],
)
def test_matrix_products_agree_with_the_reference(name: str):
    operation = plain_operation(name)
    assert operation is not None
    shape = operation.shape
    width = shape.per_lane * shape.element_bits // 32
    count = shape.results_per_lane * shape.result_bits // 32

    def span(file: str, first: int, size: int) -> str:
        return f"{file}{first}" if size == 1 else f"{file}[{first}:{first + size - 1}]"

    text = f"{name} {span('a', 0, count)}, {span('v', 0, width)}, {span('v', 16, width)}, {span('a', 32, count)}"
    machine = random_machine(5, 0x3F0, 1)  # EXEC is ignored
    got = Step(parse_line(text)).run(machine).vector[256 : 256 + count]
    vector = machine.vector
    operands = reference_matrix.Operands(vector[:width], vector[16 : 16 + width], vector[288 : 288 + count])
    expected = reference_matrix.multiply(operation, operands, 0x3F0)
    assert (got == expected).all()


def test_an_edited_window_compiles_nothing():
    before = kernel(POINTERS + "v_add_u32_e32 v2, v0, v1\nv_lshlrev_b32_e32 v3, 3, v2")
    prepare(before)
    compiled = compiled_handlers()
    block = before.blocks[0]
    swapped = [*block.instructions[:3], *reversed(block.instructions[3:5]), *block.instructions[5:]]
    moved = replace(before, blocks=(replace(block, instructions=tuple(swapped)),))
    prepared = prepare(moved)
    assert compiled_handlers() == compiled
    assert prepared.instructions == tuple(swapped)


def test_a_damaged_object_is_built_anew(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = []

    def build() -> bytes:
        made.append(1)
        return b"object"

    key = "ab" * 32
    assert cache.load_or_build(key, build) == (b"object", True)
    assert cache.load_or_build(key, build) == (b"object", False)
    (path,) = tmp_path.rglob("*.o")
    for damaged in (path.read_bytes()[:-1], b"", path.read_bytes()[:-1] + b"!"):
        path.write_bytes(damaged)
        assert cache.load_or_build(key, build) == (b"object", True)
    assert len(made) == 4


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch: pytest.MonkeyPatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert cache.load_or_build("cd" * 32, lambda: b"x") == (b"x", True)
