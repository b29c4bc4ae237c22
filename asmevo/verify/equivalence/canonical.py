"""The canonical form of a check: equal for windows that differ only in which registers they use.

Owns the renaming and the digest. Registers that one operand names together stay together, at their distances; each such group
is numbered by its first appearance in its register file. Named state (VCC, EXEC, M0, SCC and so on) keeps its name. The meaning
of an instruction does not depend on the numbers of its registers, so that a proof of one window is one of all with this form.
"""

# pyright: reportMissingTypeStubs=false
# z3 ships without types; only its version, a string, is taken from it.

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from functools import lru_cache
from pathlib import Path

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction, Operand, Register
from asmevo.ir.registers import FLAT_SCRATCH, VGPR0, RegisterFile, file_of
from asmevo.verify.equivalence.facts import Facts

_NAMED = (1 << VGPR0) - (1 << FLAT_SCRATCH)
"""Units with a name of their own."""
_SOURCES = (
    *("ir/registers.py", "ir/instruction.py", "ir/effects.py", "ir/isa", "ir/semantics", "ir/analysis"),
    *("verify/equivalence", "verify/verdict.py"),
)
"""Modules that a proof rests on, below the package."""


def canonical_key(
    before: Sequence[Instruction], after: Sequence[Instruction], live_out: int, vskip: bool, facts: Facts, target: str
) -> str | None:
    """Return the digest, hexadecimal, of a check and of the model that decides it.

    None where the form does not tell all: an instruction touches numbered registers that its operands do not name, or facts
    speak of single instructions.
    """
    if any(facts.extents):
        return None
    names = _names((*before, *after))
    if names is None:
        return None
    parts: tuple[Hashable, ...] = (
        tuple(_text(i, names) for i in before),
        tuple(_text(i, names) for i in after),
        tuple(sorted(name for unit, name in names.items() if live_out >> unit & 1)),
        live_out & _NAMED,
        vskip,
        tuple(sorted((names.get(unit, ("", unit, 0)), bits) for unit, bits in facts.known.items())),
        facts.assumptions,
        target,
        model_version(),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


Name = tuple[str, int, int]
"""Register file, number of the group in it, and distance from the group's first register."""


def _names(window: Sequence[Instruction]) -> dict[int, Name] | None:
    """The canonical name of each numbered unit that the instructions touch."""
    ranges: list[tuple[int, int]] = []
    for i in window:
        if i.definition is None:
            return None
        named = 0
        for operand in i.operands:
            if isinstance(operand, Register) and operand.range.file is not RegisterFile.SPECIAL:
                ranges.append((operand.range.unit, operand.range.count))
                named |= operand.range.mask
        effect = effects(i)
        if (effect.reads | effect.writes) & ~(named | _NAMED):
            return None
    group: dict[int, int] = {}
    for first, count in ranges:
        for unit in range(first, first + count):
            group.setdefault(unit, unit)
            _join(group, first, unit)
    lowest = {unit: _root(group, unit) for unit in group}
    numbers: dict[int, int] = {}
    counts: dict[RegisterFile, int] = {}
    for first, _ in ranges:
        root = lowest[first]
        if root not in numbers:
            file = file_of(first)
            numbers[root] = counts[file] = counts.get(file, -1) + 1
    return {unit: (file_of(unit).value, numbers[root], unit - root) for unit, root in lowest.items()}


def _root(group: dict[int, int], unit: int) -> int:
    while group[unit] != unit:
        group[unit] = group[group[unit]]
        unit = group[unit]
    return unit


def _join(group: dict[int, int], one: int, other: int) -> None:
    low, high = sorted((_root(group, one), _root(group, other)))
    group[high] = low


def _text(i: Instruction, names: dict[int, Name]) -> Hashable:
    return i.mnemonic, tuple(_operand(o, names) for o in i.operands), tuple((m.name, repr(m.value)) for m in i.modifiers)


def _operand(operand: Operand, names: dict[int, Name]) -> Hashable:
    if not isinstance(operand, Register):
        return repr(operand)
    signs = (operand.range.count, operand.negate, operand.absolute, operand.sign_extend)
    unit = operand.range.unit
    return (*(names.get(unit) or ("special", unit, 0)), *signs)


@lru_cache(maxsize=1)
def model_version() -> str:
    """Return a digest of all code that decides what is proved, and of the solver's version."""
    import z3

    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256(z3.get_version_string().encode())
    for name in _SOURCES:
        path = root / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.relative_to(root).as_posix().encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
