"""Every s_waitcnt of the shipped kernels weakened by one, every s_barrier removed: refuted, or proved not to be needed."""

from dataclasses import replace

import pytest

from asmevo.ir.instruction import WaitCounts
from asmevo.ir.isa.model import IssueClass
from asmevo.verify.judge import Judge, Level
from asmevo.verify.verdict import Outcome

FIELDS = {"vmcnt": 63, "lgkmcnt": 15}


def replaced(kernel, label, instructions):
    blocks = tuple(replace(b, instructions=tuple(instructions)) if b.label == label else b for b in kernel.blocks)
    return replace(kernel, blocks=blocks)


def weakened_waits(kernel):
    """(what, mutant) of each counter of each wait outside frozen blocks, one count weaker."""
    for block in kernel.blocks:
        if block.frozen:
            continue
        for index, instruction in enumerate(block.instructions):
            if instruction.definition is None or instruction.mnemonic != "s_waitcnt":
                continue
            counts = instruction.operands[0]
            assert isinstance(counts, WaitCounts)
            for field, none in FIELDS.items():
                value = getattr(counts, field)
                if value is None:
                    continue
                weaker = replace(counts, **{field: value + 1 if value + 1 < none else None})
                body = list(block.instructions)
                body[index] = instruction.edited(operands=(weaker,))
                yield f"{block.label}[{index}] {field}({value})", replaced(kernel, block.label, body)


def removed_barriers(kernel):
    """(what, mutant) of each s_barrier outside frozen blocks, removed."""
    for block in kernel.blocks:
        for index, instruction in enumerate(block.instructions):
            definition = instruction.definition
            if not block.frozen and definition is not None and definition.issue is IssueClass.BARRIER:
                body = block.instructions[:index] + block.instructions[index + 1 :]
                yield f"{block.label}[{index}] s_barrier", replaced(kernel, block.label, body)


def test_unmutated_kernel_passes(shipped, shipped_name):
    _, _, kernel, dispatches = shipped[shipped_name]
    assert Judge(Level.EMULATE, dispatches)(kernel, kernel).outcome.is_success


def test_no_weakened_wait_is_passed_silently(shipped, shipped_name):
    _, _, kernel, dispatches = shipped[shipped_name]
    judge = Judge(Level.EMULATE, dispatches)
    silent = []
    mutants = list(weakened_waits(kernel))
    assert mutants
    for what, mutant in mutants:
        if judge(kernel, mutant).outcome not in (Outcome.REFUTED, Outcome.PROVED):
            silent.append(what)
    assert silent == []


def test_no_removed_barrier_is_passed_silently(shipped, shipped_name):
    _, _, kernel, dispatches = shipped[shipped_name]
    mutants = list(removed_barriers(kernel))
    if not mutants:
        pytest.skip(f"{shipped_name} has no barrier")
    judge = Judge(Level.EMULATE, dispatches)
    outcomes = {what: judge(kernel, mutant).outcome for what, mutant in mutants}
    assert [what for what, outcome in outcomes.items() if outcome not in (Outcome.REFUTED, Outcome.PROVED)] == []
    assert Outcome.REFUTED in outcomes.values()
