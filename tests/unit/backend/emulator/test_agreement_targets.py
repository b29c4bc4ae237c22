"""Engine and reference on what differs between targets: small floats, gfx950's additions, matrix modifiers, gfx90a's sums."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asmevo.backend.emulator import reference_matrix
from asmevo.frontend.parser import parse_line
from asmevo.ir.isa import definitions
from asmevo.ir.semantics import program_of
from asmevo.ir.semantics.matrix import plain_operation
from line_forms import lines_of
from machines import ALL, Step, aim, differences, random_machine
from reference_step import run_reference

DATA = Path(__file__).resolve().parents[3] / "data"
SETTINGS = ((0x3F0, ALL), (0x2C0, 0x0123456789ABCDEF), (0x30 | 1 << 23, 0xFFFEFFFEFFFF0001), (0x3F0, 0))
GFX942 = (
    "s_atomic_dec s8, s[4:5], 0x10",
    "s_atomic_cmpswap_x2 s[8:11], s[4:5], 0x10 glc",
    "s_buffer_atomic_smax s8, s[4:7], 0x10 glc",
    "ds_wrxchg2_rtn_b32 v[10:11], v2, v3, v4 offset0:1 offset1:3",
    "ds_append v1 offset:16",
    "ds_consume v1 offset:16",
    "v_fma_f16 v1, v2, v3, v4",
    "v_rcp_f16 v1, v2",
    "v_cvt_f16_u16 v1, v2",
)
GFX950 = (
    "v_cvt_pk_fp8_f32 v13, v42, v43 op_sel:[0,0,1]",
    "v_cvt_pk_bf8_f32 v13, v42, v43",
    "v_cvt_pk_f32_fp8_e32 v[186:187], v186",
    "v_cvt_f32_bf8 v1, v2",
    "v_cvt_sr_bf8_f32 v1, v2, v3 op_sel:[0,0,1,0]",
    "v_permlane32_swap_b32_e32 v42, v43",
    "v_permlane16_swap_b32_e32 v42, v43",
    "buffer_load_dwordx4 v29, s[16:19], 0 offen lds",
    "global_load_lds_dwordx3 v[112:113], off",
    "ds_read_b64_tr_b8 a[182:183], v13 offset:320",
    "ds_read_b64_tr_b16 a[182:183], v13",
    "ds_read_b64_tr_b4 a[182:183], v13",
    "ds_read_b96_tr_b6 v[182:184], v13",
    "v_bitop3_b32 v1, v2, v3, v4 bitop3:0x16",
    "v_bitop3_b16 v1, v2, v3, v4 bitop3:0x96",
    "v_prng_b32 v1, v2",
    "v_maximum3_f32 v1, v2, v3, v4",
    "v_pk_minimum3_f16 v1, v2, v3, v4",
    "v_ashr_pk_i8_i32 v1, v2, v3, v4",
    "v_cvt_sr_f16_f32 v1, v2, v3",
    "v_cvt_scalef32_pk_bf16_fp8 v60, v113, v47 op_sel:[1,0,0]",
    "v_cvt_scalef32_sr_pk_fp4_f32 v1, v[2:3], v4, v5",
    "v_cvt_scalef32_pk_bf8_f16 v1, v2, v3",
    "v_dot2_f32_bf16 v1, v2, v3, v4",
)


def check(line: str, target: str) -> None:
    i = parse_line(line)
    step = Step(i, target=target)
    for k, (mode, exec_mask) in enumerate(SETTINGS):
        machine = aim(i, random_machine(k + 1, mode, exec_mask), k, target)
        found = differences(step.run(machine), run_reference(i, machine, target))
        assert not found, f"{line}, setting {k}: {found[:3]} of {len(found)}"


@pytest.mark.parametrize("line", GFX942)
def test_gfx942_agrees(line: str) -> None:
    check(line, "gfx942")


@pytest.mark.parametrize("line", GFX950)
def test_gfx950_agrees(line: str) -> None:
    check(line, "gfx950")


def test_targets_differ_where_their_8_bit_floats_do() -> None:
    i = parse_line("v_cvt_pk_fp8_f32 v0, v1, v1")
    machine = random_machine(0)
    machine.vector[1] = np.float32(1).view(np.uint32)
    codes = [int(Step(i, target=target).run(machine).vector[0, 0]) & 0xFFFF for target in ("gfx942", "gfx950")]
    assert codes == [0x4040, 0x3838]


def test_skipped_vector_operations_do_nothing_and_scalar_ones_run() -> None:
    lines = ("s_setvskip -1, 3", "v_mov_b32 v0, 7", "s_mov_b32 s9, 7", "s_setvskip 0, 0", "v_mov_b32 v1, 7")
    machine = random_machine(2)
    after = Step(*(parse_line(line) for line in lines)).run(machine)
    assert (after.vector[0] == machine.vector[0]).all()
    assert int(after.scalar[9]) == 7
    assert (after.vector[1] == 7).all()


# Matrix modifiers ------------------------------------------------------------------------------------------------------------


def modified(mnemonic: str, target: str) -> list[str]:
    """The plain line of a matrix instruction, and lines with its modifiers."""
    line = lines_of(definitions()[mnemonic][0])[0]
    operation = plain_operation(mnemonic, target)
    assert operation is not None
    if "f8f6f4" in mnemonic:
        bytes_ = " op_sel:[1,0,0] op_sel_hi:[0,1,0]" if "scale" in mnemonic else ""
        return [line, *(f"{line}{bytes_} cbsz:{a} blgp:{b}" for a, b in ((1, 0), (2, 4), (4, 3)))]
    if operation.shape.sparse:
        return [line, f"{line} abid:1", f"{line} cbsz:1 abid:1"]
    if operation.shape.type_d == "f64":
        return [line, f"{line} neg:[1,0,1]"]
    lines = [line, *(f"{line} blgp:{n}" for n in (1, 3, 6))]
    return [*lines, f"{line} cbsz:1 abid:1"] if operation.shape.blocks > 1 else lines


def check_matrix(mnemonic: str, target: str) -> None:
    for n, line in enumerate(modified(mnemonic, target)):
        i = parse_line(line)
        if program_of(i, target) is None:
            continue
        machine = random_machine(n, 0x3C0 if n % 2 else 0x3F0)
        found = differences(Step(i, target=target).run(machine), run_reference(i, machine, target))
        assert not found, f"{line} on {target}: {found[:3]} of {len(found)}"


@pytest.mark.parametrize(
    ("mnemonic", "target"),
    [
        ("v_smfmac_f32_16x16x32_f16", "gfx942"),
        ("v_smfmac_i32_16x16x64_i8", "gfx942"),
        ("v_mfma_f32_4x4x4_16b_f16", "gfx942"),
        ("v_mfma_f64_4x4x4_4b_f64", "gfx942"),
        ("v_mfma_f32_4x4x2bf16", "gfx90a"),
        ("v_mfma_f32_16x16x16f16", "gfx90a"),
        ("v_mfma_f32_16x16x32_fp8_bf8", "gfx950"),
        ("v_mfma_scale_f32_16x16x128_f8f6f4", "gfx950"),
    ],
)
def test_matrix_modifiers_agree(mnemonic: str, target: str) -> None:
    check_matrix(mnemonic, target)


MATRIX = sorted(
    (d.mnemonic, target)
    for group in definitions().values()
    for d in group
    for target in d.targets
    if plain_operation(d.mnemonic, target) is not None
)


@pytest.mark.slow
@pytest.mark.parametrize(("mnemonic", "target"), MATRIX)
def test_all_matrix_modifiers_agree(mnemonic: str, target: str) -> None:
    check_matrix(mnemonic, target)


# Sums checked against MMA-Sim ------------------------------------------------------------------------------------------------


def one_sum(mnemonic: str, a: list[int], b: list[int], c: int, target: str = "gfx942") -> int:
    """D[0][0] of a row, a column and an accumulator, all other elements being 0."""
    operation = plain_operation(mnemonic, target)
    assert operation is not None
    shape = operation.shape
    i = parse_line(lines_of(definitions()[mnemonic][0])[0])
    machine = random_machine(0)
    machine.vector[:] = 0
    firsts = {s.name: o.range.unit - 256 for s, o in zip(i.definition.operands, i.operands, strict=True)}
    for name, values, place, bits in (
        ("src0", a, lambda k: shape.place_a(0, 0, k), shape.element_bits),
        ("src1", b, lambda k: shape.place_b(0, k, 0), shape.element_bits_b),
    ):
        for k, value in enumerate(values):
            lane, element = place(k)
            row, shift = divmod(element * bits, 32)
            machine.vector[firsts[name] + row, lane] |= value << shift
    machine.vector[firsts["src2"], 0] = c
    return int(Step(i, target=target).run(machine).vector[firsts["vdst"], 0])


def frozen_sums() -> list[list[str]]:
    """Lines of inputs and results that an independent simulator confirmed."""
    lines = (DATA / "matrix_sums.txt").read_text(encoding="ascii").splitlines()
    return [line.split() for line in lines if not line.startswith("#")]


def test_frozen_sums_agree_with_the_reference() -> None:
    for mnemonic, target, a, b, c, expected in frozen_sums():
        operation = plain_operation(mnemonic, target)
        assert operation is not None
        row, column = ([int(x, 16) for x in side.split(",")] for side in (a, b))
        found = reference_matrix.dot(operation, row, column, int(c, 16))
        assert found == int(expected, 16), (mnemonic, target, a, b, c)


def test_frozen_sums_agree_with_the_engine() -> None:
    quick = ("v_mfma_f32_16x16x32_fp8_bf8", "v_mfma_f32_4x4x4_16b_bf16", "v_mfma_f32_16x16x16f16")
    checked = 0
    for mnemonic, target, a, b, c, expected in frozen_sums():
        if mnemonic in quick:
            row, column = ([int(x, 16) for x in side.split(",")] for side in (a, b))
            assert one_sum(mnemonic, row, column, int(c, 16), target) == int(expected, 16), (mnemonic, a, b, c)
            checked += 1
    assert checked == 24


def test_product_beyond_f32_is_infinite_and_two_of_both_signs_nan() -> None:
    big, small = 0x7F00, 0x3F80
    name = "v_mfma_f32_32x32x8_bf16"
    assert one_sum(name, [big, small], [big, small], 0) == 0x7F800000
    assert one_sum(name, [big, big | 0x8000], [big, big], 0) == 0x7FC00000


def test_even_and_odd_sums_of_fp8_are_floored_before_they_are_added() -> None:
    # -2^-27 beside 1: floored at 24 fraction bits it takes 2^-24 away, which the last sum's 31 bits would have kept.
    name = "v_mfma_f32_32x32x16_bf8_bf8"
    one, tiny = 0x40, 0x83  # 1.0, and -0.75 * 2^-15
    assert one_sum(name, [one, tiny], [one, 0x12], 0) == 0x3F7FFFFF


def test_subnormals_of_gfx90a_do_not_count() -> None:
    assert one_sum("v_mfma_f32_16x16x16f16", [0x03FF], [0x3C00], 0, "gfx90a") == 0
    assert one_sum("v_mfma_f32_16x16x16f16", [0x03FF], [0x3C00], 0) != 0
