"""Rules by family beyond those of test_rules: destinations, two results, data widths, 16-bit results, what belongs together.

Each is a statement of the manual (or of LLVM's own lists) over every line that it speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from asmevo.ir.isa import definitions, permitted_bits, variants
from asmevo.ir.isa.model import Access, Counter, Encoding, Family, Flag, IssueClass, OpcodeDef, Role, Space
from asmevo.ir.isa.operands import operand_class, same_file
from asmevo.ir.registers import EXEC_MASK, M0, MODE, SCC, VSKIP

VALU = (Family.VOP1, Family.VOP2, Family.VOP3, Family.VOP3P, Family.VOPC)


def every(*families: Family) -> Iterator[OpcodeDef]:
    for found in definitions().values():
        yield from (d for d in found if d.family in families)


def lines(pattern: str) -> list[OpcodeDef]:
    found = [d for mnemonic, group in definitions().items() if re.fullmatch(pattern, mnemonic) for d in group]
    assert found, pattern
    return found


def shape(d: OpcodeDef) -> str:
    letters = {Role.READ: ":", Role.WRITE: "=", Role.READ_WRITE: "+"}
    return " ".join(f"{spec.name}{letters[spec.role]}{spec.bits}" for spec in d.operands)


def written(d: OpcodeDef) -> list[str]:
    return [spec.name for spec in d.operands if spec.role is not Role.READ]


# ---- vector ALU


def test_the_first_operand_is_the_destination() -> None:
    for d in every(*VALU):
        if d.operands:
            assert d.operands[0].role is not Role.READ, d.mnemonic


def test_only_carries_scales_wide_products_and_swaps_write_two_operands() -> None:
    two = {d.mnemonic for d in every(*VALU) if len(written(d)) == 2}
    carries = {d.mnemonic for d in lines(r"v_(add|sub|subrev|addc|subb|subbrev)_co_u32")}
    products = {d.mnemonic for d in lines(r"v_div_scale_f(32|64)|v_mad_[iu]64_[iu]32")}
    swaps = {d.mnemonic for d in lines(r"v_swap_b32|v_permlane(16|32)_swap_b32")}
    assert two == carries | products | swaps
    for d in every(*VALU):
        if d.mnemonic in carries | products:
            assert (d.operands[1].name, d.operands[1].role, d.operands[1].bits) == ("sdst", Role.WRITE, 64)
        if d.mnemonic in swaps:
            assert {spec.role for spec in d.operands} == {Role.READ_WRITE}


def test_vector_results_in_scalar_registers() -> None:
    scalar = {d.mnemonic for d in every(*VALU) if d.operands and d.operands[0].name == "sdst"}
    assert scalar == {d.mnemonic for d in [*every(Family.VOPC), *lines(r"v_read(first)?lane_b32")]}


def test_literals_are_printed_operands() -> None:
    for d in lines(r"v_(fma|mad)mk_f(16|32)"):
        assert [spec.name for spec in d.operands] == ["vdst", "src0", "imm32", "src1"]
    for d in lines(r"v_(fma|mad)ak_f(16|32)"):
        assert [spec.name for spec in d.operands] == ["vdst", "src0", "src1", "imm32"]


def test_ordinary_vector_instructions_take_no_accumulation_register() -> None:
    for d in every(*VALU):
        for encoding in d.encodings:
            for index in range(len(d.operands)):
                accumulates = d.mnemonic == "v_accvgpr_mov_b32"
                assert (operand_class(d, index, encoding).name == "agpr") == accumulates, d.mnemonic


def test_compares_write_a_lane_mask() -> None:
    for d in every(Family.VOPC):
        assert shape(d).startswith("sdst=64 src0:")
        assert operand_class(d, 0, Encoding.E32).fixed == "vcc"
        assert operand_class(d, 0, Encoding.E64).name == "mask"
        assert d.operands[1].bits == (64 if d.mnemonic.endswith("64") else 32)


ZEROES_UPPER_HALF = (
    r"v_(cvt_f16_(f32|u16|i16)|(rcp|sqrt|rsq|log|exp|sin|cos|frexp_mant|floor|ceil|trunc|rndne|fract)_f16|frexp_exp_i16_f16)",
    r"v_(add|sub|subrev|mul|max|min|ldexp)_f16|v_(add|sub|subrev|mul_lo|max|min)_u16|v_(max|min)_i16",
    r"v_(lshlrev_b16|lshrrev_b16|ashrrev_i16)|v_mad_legacy_[fiu]16|v_fma_legacy_f16|v_div_fixup_legacy_f16",
)
KEEPS_UPPER_HALF = (
    r"v_mac_f16|v_mad[am]k_f16|v_fma_mix(lo|hi)_f16|v_mad_[fiu]16|v_fma_f16|v_div_fixup_f16|v_(max3|min3|med3)_[fiu]16",
    r"v_cvt_norm_[iu]16_f16|v_cvt_[iu]16_f16|v_(add|sub)_i16|v_sat_pk_u8_i16|v_bitop3_b16",
)


@pytest.mark.parametrize("pattern", ZEROES_UPPER_HALF)
def test_results_that_clear_the_upper_half_are_plain_writes(pattern: str) -> None:
    for d in lines(pattern):
        assert d.operands[0].role is Role.WRITE, d.mnemonic
        assert Flag.PARTIAL not in d.flags, d.mnemonic


@pytest.mark.parametrize("pattern", KEEPS_UPPER_HALF)
def test_results_that_keep_the_upper_half_are_read_and_written(pattern: str) -> None:
    for d in lines(pattern):
        assert d.operands[0].role is Role.READ_WRITE, d.mnemonic
        assert Flag.PARTIAL in d.flags, d.mnemonic


def test_every_narrow_result_is_on_one_of_the_two_lists() -> None:
    listed = {d.mnemonic for pattern in (*ZEROES_UPPER_HALF, *KEEPS_UPPER_HALF) for d in lines(pattern)}
    narrow = {
        d.mnemonic
        for d in every(*VALU)
        # The destination's type is the last part of the name, or the first of two in a conversion.
        if re.search(r"_([fiub]16)(_legacy)?$", d.mnemonic)
        and not re.search(r"^v_(pk_|cmp|cmpx|dot|pack|cvt_(?!norm|[iu]16)|sad|msad|frexp_exp_i32|mad_[iu]32)", d.mnemonic)
    }
    assert narrow - listed == set()


@pytest.mark.parametrize(
    "pattern",
    [
        r"v_cvt_pk_(fp8|bf8)_f32",
        r"v_cvt_sr_(fp8|bf8)_f32",
        r"v_cvt_scalef32_pk_(fp8|bf8|fp4)_(f32|f16|bf16)",
        r"v_cvt_scalef32_sr_(fp8|bf8)_(f32|f16|bf16)",
        r"v_cvt_scalef32_f16_(fp8|bf8)",
        r"v_cvt_scalef32_sr_pk_fp4_(f32|f16|bf16)",
        r"v_cvt_sr_(f16|bf16)_f32",
        r"v_dot2c_f32_bf16",
    ],
)
def test_conversions_into_a_part_keep_the_rest(pattern: str) -> None:
    for d in lines(pattern):
        assert d.operands[0].role is Role.READ_WRITE, d.mnemonic


def test_packed_single_precision_takes_pairs() -> None:
    for d in lines(r"v_pk_(add|mul|fma)_f32|v_pk_mov_b32"):
        assert {spec.bits for spec in d.operands} == {64}


# ---- scalar


def test_scalar_results_come_first() -> None:
    for d in every(Family.SOP1, Family.SOP2, Family.SOPK):
        for index, spec in enumerate(d.operands):
            assert spec.role is Role.READ or index == 0, d.mnemonic


def test_scalar_memory_shapes() -> None:
    for d in every(Family.SMEM):
        if d.access is Access.LOAD:
            assert written(d) == ["sdata"]
            assert d.operands[0].bits == 8 * d.memory_bytes
        elif d.access is Access.ATOMIC_RETURN:
            assert d.operands[0].role is Role.READ_WRITE, d.mnemonic
        elif d.mnemonic in ("s_memtime", "s_memrealtime"):
            assert shape(d) == "sdata=64"
        else:
            assert written(d) == [], d.mnemonic


def test_what_changes_how_vector_instructions_address_registers() -> None:
    for d in lines(r"s_set_gpr_idx_(on|off|mode|idx)"):
        assert d.implicit_writes >> MODE & 1
        assert d.implicit_writes >> VSKIP & 1
        assert Flag.FIXED in d.flags
        # All but `off` set some bits of M0 and keep others.
        partly = d.mnemonic != "s_set_gpr_idx_off"
        assert (d.implicit_reads >> M0 & 1, d.implicit_writes >> M0 & 1) == (partly, partly), d.mnemonic


def test_messages_read_m0_and_exec() -> None:
    for d in lines(r"s_sendmsg(halt)?"):
        assert d.implicit_reads == 1 << M0 | EXEC_MASK
    assert lines("s_ttracedata")[0].implicit_reads == 1 << M0


def test_hardware_registers_are_fixed_points() -> None:
    for d in lines(r"s_[gs]etreg_.*"):
        assert Flag.FIXED in d.flags
        assert d.implicit_reads >> MODE & 1
    for d in lines(r"s_setreg_.*"):
        assert d.operands[0].name == "hwreg"
        assert d.implicit_writes >> MODE & 1


def test_moves_and_products_with_a_constant_leave_scc() -> None:
    for d in lines(r"s_(movk|mulk|cmovk)_i32"):
        assert not d.implicit_writes >> SCC & 1


# ---- matrix


def test_matrix_shapes() -> None:
    for d in lines(r"v_mfma_(?!ld_scale).*"):
        roles = {spec.name: spec.role for spec in d.operands}
        assert roles["vdst"] is Role.WRITE
        assert roles["src2"] is Role.READ
        assert d.operands[0].bits == d.operands[3].bits, d.mnemonic
        assert same_file(d) >= {"vdst", "src2"}
        assert [operand_class(d, index, Encoding.ONLY).name for index in (1, 2)] == ["vector", "vector"]
        assert operand_class(d, 3, Encoding.ONLY).name == "accumulator"
    for d in lines(r"v_smfmac_.*"):
        assert [spec.name for spec in d.operands] == ["vdst", "src0", "src1", "idx"]
        # A is half as long as B: every second element of it is zero.
        assert d.operands[2].bits == 2 * d.operands[1].bits, d.mnemonic


def test_operand_widths_of_a_product_follow_its_name() -> None:
    """An MxNxK product of several blocks keeps all of A, B and D in its 64 lanes."""
    element = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8}
    for d in lines(r"v_mfma_(f32|f64|i32)_\d+x\d+x\d+_.*(?<!f8f6f4)"):
        match = re.fullmatch(r"v_mfma_(f32|f64|i32)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_(\w+)", d.mnemonic)
        assert match is not None, d.mnemonic
        result, m, n, k, blocks, kind = match[1], int(match[2]), int(match[3]), int(match[4]), int(match[5] or 1), match[6]
        bits = element.get(kind, 8)
        assert d.operands[1].bits == m * k * blocks * bits // 64, d.mnemonic
        assert d.operands[2].bits == n * k * blocks * bits // 64, d.mnemonic
        assert d.operands[0].bits == m * n * blocks * (64 if result == "f64" else 32) // 64, d.mnemonic


def test_mixed_formats_have_the_width_of_the_format() -> None:
    for d in lines(r"v_mfma_(scale_)?f32_.*_f8f6f4"):
        assert [permitted_bits(d, index) for index in (1, 2)] == [(128, 192, 256)] * 2
        scales = [spec.name for spec in d.operands[4:]]
        assert scales == (["scale0", "scale1"] if "scale" in d.mnemonic else [])
    assert Flag.FIXED in lines("v_mfma_ld_scale_b32")[0].flags


def test_a_spelling_agrees_with_what_it_is_printed_as() -> None:
    for d in (d for found in definitions().values() for d in found if d.alias):
        printed = variants(d.alias)[0]
        assert shape(d) == shape(printed), d.mnemonic
        assert (d.flags, d.issue, d.implicit_reads) == (printed.flags, printed.issue, printed.implicit_reads), d.mnemonic
        for target in d.targets & printed.targets:
            assert d.passes_on(target) == printed.passes_on(target), (d.mnemonic, target)


# ---- memory


def test_lds_shapes() -> None:
    for d in every(Family.DS):
        names = [spec.name for spec in d.operands]
        if d.access is Access.LOAD:
            assert names in (["vdst", "addr"], ["vdst"]), d.mnemonic
        elif d.access is Access.STORE:
            assert names in (["addr", "data0"], ["addr", "data0", "data1"], ["data0"]), d.mnemonic
        elif d.access in (Access.ATOMIC, Access.ATOMIC_RETURN):
            returns = "_rtn_" in d.mnemonic or d.mnemonic in ("ds_append", "ds_consume")
            assert (d.access is Access.ATOMIC_RETURN) == returns == (names[0] == "vdst"), d.mnemonic


def test_a_compare_and_swap_brings_two_values() -> None:
    for d in lines(r"(flat|global|buffer|s|s_buffer)_atomic_cmpswap(_x2)?"):
        data = next(spec for spec in d.operands if spec.name in ("vdata", "sdata"))
        assert data.bits == 2 * 8 * d.memory_bytes, d.mnemonic
        for spec in d.operands:
            if spec.name == "vdst":
                assert spec.bits == 8 * d.memory_bytes


def test_atomics_of_vector_memory() -> None:
    for d in every(Family.FLAT, Family.GLOBAL):
        if d.access in (Access.ATOMIC, Access.ATOMIC_RETURN):
            assert (d.operands[0].name == "vdst") == (d.access is Access.ATOMIC_RETURN), d.mnemonic
    for d in every(Family.MUBUF):
        if d.access in (Access.ATOMIC, Access.ATOMIC_RETURN):
            wanted = Role.READ_WRITE if d.access is Access.ATOMIC_RETURN else Role.READ
            assert (d.operands[0].name, d.operands[0].role) == ("vdata", wanted), d.mnemonic


def test_loads_to_lds_read_m0_and_write_no_register() -> None:
    to_lds = [d for found in definitions().values() for d in found if d.access is Access.LDS_DMA]
    assert {d.family for d in to_lds} == {Family.MUBUF, Family.GLOBAL, Family.SCRATCH}
    for d in to_lds:
        assert written(d) == []
        assert d.implicit_reads >> M0 & 1
        assert d.counters == (Counter.VMCNT,)


def test_addresses() -> None:
    for d in every(Family.GLOBAL, Family.SCRATCH, Family.MUBUF, Family.MTBUF):
        for index, spec in enumerate(d.operands):
            if spec.name == "vaddr":
                wanted = {Family.GLOBAL: (32, 64), Family.SCRATCH: (0, 32)}.get(d.family, (0, 32, 64))
                assert permitted_bits(d, index) == wanted, d.mnemonic
            if spec.name == "srsrc":
                assert spec.bits == 128


def test_only_wave_sync_counts_exports_and_needs_gds() -> None:
    sync = {d.mnemonic for found in definitions().values() for d in found if Counter.EXPCNT in d.counters}
    assert sync == {d.mnemonic for d in lines(r"ds_gws_.*")}


def test_data_of_memory_may_be_in_either_file() -> None:
    for d in every(Family.DS, Family.FLAT, Family.GLOBAL, Family.SCRATCH, Family.MUBUF, Family.MTBUF):
        for index, spec in enumerate(d.operands):
            if spec.name in ("vdst", "vdata", "data0", "data1"):
                assert operand_class(d, index, Encoding.ONLY).name in ("vector", "even-vector"), d.mnemonic
                assert spec.name in same_file(d)


def test_issue_classes_follow_the_family() -> None:
    wanted = {
        Family.SOP1: {IssueClass.SALU, IssueClass.BRANCH},
        Family.SOP2: {IssueClass.SALU, IssueClass.BRANCH},
        Family.SOPK: {IssueClass.SALU, IssueClass.BRANCH},
        Family.SOPC: {IssueClass.SALU},
        Family.SMEM: {IssueClass.SMEM},
        Family.VOP1: {IssueClass.VALU, IssueClass.TRANS},
        Family.VOP2: {IssueClass.VALU},
        Family.VOP3: {IssueClass.VALU},
        Family.VOP3P: {IssueClass.VALU},
        Family.VOPC: {IssueClass.VALU},
        Family.MATRIX: {IssueClass.MATRIX, IssueClass.VALU},
        Family.DS: {IssueClass.LDS},
        Family.FLAT: {IssueClass.FLAT},
        Family.GLOBAL: {IssueClass.VMEM},
        Family.SCRATCH: {IssueClass.VMEM},
        Family.MUBUF: {IssueClass.VMEM},
        Family.MTBUF: {IssueClass.VMEM},
    }
    for family, classes in wanted.items():
        assert {d.issue for d in every(family)} == classes, family


def test_memory_has_a_space_and_a_size() -> None:
    for d in (d for found in definitions().values() for d in found):
        moves = d.access is not None and d.access is not Access.FENCE
        assert (d.memory_bytes > 0) == moves, d.mnemonic
        if moves:
            assert d.space is not None, d.mnemonic
            assert (d.space is Space.LDS) == (d.family is Family.DS), d.mnemonic
