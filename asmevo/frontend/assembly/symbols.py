"""Symbols and labels of a source, and the text in which labels have places.

Owns names, their values so far and the questions about addresses that a conditional asks before the end of the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.assembly.expressions import ExpressionError, Scope, UnknownValue, evaluate, evaluate_prefix
from asmevo.frontend.assembly.lines import Line, unquoted
from asmevo.frontend.assembly.operands import with_local_names
from asmevo.frontend.assembly.resolve import FlatLine, resolve
from asmevo.ir.printer import quoted

_MAX_LAYOUTS = 256
"""Conditionals on addresses: each one lays the code out anew."""

_MAX_LAID_OUT = 1 << 20
"""Lines laid out by all of them together."""

_REFUSED = "E0126"


@dataclass(slots=True)
class SymbolTable:
    """The names of one source. `flat` is the code so far as LLVM lays it out: labels, code, data and assignments."""

    target: str
    constants: dict[str, int] = field(default_factory=dict[str, int])
    later: set[str] = field(default_factory=set[str])
    """Names assigned an expression that has no value yet."""
    labels: dict[str, int] = field(default_factory=dict[str, int])
    """Labels in the code, each with the index of the entry behind it."""
    data_labels: set[str] = field(default_factory=set[str])
    flat: list[FlatLine] = field(default_factory=list[FlatLine])
    _locals: dict[str, int] = field(default_factory=dict[str, int])
    _layouts: int = 0
    _laid_out: int = 0

    def scope(self) -> Scope:
        """What expressions may refer to now."""
        return Scope(self.constants.get, self.target != "gfx90a")

    def is_defined(self, name: str) -> bool:
        """Whether a symbol or label of this name stands before here."""
        return name in self.constants or name in self.labels or name in self.later or name in self.data_labels

    def number(self, text: str, line: Line, start: int) -> int:
        """The value of the expression that is the rest of `text`. Raises E0130 when it has none, E0138 at a limit."""
        try:
            return evaluate(text, self.scope(), start)
        except UnknownValue as error:
            value = self._address(text[start:], line) if self._is_address(text, start) else None
            if value is None:
                line.fail("E0130", error.message, start=error.start, length=error.length)
            return value
        except ExpressionError as error:
            line.fail("E0130", error.message, start=error.start, length=error.length)

    def local_label(self, reference: str) -> str:
        """The name of the label that `1b` or `1f` means here."""
        digits, direction = reference[:-1], reference[-1]
        return _local_name(digits, self._locals.get(digits, 0) + (direction == "f"))

    def add_label(self, name: str, index: int | None, line: Line, start: int) -> None:
        """Define a label as it is written: in front of entry `index` of the code, or outside it (None). Raises E0132."""
        shown = name
        if name.isdigit():
            self._locals[name] = self._locals.get(name, 0) + 1
            name = _local_name(name, self._locals[name])
        else:
            name = unquoted(name)
        if self.is_defined(name):
            line.fail("E0132", f"label '{name}' stands twice", start=start, length=len(shown))
        if index is None:
            self.data_labels.add(name)
        else:
            self.labels[name] = index
            self.flat.append(FlatLine(f"{name if shown.isdigit() else shown}:", line))

    def assign(self, name: str, line: Line, start: int, *, may_change: bool) -> None:
        """Give a symbol the value of the expression at column `start`. Raises E0130, E0145."""
        if name in self.labels or name in self.data_labels or (not may_change and self.is_defined(name)):
            line.fail("E0145", f"'{name}' is defined before")
        if name == ".":
            line.fail("E0145", "the position is not assigned to", "use .fill or .p2align")
        try:
            self.constants[name] = evaluate(line.text, self.scope(), start)
            self.later.discard(name)
        except UnknownValue:
            self.constants.pop(name, None)
            self.later.add(name)
        except ExpressionError as error:
            line.fail("E0130", error.message, start=error.start, length=error.length)
        value = with_local_names(line.text[start:], self.local_label)
        self.flat.append(FlatLine(f".set {quoted(name)}, {value}", line))

    def _is_address(self, text: str, start: int) -> bool:
        """Whether every name of the expression has a place or a value once the code so far is laid out."""
        known = Scope(lambda name: 1 if name == "." or name[0].isdigit() or self.is_defined(name) else None)
        try:
            evaluate_prefix(text, known, start)
        except ExpressionError as error:
            return not isinstance(error, UnknownValue)
        return True

    def _address(self, text: str, line: Line) -> int | None:
        self._layouts += 1
        self._laid_out += len(self.flat)
        if self._layouts > _MAX_LAYOUTS or self._laid_out > _MAX_LAID_OUT:
            limits = f"{_MAX_LAYOUTS} values, or {_MAX_LAID_OUT} lines laid out for them"
            line.fail("E0138", f"more than {limits}, depend on addresses before the end of the source")
        try:
            question = with_local_names(text, self.local_label)
            answers = resolve([*_unasked(self.flat), FlatLine("s_nop 0", line, (question,))], self.target)
        except DiagnosticError as error:
            if error.diagnostics[0].code != _REFUSED:
                raise
            return None
        return answers[-1].values[0]


def _unasked(flat: Sequence[FlatLine]) -> list[FlatLine]:
    return [replace(item, asks=()) if item.asks else item for item in flat]


def _local_name(digits: str, count: int) -> str:
    return f".Llocal_{digits}_{count}"
