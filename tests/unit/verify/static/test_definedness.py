"""Reads of registers that nothing wrote: an error where no path writes them, a note where some does."""

from dataclasses import replace

import pytest

from asmevo.diagnostics import Severity
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.frontend.source import parse_source
from asmevo.verify.static.definedness import UNDEFINED, check_definedness
from support import EXAMPLES, SHIPPED

DESCRIPTOR = recover(load_file(EXAMPLES / "kernels" / "vector_add.co")).descriptor
assert DESCRIPTOR is not None
# Two user SGPRs, the x work-group id behind them, and v0.
GIVEN = replace(DESCRIPTOR, rsrc2=2 << 1 | 1 << 7, preload_dwords=0)


def found(text):
    kernel = replace(parse_source(f"top:\n{text}\n s_endpgm\n", "t.s"), descriptor=GIVEN)
    return [(f.severity, f.instruction.mnemonic) for f in check_definedness(kernel) if f.code == UNDEFINED]


@pytest.mark.parametrize(
    "text", ["v_mov_b32_e32 v1, v2", "s_mov_b32 s4, s3", "v_accvgpr_read_b32 v1, a0", "v_mov_b32_e32 v1, vcc_lo"]
)
def test_what_nothing_wrote_is_an_error(text):
    used = "s_cmp_eq_u32 s4, 0\ns_cbranch_scc1 end\nend:" if text.startswith("s_") else "ds_read_b32 v0, v1"
    assert found(f"{text}\n{used}") == [(Severity.ERROR, text.split()[0])]
    # Where nothing depends on it, as templates leave it behind, it is no error.
    assert found(text) == [(Severity.NOTE, text.split()[0])]


def test_the_message_names_what_depends_on_it():
    text = "top:\nv_mov_b32_e32 v1, v2\nds_read_b32 v0, v1\ns_endpgm\n"
    finding = check_definedness(replace(parse_source(text, "t.s"), descriptor=GIVEN))[0]
    assert finding.message.endswith("nothing was written on any path; ds_read_b32 (instruction 1) may depend on it")


@pytest.mark.parametrize(
    "text", ["v_mov_b32_e32 v1, v0", "s_mov_b32 s4, s2", "s_load_dword s4, s[0:1], 0x0", "v_mov_b32_e32 v1, exec_lo"]
)
def test_what_a_wave_starts_with_is_defined(text):
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "v_xor_b32_e32 v1, v2, v2",
        "v_mov_b32_dpp v3, v0 quad_perm:[0,0,0,0] row_mask:0x1 bank_mask:0xf",
        "v_writelane_b32 v4, s2, 0",
    ],
)
def test_values_that_cannot_matter_are_left_out(text):
    assert found(text) == []


def test_a_write_on_one_path_only_is_a_note():
    text = "s_cbranch_scc1 join\nv_mov_b32_e32 v1, 0\njoin:\nv_mov_b32_e32 v2, v1\nv_mov_b32_e32 v3, v1"
    assert found(text) == [(Severity.NOTE, "v_mov_b32_e32")]


def test_a_write_on_the_way_round_a_loop_is_some_path():
    assert found("loop:\nv_mov_b32_e32 v2, v1\nv_mov_b32_e32 v1, 0\ns_cbranch_scc1 loop") == [(Severity.NOTE, "v_mov_b32_e32")]


def test_indexed_kernels_are_judged_by_their_scalars_alone():
    text = "s_set_gpr_idx_on s2, gpr_idx(DST)\nv_mov_b32_e32 v1, v0\ns_set_gpr_idx_off\nv_mov_b32_e32 v3, v2\n"
    text += "s_mov_b32 s5, s9\nv_mov_b32_e32 v0, s5\nds_read_b32 v0, v0"
    assert found(text) == [(Severity.ERROR, "s_mov_b32")]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_kernels_read_only_what_was_written(name):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    assert [f for f in check_definedness(kernel) if f.severity is Severity.ERROR] == []


def test_the_half_of_a_pair_that_a_packed_instruction_does_not_take_may_be_undefined():
    text = "v_mov_b32_e32 v2, 1.0\nv_mov_b32_e32 v3, 1.0\ns_mov_b32 s4, 2.0\n{}\nds_write_b64 v0, v[2:3]"
    whole = "v_pk_mul_f32 v[2:3], v[2:3], s[4:5]"
    assert found(text.format(whole)) == [(Severity.ERROR, "v_pk_mul_f32")]
    assert found(text.format(f"{whole} op_sel_hi:[1,0]")) == []
