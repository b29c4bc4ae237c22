"""The choice of forms: never worse than the code as it is, as good as trying all, and told by the layout."""

from dataclasses import replace
from itertools import product

import pytest

from asmevo.backend.layout import lay_out
from asmevo.frontend.parser import parse_source
from asmevo.passes.loop_align import LoopAlign
from asmevo.passes.manager import PassManager
from asmevo.passes.operand_forms import lengthened

LONG, SHORT, SCALAR = "v_fma_f32 v1, v2, v3, v1", "v_add_f32_e32 v2, v2, v3", "s_mov_b32 s9, 1"
LOOP = "k:\n  {}\nloop:\n  {}\n  s_sub_i32 s8, s8, 1\n  s_cmp_lg_u32 s8, 0\n  s_cbranch_scc1 loop\nend:\n  s_endpgm\n"


def kernel_of(before, inside):
    return parse_source(LOOP.format("\n  ".join(before), "\n  ".join(inside)))


def lost(kernel):
    """Cycles lost: 4 an instruction across two windows, 2 a word that a jump passes over, 16 times in the loop."""
    total = 0
    labels = {id(i): block.label for block in kernel.blocks for i in block.instructions}
    first = {block.instructions[0].uid for block in kernel.blocks if block.label in ("loop",)}
    for item in lay_out(kernel, 0).placed:
        runs = 16 if labels[id(item.instruction)] == "loop" else 1
        at = item.offset % 32
        total += runs * (4 * (at + len(item.code) > 32) + (at // 2 if item.instruction.uid in first else 0))
    return total


@pytest.mark.parametrize("before", [[SCALAR], [SHORT, SCALAR, SCALAR], [SCALAR] * 7, [SHORT] * 3])
@pytest.mark.parametrize("inside", [[LONG] * 5, [SHORT, LONG, LONG, SHORT, LONG, LONG], [SCALAR, LONG, SHORT, LONG, LONG]])
def test_no_choice_of_forms_loses_less(before, inside):
    kernel = kernel_of(before, inside)
    after = PassManager([LoopAlign()]).run(kernel).kernel
    assert lost(after) == least(before, inside)
    assert lost(after) <= lost(kernel)
    assert [i.uid for i in after.instructions()] == [i.uid for i in kernel.instructions()]


def least(before, inside):
    forms = [(text, text.replace("_e32", "_e64")) if "_e32" in text else (text,) for text in (*before, *inside)]
    return min(lost(kernel_of(chosen[: len(before)], chosen[len(before) :])) for chosen in product(*forms))


def test_code_before_a_root_keeps_its_size():
    """With a preload prologue the second root stands at a fixed place."""
    kernel = kernel_of([SHORT], [LONG] * 5)
    blocks = tuple(replace(block, offset=4 if block.label == "loop" else block.offset) for block in kernel.blocks)
    fixed = replace(kernel, blocks=blocks, roots=(*kernel.roots, "loop"))
    after = PassManager([LoopAlign()]).run(fixed).kernel
    assert after.block("k").instructions == fixed.block("k").instructions


def test_where_registers_are_relative_nothing_is_touched():
    kernel = kernel_of([SCALAR], ["s_set_gpr_idx_on s3, gpr_idx(SRC0)", SHORT, LONG, LONG, LONG, LONG, "s_set_gpr_idx_off"])
    after = PassManager([LoopAlign()]).run(kernel).kernel
    assert after.block("loop").instructions == kernel.block("loop").instructions


def test_long_forms_are_what_is_chosen_from():
    assert lengthened(kernel_of([SHORT], [LONG]).blocks[0].instructions[0]) is not None
