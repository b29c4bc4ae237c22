"""JSON from a file that nobody vouches for: a tree of plain values, or a diagnostic.

Owns the limits of reading. What must be in the tree is for its callers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from asmevo.diagnostics import Span, fail


def read_bounded(path: Path, code: str, most_bytes: int) -> bytes:
    """The bytes of a regular file. Raises `code` when it is none, cannot be read, or has more than `most_bytes`."""
    where = Span(str(path))
    try:
        # A device or a pipe need not end, and may wait for ever.
        if not path.is_file():
            fail(code, "no such file" if not path.exists() else "no regular file", where)
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except (OSError, ValueError) as error:
        fail(code, f"cannot be read: {(error.strerror if isinstance(error, OSError) else None) or error}", where)
    if len(data) > most_bytes:
        fail(code, f"more than {most_bytes} bytes", where)
    return data


def parsed(raw: bytes | str, file: str, code: str) -> Any:
    """The tree of a JSON text. Raises `code` for what is none; NaN and Infinity are none."""
    try:
        return json.loads(raw, parse_constant=_refuse)
    except RecursionError:
        fail(code, "not valid JSON: it nests too deep", Span(file))
    except ValueError as error:
        # The reader's own error, text that is no UTF-8, or Python's for a number of thousands of digits.
        fail(code, f"not valid JSON: {error}", Span(file))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")
