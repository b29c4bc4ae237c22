import pytest

from asmevo.diagnostics import Severity
from asmevo.frontend.source import parse_source
from asmevo.verify.static.hazards import NewHazardFindings, check_hazards, new_hazard_findings

MFMA = "v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[42:43], v[0:15]"
OTHER_MFMA = "v_mfma_f32_32x32x8_f16 v[64:79], v[40:41], v[42:43], v[64:79]"


def errors(text, target="gfx942"):
    found = check_hazards(parse_source(f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"\ntop:\n{text}\n s_endpgm\n', "t.s"))
    return [f for f in found if f.severity is Severity.ERROR]


def padded(first, states, second):
    nops = [f"s_nop {min(states - done, 16) - 1}" for done in range(0, states, 16)]
    return "\n".join([first, *nops, second])


@pytest.mark.parametrize(
    ("first", "second", "states"),
    [
        (MFMA, "v_add_f32_e32 v20, v0, v0", 11),
        (MFMA, "v_mov_b32_e32 v3, 0", 11),
        (MFMA, "global_store_dword v50, v15, s[0:1]", 11),
        (MFMA, "v_mfma_f32_32x32x8_f16 v[64:79], v[0:1], v[42:43], v[64:79]", 11),
        (MFMA, "v_mfma_f32_32x32x8_f16 v[16:31], v[40:41], v[42:43], v[8:23]", 9),
        ("v_mov_b32_e32 v40, 0", MFMA, 2),
        ("v_exp_f32_e32 v1, v0", "v_add_f32_e32 v2, v1, v1", 1),
        ("v_readlane_b32 s4, v0, 0", "v_add_f32_e32 v2, s4, v1", 2),
        ("v_readfirstlane_b32 s4, v0", "global_load_dword v1, v2, s[4:5]", 5),
        ("v_mov_b32_e32 v1, 0", "v_add_f32_dpp v2, v1, v3 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", 2),
        ("v_mov_b32_e32 v1, 0", "v_readfirstlane_b32 s4, v1", 1),
        ("global_store_dwordx4 v50, v[4:7], s[0:1]", "v_mov_b32_e32 v5, 0", 2),
        ("s_setreg_b32 hwreg(HW_REG_MODE), s4", "s_getreg_b32 s5, hwreg(HW_REG_MODE)", 2),
        ("v_cmp_lt_f32_e32 vcc, v0, v1", "v_div_fmas_f32 v2, v3, v4, v5", 4),
    ],
)
def test_states_short_by_one_are_refused(first, second, states):
    assert errors(padded(first, states - 1, second))
    assert not errors(padded(first, states, second))


@pytest.mark.parametrize("number", range(8))
def test_a_scalar_written_between_is_no_hardware_register(number):
    """Scalars and hardware registers are numbered alike, and only scalars are overwritten by scalar instructions."""
    setreg, getreg = "s_setreg_b32 hwreg(HW_REG_MODE), s10", "s_getreg_b32 s11, hwreg(HW_REG_MODE)"
    found = errors(f"v_readlane_b32 s{number}, v0, 0\n{setreg}\ns_mov_b32 s{number}, 0\n{getreg}")
    assert [finding.rule for finding in found] == ["setreg-getreg"]


def test_data_of_a_wide_buffer_store_with_an_sgpr_offset_is_a_note():
    """LLVM asks for a state and the manual for none."""
    store = "buffer_store_dwordx4 v[4:7], v1, s[0:3], s4 offen"
    found = check_hazards(parse_source(f"top:\n{store}\nv_mov_b32_e32 v5, 0\ns_endpgm\n", "t.s"))
    assert [(f.severity, f.rule) for f in found] == [(Severity.NOTE, "wide-buffer-store-offset-valu")]
    assert not check_hazards(parse_source(f"top:\n{store}\ns_nop 0\nv_mov_b32_e32 v5, 0\ns_endpgm\n", "t.s"))


def test_accumulating_in_place_needs_nothing():
    assert not errors(f"{MFMA}\n{MFMA}")


def test_unrelated_registers_need_nothing():
    assert not errors(f"{MFMA}\nv_add_f32_e32 v20, v21, v22")


def test_a_matrix_instruction_between_takes_its_slots():
    """The second cannot issue before slot 8: with 3 more states the first is 11 slots old."""
    assert errors(padded(f"{MFMA}\n{OTHER_MFMA}", 2, "v_add_f32_e32 v20, v0, v0"))
    assert not errors(padded(f"{MFMA}\n{OTHER_MFMA}", 3, "v_add_f32_e32 v20, v0, v0"))


def test_what_a_later_matrix_instruction_holds_back_is_held_back_for_the_earlier_one_too():
    """The packed one waits until slot 10 of the second, slot 18 of the first, whose result takes 11."""
    packed = "v_pk_fma_f32 v[20:21], v[0:1], v[22:23], v[20:21]"
    assert not errors(f"{MFMA}\n{OTHER_MFMA}\n{packed}")
    assert errors(f"{MFMA}\n{packed}")


def test_what_issued_behind_the_matrix_instruction_is_not_older_for_it():
    """How late the VALU instruction issued is not known: it may have been held up until the matrix unit was free."""
    assert errors(f"{OTHER_MFMA}\nv_mov_b32_e32 v40, 0\nv_mov_b32_e32 v50, 0\n{MFMA}")
    assert not errors(f"{OTHER_MFMA}\nv_mov_b32_e32 v40, 0\ns_nop 0\nv_mov_b32_e32 v50, 0\n{MFMA}")


def test_a_matrix_instruction_on_another_path_holds_nothing_back():
    text = f"{MFMA}\ns_cbranch_scc1 join\n{OTHER_MFMA}\njoin:\nv_pk_fma_f32 v[20:21], v[0:1], v[22:23], v[20:21]"
    assert errors(text)


@pytest.mark.parametrize(("width", "states"), [(2, 0), (4, 1)])
def test_packed_instructions_wait_a_slot_longer_behind_a_wide_first_source(width, states):
    first = f"v_mfma_f32_16x16x{8 * width}_f16 v[0:3], v[40:{39 + width}], v[48:{47 + width}], v[0:3]"
    # Four passes: eight slots are needed on gfx950, and a packed one has five or six.
    second = "v_pk_fma_f32 v[20:21], v[0:1], v[22:23], v[20:21]"
    found = errors(f"{first}\n{second}", "gfx950")
    assert found
    assert found[0].missing == 3 - states


@pytest.mark.parametrize(
    ("sources", "formats", "states"),
    [
        ("v[40:47], v[48:55]", "", 12),
        ("v[40:43], v[48:55]", "cbsz:4", 12),
        ("v[40:47], v[48:51]", "blgp:4", 12),
        ("v[40:43], v[48:51]", "cbsz:4 blgp:4", 8),
        ("v[40:45], v[48:51]", "cbsz:2 blgp:4", 8),
    ],
)
def test_formats_below_eight_bits_take_half_the_passes(sources, formats, states):
    first = f"v_mfma_f32_16x16x128_f8f6f4 v[0:3], {sources}, v[0:3] {formats}"
    second = "v_mov_b32_e32 v20, v0"
    assert not errors(padded(first, states, second), "gfx950")
    assert errors(padded(first, states - 1, second), "gfx950")


def test_the_shorter_path_decides():
    text = f"{MFMA}\ns_cbranch_scc1 join\ns_nop 9\njoin:\nv_add_f32_e32 v20, v0, v0"
    assert errors(text)


def test_a_back_edge_counts():
    text = f"loop:\nv_add_f32_e32 v20, v0, v0\n{MFMA}\ns_cbranch_scc1 loop"
    assert errors(text)


@pytest.mark.parametrize("length", [4, 60])
def test_a_back_edge_counts_in_short_and_long_blocks(length):
    """A block as long as the farthest reach hides what comes before it; its own end still reaches its start."""
    body = "\n".join(["s_nop 0"] * length)
    looped = f"loop:\nv_add_f32_e32 v20, v0, v0\n{body}\n{{}}\ns_cbranch_scc1 loop"
    assert errors(looped.format(MFMA))
    assert not errors(looped.format(f"{MFMA}\n s_nop 10"))


def test_short_lived_producers_between_do_not_hide_an_older_one():
    between = "\n".join(f"v_mov_b32_e32 v{number}, 0" for number in range(100, 110))
    assert errors(f"{MFMA}\n{between}\nv_add_f32_e32 v20, v0, v0")
    assert not errors(f"{MFMA}\n{between}\ns_nop 0\nv_add_f32_e32 v20, v0, v0")


def test_a_producer_met_again_on_the_way_round_is_new():
    text = f"loop:\ns_nop 6\ns_nop 6\n{MFMA}\n{{}}v_add_f32_e32 v20, v0, v0\ns_cbranch_scc1 loop"
    assert errors(text.format(""))
    assert not errors(text.format("s_nop 10\n"))


def test_a_scalar_that_the_salu_overwrites_is_interlocked():
    assert not errors("v_readlane_b32 s4, v0, 0\ns_and_b32 s4, s4, 0xff\nv_mul_lo_u32 v1, v2, s4")


def test_what_only_the_compiler_asks_for_is_a_note():
    text = "top:\n v_cmp_lt_f32_e32 vcc, v0, v1\n v_cndmask_b32_e32 v2, v3, v4, vcc\n s_endpgm\n"
    assert [f.severity for f in check_hazards(parse_source(text, "t.s"))] == [Severity.NOTE]


def test_the_target_decides():
    text = "v_exp_f32_e32 v1, v0\nv_add_f32_e32 v2, v1, v1"
    assert errors(text, "gfx942")
    assert not errors(text, "gfx90a")


def test_a_shortfall_that_grows_is_new():
    text = "top:\n v_readlane_b32 s4, v0, 0\n{} buffer_load_dword v1, off, s[4:7], 0\n s_endpgm\n"
    enough, lacking, worse = (parse_source(text.format(nop), "t.s") for nop in (" s_nop 4\n", " s_nop 2\n", " s_nop 0\n"))
    assert new_hazard_findings(enough, enough) == NewHazardFindings((), 0)
    assert new_hazard_findings(lacking, lacking) == NewHazardFindings((), 1)
    assert new_hazard_findings(worse, lacking) == NewHazardFindings((), 1)
    assert [f.missing for f in new_hazard_findings(lacking, worse).findings] == [4]
