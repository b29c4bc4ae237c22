from asmevo.frontend.parser import parse_source
from asmevo.ir.analysis.cost.reach import Reach
from asmevo.ir.analysis.manager import AnalysisManager


def reach(*lines):
    return AnalysisManager(parse_source("\n".join(["k:", *lines, "s_endpgm"]))).get(Reach)


def test_addresses_and_offsets_bound_lds():
    found = reach("v_and_b32_e32 v1, 0xff, v0", "v_lshlrev_b32_e32 v1, 2, v1", "ds_read_b64 v[2:3], v1 offset:16")
    assert (found.vgprs, found.lds_bytes, found.why) == (4, 255 * 4 + 16 + 8, {})


def test_both_addresses_of_a_pair_count():
    assert reach("v_mov_b32_e32 v1, 0", "ds_read2st64_b32 v[2:3], v1 offset1:2").lds_bytes == 2 * 64 * 4 + 4


def test_a_load_to_lds_ends_at_m0_and_its_lanes():
    load = "buffer_load_dword v1, s[8:11], 0 offen offset:32 lds"
    assert reach("s_mov_b32 m0, 0x1000", load).lds_bytes == 0x1000 + 32 + 256
    assert reach("s_mov_b32 m0, 0x1000", load, "s_add_u32 m0, 0x800, m0", load).lds_bytes == 0x1800 + 32 + 256


def test_an_m0_that_is_not_known_may_be_anything():
    assert reach("s_mov_b32 m0, s20", "buffer_load_dword v1, s[8:11], 0 offen lds").lds_bytes == 0xFFFF + 256


def test_an_address_that_is_not_known_may_be_anything():
    assert reach("ds_read_b32 v2, v3").lds_bytes > 65536


def test_code_without_lds_reaches_none_of_it():
    assert reach("v_add_u32_e32 v9, v1, v2").lds_bytes == 0


def test_what_stands_in_the_way_is_named():
    assert "LDS" in reach("flat_load_dword v1, v[2:3]").why
    assert reach("flat_load_dword v1, v[2:3]").lds_bytes is None
    indexed = reach("s_set_gpr_idx_on s8, gpr_idx(SRC0)", "v_mov_b32_e32 v1, v2", "s_set_gpr_idx_off")
    assert (indexed.vgprs, indexed.agprs) == (None, None)
    assert "relative" in indexed.why["registers"]
    asked = reach("s_getreg_b32 s4, hwreg(HW_REG_LDS_ALLOC)")
    assert set(asked.why) == {"registers", "LDS"}
    assert reach("s_getreg_b32 s4, hwreg(HW_REG_MODE)").why == {}
