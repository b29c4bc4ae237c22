"""From physical lines to statements: macros, repetition, conditionals and includes carried out.

Owns the stack of inputs, the macros defined so far and the nesting of conditionals; every expansion is bounded. It knows
symbols only through the questions it asks its owner, and no other directive.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from asmevo.diagnostics import Span, fail
from asmevo.frontend.assembly import macros
from asmevo.frontend.assembly.lines import SIZE_LIMIT, Line, rewritten, split_label, split_lines, unquoted
from asmevo.frontend.assembly.macros import Macro, MacroError

MAX_DEPTH = 20
"""As many levels as LLVM nests macros."""

MAX_LINES = 1 << 16
_MAX_INCLUDES = 256

_HEAD = re.compile(r"\s*([A-Za-z_.$][\w.$]*)")
_REPEATS = frozenset((".rept", ".rep", ".irp", ".irpc"))
_ENDS = {".macro": (".endm", ".endmacro")} | dict.fromkeys(_REPEATS, (".endr",))
_COMPARES: dict[str, Callable[[int, int], bool]] = {
    ".if": operator.ne,
    ".ifne": operator.ne,
    ".ifeq": operator.eq,
    ".ifge": operator.ge,
    ".ifgt": operator.gt,
    ".ifle": operator.le,
    ".iflt": operator.lt,
}
"""How the value is compared with 0."""

_IF = frozenset((*_COMPARES, ".ifb", ".ifnb", ".ifc", ".ifnc", ".ifeqs", ".ifnes", ".ifdef", ".ifndef", ".ifnotdef"))


class Symbols(Protocol):
    """What the expander asks about symbols."""

    def number(self, text: str, line: Line, start: int) -> int:
        """The value of the expression from column `start` of the line's `text`; an error at the line when it has none."""
        ...

    def is_defined(self, name: str) -> bool:
        """Whether a symbol or label of this name stands before here."""
        ...


@dataclass(frozen=True, slots=True)
class Statement:
    """A label (then `label` is its name), or what stands from column `start` to the end of the line."""

    line: Line
    start: int
    label: str | None = None


@dataclass(slots=True)
class _Branch:
    """One open conditional: whether it is being read now, whether one of its arms was taken, where it began."""

    is_active: bool
    is_taken: bool
    line: Line
    has_else: bool = False


@dataclass(slots=True)
class _Frame:
    """One input: lines still to come. `branches` is how many conditionals were open when it began."""

    lines: Sequence[Line]
    at: int = 0
    branches: int = 0
    is_macro: bool = False


