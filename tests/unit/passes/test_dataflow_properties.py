"""Passes that change what is computed where: on random code the prover finds every result equal, and a second run is idle."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.frontend.parser import parse_source
from asmevo.ir.printer import print_kernel
from asmevo.ir.verifier import verify_kernel
from asmevo.passes.copy_elim import CopyElim
from asmevo.passes.encode_compact import EncodeCompact
from asmevo.passes.loop_align import LoopAlign
from asmevo.passes.manager import PassManager
from asmevo.passes.pack_f32 import PackF32
from asmevo.passes.packing import pairs_of, unpacked
from asmevo.passes.pipeline import pipeline_text
from asmevo.passes.unpack_f32 import UnpackF32
from asmevo.verify.equivalence.kernel import prove_kernel

vector = st.integers(0, 7).map(lambda n: f"v{n}")
pair = st.integers(0, 3).map(lambda n: f"v[{2 * n}:{2 * n + 1}]")
scalar = st.integers(8, 13).map(lambda n: f"s{n}")
source = st.one_of(vector, scalar, st.sampled_from(["1.0", "0", "-4", "0x12345"]))
flags = st.sampled_from(["", " op_sel_hi:[0,1]", " op_sel:[1,0]", " op_sel:[0,1] op_sel_hi:[1,0]", " neg_lo:[1,0]"])
LINES = st.one_of(
    st.builds("v_mov_b32_e32 {}, {}".format, vector, source),
    st.builds("s_mov_b32 {}, {}".format, scalar, st.one_of(scalar, st.sampled_from(["5", "0x1234", "0x98765432"]))),
    st.builds("v_accvgpr_read_b32 {}, a{}".format, vector, st.integers(0, 2)),
    st.builds("v_accvgpr_write_b32 a{}, {}".format, st.integers(0, 2), vector),
    st.builds("v_add_f32_e32 {}, {}, {}".format, vector, source, vector),
    st.builds("v_mul_f32_e64 {}, {}, -{}".format, vector, vector, vector),
    st.builds("v_sub_f32_e64 {}, {}, {}".format, vector, vector, scalar),
    st.builds("v_fmac_f32_e32 {}, {}, {}".format, vector, vector, vector),
    st.builds("v_add_u32_e64 {}, {}, {}".format, vector, vector, scalar),
    st.builds("v_cndmask_b32_e64 {}, {}, {}, vcc".format, vector, vector, vector),
    st.builds("v_pk_mul_f32 {}, {}, {}{}".format, pair, pair, pair, flags),
    st.builds("v_pk_fma_f32 {}, {}, {}, {}".format, pair, pair, pair, pair),
    st.builds("s_add_i32 {0}, {0}, {1}".format, scalar, st.sampled_from(["0x100", "7", "0xfffff000"])),
    st.builds("v_readfirstlane_b32 {}, {}".format, scalar, vector),
    st.builds("ds_write_b32 v20, {}".format, vector),
    st.sampled_from(
        [
            "s_and_saveexec_b64 s[2:3], vcc",
            "s_mov_b64 exec, s[2:3]",
            "v_mfma_f32_16x16x16_f16 v[24:27], v[0:1], v[2:3], v[24:27]",
        ]
    ),
)
END = ["s_nop 15", "s_nop 15", "ds_write_b128 v20, v[0:3]", "ds_write_b128 v20, v[4:7] offset:16", "s_endpgm"]
code = st.lists(LINES, min_size=2, max_size=12)
PASSES = [CopyElim(), EncodeCompact(), LoopAlign(), PackF32(), UnpackF32()]


def kernel_of(body):
    return parse_source("\n".join(["k:", *(line for text in body for line in (text, "s_nop 15")), *END]))


def names(item):
    return pipeline_text([item])


@pytest.mark.parametrize("item", PASSES, ids=names)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(body=code)
def test_every_edit_is_proved(item, body):
    kernel = kernel_of(body)
    after = PassManager([item]).run(kernel).kernel
    assert verify_kernel(after, kernel) == []
    verdict = prove_kernel(kernel, after)
    assert verdict.outcome.is_success, f"{verdict.reason}\n{print_kernel(after)}"


@pytest.mark.parametrize("item", [CopyElim(), EncodeCompact(), LoopAlign()], ids=names)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(body=code)
def test_a_second_run_is_idle_or_makes_less(item, body):
    """A copy whose reader was itself a copy may go in the second run; forms and places are chosen once."""
    once = PassManager([item]).run(kernel_of(body)).kernel
    again = PassManager([item]).run(once)
    if item.name == "copy-elim":
        assert len(list(again.kernel.instructions())) <= len(list(once.instructions()))
    else:
        assert not again.changed


@settings(max_examples=80, deadline=None, derandomize=True)
@given(body=code)
def test_all_splits_and_joins_are_proved_whether_they_pay_or_not(body):
    """The passes keep what pays; here every packed instruction is split, and every pair joined."""
    kernel = kernel_of(body)
    block = kernel.blocks[0]
    split = []
    for i in block.instructions:
        split += [i] if unpacked(i) is None else unpacked(i)
    assert proved(kernel, split)
    joined = list(block.instructions)
    for found in pairs_of(block, lambda index: -1):
        joined[found.first] = joined[found.second] = None
        joined[found.place] = found.packed
    assert proved(kernel, [i for i in joined if i is not None])


def proved(kernel, instructions):
    after = replace(kernel, blocks=(replace(kernel.blocks[0], instructions=tuple(instructions)),))
    return prove_kernel(kernel, after).outcome.is_success
