"""Small changes of a window, drawn at random: the neighbourhood of stochastic search.

Owns the moves only. They keep what must stay in its place and the dependences of registers where that is cheap to see; whether
the result is right is judged elsewhere, and often it is not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Immediate, Instruction, Operand, Register, WaitCounts
from asmevo.ir.isa import definitions, lookup
from asmevo.ir.isa.model import Flag, IssueClass, OpcodeDef, Role
from asmevo.ir.registers import EXEC_MASK, RegisterFile, RegisterRange, units
from asmevo.passes.fillers import is_filler

_COMMUTATIVE = re.compile(r"[vs]_(pk_)?(add|mul|max|min|and|or|xor|fma|mad)_(?!co)")

Members = tuple[Instruction, ...]
Move = Callable[[Members, random.Random, str], Members | None]
"""The changed window, or None when the place that was drawn has none; the last argument is the target."""


def may_move(instruction: Instruction) -> bool:
    """Whether the instruction may change its place at all."""
    definition = instruction.definition
    if definition is None or definition.is_branch or definition.is_terminator:
        return False
    return is_filler(instruction) or (Flag.FIXED not in definition.flags and definition.issue is not IssueClass.BARRIER)


def are_independent(one: Instruction, other: Instruction) -> bool:
    """Whether no register says that the two must keep their order, and no memory does."""
    first, second = effects(one), effects(other)
    if first.writes & (second.reads | second.writes) or first.reads & second.writes:
        return False
    return not (_touches_memory(one) and _touches_memory(other))


def _touches_memory(instruction: Instruction) -> bool:
    return instruction.definition is not None and bool(instruction.definition.counters)


def shift(members: Members, source: random.Random, target: str) -> Members | None:
    """One instruction goes as far as it is independent of what it passes, or a part of the way."""
    del target
    place = source.randrange(len(members))
    moved = members[place]
    if not may_move(moved) or is_filler(moved):
        return None
    step = source.choice((-1, 1))
    end = place
    while 0 <= end + step < len(members) and abs(end - place) < 64:
        passed = members[end + step]
        # Behind a wait it finds as much done as before, in front of it perhaps not.
        is_passable = step > 0 and not _touches_memory(moved) if is_filler(passed) else are_independent(moved, passed)
        if not may_move(passed) or not is_passable:
            break
        end += step
    if end == place:
        return None
    goal = source.randint(min(place, end), max(place, end))
    rest = [*members[:place], *members[place + 1 :]]
    rest.insert(goal, moved)
    return tuple(rest)


def delay_wait(members: Members, source: random.Random, target: str) -> Members | None:
    """A wait goes behind what follows it, as long as that does not touch what is loaded; the check says if it does."""
    del target
    places = [n for n, i in enumerate(members[:-1]) if is_filler(i) and i.mnemonic == "s_waitcnt"]
    if not places:
        return None
    place = source.choice(places)
    goal = min(place + source.randint(1, 8), len(members) - 1)
    if not all(may_move(i) for i in members[place + 1 : goal + 1]):
        return None
    return (*members[:place], *members[place + 1 : goal + 1], members[place], *members[goal + 1 :])


def split_wait(members: Members, source: random.Random, target: str) -> Members | None:
    """A wait on two counters becomes two, of which the second may then be delayed."""
    del target
    places = [n for n, i in enumerate(members) if _counts(i) is not None and None not in (_counts(i).vmcnt, _counts(i).lgkmcnt)]  # type: ignore[union-attr]
    if not places:
        return None
    place = source.choice(places)
    counts = _counts(members[place])
    assert counts is not None
    first = members[place].edited(operands=(WaitCounts(vmcnt=counts.vmcnt),))
    second = Instruction("s_waitcnt", (WaitCounts(lgkmcnt=counts.lgkmcnt),), definition=lookup("s_waitcnt"))
    pair = (first, second) if source.random() < 0.5 else (second, first)
    return (*members[:place], *pair, *members[place + 1 :])


def relax_wait(members: Members, source: random.Random, target: str) -> Members | None:
    """A wait allows one operation more to be outstanding, or is no more made on one counter."""
    del target
    places = [n for n, i in enumerate(members) if _counts(i) is not None]
    if not places:
        return None
    place = source.choice(places)
    counts = _counts(members[place])
    assert counts is not None
    if source.random() < 0.5:
        weaker = replace(counts, vmcnt=None if counts.vmcnt is None or counts.vmcnt > 61 else counts.vmcnt + 1)
    else:
        weaker = replace(counts, lgkmcnt=None if counts.lgkmcnt is None or counts.lgkmcnt > 13 else counts.lgkmcnt + 1)
    if weaker == WaitCounts():
        return (*members[:place], *members[place + 1 :])
    return (*members[:place], members[place].edited(operands=(weaker,)), *members[place + 1 :])


def delete(members: Members, source: random.Random, target: str) -> Members | None:
    """One instruction less; nops and moves of registers mostly."""
    del target
    likely = [n for n, i in enumerate(members) if may_move(i) and (is_filler(i) or "_mov_" in i.mnemonic)]
    place = source.choice(likely) if likely and source.random() < 0.7 else source.randrange(len(members))
    if not may_move(members[place]):
        return None
    return (*members[:place], *members[place + 1 :])


def swap_sources(members: Members, source: random.Random, target: str) -> Members | None:
    """The first two sources change places."""
    del target
    place = source.randrange(len(members))
    chosen = members[place]
    if len(chosen.operands) < 3 or not _COMMUTATIVE.match(chosen.mnemonic):
        return None
    operands = list(chosen.operands)
    one, other = operands[1:3]
    if one == other or not isinstance(one, Register) or not isinstance(other, Register) or one.range.file != other.range.file:
        return None
    operands[1:3] = other, one
    return (*members[:place], chosen.edited(operands=tuple(operands)), *members[place + 1 :])


def sibling(members: Members, source: random.Random, target: str) -> Members | None:
    """Another opcode of the same unit that takes the same operands."""
    place = source.randrange(len(members))
    chosen = members[place]
    if chosen.definition is None or not may_move(chosen) or is_filler(chosen):
        return None
    suffix = chosen.mnemonic[len(chosen.definition.mnemonic) :]
    others = [d for d in _siblings(target).get(_shape(chosen.definition), ()) if d.mnemonic != chosen.definition.mnemonic]
    others = [d for d in others if d.encodings == chosen.definition.encodings]
    if not others:
        return None
    other = source.choice(others)
    made = replace(chosen, mnemonic=other.mnemonic + suffix, definition=other, encoding=None)
    return (*members[:place], made, *members[place + 1 :])


def other_operand(members: Members, source: random.Random, target: str) -> Members | None:
    """One operand becomes one of another instruction of the window."""
    del target
    place = source.randrange(len(members))
    chosen = members[place]
    if chosen.definition is None or not may_move(chosen) or not chosen.operands or is_filler(chosen):
        return None
    index = source.randrange(len(chosen.operands))
    donor = source.choice(members)
    fitting = [o for o in donor.operands if _is_like(o, chosen.operands[index])]
    if not fitting:
        return None
    operands = (*chosen.operands[:index], source.choice(fitting), *chosen.operands[index + 1 :])
    return (*members[:place], chosen.edited(operands=operands), *members[place + 1 :])


KEEPING: tuple[Move, ...] = (shift, shift, shift, split_wait, swap_sources)
"""Moves that mostly keep what the window does."""
DARING: tuple[Move, ...] = (relax_wait, delay_wait, delete, sibling, other_operand)
"""Moves that mostly do not."""


def renamed(members: Members, place: int, free: int, kept: int) -> Members | None:
    """The value that the instruction at `place` writes, in another register from there to its last use.

    `free` are units that nothing in the window uses and that hold nothing needed; `kept` are those needed behind the window.
    None when the destination is no plain vector register, may live on, or no range of free ones fits.
    """
    chosen = members[place]
    written = _destination(chosen)
    if written is None:
        return None
    last = _end_of_life(members, place, written, kept)
    fresh = _free_range(written, free)
    if last is None or fresh is None:
        return None
    changed = list(members)
    changed[place] = _with_register(chosen, written, fresh, (Role.WRITE,))
    if effects(changed[place]).reads != effects(chosen).reads:
        return None  # it keeps a part of what was there
    for number in range(place + 1, last + 1):
        if effects(members[number]).reads & written.mask:
            changed[number] = _with_register(members[number], written, fresh, (Role.READ,))
            if effects(changed[number]).reads & written.mask:
                return None
    return tuple(changed)


def _destination(instruction: Instruction) -> RegisterRange | None:
    definition = instruction.definition
    if (
        definition is None
        or not definition.operands
        or definition.operands[0].role is not Role.WRITE
        or not instruction.operands
    ):
        return None
    operand = instruction.operands[0]
    if not isinstance(operand, Register) or operand.range.file is not RegisterFile.VGPR:
        return None
    return operand.range if effects(instruction).writes & operand.range.mask == operand.range.mask else None


def _end_of_life(members: Members, place: int, written: RegisterRange, kept: int) -> int | None:
    """The last instruction that reads the value; None when it may live beyond the window or is changed in part.

    Lanes that are switched off keep what they had, so that another value ends this one's life only under the same EXEC.
    """
    last = place
    for number in range(place + 1, len(members)):
        effect = effects(members[number])
        if effect.reads & written.mask:
            last = number
        if effect.writes & written.mask == written.mask and not effect.reads & written.mask & ~_named_reads(members[number]):
            return last
        if effect.writes & (written.mask | EXEC_MASK):
            return None
    return None if kept & written.mask else last


def _named_reads(instruction: Instruction) -> int:
    """The registers of its source operands, as a set."""
    assert instruction.definition is not None
    mask = 0
    for spec, operand in zip(instruction.definition.operands, instruction.operands, strict=False):
        if spec.role is Role.READ and isinstance(operand, Register):
            mask |= operand.range.mask
    return mask


def _free_range(written: RegisterRange, free: int) -> RegisterRange | None:
    for unit in units(free):
        candidate = RegisterRange(unit, written.count)
        if candidate.mask & free == candidate.mask and (unit - written.unit) % 2 == 0:
            return candidate
    return None


def _with_register(instruction: Instruction, old: RegisterRange, new: RegisterRange, roles: Sequence[Role]) -> Instruction:
    assert instruction.definition is not None
    operands: list[Operand] = []
    for spec, operand in zip(instruction.definition.operands, instruction.operands, strict=False):
        inside = isinstance(operand, Register) and operand.range.mask & ~old.mask == 0
        if inside and spec.role in roles:
            assert isinstance(operand, Register)
            moved = RegisterRange(operand.range.unit - old.unit + new.unit, operand.range.count)
            operand = replace(operand, range=moved)
        operands.append(operand)
    return instruction.edited(operands=(*operands, *instruction.operands[len(operands) :]))


def _counts(instruction: Instruction) -> WaitCounts | None:
    operand = instruction.operands[0] if is_filler(instruction) and instruction.operands else None
    return operand if isinstance(operand, WaitCounts) else None


def _is_like(one: Operand, other: Operand) -> bool:
    if one == other:
        return False
    if isinstance(one, Register) and isinstance(other, Register):
        return (one.range.file, one.range.count) == (other.range.file, other.range.count)
    return isinstance(one, Immediate) and isinstance(other, Immediate)


Shape = tuple[object, ...]


def _shape(definition: OpcodeDef) -> Shape:
    return definition.family, definition.issue, tuple((spec.role, spec.bits, spec.takes) for spec in definition.operands)


@lru_cache(maxsize=8)
def _siblings(target: str) -> dict[Shape, list[OpcodeDef]]:
    found: dict[Shape, list[OpcodeDef]] = {}
    for name in sorted(definitions()):
        for definition in definitions()[name]:
            if target in definition.targets and definition.access is None:
                found.setdefault(_shape(definition), []).append(definition)
    return found
