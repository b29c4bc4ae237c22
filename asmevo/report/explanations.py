"""What each diagnostic code means, read from the pages that document them.

Owns the reading of `docs/diagnostics.md` (a line a code) and `docs/findings.md` (a section a finding of `analyze`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from asmevo.resources import document

_ROW = re.compile(r"^\| (E0\d{3}) \| (.*) \|$", re.MULTILINE)
_SECTION = re.compile(r"^## (E0\d{3}): (.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


@lru_cache(maxsize=1)
def meanings() -> dict[str, str]:
    """Return each code with its one line."""
    return {code: text.replace("\\|", "|") for code, text in _ROW.findall(document("diagnostics.md"))}


@lru_cache(maxsize=1)
def _sections() -> dict[str, str]:
    return {code: text.strip() for code, text in _SECTION.findall(document("findings.md"))}


def hint(code: str) -> str:
    """Return what to do about a finding, in the imperative; empty for a code that is no finding of `analyze`."""
    _, _, told = _sections().get(code, "").partition("\nDo: ")
    return " ".join(told.split()).removesuffix(".")


def explanation(code: str) -> str | None:
    """Return what there is to say of a code, as Markdown text; None for a code that does not exist."""
    meaning = meanings().get(code)
    if meaning is None:
        return None
    section = _sections().get(code)
    return f"{code}: {meaning}" if section is None else f"{code}: {section}\n\nIn one line: {meaning}"
