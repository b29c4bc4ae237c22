"""Rewrites learned from accepted edits: short windows with their registers made into variables, as plain data.

Owns the form of a rule, what is learned, and where a rule matches. A rule is a guess like any other: what it makes is judged.

A template is an instruction's text in which `{v0}` stands for some vector register, `{s1:2}` for a tuple of two scalar ones,
`{a2}` for an accumulation register. Registers of a rule that overlap must be the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, cast

from asmevo.diagnostics import fail
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.printer import print_instruction

LONGEST = 8
"""Instructions of a rule's longer side, its context included."""
_MOST = 256
_REGISTER = re.compile(r"\b([vsa])(?:(\d+)\b|\[(\d+):(\d+)\])")
_VARIABLE = re.compile(r"\{([vsa])(\d+)(?::(\d+))?\}")


@dataclass(frozen=True, slots=True)
class Rule:
    """Where the instructions `before` stand, those of `after` may stand. Both are templates."""

    before: tuple[str, ...]
    after: tuple[str, ...]

    def to_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"before": list(self.before), "after": list(self.after)}

    @classmethod
    def from_data(cls, data: object) -> Rule:
        """The rule that `to_data` gave. Raises E0806 for anything else."""
        sides: list[tuple[str, ...]] = []
        for name in ("before", "after"):
            side = cast("Mapping[str, object]", data).get(name) if isinstance(data, dict) else None
            if not isinstance(side, list) or len(cast("list[object]", side)) > LONGEST:
                fail("E0806", f"a rule's '{name}' is no list of at most {LONGEST} templates")
            texts = cast("list[object]", side)
            if not all(isinstance(text, str) and len(text) <= 400 for text in texts):
                fail("E0806", f"a rule's '{name}' holds something else than templates")
            sides.append(tuple(cast("list[str]", texts)))
        if not sides[0]:
            fail("E0806", "a rule that matches nothing in particular")
        return cls(sides[0], sides[1])


def learned(parent: Kernel, child: Kernel) -> tuple[Rule, ...]:
    """The rules that an accepted edit teaches: one for each short stretch that it changed."""
    found: list[Rule] = []
    for before, after in zip(parent.blocks, child.blocks, strict=True):
        if before.instructions != after.instructions:
            found += _of_block(before, after)
    return distinct(found)


def distinct(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Each rule once, in order, as many as are kept."""
    return tuple(dict.fromkeys(rules))[-_MOST:]


def _of_block(before: Block, after: Block) -> Iterator[Rule]:
    old, new = (list(map(print_instruction, block.instructions)) for block in (before, after))
    changes = [code[1:] for code in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if code[0] != "equal"]
    gone = Counter(text for a, b, _, _ in changes for text in old[a:b])
    come = Counter(text for _, _, c, d in changes for text in new[c:d])
    for a, b, c, d in changes:
        # What went from one stretch to another teaches nothing about either.
        went = (gone - Counter(old[a:b])) & Counter(new[c:d]) or (come - Counter(new[c:d])) & Counter(old[a:b])
        if went or max(b - a, d - c) > LONGEST - 2:
            continue
        # What is only put in has to stand somewhere: its neighbours are part of the rule.
        low, high = (1 if min(a, c) > 0 else 0), (1 if b < len(old) and d < len(new) else 0)
        rule = _generalised(old[a - low : b + high], new[c - low : d + high])
        if rule is not None:
            yield rule


def _generalised(before: Sequence[str], after: Sequence[str]) -> Rule | None:
    names: dict[str, str] = {}
    units: dict[tuple[str, int], str] = {}

    def variable(match: re.Match[str]) -> str:
        text = match.group(0)
        if text not in names:
            file, first, count = _range(match)
            covered = [(file, unit) for unit in range(first, first + count)]
            if any(unit in units for unit in covered):
                raise _Overlap
            names[text] = f"{{{file}{len(names)}{f':{count}' if count > 1 else ''}}}"
            units.update(dict.fromkeys(covered, text))
        return names[text]

    try:
        sides = [tuple(_REGISTER.sub(variable, text) for text in side) for side in (before, after)]
    except _Overlap:
        return None
    known = {name for text in sides[0] for name in _VARIABLE.findall(text)}
    fresh = {name for text in sides[1] for name in _VARIABLE.findall(text)} - known
    return None if fresh or not sides[0] or sides[0] == sides[1] else Rule(*sides)


class _Overlap(Exception):
    """Registers overlap without being the same: no variable of one says what the other is."""


def _range(match: re.Match[str]) -> tuple[str, int, int]:
    """The file, first number and count of a register's text."""
    file, one, first, last = match.groups()
    return (file, int(one), 1) if one is not None else (file, int(first), int(last) - int(first) + 1)


def matches(rule: Rule, block: Block, start: int, stop: int) -> Iterator[tuple[int, list[str]]]:
    """Places in the window at which the rule matches, each with the text that would stand there."""
    texts = list(map(print_instruction, block.instructions[start:stop]))
    heads = [text.partition(" ")[0] for text in texts]
    wanted = [template.partition(" ")[0] for template in rule.before]
    for place in range(len(texts) - len(wanted) + 1):
        if heads[place : place + len(wanted)] == wanted:
            bound = _bound(rule.before, texts[place : place + len(wanted)])
            if bound is not None:
                yield start + place, [_filled(template, bound) for template in rule.after]


def _filled(template: str, bound: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: bound.get(match.group(0), match.group(0)), template)


def _bound(templates: Sequence[str], texts: Sequence[str]) -> dict[str, str] | None:
    """What each variable stands for; None when the texts are not those of the templates."""
    bound: dict[str, str] = {}
    owners: dict[tuple[str, int], str] = {}
    for template, text in zip(templates, texts, strict=True):
        if _VARIABLE.sub("{}", template) != _REGISTER.sub("{}", text):
            return None
        for name, register in zip(_VARIABLE.finditer(template), _REGISTER.finditer(text), strict=True):
            file, first, count = _range(register)
            if (file, count) != (name.group(1), int(name.group(3) or 1)):
                return None
            if bound.setdefault(name.group(0), register.group(0)) != register.group(0):
                return None
            for unit in range(first, first + count):
                if owners.setdefault((file, unit), name.group(0)) != name.group(0):
                    return None
    return bound


def window_with(instructions: Sequence[Instruction], place: int, count: int, texts: Sequence[str]) -> str:
    """A window's text with `count` instructions from `place` on replaced; the others are named, so that they are kept."""
    kept = [f"#{i.uid} {print_instruction(i)}" for i in instructions]
    return "\n".join((*kept[:place], *texts, *kept[place + count :]))
