"""Diagnostics: what every part of AsmEvo says when its input is wrong.

Owns the span, the diagnostic and how both are shown. It must not know any other part of AsmEvo.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NoReturn

_MAX_MESSAGE = 2000
_MAX_SOURCE = 240
"""Characters shown of a message or a help, and of a source line."""


class Severity(enum.Enum):
    """How bad a diagnostic is, worst last."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Span:
    """Where something stands: a text position (1-based line and column), or a byte offset in an object.

    `line` is 0 when only `offset` is known; `length` is in columns or bytes.
    """

    file: str
    line: int = 0
    column: int = 0
    length: int = 1
    offset: int | None = None
    source: str | None = None
    """The text of the line, shown with a caret under it; None when there is no text."""

    def __str__(self) -> str:
        if self.line:
            return f"{self.file}:{self.line}:{self.column}"
        return self.file if self.offset is None else f"{self.file}+0x{self.offset:x}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to tell: a stable code (E0101), a message in lower case, a place, and what to do about it.

    Families: E01 input, E02 configuration and pipeline, E03 IR invariant, E04 pass, E05 verify, E06 toolchain, E07 GPU,
    E08 lineage, E09 deployment, language models and agents.
    """

    code: str
    message: str
    span: Span | None = None
    help: str | None = None
    severity: Severity = Severity.ERROR

    def concise(self) -> str:
        """One line: `file:line:col: error[E0203]: message`."""
        head = f"{_shortened(str(self.span))}: " if self.span else ""
        return f"{head}{self.severity.value}[{self.code}]: {_shortened(self.message)}"

    def render(self) -> str:
        """The full form, with the source line and carets where there is text. Of a long line only the part around the place."""
        lines = [f"{self.severity.value}[{self.code}]: {_shortened(self.message)}"]
        if self.span:
            lines.append(f" --> {_shortened(str(self.span))}")
            if self.span.source is not None and self.span.line:
                gutter = str(self.span.line)
                pad = " " * len(gutter)
                before, marked, after = _around(self.span.source, max(self.span.column, 1) - 1, max(self.span.length, 1))
                lines += [
                    f"{pad} |",
                    f"{gutter} | {before}{marked}{after}",
                    f"{pad} | {' ' * len(before)}{'^' * max(len(marked), 1)}",
                ]
        if self.help:
            lines.append(f"help: {_shortened(self.help)}")
        return "\n".join(lines)


class DiagnosticError(Exception):
    """Raised for bad input, option, configuration, tool or device; the command line shows it and exits with 2."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics
        super().__init__("; ".join(d.concise() for d in diagnostics))


def fail(code: str, message: str, span: Span | None = None, help: str | None = None) -> NoReturn:
    """Raises a DiagnosticError with one error."""
    raise DiagnosticError(Diagnostic(code, message, span, help))


def _shortened(text: str) -> str:
    # What is escaped grows up to ten times, so that the limit is one of what is shown.
    shown = printable(text[: _MAX_MESSAGE + 1])
    return shown if len(shown) <= _MAX_MESSAGE else f"{shown[:_MAX_MESSAGE]}... ({len(text)} characters)"


def _around(source: str, start: int, length: int) -> tuple[str, str, str]:
    """What is shown of a source line before, at and behind the marked part; `start` counts from 0."""
    first = 0 if len(source) <= _MAX_SOURCE else max(min(start - _MAX_SOURCE // 2, len(source) - _MAX_SOURCE), 0)
    last = first + _MAX_SOURCE
    before = ("... " if first else "") + printable(source[first:start].ljust(min(start, last) - first))
    stop = min(start + length, last)
    marked, after = printable(source[start:stop]), printable(source[max(stop, start) : last])
    return before, marked, after + (" ..." if last < len(source) else "")


def printable(text: str) -> str:
    """`text` with control characters escaped: names from an object must not drive a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
