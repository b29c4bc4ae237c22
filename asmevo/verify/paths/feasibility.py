"""Whether a path through a kernel can be taken: the conditions of its branches, put together.

Owns one path at a time: the scalar instructions that decide its branches are executed on symbols, by the same semantics as
everywhere, and z3 is asked whether all conditions can hold. Where a path begins, nothing is known but the low bits and ranges
that hold there on every way in; when that does not rule it out, every way of getting there is tried, some blocks back.

Sound in one direction: a path said to be impossible is impossible, for any launch that the descriptor and the metadata allow
(`ir.analysis.values.entry` lists what that takes for granted). One said to be possible may still not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from asmevo.frontend.lowering import indirect_instructions
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.values.fixpoint import Values
from asmevo.ir.cfg import predecessors, reachable
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import FLAT_SCRATCH, units
from asmevo.verify.equivalence.machine import Machine, initial
from asmevo.verify.equivalence.terms import Term, cone
from asmevo.verify.equivalence.window import semantics
from asmevo.verify.paths.condition_slices import ConditionSlices
from asmevo.verify.paths.low_bits import Known, low_bits
from asmevo.verify.paths.scalar_steps import ScalarBlocks, ScalarStep, fresh_machine
from asmevo.verify.static.wait_paths import Answer, Pair, Path

_EFFORT = 3_000_000
"""z3 resource units for one slice of a path's conditions, about a second."""

_SGPRS = (1 << FLAT_SCRATCH) - 1


class PathFeasibility:
    """Judges paths of one kernel, a `PathJudge`; `analyses` are the kernel's, where some are known already.

    `ways_back` bounds how many longer paths are tried before one is called possible, `blocks_back` how much longer they are;
    `queries` is what z3 may be asked in all: beyond that every answer is UNKNOWN.
    """

    def __init__(
        self,
        kernel: Kernel,
        analyses: AnalysisManager | None = None,
        *,
        ways_back: int = 64,
        blocks_back: int = 8,
        queries: int = 400,
    ) -> None:
        self._kernel = kernel
        self._roots = frozenset(kernel.roots)
        self._ways_back = ways_back
        self._blocks_back = blocks_back
        self._queries = queries
        reached = reachable(kernel)
        self._before = {k: tuple(p for p in v if p in reached) for k, v in predecessors(kernel).items()}
        self._blocks = ScalarBlocks(kernel, semantics())
        self._analyses = analyses or AnalysisManager(kernel)
        self._solver = ConditionSlices(_EFFORT)
        self._known: dict[Path, bool | None] = {}
        # Jumps to computed addresses: the blocks do not name every way in.
        self._is_open = bool(indirect_instructions(kernel.instructions()))

    @cached_property
    def _low_bits(self) -> dict[str, dict[int, Known]]:
        return low_bits(self._kernel, self._blocks)

    def rules_out(self, path: Path) -> bool:
        """Whether the conditions on the path contradict each other, whatever came before it."""
        return self._possible(path) is False

    def judge(self, path: Path, met: Sequence[Pair]) -> Answer:
        """POSSIBLE when the path, or one with some blocks before it, is not ruled out; UNKNOWN when a bound was hit."""
        first = self._possible(path)
        if first is not True or self._is_open:
            return Answer.UNKNOWN if first is None else Answer.POSSIBLE if first else Answer.IMPOSSIBLE
        # Mostly the path is possible, and one long way back shows it at once.
        if any(self._possible(self._straight_back(path, end)) for end in (0, -1)):
            return Answer.POSSIBLE
        ways = self._ways_back
        stack = [path]
        while stack:
            current = stack.pop()
            if current[0] in self._roots or len(current) - len(path) >= self._blocks_back:
                return Answer.POSSIBLE
            for label in self._before[current[0]]:
                longer = (label, *current)
                ways -= 1
                possible = self._possible(longer) if ways >= 0 else None
                if possible is None:
                    return Answer.UNKNOWN
                if possible:
                    stack.append(longer)
        return Answer.IMPOSSIBLE

    def _straight_back(self, path: Path, which: int) -> Path:
        """The path with as many blocks before it as are tried, by one predecessor each time."""
        longer = path
        while longer[0] not in self._roots and len(longer) - len(path) < self._blocks_back:
            longer = (self._before[longer[0]][which], *longer)
        return longer

    def _possible(self, path: Path) -> bool | None:
        if self._is_open:
            return True
        if path not in self._known:
            self._known[path] = self._solve(path)
        return self._known[path]

    def _solve(self, path: Path) -> bool | None:
        machine = fresh_machine()
        conditions: list[Term] = []
        steps, needed = self._relevant(path)
        for at, (label, following) in enumerate(pairwise(path)):
            self._blocks.run(machine, steps[at], at)
            condition = self._blocks.condition(machine, label, following)
            if condition is None or condition.op == "const":
                if condition is not None and not condition.value:
                    return False
                continue
            conditions.append(condition)
        if not conditions:
            return True
        if self._queries <= 0:
            return None
        self._queries -= 1
        facts = self._facts(machine, path[0], needed, conditions)
        return self._solver.satisfiable([*conditions, *facts])

    def _relevant(self, path: Path) -> tuple[list[list[ScalarStep]], int]:
        """Each block's instructions that a later branch rests on, the last block left out; and the units needed at entry."""
        needed = 0
        slices: list[list[ScalarStep]] = []
        for label in reversed(path[:-1]):
            needed |= self._blocks.tested_units(label)
            kept: list[ScalarStep] = []
            for step in reversed(self._blocks.steps(label)):
                if step.writes & needed:
                    kept.append(step)
                    needed &= ~step.kills
                    needed |= step.reads if step.is_followed else 0
            slices.append(kept[::-1])
        return slices[::-1], needed

    def _facts(self, machine: Machine, label: str, needed: int, conditions: list[Term]) -> list[Term]:
        """What is known at the entry of `label` of the registers that the conditions name."""
        used = {term.ident for term in cone(conditions)}
        n = machine.normaliser
        facts: list[Term] = []
        values = self._analyses.get(Values)
        state = values.entries[label]
        low = self._low_bits[label]
        for unit in units(needed & _SGPRS):
            term = initial(n, unit)
            if term.ident not in used:
                continue
            value = values.reader.unit(state, unit)
            count, bits = low.get(unit, (0, 0))
            zeros, ones = value.zeros | ((1 << count) - 1) & ~bits, value.ones | bits
            if zeros | ones:
                facts.append(n.make("eq", 1, (n.make("and", 32, (term, n.const(32, zeros | ones))), n.const(32, ones))))
            if value.low:
                facts.append(n.make("not", 1, (n.make("ult", 1, (term, n.const(32, value.low))),)))
            if value.high < (1 << 32) - 1:
                facts.append(n.make("not", 1, (n.make("ult", 1, (n.const(32, value.high), term)),)))
        return [fact for fact in facts if fact.op != "const"]
