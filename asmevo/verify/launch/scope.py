"""One case of a launch file while it is resolved: numbers by name, and where each key stands.

Owns the lookup, with a caret at what is wrong. It must not know kernels.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from asmevo.diagnostics import fail
from asmevo.verify.launch.file import Case, Key, LaunchFile, Number

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Scope:
    """A case of a file; `key` is its place, () for the top level, `tree` what it takes its missing keys from."""

    file: LaunchFile
    key: Key
    case: Case
    tree: Case

    def place(self, name: str, *rest: str | int) -> Key:
        """The key of something that the case says itself or takes from the top level."""
        return (*(self.key if getattr(self.case, name) is not None else ()), name, *rest)

    def refuse(self, code: str, message: str, place: Key, help: str | None = None) -> NoReturn:
        """Raise a diagnostic with a caret at a key."""
        fail(code, message, self.file.span(*place), help)

    def number(self, value: Number, place: Key) -> int | float:
        """A number as it stands or by its name. Raises E0224 for an unknown name."""
        if not isinstance(value, str):
            return value
        known = {**self.tree.values, **self.case.values}
        if value not in known:
            near = difflib.get_close_matches(value, list(known), n=1)
            names = f"values has {', '.join(known) or 'nothing'}"
            self.refuse("E0224", f"no value is named '{value}'", place, f"did you mean '{near[0]}'?" if near else names)
        return known[value]

    def real(self, value: Number, place: Key) -> float:
        """As `number`, as a float. Raises E0224 for a whole number that is larger than any float."""
        try:
            return float(self.number(value, place))
        except OverflowError:
            self.refuse("E0224", "the number is too large", place)

    def whole(self, value: Number, place: Key) -> int:
        """As `number`, and whole. Raises E0224."""
        number = self.number(value, place)
        if not isinstance(number, int):
            self.refuse("E0224", f"{number} is not a whole number", place)
        return number


def first(own: _T | None, shared: _T | None, default: _T) -> _T:
    """The case's own, else the top level's, else the default."""
    return own if own is not None else shared if shared is not None else default
