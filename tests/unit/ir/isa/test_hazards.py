"""The wait-state table: its bounds, and how opcodes fall into its classes."""

import pytest

from asmevo.ir.isa import lookup
from asmevo.ir.isa.hazards import LOOK_BACK, Op, States, operations, rules, rules_for


def ops(mnemonic, **modifiers):
    definition = lookup(mnemonic)
    assert definition is not None
    return operations(definition, mnemonic, modifiers)


def test_no_rule_needs_more_than_the_look_back():
    passes = (0, 2, 4, 8, 16)
    assert max(max(rule.llvm.at(n), rule.documented.at(n)) for rule in rules() for n in passes) <= LOOK_BACK
    assert all(rule.source for rule in rules())


def test_states_follow_passes():
    states = States(3, 1, ((2, 9),))
    assert [states.at(n) for n in (2, 4, 16)] == [9, 7, 19]


def test_each_target_has_its_own_rows():
    names = {target: {rule.name for rule in rules_for(target)} for target in ("gfx90a", "gfx942", "gfx950")}
    assert "trans-valu" in names["gfx942"]
    assert "trans-valu" not in names["gfx90a"]
    assert "valu-permlane" in names["gfx950"]
    assert all(len(found) == len(rules_for(target)) for target, found in names.items())
    assert rules_for("gfx942:sramecc+:xnack-") == rules_for("gfx942")


@pytest.mark.parametrize(
    ("mnemonic", "modifiers", "inside", "outside"),
    [
        ("v_exp_f32_e32", {}, {Op.VALU, Op.TRANS}, {Op.VALU_NOT_TRANS, Op.MATRIX}),
        ("v_mov_b32_dpp", {"row_shr": 1}, {Op.DPP}, {Op.PARTIAL}),
        ("v_add_f16_sdwa", {"dst_sel": "WORD_1"}, {Op.PARTIAL}, {Op.DPP}),
        ("v_add_f16_sdwa", {"dst_sel": "DWORD"}, set(), {Op.PARTIAL}),
        ("v_mad_u16", {"op_sel": (0, 0, 0, 1)}, {Op.PARTIAL}, set()),
        ("v_pk_add_f16", {"op_sel": (0, 1)}, set(), {Op.PARTIAL}),
        ("v_mfma_f32_16x16x4_f32", {}, {Op.SGEMM, Op.NOT_XDL}, {Op.XDL, Op.VALU}),
        ("v_mfma_f64_16x16x4_f64", {}, {Op.DGEMM, Op.DGEMM_16}, {Op.XDL, Op.DGEMM_4}),
        ("v_mfma_f32_32x32x8_f16", {}, {Op.XDL, Op.MATRIX}, {Op.NOT_XDL}),
        ("v_accvgpr_read_b32", {}, {Op.VALU}, {Op.MATRIX}),
        ("v_cmpx_eq_u32_e32", {}, {Op.CMPX}, set()),
        ("global_store_dwordx4", {}, {Op.WIDE_STORE, Op.VMEM}, {Op.WIDE_BUFFER_STORE}),
        ("buffer_store_dwordx3", {}, {Op.WIDE_BUFFER_STORE}, {Op.WIDE_STORE}),
        ("global_store_dwordx2", {}, set(), {Op.WIDE_STORE}),
        ("ds_write_b128", {}, {Op.MEMORY}, {Op.VMEM, Op.WIDE_STORE}),
    ],
)
def test_classes(mnemonic, modifiers, inside, outside):
    found = ops(mnemonic, **modifiers)
    assert inside <= found
    assert not outside & found
