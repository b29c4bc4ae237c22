import pytest

from asmevo.diagnostics import Severity
from asmevo.frontend.source import parse_source
from asmevo.verify.static.waits import MISSING_WAIT, UNPUBLISHED, NewWaitFindings, check_waits, new_wait_findings


def findings(text, severity=Severity.ERROR, code=MISSING_WAIT):
    found = check_waits(parse_source(f"top:\n{text}\n s_endpgm\n", "t.s"))
    return [(f.instruction.mnemonic, f.producer.mnemonic) for f in found if f.severity is severity and f.code == code]


@pytest.mark.parametrize("use", ["v_add_f32_e32 v3, v1, v1", "v_mov_b32_e32 v1, 0", "global_store_dword v9, v1, s[0:1]"])
def test_a_use_without_a_wait_is_refused(use):
    load = "global_load_dword v1, v0, s[0:1]"
    assert findings(f"{load}\n{use}") == [(use.split()[0], "global_load_dword")]
    assert findings(f"{load}\ns_waitcnt vmcnt(0)\n{use}") == []


@pytest.mark.parametrize(("count", "missing"), [(0, 0), (1, 0), (2, 1), (3, 1)])
def test_the_count_must_reach_behind_the_younger_ones(count, missing):
    text = f"""
        global_load_dword v1, v0, s[0:1]
        global_store_dword v0, v8, s[0:1]
        s_waitcnt vmcnt({count})
        v_mov_b32_e32 v3, v1"""
    assert len(findings(text)) == missing


def test_the_wrong_counter_does_not_help():
    assert findings("ds_read_b32 v1, v0\ns_waitcnt vmcnt(0)\nv_mov_b32_e32 v2, v1") == [("v_mov_b32_e32", "ds_read_b32")]


def test_scalar_loads_complete_out_of_order():
    text = "s_load_dword s4, s[0:1], 0x0\ns_load_dword s5, s[0:1], 0x4\ns_waitcnt lgkmcnt({})\ns_mov_b32 s6, s4"
    assert findings(text.format(1)) == [("s_mov_b32", "s_load_dword")]
    assert findings(text.format(0)) == []


def test_a_scalar_load_does_not_count_as_younger_lds():
    text = "ds_read_b32 v1, v0\ns_load_dword s4, s[0:1], 0x0\ns_waitcnt lgkmcnt(1)\nv_mov_b32_e32 v2, v1"
    assert findings(text) == [("v_mov_b32_e32", "ds_read_b32")]


def test_lds_behind_lds_is_covered_whatever_else_is_pending():
    text = "ds_read_b32 v1, v0\nds_read_b32 v3, v0\ns_load_dword s4, s[0:1], 0x0\ns_waitcnt lgkmcnt(1)\nv_mov_b32_e32 v2, v1"
    assert findings(text) == []


def test_every_path_counts():
    text = """
        global_load_dword v1, v0, s[0:1]
        s_cbranch_scc1 join
        s_waitcnt vmcnt(0)
      join:
        v_mov_b32_e32 v2, v1"""
    assert findings(text) == [("v_mov_b32_e32", "global_load_dword")]


def test_the_shorter_path_decides_the_count():
    text = """
        global_load_dword v1, v0, s[0:1]
        s_cbranch_scc1 join
        global_load_dword v5, v0, s[0:1]
      join:
        s_waitcnt vmcnt({})
        v_mov_b32_e32 v2, v1"""
    assert len(findings(text.format(1))) == 1
    assert findings(text.format(0)) == []


def test_a_loop_carries_what_is_pending():
    text = """
      loop:
        v_mov_b32_e32 v2, v1
        global_load_dword v1, v0, s[0:1]
        s_cbranch_scc1 loop"""
    assert findings(text) == [("v_mov_b32_e32", "global_load_dword")]


def test_a_younger_load_may_share_the_destination_but_not_the_address():
    assert findings("global_load_dword v1, v0, s[0:1]\nglobal_load_dword v1, v0, s[0:1]") == []
    assert findings("global_load_dword v1, v0, s[0:1]\nglobal_load_dword v2, v1, s[0:1]") != []


