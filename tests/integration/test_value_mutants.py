"""Shipped kernels with a comparison or a sign slightly wrong: the launches they are shipped with tell."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from asmevo.ir.instruction import Register
from asmevo.ir.isa import lookup
from asmevo.ir.registers import RegisterFile
from asmevo.verify.differential import compare
from asmevo.verify.verdict import Outcome

EQUIVALENT = {
    # Halving the last 32 sums: the lane past the edge only spoils its own sum, which nobody reads any more.
    "reduce_sum": Counter({"v_cmp_gt_u32_e32": 5}),
    # 2 to the power of -126 is the same with and without the detour for denormals.
    "softmax": Counter({"v_cmp_gt_f32_e32": 1, "v_cmp_gt_f32_e64": 3}),
    # Whether there is anything to multiply: the depth is a multiple of 32, and a launch cannot have empty buffers.
    "matmul_fp16": Counter({"s_cmp_gt_i32": 1}),
    "matmul_256x128": Counter({"s_cmp_gt_i32": 1}),
    "attention_fwd": Counter({"s_cmp_gt_i32": 2}),
}
SIGNED = {
    "vector_add": "v_add",
    "reduce_sum": "v_add",
    "softmax": "v_sub",
    "layer_norm": "v_sub",
}
"""Kinds of instruction whose operands have both signs, by kernel."""


def code(kernel):
    return [(block, index, ins) for block in kernel.blocks if not block.frozen for index, ins in enumerate(block.instructions)]


def mutant(kernel, block, index, instruction):
    body = (*block.instructions[:index], instruction, *block.instructions[index + 1 :])
    blocks = tuple(replace(b, instructions=body) if b is block else b for b in kernel.blocks)
    return replace(kernel, blocks=blocks)


def passes(kernel, changed, dispatches):
    """Whether the mutant passes every launch: edges first, they tell soonest."""
    outcome = compare(kernel, changed, dispatches[::-1], seeds=(0,)).outcome
    assert outcome in (Outcome.TESTED, Outcome.REFUTED)
    return outcome is Outcome.TESTED


def test_greater_or_equal_for_greater_is_refuted(shipped, shipped_name):
    _, _, kernel, dispatches = shipped[shipped_name]
    passed = Counter()
    for block, index, instruction in code(kernel):
        if "_gt_" not in instruction.mnemonic:
            continue
        name = instruction.mnemonic.replace("_gt_", "_ge_")
        definition = lookup(re.sub(r"_e(32|64)$", "", name))
        assert definition is not None
        wrong = replace(instruction.edited(), mnemonic=name, definition=definition)
        passed[instruction.mnemonic] += passes(kernel, mutant(kernel, block, index, wrong), dispatches)
    assert +passed == EQUIVALENT.get(shipped_name, Counter())


@pytest.mark.parametrize("name", SIGNED)
def test_an_absolute_value_too_many_is_refuted(shipped, name):
    _, _, kernel, dispatches = shipped[name]
    tried = 0
    for block, index, instruction in code(kernel):
        if not re.match(rf"{SIGNED[name]}_f32", instruction.mnemonic):
            continue
        for place, operand in enumerate(instruction.operands[1:], 1):
            if not isinstance(operand, Register) or operand.range.file is not RegisterFile.VGPR:
                continue
            operands = list(instruction.operands)
            operands[place] = replace(operand, absolute=True)
            wrong = mutant(kernel, block, index, instruction.edited(operands=tuple(operands)))
            assert not passes(kernel, wrong, dispatches), f"{block.label}[{index}] operand {place}"
            tried += 1
    assert tried >= 4
