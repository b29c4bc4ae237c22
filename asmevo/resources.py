"""Files that ship beside the code: where they are, whether AsmEvo runs from a wheel or from a checkout.

Owns the search for them and nothing of what they mean.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def grammar(name: str) -> str:
    """The text of a grammar file, such as `amdgcn.lark`.

    A wheel carries the grammars inside the package; a checkout has them in `grammars/` beside it.

    Raises: FileNotFoundError when the installation is incomplete.
    """
    return _shipped("grammars", name)


def document(name: str) -> str:
    """The text of a page of `docs` that commands quote, such as `diagnostics.md`; found as a grammar is."""
    return _shipped("docs", name)


def _shipped(folder: str, name: str) -> str:
    packaged = resources.files("asmevo") / folder / name
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    return (Path(__file__).parent.parent / folder / name).read_text(encoding="utf-8")