def test_loads_of_different_queues_must_not_share_a_destination():
    assert findings("global_load_dword v1, v0, s[0:1]\nds_read_b32 v1, v0") == [("ds_read_b32", "global_load_dword")]


def test_store_data_may_be_overwritten_at_once():
    assert findings("global_store_dword v0, v1, s[0:1]\nv_mov_b32_e32 v1, 0") == []


def test_a_flat_load_waited_for_by_vmcnt_alone_is_a_warning():
    text = "flat_load_dword v1, v[2:3]\ns_waitcnt {}\nv_mov_b32_e32 v4, v1"
    assert findings(text.format("lgkmcnt(0)")) != []
    assert findings(text.format("vmcnt(0)")) == []
    assert findings(text.format("vmcnt(0)"), Severity.WARNING) != []
    assert findings(text.format("vmcnt(0) lgkmcnt(0)"), Severity.WARNING) == []


def test_an_lds_store_pending_at_a_barrier_is_told():
    assert findings("ds_write_b32 v0, v1\ns_barrier", Severity.WARNING, UNPUBLISHED) == [("s_barrier", "ds_write_b32")]
    assert findings("ds_write_b32 v0, v1\ns_waitcnt lgkmcnt(0)\ns_barrier", Severity.WARNING, UNPUBLISHED) == []


def test_a_barrier_that_the_original_covered_must_stay_covered():
    covered = parse_source("top:\n ds_write_b32 v0, v1\n s_waitcnt lgkmcnt(0)\n s_barrier\n s_endpgm\n", "t.s")
    weakened = parse_source("top:\n ds_write_b32 v0, v1\n s_waitcnt lgkmcnt(1)\n s_barrier\n s_endpgm\n", "t.s")
    assert [f.severity for f in new_wait_findings(covered, weakened).findings] == [Severity.ERROR]
    assert [f.severity for f in check_waits(weakened)] == [Severity.WARNING]
    assert new_wait_findings(weakened, weakened).findings == ()


def test_an_indexed_register_is_a_warning_that_an_edit_must_not_add():
    load, indexed = "ds_read_b32 v9, v0\n", "s_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32_e32 v1, v2\ns_set_gpr_idx_off"
    assert findings(load + indexed) == []
    assert findings(load + indexed, Severity.WARNING) == [("v_mov_b32_e32", "ds_read_b32")]
    covered, weakened = (
        parse_source(f"top:\n{load} s_waitcnt lgkmcnt({count})\n{indexed}\n s_endpgm\n", "t.s") for count in (0, 1)
    )
    assert new_wait_findings(covered, covered).findings == ()
    assert [f.severity for f in new_wait_findings(covered, weakened).findings] == [Severity.ERROR]


def test_a_pair_that_is_known_on_one_path_is_new_on_another():
    text = """
        top:
            s_cbranch_scc0 other
            global_load_dword v1, v0, s[0:1]
            s_cbranch_vccz join
            s_waitcnt vmcnt({})
            s_branch join
        other:
            s_nop 0
        join:
            v_mov_b32_e32 v2, v1
            s_endpgm"""
    lacking, worse = (parse_source(text.format(count), "t.s") for count in (0, 1))
    assert new_wait_findings(lacking, lacking) == NewWaitFindings((), 1)
    assert [f.severity for f in new_wait_findings(lacking, worse).findings] == [Severity.ERROR]


def test_a_register_that_an_index_may_select_does_not_hide_a_certain_use():
    load, indexed = "ds_read_b32 v9, v0\n", "s_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32_e32 v1, v2\ns_set_gpr_idx_off\n"
    assert findings(f"{load}{indexed}v_add_f32_e32 v3, v9, v9") == [("v_add_f32_e32", "ds_read_b32")]
    assert findings(f"{load}{indexed}{indexed}", Severity.WARNING) == [("v_mov_b32_e32", "ds_read_b32")]
