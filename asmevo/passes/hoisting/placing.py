"""The edit that runs loads earlier: names for what they need, copies at the old place, waits and wait states.

Owns the choice of free registers and the making of the new blocks. What is needed and whether it may move is told by `slices`.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.needed import WaitState
from asmevo.ir.effects import effects
from asmevo.ir.instruction import Immediate, Instruction, Register
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import EXEC, SCC, RegisterRange
from asmevo.ir.rewriter import Rewriter
from asmevo.passes.fillers import Fillers
from asmevo.passes.hoisting.naming import Renaming, copy_to, free_run, given, groups, made, renamable
from asmevo.passes.hoisting.slices import Guard, Slice
from asmevo.passes.hoisting.stretch import Stretch
from asmevo.passes.wait_states import AllowedShortfalls, with_nops

_MOST_WAITS = 16
"""How many waits a move may add; one that needs more is given up."""
_EXEC = Register(RegisterRange(EXEC, 2))


def moved(
    analyses: AnalysisManager,
    kernel: Kernel,
    stretch: Stretch,
    found: Slice,
    position: int,
    wait: int | None,
    allowed: AllowedShortfalls,
) -> Kernel | None:
    """`kernel` with the loads of `found` at `position` of the stretch's start, and copies of their data behind its wait.

    `wait` is the uid of the wait in the stretch's last block behind which the data are copied; without one that is done at the
    block's end. None when registers do not suffice or wait states cannot be kept.
    """
    names = _Names.of(kernel, analyses, stretch, found, position)
    if names is None:
        return None
    rewriter = Rewriter(kernel)
    rewriter.insert(stretch.start, position, names.group(found))
    loads = {load.uid for load in found.loads}
    members: list[Instruction] = []
    for member in rewriter.kernel.block(stretch.end).instructions:
        if member.uid not in loads:
            members.append(member)
        if member.uid == wait:
            members += names.copies(found)
    if wait is None:
        ends = bool(members) and members[-1].ends_block
        members[len(members) - ends : len(members) - ends] = names.copies(found)
    rewriter.replace_block_instructions(stretch.end, members)
    waiting = with_waits(rewriter.kernel, lacking(analyses, kernel))
    if waiting is None:
        return None
    rewriter = Rewriter(waiting)
    for label in (stretch.start, stretch.end):
        current = rewriter.kernel
        fillers = Fillers((), max(i.uid for i in current.instructions()) + 1)
        body = with_nops(current, allowed, label, current.block(label).instructions, fillers)
        if body is None:
            return None
        rewriter.replace_block_instructions(label, body)
    return rewriter.kernel


def lacking(analyses: AnalysisManager, kernel: Kernel) -> frozenset[tuple[str, int]]:
    """Label and uid of each instruction of the kernel that lacks a wait already."""
    missing = analyses.get(WaitState).missing()
    return frozenset((label, kernel.block(label).instructions[index].uid) for label, index, _ in missing)


def with_waits(kernel: Kernel, known: Set[tuple[str, int]]) -> Kernel | None:
    """The kernel with the waits that its instructions lack, but for those `known` to lack one; None when they do not settle."""
    for _ in range(_MOST_WAITS):
        found = AnalysisManager(kernel).get(WaitState).missing()
        missing = [item for item in found if (item[0], kernel.block(item[0]).instructions[item[1]].uid) not in known]
        if not missing:
            return kernel
        # One at a time: most others are then covered.
        label, index, counts = missing[0]
        rewriter = Rewriter(kernel)
        rewriter.insert(label, index, (made("s_waitcnt", counts),))
        kernel = rewriter.kernel
    return None


@dataclass(frozen=True, slots=True)
class _Names:
    """Names for what is computed and for each load's data; `kept_exec` is the pair that keeps EXEC."""

    renaming: Renaming
    copied: tuple[tuple[int, int], ...]
    """Units that a renamed operand also reads, with their new names: copied first."""
    data: dict[int, int]
    """By the uid of a load, the first unit of its data."""
    kept_exec: int

    @classmethod
    def of(cls, kernel: Kernel, analyses: AnalysisManager, stretch: Stretch, found: Slice, position: int) -> _Names | None:
        """None when a register is missing, or one that cannot be renamed is needed at `position`."""
        live = analyses.get(Liveness).live_before(stretch.start, position)
        outstanding = analyses.get(WaitState).pending_units(stretch.start, position)
        running = (*found.computed, *found.guarded)
        written = 0
        for member in running:
            written |= effects(member).writes
        if found.guard is Guard.MASK:
            written |= 1 << SCC
        named = renamable(running)
        if written & ~named & (live | found.inputs):
            return None
        taken = live | outstanding
        runs = groups((*running, *found.loads), written & named)
        # Outstanding data may be overwritten by other data: they come in order.
        through = live | found.inputs | _touched(analyses, stretch)
        elsewhere = _named(analyses)
        may_name = given(kernel, analyses)
        data: dict[int, int] = {}
        for load in found.loads:
            target = load.operands[0]
            assert isinstance(target, Register)
            like, count = target.range.unit, target.range.count
            # One that nothing else uses is never waited for where its branch was not taken.
            first = free_run(through | elsewhere, may_name, like, count) or free_run(through, may_name, like, count)
            if first is None:
                return None
            data[load.uid] = first
            through |= RegisterRange(first, target.range.count).mask
            taken |= RegisterRange(first, target.range.count).mask
        inputs = found.inputs
        # What is dead here keeps its name, unless a name next to it has to go with it.
        staying = [group for group in runs if not group.mask & (live | outstanding | inputs | taken)]
        for group in staying:
            taken |= group.mask
        # An input's register is read behind the new ones' first writes.
        taken |= inputs
        chosen: dict[int, int] = {}
        copied: list[tuple[int, int]] = []
        for group in runs:
            if group in staying:
                continue
            first = free_run(taken, may_name, group.unit, group.count)
            if first is None:
                return None
            taken |= RegisterRange(first, group.count).mask
            for offset, unit in enumerate(range(group.unit, group.unit + group.count)):
                chosen[unit] = first + offset
                if inputs >> unit & 1:
                    copied.append((unit, first + offset))
        kept_exec = free_run(taken, may_name, 0, 2) if found.guard is not Guard.NONE else 0
        return None if kept_exec is None else cls(Renaming(chosen, written & named), tuple(copied), data, kept_exec)

    def group(self, found: Slice) -> list[Instruction]:
        """What is put at the new place."""
        run = [copy_to(target, source) for source, target in self.copied]
        run += [self.renaming.of(member) for member in found.computed]
        kept = Register(RegisterRange(self.kept_exec, 2))
        zero = Immediate(0, "0")
        if found.guard is Guard.MASK:
            assert found.mask is not None
            run.append(made("s_and_saveexec_b64", kept, self.renaming.operand(found.mask)))
        elif found.guard is not Guard.NONE:
            run.append(made("s_mov_b64", kept, _EXEC))
            choices = (_EXEC, zero) if found.guard is Guard.SCC_SET else (zero, _EXEC)
            run.append(made("s_cselect_b64", _EXEC, *choices))
        run += [self.renaming.of(member) for member in found.guarded]
        run += [self.renaming.load(load, self.data[load.uid]) for load in found.loads]
        if found.guard is not Guard.NONE:
            run.append(made("s_mov_b64", _EXEC, kept))
        return run

    def copies(self, found: Slice) -> list[Instruction]:
        """What stands behind the wait at the old place: the data under their old names."""
        run: list[Instruction] = []
        for load in found.loads:
            target = load.operands[0]
            assert isinstance(target, Register)
            run += [copy_to(target.range.unit + n, self.data[load.uid] + n) for n in range(target.range.count)]
        return run


def _touched(analyses: AnalysisManager, stretch: Stretch) -> int:
    """Units that the stretch touches or that are needed at some place of it."""
    flow, table, liveness = analyses.get(Flow), analyses.get(EffectsTable), analyses.get(Liveness)
    found = 0
    for label in stretch.blocks:
        for effect in table.by_block[label]:
            found |= effect.reads | effect.writes
        if label != stretch.start:
            found |= liveness.live_in[label]
        if flow.blocks[label].instructions:
            found |= liveness.live_after(label, len(flow.blocks[label].instructions) - 1)
    return found


def _named(analyses: AnalysisManager) -> int:
    """All units that the kernel touches."""
    found = 0
    for block in analyses.get(EffectsTable).printed.values():
        for effect in block:
            found |= effect.reads | effect.writes
    return found
