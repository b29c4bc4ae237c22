from dataclasses import replace

from asmevo.frontend.parser import parse_source
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.printer import print_instruction
from asmevo.passes.fillers import Fillers
from asmevo.passes.wait_states import AllowedShortfalls, with_body, with_nops

WRITE, READ, WORK = "v_cmp_lt_f32_e32 vcc, v0, v1", "v_div_fmas_f32 v2, v3, v4, v5", "v_mov_b32_e32 v8, v9"
"""The read of VCC needs four states after the write."""


def kernel_of(*lines):
    return parse_source("k:\n" + "\n".join(lines) + "\n")


def allowed_by(kernel):
    return AllowedShortfalls.compute(kernel, AnalysisManager(kernel))


def mended(kernel, order, label="k"):
    """The block's instructions in another order, with nops; None when there is no way."""
    block = kernel.block(label)
    body = [block.instructions[i] for i in order]
    made = with_nops(kernel, allowed_by(kernel), label, body, Fillers([], 100))
    return None if made is None else [print_instruction(i) for i in made]


def test_a_pair_that_comes_too_close_gets_its_states():
    kernel = kernel_of(WRITE, *[WORK] * 4, READ, "s_endpgm")
    assert mended(kernel, [0, 5, 1, 2, 3, 4, 6]) == [WRITE, "s_nop 3", READ, *[WORK] * 4, "s_endpgm"]
    assert mended(kernel, [0, 1, 5, 2, 3, 4, 6]) == [WRITE, WORK, "s_nop 2", READ, *[WORK] * 3, "s_endpgm"]


def test_nothing_is_added_where_nothing_is_short():
    kernel = kernel_of(WRITE, *[WORK] * 4, READ, "s_endpgm")
    assert mended(kernel, range(7)) == [WRITE, *[WORK] * 4, READ, "s_endpgm"]


def test_a_pair_may_stay_as_close_as_it_was_and_not_come_closer():
    kernel = kernel_of(WRITE, WORK, WORK, READ, "s_endpgm")
    assert [llvm for llvm, _ in allowed_by(kernel).by_pair.values()] == [2]
    assert mended(kernel, range(5)) == [WRITE, WORK, WORK, READ, "s_endpgm"]
    assert mended(kernel, [0, 1, 3, 2, 4]) == [WRITE, WORK, "s_nop 2", READ, WORK, "s_endpgm"], "mended wholly"


def test_a_reader_in_the_next_block_gets_its_states_before_the_branch():
    kernel = kernel_of(WRITE, *[WORK] * 3, "s_cbranch_scc0 away", "next:", READ, "s_endpgm", "away:", READ, "s_endpgm")
    assert mended(kernel, [1, 2, 3, 0, 4]) == [WORK, WORK, WORK, WRITE, "s_nop 2", "s_cbranch_scc0 away"]


def test_a_reader_at_the_loop_s_start_counts():
    kernel = kernel_of(READ, WRITE, WORK, WORK, WORK, "s_cbranch_scc1 k", "s_endpgm")
    assert mended(kernel, [0, 2, 3, 4, 1, 5]) == ["s_nop 2", READ, WORK, WORK, WORK, WRITE, "s_cbranch_scc1 k"]


def test_a_shortfall_between_others_has_no_mend_here():
    """Both sides stand in the block behind: nops at the end of this one cannot help."""
    good = kernel_of(WORK, "s_branch next", "next:", WRITE, *[WORK] * 4, READ, "s_endpgm")
    short = with_body(good, "next", tuple(i for i in good.block("next").instructions if i.mnemonic != WORK.split()[0]))
    assert with_nops(short, allowed_by(good), "k", short.block("k").instructions, Fillers([], 100)) is None


def test_a_trial_kernel_leaves_the_original_alone():
    kernel = kernel_of(WRITE, "s_endpgm")
    trial = with_body(kernel, "k", kernel.block("k").instructions[1:])
    assert len(kernel.block("k").instructions) == 2
    assert trial == replace(kernel, blocks=trial.blocks)
