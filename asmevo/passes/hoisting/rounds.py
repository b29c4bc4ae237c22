"""Several rounds of a loop as one: the loads of the later ones run first, each under its round's lanes.

Owns the making of the unrolled block. The loop is one block that goes on while a lane is active; a round that begins without
one must change nothing, which holds where all that it writes is a lane's or is of no use behind the loop. That is the judge's
to prove.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asmevo.ir.analysis.dataflow.facts import reads_any_lane
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import Effects, effects
from asmevo.ir.instruction import Instruction, Register
from asmevo.ir.isa.model import Flag, IssueClass
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import AGPR_MASK, EXEC, EXEC_MASK, RegisterRange, units
from asmevo.passes.hoisting.naming import Renaming, copy_of, copy_to, free_run, given, groups, made, renamable
from asmevo.passes.hoisting.stretch import is_plain_load, stops_loads

_COMPUTING = frozenset({IssueClass.SALU, IssueClass.VALU, IssueClass.TRANS})
_NARROWING = frozenset({"s_andn2_b64", "s_and_b64"})


@dataclass(frozen=True, slots=True)
class Round:
    """A loop's round. `loads` are positions of its loads, `narrows` is that of the one instruction that writes EXEC."""

    label: str
    body: tuple[Instruction, ...]
    effects: tuple[Effects, ...]
    loads: tuple[int, ...]
    narrows: int

    @property
    def first_free(self) -> int:
        """The position behind the last load."""
        return self.loads[-1] + 1

    @classmethod
    def of(cls, block: Block) -> Round | None:
        """None for another kind of loop, and where something in it orders memory."""
        if block.frozen or len(block.successors) != 2 or block.successors[0] != block.label:
            return None
        if block.successors[1] == block.label or block.instructions[-1].mnemonic != "s_cbranch_execnz":
            return None
        body = block.instructions[:-1]
        touched = tuple(map(effects, body))
        loads = tuple(n for n, member in enumerate(body) if is_plain_load(member))
        narrowing = [n for n, effect in enumerate(touched) if effect.writes & EXEC_MASK]
        if not loads or len(narrowing) != 1 or narrowing[0] < loads[-1] or not _narrows(body[narrowing[0]]):
            return None
        if any(stops_loads(member) for n, member in enumerate(body) if n not in loads):
            return None
        return cls(block.label, body, touched, loads, narrowing[0])


def _narrows(member: Instruction) -> bool:
    """Whether it leaves a part of the active lanes active, by a mask that stands in a register."""
    target, *sources = member.operands
    if member.mnemonic not in _NARROWING or not isinstance(target, Register) or target.range.unit != EXEC:
        return False
    kept = sources[0]
    return isinstance(kept, Register) and kept.range.unit == EXEC


@dataclass(frozen=True, slots=True)
class _Ahead:
    """What runs ahead of a round: (round, position) in order, and the units that it reads before it writes them."""

    steps: tuple[tuple[int, int], ...]
    exposed: int

    @classmethod
    def of(cls, one: Round, rounds: int) -> _Ahead | None:
        """The loads of the rounds behind the first, and all arithmetic that makes their addresses and lanes.

        None when something else makes them, an earlier round's data for instance.
        """
        needed = 0
        found: list[tuple[int, int]] = []
        for later in range(rounds - 1, -1, -1):
            for position in range(len(one.body) - 1, -1, -1):
                effect = one.effects[position]
                if later == 0 and position < one.first_free:
                    break
                if later == rounds - 1 and position > one.loads[-1]:
                    continue
                if position in one.loads:
                    if effect.writes & needed:
                        return None
                elif position != one.narrows:
                    if not effect.writes & needed:
                        continue
                    if not _is_arithmetic(one.body[position], effect):
                        return None
                    needed &= ~effect.writes
                needed |= effect.reads & ~EXEC_MASK
                found.append((later, position))
        return cls(tuple(reversed(found)), needed)


def _is_arithmetic(member: Instruction, effect: Effects) -> bool:
    definition = member.definition
    if definition is None or definition.issue not in _COMPUTING or Flag.FIXED in definition.flags:
        return False
    return not reads_any_lane(member) and not effect.writes & (AGPR_MASK | EXEC_MASK)


