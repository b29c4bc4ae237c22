"""Why a mutant that was proved is no mistake of the proof: the reason, checked on the terms of both windows.

Owns the list of reasons. None is taken from what was changed; each is tested.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction
from asmevo.ir.registers import units
from asmevo.verify.equivalence.execute import NO_EFFECT, Executor
from asmevo.verify.equivalence.machine import Machine
from asmevo.verify.equivalence.memory import kept_modifiers
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.terms import Term
from asmevo.verify.equivalence.window import differences, semantics, text_of
from tools.equivalence.windows import CutWindow, is_quiet

TIMING = "only waits, nops, priorities or cache hints differ"
ORDER = "the same instructions in an order that keeps every value"
DEAD = "both windows end the same without the changed instructions: nothing needs what they compute"
SAME = "the changed instructions compute the same values"
REPEATED = "the added instruction writes what is there already"
NORMAL = "the values differ on the way, and are the same at the end by the normal form"
SOLVER = "the values at the end are different terms, equal by z3"


@dataclass(frozen=True, slots=True, eq=False)
class _Written:
    """An instruction, and for each unit and memory that it changes what was there and what it leaves."""

    instruction: Instruction
    text: object
    changes: tuple[tuple[int | str, Term, Term], ...]


def reason(window: CutWindow, edited: Sequence[Instruction], live_out: int) -> str:
    """Return the first reason of the list that holds."""
    if _speaking(window.instructions) == _speaking(edited):
        return TIMING
    normaliser = Normaliser()
    machines = Machine(normaliser), Machine(normaliser)
    before, after = (_run(part, m, window.target) for part, m in zip((window.instructions, edited), machines, strict=True))
    if differences(machines, live_out):
        return SOLVER
    old, new = Counter(w.text for w in before), Counter(w.text for w in after)
    if old == new:
        return ORDER
    choices = list(itertools.product(_choices(before, old - new), _choices(after, new - old)))
    for removed, added in choices:
        if not removed and all(was is value for w in added for _, was, value in w.changes):
            return REPEATED
    for removed, added in choices:
        rest = Machine(normaliser), Machine(normaliser)
        for machine, part, left_out in zip(rest, (before, after), (removed, added), strict=True):
            _run([w.instruction for w in part if w not in left_out], machine, window.target)
        if not differences((machines[0], rest[0]), live_out) and not differences((machines[1], rest[1]), live_out):
            return DEAD
    removed, added = choices[0]
    if Counter(v for w in removed for _, _, v in w.changes) == Counter(v for w in added for _, _, v in w.changes):
        return SAME
    return NORMAL


def _speaking(window: Sequence[Instruction]) -> list[object]:
    """The texts of a window's instructions without what changes only when things happen."""
    return [(i.mnemonic, i.operands, kept_modifiers(i)) for i in window if not is_quiet(i) and i.mnemonic not in NO_EFFECT]


def _run(window: Sequence[Instruction], machine: Machine, target: str) -> list[_Written]:
    executor = Executor(machine, semantics(target))
    out: list[_Written] = []
    for i in window:
        written = list(units(effects(i).writes))
        was = [machine.unit(u) for u in written]
        memories = dict(machine.memories)
        executor.run(i)
        changes: list[tuple[int | str, Term, Term]] = [(u, old, machine.unit(u)) for u, old in zip(written, was, strict=True)]
        changes += [(space, old, machine.memories[space]) for space, old in memories.items()]
        out.append(_Written(i, text_of(i), tuple(c for c in changes if c[1] is not c[2] or isinstance(c[0], int))))
    return out


def _choices(window: list[_Written], counts: Counter[object]) -> list[list[_Written]]:
    """The instructions of these texts: of one, each that it may have been; of several, the last ones."""
    if counts.total() == 1:
        return [[written] for written in window if counts[written.text]]
    left = Counter(counts)
    found: list[_Written] = []
    for written in reversed(window):
        if left[written.text] > 0:
            left[written.text] -= 1
            found.append(written)
    return [found]