@dataclass(slots=True)
class Expander:
    """Yields the statements of a source, its includes and its macros, in order.

    Raises: DiagnosticError E0136 (block without its end, end without its block), E0137 (macro), E0138 (limit), E0139
    (include), E0140 (`.error`), and what `symbols` raises.
    """

    symbols: Symbols
    root: Path | None
    raw: Callable[[Line], bool] = field(default=lambda _: False, kw_only=True)
    """Asked first for every line that is read: True when it took the line as it stands."""
    frames: list[_Frame] = field(default_factory=list[_Frame])
    defined: dict[str, Macro] = field(default_factory=dict[str, Macro])
    branches: list[_Branch] = field(default_factory=list[_Branch])
    expanded: int = 0
    characters: int = 0
    instances: int = 0
    includes: int = 0

    def statements(self, lines: Sequence[Line]) -> Iterator[Statement]:
        """Yield every statement that is neither a macro, a conditional, a repetition nor an include."""
        self.frames.append(_Frame(lines))
        while (line := self._next()) is not None:
            yield from self._line(line)
        if self.branches:
            self.branches[-1].line.fail("E0136", "the conditional has no .endif")

    def _next(self) -> Line | None:
        while self.frames:
            frame = self.frames[-1]
            if frame.at < len(frame.lines):
                frame.at += 1
                return frame.lines[frame.at - 1]
            self.frames.pop()
        return None

    def _line(self, line: Line) -> Iterator[Statement]:
        if self.raw(line):
            return
        head, start = self._head(line, 0)
        if self._conditional(head, line, start) or (self.branches and not self.branches[-1].is_active):
            return
        position = 0
        while head not in self.defined and (found := split_label(line, position)) is not None:
            name, column, position = found
            yield Statement(line, column, name)
            head, start = self._head(line, position)
        if not line.text[position:].strip() or self._conditional(head, line, start):
            return
        if not self._preprocess(head, line, start):
            yield Statement(line, len(line.text) - len(line.text[position:].lstrip()))

    def _head(self, line: Line, position: int) -> tuple[str, int]:
        match = _HEAD.match(line.text, position)
        if match is None:
            return "", position
        word = match.group(1)
        return (word if word in self.defined else word.lower()) if word[0] == "." else word, match.end()

    # ---- conditionals ----

    def _conditional(self, head: str, line: Line, start: int) -> bool:
        """Whether the line opened, turned or closed a conditional."""
        if head in _IF:
            is_read = not self.branches or self.branches[-1].is_active
            holds = is_read and self._holds(head, line, start)
            # An arm counts as taken when the conditional stands in text that is skipped: none of its arms is read.
            self.branches.append(_Branch(holds, holds or not is_read, line))
        elif head in (".else", ".elseif"):
            branch = self._open(head, line)
            if branch.has_else:
                line.fail("E0136", f"{head} follows .else")
            branch.has_else = head == ".else"
            branch.is_active = not branch.is_taken and (head == ".else" or self._holds(".if", line, start))
            branch.is_taken = branch.is_taken or branch.is_active
        elif head == ".endif":
            self._open(head, line)
            self.branches.pop()
        else:
            return False
        return True

    def _open(self, head: str, line: Line) -> _Branch:
        if not self.branches:
            line.fail("E0136", f"{head} without .if")
        return self.branches[-1]

    def _holds(self, head: str, line: Line, start: int) -> bool:
        rest = line.text[start:].strip()
        if head in _COMPARES:
            return _COMPARES[head](self.symbols.number(line.text, line, start), 0)
        if head in (".ifdef", ".ifndef", ".ifnotdef"):
            if not rest:
                line.fail("E0131", f"{head} needs a name")
            return self.symbols.is_defined(unquoted(rest)) == (head == ".ifdef")
        if head in (".ifb", ".ifnb"):
            return (not rest) == (head == ".ifb")
        left, comma, right = _halves(rest, quoted=head in (".ifeqs", ".ifnes"))
        if not comma:
            line.fail("E0131", f"{head} compares two texts", "separate them with a comma")
        return (left == right) == (head in (".ifc", ".ifeqs"))

    # ---- macros, repetition, includes ----

    def _preprocess(self, head: str, line: Line, start: int) -> bool:
        if (macro := self.defined.get(head)) is not None:
            self._call(macro, line, start)
        elif head == ".macro":
            self._define(line, start)
        elif head in _REPEATS:
            self._repeat(head, line, start)
        elif head == ".include":
            self._include(line, start)
        elif head == ".purgem":
            name = line.text[start:].strip()
            if self.defined.pop(name, None) is None:
                line.fail("E0137", f"macro '{name}' is not defined")
        elif head == ".exitm":
            self._leave(line)
        elif head in (".endm", ".endmacro", ".endr"):
            line.fail("E0136", f"{head} without its block")
        elif head in (".error", ".err"):
            line.fail("E0140", unquoted(line.text[start:]) or f"{head} was reached")
        elif head == ".end":
            self.frames.clear()
        elif head in (".warning", ".print", ".noaltmacro"):
            pass
        elif head == ".altmacro":
            line.fail("E0137", "alternate macro syntax is not supported")
        else:
            return False
        return True

    def _body(self, head: str, line: Line) -> tuple[Line, ...]:
        """The lines up to the end of the block that `line` opens, from the same input."""
        opening, ends = (_REPEATS, (".endr",)) if head in _REPEATS else ({".macro"}, _ENDS[".macro"])
        frame, depth, first = self.frames[-1], 1, self.frames[-1].at
        while frame.at < len(frame.lines):
            match = _HEAD.match(frame.lines[frame.at].text)
            word = match.group(1).lower() if match else ""
            frame.at += 1
            depth += (word in opening) - (word in ends)
            if depth == 0:
                return tuple(frame.lines[first : frame.at - 1])
        line.fail("E0136", f"{head} has no {ends[0]}")

    def _define(self, line: Line, start: int) -> None:
        body = self._body(".macro", line)
        try:
            name, parameters = macros.parse_header(line.text[start:])
        except MacroError as error:
            line.fail("E0137", error.message, start=start + error.start, length=1)
        if name in self.defined:
            line.fail("E0137", f"macro '{name}' is already defined", f"write .purgem {name} before it")
        self.defined[name] = Macro(name, parameters, body)

    def _call(self, macro: Macro, line: Line, start: int) -> None:
        try:
            values = macros.bind(macro, line.text[start:])
        except MacroError as error:
            line.fail("E0137", error.message, start=start + error.start, length=1)
        self._push(macro.body, [values], f"macro '{macro.name}'", line, is_macro=True)
        self.instances += 1

    def _repeat(self, head: str, line: Line, start: int) -> None:
        body = self._body(head, line)
        if head in (".rept", ".rep"):
            count = self.symbols.number(line.text, line, start)
            if count < 0:
                line.fail("E0131", f"{head} counts from 0, {count} given", start=start + 1, length=len(line.text) - start - 1)
            if count > MAX_LINES:
                line.fail("E0138", f"{head} repeats at most {MAX_LINES} times, {count} given")
            rounds: list[dict[str, str]] = [{}] * count
        else:
            name, _, rest = line.text[start:].strip().partition(",")
            if not name.strip():
                line.fail("E0131", f"{head} needs a name")
            try:
                items = macros.arguments(rest) if head == ".irp" else macros.character_items(rest)
            except MacroError as error:
                line.fail("E0137", error.message)
            rounds = [{name.strip(): item} for item in items or ("",)]
        self._push(body, rounds, head, line)

    def _push(
        self, body: Sequence[Line], rounds: Sequence[dict[str, str]], what: str, line: Line, *, is_macro: bool = False
    ) -> None:
        if line.origin is not None and line.origin.depth >= MAX_DEPTH:
            line.fail("E0138", f"macros nest deeper than {MAX_DEPTH} levels")
        lines: list[Line] = []
        for values in rounds:
            for item in body:
                text = macros.substitute(item.text, values, self.instances)
                self._spend(len(text), 1, line)
                lines.append(rewritten(item, text, what, line))
        self.frames.append(_Frame(lines, 0, len(self.branches), is_macro))

    def _spend(self, characters: int, lines: int, line: Line) -> None:
        self.expanded += lines
        self.characters += characters
        if self.expanded > MAX_LINES or self.characters > SIZE_LIMIT:
            line.fail("E0138", f"macros expand to more than {MAX_LINES} lines or {SIZE_LIMIT} characters")

    def _leave(self, line: Line) -> None:
        while self.frames:
            frame = self.frames.pop()
            if frame.is_macro:
                del self.branches[frame.branches :]
                return
        line.fail("E0136", ".exitm outside a macro")

    def _include(self, line: Line, start: int) -> None:
        name = unquoted(line.text[start:])
        if self.root is None:
            line.fail("E0139", f"'{name}' is not read: no include folder was given", "name one with --include")
        self.includes += 1
        if self.includes > _MAX_INCLUDES or (line.origin is not None and line.origin.depth >= MAX_DEPTH):
            line.fail("E0138", f"more than {_MAX_INCLUDES} files or {MAX_DEPTH} levels are included")
        text, shown = read_included(self.root, name, line)
        expansion = rewritten(line, line.text, f"include of '{name}'", line).origin
        lines = [replace(item, origin=expansion) for item in split_lines(text, shown)]
        self._spend(len(text), len(lines), line)
        self.frames.append(_Frame(lines, 0, len(self.branches)))