def unrolled(analyses: AnalysisManager, kernel: Kernel, one: Round, rounds: int) -> tuple[Instruction, ...] | None:
    """The loop's body with `rounds` rounds, without its branch and without the waits that it needs anew; None: no registers."""
    names = _Shadows.of(analyses, kernel, one, rounds)
    if names is None:
        return None
    body = [*one.body[: one.first_free], *names.ahead(), *one.body[one.first_free :]]
    for later in range(1, rounds):
        body += names.round(later)
    return tuple(body)


@dataclass(frozen=True, slots=True)
class _Shadows:
    """Registers in which addresses and lanes run ahead, and by round and load where the data wait."""

    one: Round
    steps: tuple[tuple[int, int], ...]
    renaming: Renaming
    copied: tuple[tuple[int, int], ...]
    data: tuple[dict[int, int], ...]
    kept_exec: int

    @classmethod
    def of(cls, analyses: AnalysisManager, kernel: Kernel, one: Round, rounds: int) -> _Shadows | None:
        ahead = _Ahead.of(one, rounds)
        if ahead is None:
            return None
        liveness = analyses.get(Liveness)
        live = liveness.live_before(one.label, one.first_free)
        taken = live | liveness.live_in[one.label] | liveness.live_out[one.label]
        for effect in one.effects:
            taken |= effect.reads | effect.writes
        positions = sorted({position for _, position in ahead.steps})
        members = [one.body[n] for n in positions]
        written = 0
        for n in positions:
            written |= one.effects[n].writes & ~EXEC_MASK if n not in one.loads else 0
        named = renamable([one.body[n] for n in positions if n not in one.loads])
        if written & ~named & live:
            return None
        may_name = given(kernel, analyses)
        data: list[dict[int, int]] = []
        for _ in range(rounds - 1):
            waiting: dict[int, int] = {}
            for load in one.loads:
                target = one.body[load].operands[0]
                assert isinstance(target, Register)
                first = free_run(taken, may_name, target.range.unit, target.range.count)
                if first is None:
                    return None
                waiting[load] = first
                taken |= RegisterRange(first, target.range.count).mask
            data.append(waiting)
        chosen: dict[int, int] = {}
        for group in groups(members, written & named):
            first = free_run(taken, may_name, group.unit, group.count)
            if first is None:
                return None
            taken |= RegisterRange(first, group.count).mask
            chosen.update((group.unit + n, first + n) for n in range(group.count))
        kept_exec = free_run(taken, may_name, 0, 2)
        if kept_exec is None:
            return None
        renaming = Renaming(chosen, written & named)
        copied = tuple((unit, chosen[unit]) for unit in units(ahead.exposed) if unit in chosen)
        return cls(one, ahead.steps, renaming, copied, tuple(data), kept_exec)

    def ahead(self) -> list[Instruction]:
        """The later rounds' loads, and what they need."""
        exec_, kept = Register(RegisterRange(EXEC, 2)), Register(RegisterRange(self.kept_exec, 2))
        run = [copy_to(target, source) for source, target in self.copied]
        run.append(made("s_mov_b64", kept, exec_))
        for later, position in self.steps:
            member = self.one.body[position]
            if position in self.one.loads:
                run.append(self.renaming.load(member, self.data[later - 1][position]))
            else:
                run.append(self.renaming.of(member))
        run.append(made("s_mov_b64", exec_, kept))
        return run

    def round(self, later: int) -> Iterator[Instruction]:
        """A later round: its data are there before they are touched."""
        waiting = dict(self.data[later - 1])
        for position, member in enumerate(self.one.body):
            effect = self.one.effects[position]
            for load in list(waiting):
                target = self.one.body[load].operands[0]
                assert isinstance(target, Register)
                touched = (effect.reads | effect.writes) & target.range.mask
                if position > load and (touched or position == self.one.narrows):
                    first = waiting.pop(load)
                    yield from (copy_to(target.range.unit + n, first + n) for n in range(target.range.count))
            if position not in self.one.loads:
                yield copy_of(member)
