"""The differential test on the real emulator: it accepts the original and names what a wrong edit does."""

from dataclasses import replace

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.line import parse_line
from asmevo.frontend.recover import recover
from asmevo.ir.printer import print_instruction
from asmevo.verify.differential import compare
from asmevo.verify.launch.dispatches import load_launches
from asmevo.verify.verdict import Outcome
from tests.support import EXAMPLES


@pytest.fixture(scope="module")
def original():
    kernel = recover(load_file(EXAMPLES / "kernels" / "reduce_sum.co"))
    return kernel, load_launches(EXAMPLES / "launches" / "reduce_sum.toml", kernel)


def with_text(kernel, old, new):
    """The kernel with every instruction text `old` replaced by `new` (dropped when None)."""
    blocks = []
    changed = 0
    for block in kernel.blocks:
        body = []
        for instruction in block.instructions:
            if not print_instruction(instruction).startswith(old):
                body.append(instruction)
                continue
            changed += 1
            if new is not None:
                edited = parse_line(print_instruction(instruction).replace(old, new))
                body.append(replace(edited, uid=instruction.uid, offset=instruction.offset))
        blocks.append(replace(block, instructions=tuple(body)))
    assert changed
    return replace(kernel, blocks=tuple(blocks))


def test_the_original_equals_itself(original):
    kernel, dispatches = original
    verdict = compare(kernel, kernel, dispatches)
    assert verdict.outcome is Outcome.TESTED
    assert "whole groups, ragged" in verdict.basis[0].detail


def test_a_wrong_value_is_refuted_with_both_numbers(original):
    kernel, dispatches = original
    verdict = compare(kernel, with_text(kernel, "v_add_f32_e32", "v_sub_f32_e32"), dispatches)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.counterexample.where.startswith("partial+0x")
    assert verdict.counterexample.before != verdict.counterexample.after


@pytest.mark.parametrize("dropped", ["s_barrier", "s_waitcnt", "global_store_dword"])
def test_a_dropped_instruction_is_refuted(original, dropped):
    kernel, dispatches = original
    assert compare(kernel, with_text(kernel, dropped, None), dispatches).outcome is Outcome.REFUTED


def test_an_original_that_faults_decides_nothing(original):
    kernel, dispatches = original
    verdict = compare(with_text(kernel, "s_barrier", None), kernel, dispatches)
    assert verdict.outcome is Outcome.ERROR
    # Without the barriers a wave reads LDS that another has not written yet, or is writing: which of the two is met first
    # depends on the order of waves. Both name the same read.
    assert any(f"{kind} at" in verdict.reason for kind in ("race", "uninitialised-memory"))
