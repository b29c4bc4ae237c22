"""Edits of many blocks at once: the wait states that they need, and blocks left alone where no nops in them would do."""

from asmevo.diagnostics import Severity
from asmevo.frontend.parser import parse_source
from asmevo.ir.printer import print_instruction
from asmevo.passes.base import PassContext
from asmevo.passes.commit import commit
from asmevo.verify.static.hazards import check_hazards

TEXT = """
a:
  v_rcp_f32_e32 v1, v2
  v_mov_b32_e32 v8, v2
  v_mul_f32_e32 v3, v1, v2
  v_rcp_f32_e32 v4, v2
  v_mov_b32_e32 v9, v2
  s_cbranch_scc1 c
b:
  v_mul_f32_e32 v5, v4, v2
  v_mov_b32_e32 v8, v2
  v_rcp_f32_e32 v6, v2
  v_mov_b32_e32 v9, v2
c:
  v_mul_f32_e32 v7, v6, v4
  s_endpgm
"""


def texts(kernel, label):
    return [print_instruction(i) for i in kernel.block(label).instructions]


def without_moves(kernel, *labels):
    return {label: [i for i in kernel.block(label).instructions if not i.mnemonic.startswith("v_mov")] for label in labels}


def test_each_block_gets_the_wait_states_that_it_needs():
    kernel = parse_source(TEXT)
    context = PassContext("test", kernel)
    assert commit(context, without_moves(kernel, "a", "b")) == frozenset()
    after = context.rewriter.kernel
    assert texts(after, "a")[:3] == ["v_rcp_f32_e32 v1, v2", "s_nop 0", "v_mul_f32_e32 v3, v1, v2"]
    assert texts(after, "b")[-1] == "s_nop 0"
    assert [f for f in check_hazards(after) if f.severity is Severity.ERROR] == []
    uids = [i.uid for i in after.instructions()]
    assert len(uids) == len(set(uids))


def test_an_edit_that_comes_to_nothing_is_none():
    kernel = parse_source(TEXT)
    context = PassContext("test", kernel)
    commit(context, {"a": kernel.block("a").instructions})
    assert context.rewriter.kernel is kernel


def test_a_hazard_that_was_there_may_stay_but_not_grow():
    kernel = parse_source("k:\n  v_rcp_f32_e32 v1, v2\n  v_mul_f32_e32 v3, v1, v2\n  v_mov_b32_e32 v8, v2\n  s_endpgm\n")
    context = PassContext("test", kernel)
    commit(context, without_moves(kernel, "k"))
    assert texts(context.rewriter.kernel, "k") == ["v_rcp_f32_e32 v1, v2", "v_mul_f32_e32 v3, v1, v2", "s_endpgm"]


def test_a_block_between_producer_and_consumer_is_mended_too():
    kernel = parse_source(
        "a:\n  v_rcp_f32_e32 v1, v2\nb:\n  v_mov_b32_e32 v8, v2\nc:\n  v_mul_f32_e32 v3, v1, v2\n  s_endpgm\n"
    )
    context = PassContext("test", kernel)
    assert commit(context, without_moves(kernel, "b")) == frozenset()
    assert texts(context.rewriter.kernel, "b") == ["s_nop 0"]
