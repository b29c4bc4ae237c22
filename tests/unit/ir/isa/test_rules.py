"""What is true of whole families, taken from the manual and tested over every line of the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from asmevo.ir.isa import definitions, lookup
from asmevo.ir.isa.model import Access, Counter, Family, Flag, IssueClass, OpcodeDef, Role, Space
from asmevo.ir.registers import EXEC_MASK, M0, MODE, SCC, VCC_MASK, VSKIP

SCC_BIT, M0_BIT, MODE_BIT = 1 << SCC, 1 << M0, 1 << MODE
SCALAR = {Family.SOP1, Family.SOP2, Family.SOPK, Family.SOPC, Family.SOPP, Family.SMEM}


def every(*families: Family) -> Iterator[OpcodeDef]:
    for found in definitions().values():
        yield from (d for d in found if not families or d.family in families)


def get(mnemonic: str) -> OpcodeDef:
    found = lookup(mnemonic)
    assert found is not None
    return found


def roles(mnemonic: str) -> str:
    return "".join({Role.READ: "r", Role.WRITE: "w", Role.READ_WRITE: "x"}[o.role] for o in get(mnemonic).operands)


def mnemonics(pattern: str) -> set[str]:
    return {m for m in definitions() if re.fullmatch(pattern, m)}


def test_vector_instructions_read_exec_except_lane_access() -> None:
    free = {d.mnemonic for d in every() if d.family not in SCALAR and not d.implicit_reads & EXEC_MASK}
    assert free == {"v_readlane_b32", "v_writelane_b32"}
    assert {d.mnemonic for d in every() if Flag.NO_EXEC in d.flags} == free


def test_scc_writers_of_sop2() -> None:
    silent = {d.mnemonic for d in every(Family.SOP2) if not d.implicit_writes & SCC_BIT}
    assert silent == mnemonics(r"s_(bfm_b\d+|mul_i32|mul_hi_[iu]32|pack_.*|cselect_.*|cbranch_g_fork|rfe_restore_b64)")
    assert len({d.mnemonic for d in every(Family.SOP2)} - silent) == 41


def test_scc_writers_of_sop1_and_sopk() -> None:
    loud = {d.mnemonic for d in every(Family.SOP1, Family.SOPK) if d.implicit_writes & SCC_BIT}
    exec_writers = mnemonics("s_.*(saveexec|wrexec)_b64")
    assert len(exec_writers) == 12
    assert loud == exec_writers | mnemonics(r"s_(not|bcnt[01]|quadmask|wqm)_.*|s_abs_i32|s_cmpk_.*|s_addk_i32")


def test_scc_readers() -> None:
    readers = {d.mnemonic for d in every() if d.implicit_reads & SCC_BIT}
    assert readers == mnemonics(r"s_(addc|subb)_u32|s_c(select|mov)_b\d+|s_cmovk_i32|s_cbranch_scc[01]")


def test_exec_masks_are_read_and_written_by_the_saveexec_group() -> None:
    for mnemonic in mnemonics("s_.*(saveexec|wrexec)_b64"):
        assert get(mnemonic).implicit_reads & EXEC_MASK == get(mnemonic).implicit_writes & EXEC_MASK == EXEC_MASK


def test_scalar_compares_write_scc_only() -> None:
    for d in every(Family.SOPC):
        if d.mnemonic in ("s_setvskip", "s_set_gpr_idx_on"):
            assert d.implicit_writes & (MODE_BIT | 1 << VSKIP) == MODE_BIT | 1 << VSKIP
            assert Flag.FIXED in d.flags
        else:
            assert d.implicit_writes == SCC_BIT
        assert {o.role for o in d.operands} == {Role.READ}


@pytest.mark.parametrize(
    ("mnemonic", "unit"),
    [("scc0", SCC_BIT), ("vccnz", VCC_MASK), ("vccz", VCC_MASK), ("execz", EXEC_MASK), ("execnz", EXEC_MASK)],
)
def test_branches_read_what_they_test(mnemonic: str, unit: int) -> None:
    found = get(f"s_cbranch_{mnemonic}")
    assert found.implicit_reads == unit
    assert found.is_branch
    assert found.is_conditional


def test_terminators() -> None:
    assert get("s_endpgm").is_terminator
    assert get("s_branch").is_terminator
    assert not get("s_branch").is_conditional
    assert not get("s_barrier").is_terminator


def test_fixed_points() -> None:
    names = "s_barrier s_waitcnt s_sleep s_trap s_sethalt s_setprio s_endpgm s_icache_inv s_setvskip s_set_gpr_idx_on"
    for mnemonic in [
        *names.split(),
        "s_set_gpr_idx_off",
        "s_setreg_b32",
        "s_getpc_b64",
        "buffer_inv",
        "buffer_wbl2",
        "s_dcache_wb",
    ]:
        assert Flag.FIXED in get(mnemonic).flags, mnemonic
    assert Flag.FIXED not in get("s_nop").flags


def test_mode_is_read_by_float_arithmetic_only() -> None:
    for mnemonic in ("v_add_f32", "v_cmp_lt_f16", "v_cvt_f32_i32", "v_pk_fma_f16", "v_fma_mix_f32", "v_dot2_f32_f16"):
        assert get(mnemonic).implicit_reads & MODE_BIT, mnemonic
    for d in every(Family.VOP1, Family.VOP2, Family.VOP3, Family.VOP3P, Family.VOPC):
        integer = not re.search(r"b?f\d", d.mnemonic)
        quiet = re.match(r"v_(mov|cndmask|cmpx?_class|cvt_f32_ubyte|cvt_off|cvt_flr|cvt_rpi)", d.mnemonic)
        assert bool(d.implicit_reads & MODE_BIT) != bool(integer or quiet), d.mnemonic


def test_carry_and_mask_registers_are_printed_not_implicit() -> None:
    implicit = {d.mnemonic for d in every() if (d.implicit_reads | d.implicit_writes) & VCC_MASK}
    assert implicit == mnemonics(r"v_div_fmas_f\d+|s_cbranch_vccn?z")
    assert {d.mnemonic for d in every() if Flag.CARRY_IN in d.flags} == mnemonics(r"v_(addc|subb|subbrev)_co_u32|v_cndmask_b32")


def test_cmpx_writes_exec_as_well() -> None:
    writers = {d.mnemonic for d in every(Family.VOPC) if d.implicit_writes & EXEC_MASK}
    assert writers == mnemonics("v_cmpx_.*")
    assert writers == {d.mnemonic for d in every() if Flag.CMPX in d.flags}
    assert len(writers) == 99


def test_destinations_that_accumulate() -> None:
    for mnemonic in mnemonics(r"v_(fmac|mac)_f\d+|v_dot[248]c_.*|v_pk_fmac_f16"):
        assert roles(mnemonic) == "xrr", mnemonic
    assert roles("v_writelane_b32") == "xrr"
    assert roles("v_swap_b32") == "xx"
    assert roles("v_cvt_pk_fp8_f32") == "xrr"
    assert roles("v_fma_mixlo_f16") == "xrrr"
    assert roles("v_fma_mix_f32") == "wrrr"
    assert {roles(m) for m in mnemonics("v_smfmac_.*")} == {"xrrr"}
    assert {roles(m) for m in mnemonics("v_mfma_(?!scale|ld).*")} == {"wrrr"}
    assert roles("s_addk_i32") == roles("s_cmovk_i32") == "xr"
    assert roles("s_bitset1_b64") == roles("s_cmov_b32") == "xr"
    assert roles("s_cmpk_eq_u32") == "rr"


@pytest.mark.parametrize(
    ("mnemonic", "keeps"),
    [
        *((m, False) for m in ("v_add_f16", "v_rcp_f16", "v_lshlrev_b16", "v_mad_legacy_f16", "v_cvt_f16_f32")),
        *((m, True) for m in ("v_mac_f16", "v_mad_f16", "v_fma_f16", "v_med3_i16", "v_add_i16", "v_cvt_u16_f16")),
    ],
)
def test_sixteen_bit_results_that_keep_the_upper_half(mnemonic: str, keeps: bool) -> None:
    found = get(mnemonic)
    assert (found.operands[0].role is Role.READ_WRITE) == keeps
    assert (Flag.PARTIAL in found.flags) == keeps


def test_sixteen_bit_loads_keep_the_other_half() -> None:
    for d in every(Family.DS, Family.FLAT, Family.GLOBAL, Family.SCRATCH):
        if d.access is Access.LOAD:
            partial = "_d16" in d.mnemonic
            assert (d.operands[0].role is Role.READ_WRITE) == partial, d.mnemonic
            assert (Flag.PARTIAL in d.flags) == partial, d.mnemonic
    flat = {d.mnemonic for d in every(Family.FLAT, Family.GLOBAL, Family.SCRATCH) if Flag.PARTIAL in d.flags}
    assert len(flat) == 18


def test_counters() -> None:
    for d in every():
        if d.family is Family.FLAT:
            expected = {Counter.VMCNT, Counter.LGKMCNT}
        elif d.family in (Family.GLOBAL, Family.SCRATCH, Family.MUBUF, Family.MTBUF):
            expected = {Counter.VMCNT} if d.access is not Access.FENCE or d.mnemonic == "buffer_wbl2" else set()
        elif d.mnemonic.startswith("ds_gws_"):
            expected = {Counter.LGKMCNT, Counter.EXPCNT}
        elif d.family in (Family.DS, Family.SMEM) or d.mnemonic.startswith("s_sendmsg"):
            expected = {Counter.LGKMCNT}
        else:
            expected = set()
        assert set(d.counters) == expected, d.mnemonic


def test_m0_is_read_where_the_instruction_needs_it() -> None:
    m0 = {d.mnemonic for d in every() if d.implicit_reads & M0_BIT}
    assert m0 >= mnemonics(r"ds_gws_.*|ds_append|ds_consume|ds_.*_addtid_b32|.*_load_lds_.*|s_movrel.*|s_sendmsg")
    assert "ds_read_b32" not in m0
    for d in every():
        assert (d.access is Access.LDS_DMA or "addtid" in d.mnemonic or "store_lds" in d.mnemonic) == (Flag.M0_LDS in d.flags)


def test_permutes_touch_no_memory() -> None:
    for mnemonic in ("ds_permute_b32", "ds_bpermute_b32", "ds_swizzle_b32"):
        assert (get(mnemonic).space, get(mnemonic).access, get(mnemonic).memory_bytes) == (None, None, 0)
        assert Flag.CROSS_LANE in get(mnemonic).flags


def test_stores_have_no_destination_and_loads_one() -> None:
    for d in every():
        written = sum(o.role is not Role.READ for o in d.operands)
        if d.access in (Access.STORE, Access.ATOMIC, Access.LDS_DMA):
            assert written == 0, d.mnemonic
        elif d.access in (Access.LOAD, Access.ATOMIC_RETURN):
            assert written == 1, d.mnemonic


def test_memory_widths_agree_with_the_data_registers() -> None:
    for d in every(Family.DS, Family.GLOBAL, Family.FLAT, Family.SCRATCH):
        if d.access is Access.LOAD and not re.search(r"byte|short|[iu]8|[iu]16", d.mnemonic):
            assert d.memory_bytes * 8 == d.operands[0].bits, d.mnemonic
    assert get("ds_write2_b64").memory_bytes == 16
    assert get("ds_read_u16").memory_bytes == 2
    assert get("global_atomic_cmpswap_x2").memory_bytes == 8
    assert get("s_load_dwordx16").memory_bytes == 64


def test_spaces() -> None:
    spaces = {Family.GLOBAL: Space.GLOBAL, Family.FLAT: Space.FLAT, Family.SCRATCH: Space.SCRATCH, Family.MTBUF: Space.BUFFER}
    for family, space in spaces.items():
        assert {d.space for d in every(family)} == {space}


def test_transcendental_instructions() -> None:
    trans = {d.mnemonic for d in every() if d.issue is IssueClass.TRANS}
    assert trans == mnemonics(
        r"v_((exp|log|rcp|rsq|sqrt|sin|cos)_f(16|32)|(rcp|rsq|sqrt)_f64|rcp_iflag_f32|(exp|log)_legacy_f32)"
    )


@pytest.mark.parametrize(
    ("mnemonic", "passes"),
    [
        ("v_mfma_f32_32x32x8_f16", 8),
        ("v_mfma_f32_16x16x16_bf16", 4),
        ("v_mfma_f32_4x4x4_16b_f16", 2),
        ("v_mfma_f32_32x32x1_2b_f32", 16),
        ("v_mfma_f64_16x16x4_f64", 8),
        ("v_mfma_f64_4x4x4_4b_f64", 4),
        ("v_mfma_f32_16x16x32_fp8_fp8", 4),
        ("v_mfma_i32_32x32x16_i8", 8),
        ("v_smfmac_f32_32x32x16_f16", 8),
        ("v_mfma_f32_32x32x8f16", 16),
        ("v_mfma_f32_16x16x8_xf32", 4),
    ],
)
def test_matrix_passes(mnemonic: str, passes: int) -> None:
    assert get(mnemonic).passes == passes


def test_matrix_kinds() -> None:
    matrix = [d for d in every(Family.MATRIX) if d.issue is IssueClass.MATRIX]
    for d in matrix:
        assert (Flag.SMFMAC in d.flags) == d.mnemonic.startswith("v_smfmac"), d.mnemonic
        assert (Flag.DGEMM in d.flags) == d.mnemonic.startswith("v_mfma_f64"), d.mnemonic
        assert (Flag.SGEMM in d.flags) == bool(re.search(r"x\d+(_\d+b_|_)?f32$", d.mnemonic)), d.mnemonic
        assert d.passes in (2, 4, 8, 16) or d.mnemonic == "v_mfma_ld_scale_b32", d.mnemonic
    assert get("v_accvgpr_read_b32").issue is IssueClass.VALU


def test_dot_products_and_packed_f32() -> None:
    assert {d.mnemonic for d in every() if Flag.DOT in d.flags} == mnemonics("v_dot.*")
    assert {d.mnemonic for d in every() if Flag.PACKED_F32 in d.flags} == mnemonics("v_pk_((add|mul|fma)_f32|mov_b32)")
