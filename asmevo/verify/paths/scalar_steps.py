"""Blocks as scalar programs: what a block does to scalar registers, as terms of what they held before.

Owns which instructions are followed (those of the SALU that have semantics) and which make a register unknown (all others that
write a scalar: loads, comparisons by the vector unit, lane reads). It decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import IssueClass
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import EXEC, SCC, VCC, VGPR0, units
from asmevo.verify.equivalence.execute import Executor, Programs, UnmodelledError, refusal
from asmevo.verify.equivalence.machine import Machine
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.terms import Term

SCALARS = (1 << VGPR0) - 1
_CONDITIONS = {
    "s_cbranch_scc0": (SCC, 1, 0),
    "s_cbranch_scc1": (SCC, 1, 1),
    "s_cbranch_vccz": (VCC, 2, 0),
    "s_cbranch_vccnz": (VCC, 2, 1),
    "s_cbranch_execz": (EXEC, 2, 0),
    "s_cbranch_execnz": (EXEC, 2, 1),
}
"""Mnemonic to the units tested, and whether the branch is taken when they are zero (0) or not (1)."""


@dataclass(frozen=True, slots=True)
class ScalarStep:
    """An instruction that writes scalars: unit sets, and whether it is followed or only makes them unknown."""

    instruction: Instruction
    reads: int
    writes: int
    kills: int
    is_followed: bool


class ScalarBlocks:
    """The blocks of one kernel, each compiled once."""

    def __init__(self, kernel: Kernel, programs: Programs) -> None:
        self._blocks = {block.label: block for block in kernel.blocks}
        self._programs = programs
        self._steps: dict[str, tuple[ScalarStep, ...]] = {}

    def block(self, label: str) -> Block:
        """The block with this label."""
        return self._blocks[label]

    def steps(self, label: str) -> tuple[ScalarStep, ...]:
        """The instructions of a block that write scalars, in order."""
        found = self._steps.get(label)
        if found is None:
            found = self._steps[label] = tuple(
                step for i in self._blocks[label].instructions if (step := self._step(i)) is not None
            )
        return found

    def run(self, machine: Machine, steps: Sequence[ScalarStep], where: int) -> None:
        """Execute steps; `where` tells apart the unknowns of different runs on one machine."""
        executor = Executor(machine, self._programs)
        for index, step in enumerate(steps):
            if step.is_followed:
                try:
                    executor.run(step.instruction)
                    continue
                except UnmodelledError:
                    pass  # not followed after all: what it writes is unknown, as below
            for unit in units(step.writes):
                bits = 1 if unit == SCC else 32
                machine.units[unit] = machine.normaliser.table.node("var", bits, (), ("unknown", where, index, unit))

    def condition(self, machine: Machine, label: str, following: str) -> Term | None:
        """What holds (1 bit) when `following` comes after `label`; None when that says nothing. The block has been run."""
        block = self._blocks[label]
        last = block.instructions[-1] if block.instructions else None
        tested = None if last is None else _CONDITIONS.get(last.mnemonic)
        if tested is None or len(set(block.successors)) != 2:
            return None
        unit, count, taken_when_set = tested
        n = machine.normaliser
        value = machine.unit(unit) if count == 1 else machine.pair(unit)
        is_zero = n.make("eq", 1, (value, n.const(value.bits, 0)))
        is_taken = following == block.successors[0]
        return n.make("not", 1, (is_zero,)) if is_taken == bool(taken_when_set) else is_zero

    def tested_units(self, label: str) -> int:
        """The units that the branch at the end of a block tests."""
        instructions = self._blocks[label].instructions
        tested = _CONDITIONS.get(instructions[-1].mnemonic) if instructions else None
        return 0 if tested is None else ((1 << tested[1]) - 1) << tested[0]

    def _step(self, i: Instruction) -> ScalarStep | None:
        touched = effects(i)
        writes = touched.writes & SCALARS
        if not writes:
            return None
        definition = i.definition
        follows = definition is not None and definition.issue is IssueClass.SALU and refusal(i, self._programs) is None
        return ScalarStep(i, touched.reads & SCALARS, writes, touched.kills & writes, follows)


def fresh_machine() -> Machine:
    """A machine of which nothing is known, with a table of terms of its own."""
    return Machine(Normaliser())
