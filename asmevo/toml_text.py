"""TOML text from a file that nobody vouches for: a tree of plain values, or a diagnostic with line and column.

Owns the limits and the first place in the text; which keys may be there is for its callers.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from asmevo.diagnostics import Span, fail

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_BYTES = 1 << 20
MAX_NESTING = 64
_TOKEN = re.compile(r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]', re.DOTALL)


def decoded(raw: bytes, file: str, code: str) -> str:
    """Return a file's bytes as text with plain line ends. Raises `code` for more than 1 MiB and for what is not UTF-8."""
    if len(raw) > MAX_BYTES:
        fail(code, f"'{file}' has more than {MAX_BYTES} bytes", Span(file))
    try:
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        fail(code, f"'{file}' is not UTF-8 text: {error}", Span(file, line, column))


def parsed(text: str, file: str, code: str) -> dict[str, Any]:
    """Return the tree that TOML text stands for. Raises `code` at the place that is wrong."""
    _check_nesting(text, file, code)
    try:
        return tomllib.loads(text)
    except RecursionError:
        fail(code, "not valid TOML: it nests too deep", first_place(text, file))
    except ValueError as error:
        # The reader's own error, or Python's for a number of thousands of digits.
        fail(code, f"not valid TOML: {error}", _place(str(error), text, file))


def _check_nesting(text: str, file: str, code: str) -> None:
    """Refuse what readers would recurse into: how deep they can go differs with their build and with the caller's stack."""
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > MAX_NESTING:
            line = text.count("\n", 0, token.start()) + 1
            start = text.rfind("\n", 0, token.start()) + 1
            where = Span(file, line, token.start() - start + 1, source=text[start:].split("\n", 1)[0])
            fail(code, f"not valid TOML: it nests deeper than {MAX_NESTING} levels", where)


def first_place(text: str, file: str) -> Span:
    """Return the start of the text, for what has no better place in it."""
    return Span(file, 1, 1, source=text.split("\n", 1)[0])


def _place(message: str, text: str, file: str) -> Span:
    lines = text.split("\n")
    place = re.search(r"line (\d+), column (\d+)", message)
    if place is None:
        # "at end of document", as a rule.
        at_end = "end of document" in message
        return Span(file, len(lines), len(lines[-1]) + 1, source=lines[-1]) if at_end else first_place(text, file)
    line = min(int(place[1]), len(lines))
    return Span(file, line, int(place[2]), source=lines[line - 1])
