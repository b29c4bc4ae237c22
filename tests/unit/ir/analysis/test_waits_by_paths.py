"""The wait fixpoint against following every path, on random small programs."""

import random
from dataclasses import replace

import pytest

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.needed import WaitNeeds, WaitState
from asmevo.ir.effects import effects
from asmevo.ir.instruction import WaitCounts
from asmevo.ir.isa.model import Counter, IssueClass, Space
from asmevo.ir.kernel import Kernel
from programs import kernel_of

PIECES = (
    "global_load_dword v{d}, v0, s[0:1]",
    "ds_read_b32 v{d}, v0",
    "s_load_dword s{e}, s[0:1], 0x0",
    "v_mov_b32_e32 v{d}, v{s}",
    "v_add_u32_e32 v{d}, s{e}, v{s}",
    "s_waitcnt vmcnt({n})",
    "s_waitcnt lgkmcnt({n})",
    "s_waitcnt vmcnt(0) lgkmcnt(0)",
)


def random_kernel(source: random.Random) -> Kernel:
    def body(length: int) -> list[str]:
        return [
            source.choice(PIECES).format(
                d=source.randrange(1, 5), s=source.randrange(1, 5), e=source.randrange(4, 6), n=source.choice((0, 0, 1, 2))
            )
            for _ in range(length)
        ]

    lines = ["entry:", *body(4), "s_cbranch_scc1 right", "left:", *body(3), "right:", *body(4)]
    if source.random() < 0.6:
        lines += ["s_cbranch_scc0 left"]
    return kernel_of("\n".join([*lines, "exit:", *body(3), "s_endpgm"]))


def faults_by_paths(kernel: Kernel, length: int = 9) -> set[int]:
    """Uids that touch a register whose load may be outstanding, on some path of at most `length` blocks."""
    found: set[int] = set()
    pending = [(kernel.roots[0], (), length)]
    while pending:
        label, state, left = pending.pop()
        for instruction in kernel.block(label).instructions:
            state = _step(state, instruction, found)
        if left:
            pending += [(successor, state, left - 1) for successor in kernel.block(label).successors]
    return found


def _step(state, instruction, found):
    """`state` holds (counter, kind, written units) of outstanding events, oldest first; nothing returns before it must."""
    definition, effect = instruction.definition, effects(instruction)
    if definition.issue is IssueClass.WAIT:
        wait = instruction.operands[0]
        for counter, count in ((Counter.VMCNT, wait.vmcnt), (Counter.LGKMCNT, wait.lgkmcnt)):
            mine = [event for event in state if event[0] is counter]
            in_order = len({event[1] for event in mine}) == 1 and mine[0][1] is not Space.SCALAR if mine else True
            if count is not None and len(mine) > count and (in_order or count == 0):
                done = mine[: len(mine) - count]
                state = tuple(event for event in state if all(event is not other for other in done))
        return state
    kind = definition.space if definition.counters else None
    for counter, other, units in state:
        returns_in_order = kind is other and kind is not Space.SCALAR and counter in definition.counters
        touched = effect.reads if returns_in_order else effect.reads | effect.writes
        if touched & units:
            found.add(instruction.uid)
    for counter in definition.counters:
        state = (*state, (counter, kind, effect.writes))
    return state


@pytest.mark.parametrize("seed", range(150))
def test_missing_waits_are_those_that_some_path_lacks(seed):
    kernel = random_kernel(random.Random(seed))
    found = {kernel.block(label).instructions[i].uid for label, i, _ in AnalysisManager(kernel).get(WaitState).missing()}
    by_paths = faults_by_paths(kernel)
    # The fixpoint joins paths, so it may say more where streams mix, never less.
    assert by_paths <= found
    if not any("s_load" in i.mnemonic for i in kernel.instructions()):
        assert by_paths == found


@pytest.mark.parametrize("seed", range(150))
def test_relaxed_waits_add_no_fault_on_any_path(seed):
    kernel = random_kernel(random.Random(seed))
    relaxed = AnalysisManager(kernel).get(WaitNeeds).by_site
    blocks = []
    for block in kernel.blocks:
        changed = []
        for index, instruction in enumerate(block.instructions):
            wait = relaxed.get((block.label, index))
            if wait is None:
                changed.append(instruction)
            elif wait != WaitCounts():
                changed.append(replace(instruction, operands=(wait,)))
        blocks.append(replace(block, instructions=tuple(changed)))
    assert faults_by_paths(replace(kernel, blocks=tuple(blocks))) <= faults_by_paths(kernel)
