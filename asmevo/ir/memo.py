"""Memos: for functions of what an instruction says, not of where it stands; and for functions of one object of many.

Owns the keys and the bounds. The reader shares operands and modifiers among lines of equal text, so their identities are a key
that costs nothing to hash; an entry keeps them alive, so that an identity is never another object's. What is equal but
not the same object is computed again, which is never wrong.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar

from asmevo.ir.instruction import Instruction

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
S = TypeVar("S")
_MOST = 1 << 16


class OfText(Protocol[T_co]):
    """A remembered function: of an instruction and whatever else it depends on."""

    def __call__(self, i: Instruction, /, *rest: Hashable) -> T_co:
        """The value for the instruction; must not be changed by the caller."""
        ...


def by_text(function: Callable[..., T]) -> OfText[T]:
    """Remember a pure function of an instruction's mnemonic, definition, operands and modifiers, and of further arguments.

    It must not look at the encoding, offset, uid or span. At most 131,072 values are kept; then all are dropped.
    """
    by_operands: dict[Hashable, tuple[T, Instruction]] = {}
    others: dict[Hashable, tuple[T, Instruction]] = {}

    def remembered(i: Instruction, /, *rest: Hashable) -> T:
        # Lines of different text rarely share their operands, so those alone are looked up, and the rest is compared.
        key = (id(i.operands), rest) if rest else id(i.operands)
        found = by_operands.get(key)
        if found is not None:
            value, other = found
            if other.modifiers is i.modifiers and other.definition is i.definition and other.mnemonic == i.mnemonic:
                return value
            return in_full(i, rest)
        value = function(i, *rest)
        if len(by_operands) >= _MOST:
            by_operands.clear()
        by_operands[key] = (value, i)
        return value

    def in_full(i: Instruction, rest: tuple[Hashable, ...]) -> T:
        key = (id(i.operands), id(i.modifiers), id(i.definition), i.mnemonic, rest)
        found = others.get(key)
        if found is None:
            if len(others) >= _MOST:
                others.clear()
            found = others[key] = (function(i, *rest), i)
        return found[0]

    return remembered


def by_identity(function: Callable[[S], T], most: int = 4) -> Callable[[S], T]:
    """Remember a pure function of one object that is never changed, for the `most` objects asked about last.

    For what is asked again and again of one original, which is large and slow to compare. What is remembered is shared.
    """
    known: OrderedDict[int, tuple[S, T]] = OrderedDict()

    def remembered(subject: S) -> T:
        found = known.get(id(subject))
        if found is None:
            # The entry keeps the object alive, so that its identity is never another's.
            found = known[id(subject)] = (subject, function(subject))
            if len(known) > most:
                known.popitem(last=False)
        else:
            known.move_to_end(id(subject))
        return found[1]

    return remembered
