"""Physical lines of a source: comments taken out, labels split off, and where each line came from.

Owns the line, its origin and the limits on size. It must not know a directive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NoReturn

from asmevo.diagnostics import Diagnostic, DiagnosticError, Severity, Span, fail

LINE_LIMIT = 4096
SIZE_LIMIT = 16 << 20
LINES_LIMIT = 100_000

_JOINT = "\v"
"""Stands for a line break inside a comment inside a statement."""

_COMMENT = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'|/\*.*?(?:\*/|\Z)|(?:;|//|^[ \t]*#)[^\n]*', re.DOTALL | re.MULTILINE
)
_LABEL = re.compile(r'\s*([A-Za-z_.$][\w.$@]*|"(?:[^"\\]|\\.)*"|\d+)[ \t]*:(?!:)')
_ESCAPE = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a line was expanded from: the words for it and the line that asked for it."""

    what: str
    line: Line
    depth: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line without comments; `shown` is what a diagnostic displays, column for column."""

    text: str
    shown: str
    file: str
    number: int
    origin: Expansion | None = None

    def span(self, start: int = 0, length: int | None = None) -> Span:
        """The span of `length` characters from column `start` (0-based); of the whole text by default."""
        if length is None:
            stripped = self.text.strip()
            start = max(start, len(self.text) - len(self.text.lstrip()))
            length = max(len(stripped), 1)
        return Span(self.file, self.number, start + 1, max(length, 1), source=self.shown)

    def fail(self, code: str, message: str, help: str | None = None, *, start: int = 0, length: int | None = None) -> NoReturn:
        """Raise the error at this line, with a note for each expansion it came through."""
        raise located(Diagnostic(code, message, self.span(start, length), help), self.origin)


def located(diagnostic: Diagnostic, origin: Expansion | None) -> DiagnosticError:
    """The error with one note for each expansion, innermost first."""
    notes: list[Diagnostic] = []
    while origin is not None:
        note = Diagnostic(diagnostic.code, f"in expansion of {origin.what}", origin.line.span(), severity=Severity.NOTE)
        notes.append(note)
        origin = origin.line.origin
    return DiagnosticError(diagnostic, *notes)


def split_lines(text: str, file: str) -> list[Line]:
    """The lines of a file, blank ones left out.

    Raises: DiagnosticError E0135 for a file or a line that is too long, E0136 for a comment without its end.
    """
    if len(text) > SIZE_LIMIT:
        fail("E0135", f"the source has {len(text)} characters, the limit is {SIZE_LIMIT}", Span(file))
    text = text.replace("\r\n", "\n").replace(_JOINT, " ")
    bare = _COMMENT.sub(lambda match: _blank(match, file, text), text)
    displayed = (
        "".join([joint if joint == _JOINT else char for joint, char in zip(bare, text, strict=True)])
        if _JOINT in bare
        else text
    )
    lines: list[Line] = []
    following = 1
    for line, shown in zip(bare.split("\n"), displayed.split("\n"), strict=True):
        number = following
        following += 1 + line.count(_JOINT)
        if not line.strip():
            continue
        line, shown = line.replace(_JOINT, " "), shown.replace(_JOINT, " ")
        if len(line) > LINE_LIMIT:
            fail("E0135", f"the line has {len(line)} characters, the limit is {LINE_LIMIT}", Span(file, number, 1))
        if len(lines) >= LINES_LIMIT:
            fail("E0135", f"the source has more than {LINES_LIMIT} lines that are not blank", Span(file, number, 1))
        lines.append(Line(line.rstrip(), shown.rstrip().replace("\t", " "), file, number))
    return lines


def _blank(match: re.Match[str], file: str, text: str) -> str:
    """Spaces for a comment, so that columns stay; strings are kept."""
    found = match.group()
    if found[0] in "\"'":
        return found
    if found.startswith("/*") and (len(found) < 4 or not found.endswith("*/")):
        start = match.start()
        line = text.count("\n", 0, start) + 1
        fail("E0136", "a comment has no end", Span(file, line, start - text.rfind("\n", 0, start), 2), "close it with */")
    blank = re.sub(r"[^\n]", " ", found)
    if "\n" not in blank:
        return blank
    # A statement goes on behind a comment over several lines; behind a label alone a new one begins, on its own line.
    before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    while label := _LABEL.match(before):
        before = before[label.end() :]
    return blank.replace("\n", _JOINT) if before.strip() else blank


def split_label(line: Line, position: int) -> tuple[str, int, int] | None:
    """The label at `position`: its name, the column of its first character and the column behind the colon; None without."""
    match = _LABEL.match(line.text, position)
    return (match.group(1), match.start(1), match.end()) if match else None


def unquoted(text: str) -> str:
    """A symbol or string without its quotes, with escaped characters as they are."""
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return _ESCAPE.sub(r"\1", text[1:-1])
    return text


def rewritten(line: Line, text: str, what: str, asked: Line) -> Line:
    """`line` with its text replaced by an expansion that `asked` for; the diagnostic shows the expanded text."""
    depth = asked.origin.depth + 1 if asked.origin else 1
    return replace(line, text=text, shown=text.replace("\t", " "), origin=Expansion(what, asked, depth))