def read_included(root: Path, name: str, line: Line) -> tuple[str, str]:
    """Text and shown name of a file in the include folder. Raises E0139 when it is missing or lies outside."""
    folder = root.resolve()
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            line.fail("E0139", f"'{name}' lies outside the include folder")
        if not path.is_file():
            line.fail("E0139", f"'{name}' is not a file of the include folder")
        if path.stat().st_size > SIZE_LIMIT:
            fail("E0135", f"'{name}' has {path.stat().st_size} bytes, the limit is {SIZE_LIMIT}", line.span())
        return path.read_text(encoding="utf-8"), str(path.relative_to(folder))
    except (OSError, UnicodeDecodeError, ValueError, RuntimeError) as error:
        fail("E0139", f"'{name}' cannot be read: {error}", Span(line.file, line.number, 1))


def _halves(text: str, *, quoted: bool) -> tuple[str, str, str]:
    """Both sides of the first comma (outside quotes when `quoted`), blanks taken off."""
    if quoted:
        match = re.fullmatch(r'("(?:[^"\\]|\\.)*")\s*(,)\s*("(?:[^"\\]|\\.)*")', text)
        return (match.group(1), match.group(2), match.group(3)) if match else ("", "", "")
    left, comma, right = text.partition(",")
    return left.strip(), comma, right.strip()
