"""Symbolic execution, evaluated on random states, against the NumPy interpreter of the same programs."""

import numpy as np
import pytest

from asmevo.backend.emulator.reference import evaluate
from asmevo.ir.instruction import Register
from asmevo.ir.registers import EXEC, M0, MODE, SCC, VCC
from asmevo.ir.semantics import program_of, source_bits
from asmevo.verify.equivalence.evaluate import Evaluator, Value
from asmevo.verify.equivalence.execute import Executor, Programs
from asmevo.verify.equivalence.machine import Machine
from asmevo.verify.equivalence.normal import Normaliser
from windows import window

CASES = [
    "v_add_u32_e32 v0, v1, v2",
    "v_sub_u32_e32 v0, 7, v2",
    "v_add_co_u32_e64 v0, s[8:9], v1, v2",
    "v_addc_co_u32_e32 v0, vcc, v1, v2, vcc",
    "v_cndmask_b32_e32 v0, v1, v2, vcc",
    "v_cndmask_b32_e64 v0, v1, v2, s[6:7]",
    "v_cmp_lt_i32_e32 vcc, v1, v2",
    "v_cmp_ge_u32_e64 s[8:9], v1, s2",
    "v_cmpx_eq_u32_e64 s[8:9], v1, v1",
    "v_mul_hi_u32 v0, v1, v2",
    "v_mad_u64_u32 v[4:5], s[8:9], v1, v2, v[6:7]",
    "v_lshl_add_u64 v[4:5], v[6:7], 3, v[8:9]",
    "v_bfe_i32 v0, v1, 3, 9",
    "v_perm_b32 v0, v1, v2, v3",
    "v_alignbit_b32 v0, v1, v2, v3",
    "v_ffbh_u32_e32 v0, v1",
    "v_bcnt_u32_b32 v0, v1, v2",
    "v_mbcnt_lo_u32_b32 v0, v1, v2",
    "v_med3_i32 v0, v1, v2, v3",
    "v_mov_b32_dpp v0, v1 row_shr:3 row_mask:0xf bank_mask:0xf",
    "v_mov_b32_dpp v0, v1 row_bcast:15 row_mask:0xa bank_mask:0xf bound_ctrl:0",
    "v_add_u32_dpp v0, v1, v2 quad_perm:[3,1,0,2] row_mask:0xf bank_mask:0x5",
    "v_add_u32_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2 src1_sel:WORD_0",
    "v_readlane_b32 s3, v1, 17",
    "v_readfirstlane_b32 s3, v1",
    "ds_bpermute_b32 v0, v1, v2",
    "s_add_u32 s3, s4, s5",
    "s_addc_u32 s3, s4, s5",
    "s_sub_i32 s3, s4, -9",
    "s_lshl_b64 s[8:9], s[4:5], s6",
    "s_bfe_u32 s3, s4, 0x50003",
    "s_and_saveexec_b64 s[8:9], s[4:5]",
    "s_cselect_b64 s[8:9], s[4:5], s[6:7]",
    "s_cmp_gt_i32 s4, s5",
    "s_ff1_i32_b64 s3, s[4:5]",
    "s_mul_hi_u32 s3, s4, s5",
]


def joined(parts: list[Value]) -> np.ndarray | int:
    """Units of 32 bits, low first, as one value a lane."""
    if all(len(p) == 1 for p in parts):
        return sum(p[0] << 32 * k for k, p in enumerate(parts))
    return np.array([sum(p[n % len(p)] << 32 * k for k, p in enumerate(parts)) for n in range(64)], np.uint64)


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_both_interpretations_of_a_program_agree(text: str, seed: int) -> None:
    (i,) = window(text)
    assert i.definition is not None
    program = program_of(i)
    assert program is not None
    normaliser, state = Normaliser(), Evaluator(seed)
    entry, machine = Machine(normaliser), Machine(normaliser)
    Executor(machine, Programs(program_of, source_bits)).run(i)

    def at(where: Machine, unit: int, count: int) -> np.ndarray | int:
        return joined([state.value(where.unit(k)) for k in range(unit, unit + count)])

    ranges = {
        s.name: o.range for s, o in zip(i.definition.operands, i.operands, strict=True) if isinstance(o, Register)
    }  # fmt: skip
    sources = {name: at(entry, r.unit, r.count) for name, r in ranges.items()}
    for spec, operand in zip(i.definition.operands, i.operands, strict=True):
        if not isinstance(operand, Register):
            sources[spec.name] = source_bits(i, spec.name)
    places = {"exec": (EXEC, 2), "vcc": (VCC, 2), "m0": (M0, 1), "mode": (MODE, 1), "scc": (SCC, 1)}
    specials = {name: int(at(entry, *place)) for name, place in places.items()}
    old = {**{name: sources[name] for name in ranges}, **specials}
    expected = evaluate(program, sources, specials, {}, old)
    assert expected
    for target, value in expected.items():
        unit, count = (ranges[target].unit, ranges[target].count) if target in ranges else places[target]
        found = at(machine, unit, count)
        assert np.array_equal(np.broadcast_to(found, 64), np.broadcast_to(value, 64)), target
