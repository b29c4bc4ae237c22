"""Files of learned rewrites: JSON, one library a file, kept from one search to the next.

Owns the file's form. What a rule is belongs to `rules`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from asmevo.atomic import write_atomically
from asmevo.diagnostics import Span, fail
from asmevo.search.records import Optimisation
from asmevo.search.rules import Rule, distinct, learned

_VERSION = 1
_SIZE_LIMIT = 16 << 20


def read_rules(path: Path) -> tuple[Rule, ...]:
    """The rules of a file. Raises E0806 when it cannot be read or is no such file."""
    try:
        with path.open("rb") as file:
            raw = file.read(_SIZE_LIMIT + 1)
        data = json.loads(raw) if len(raw) <= _SIZE_LIMIT else None
    except (OSError, ValueError, RecursionError) as error:
        fail("E0806", f"the rules cannot be read: {error}", Span(str(path)))
    table = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    listed = table.get("rules")
    if table.get("version") != _VERSION or not isinstance(listed, list):
        fail("E0806", f"this is no file of rules of version {_VERSION}", Span(str(path)))
    return distinct(map(Rule.from_data, cast("list[object]", listed)))


def write_rules(path: Path, known: Sequence[Rule], result: Optimisation) -> None:
    """Write the known rules and those that a search's accepted edits teach. Raises E0108 when that cannot be done."""
    found = list(known)
    for step in result.accepted:
        parent = result.original if step.parent is None else result.accepted[step.parent].kernel
        found += learned(parent, step.kernel)
    data = {"version": _VERSION, "rules": [rule.to_data() for rule in distinct(found)]}
    write_atomically(path, json.dumps(data, indent=1).encode())
