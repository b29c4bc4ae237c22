"""Where the tables and an outside source differ, and the entries that settle it.

Owns the record of one difference and matching it against disagreements.toml. It must not know any source.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ENTRIES = Path(__file__).with_name("disagreements.toml")
_FIELDS = ("targets", "mnemonic", "subject", "ours", "theirs")


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing on which the tables and a source do not agree: what about (`subject`), and what each side says."""

    source: str
    target: str
    mnemonic: str
    subject: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.source} {self.target} {self.mnemonic}: {self.subject}: table {self.ours!r}, source {self.theirs!r}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A settled disagreement; `name`, `source` and `reason` are text, the other fields patterns that match in full."""

    name: str
    source: str
    reason: str
    targets: str = ".*"
    mnemonic: str = ".*"
    subject: str = ".*"
    ours: str = ".*"
    theirs: str = ".*"

    def settles(self, difference: Difference) -> bool:
        """Whether this entry speaks of the difference."""
        if difference.source != self.source:
            return False
        values = (difference.target, difference.mnemonic, difference.subject, difference.ours, difference.theirs)
        patterns = (self.targets, self.mnemonic, self.subject, self.ours, self.theirs)
        return all(re.fullmatch(pattern, value) for pattern, value in zip(patterns, values, strict=True))


@dataclass(frozen=True, slots=True)
class Settlement:
    """Differences that no entry settles, entries that settle nothing, and how many each entry settles."""

    open: tuple[Difference, ...]
    stale: tuple[Entry, ...]
    settled: dict[str, int]


def load_entries(path: Path = ENTRIES) -> tuple[Entry, ...]:
    """Read the entries. ValueError names one with an unknown or missing field, an empty reason, or a name used twice."""
    found = tuple(_entry(raw, path) for raw in tomllib.loads(path.read_text(encoding="utf-8"))["disagreement"])
    twice = [name for name, count in Counter(entry.name for entry in found).items() if count > 1]
    if twice:
        raise ValueError(f"{path.name}: more than one entry is called {', '.join(twice)}")
    return found


def _entry(raw: dict[str, Any], path: Path) -> Entry:
    name = raw.get("name", "")
    if unknown := set(raw) - {"name", "source", "reason", *_FIELDS}:
        raise ValueError(f"{path.name}: entry {name!r}: unknown field {', '.join(sorted(unknown))}")
    for field in ("name", "source", "reason"):
        if not str(raw.get(field, "")).strip():
            raise ValueError(f"{path.name}: entry {name!r}: no {field}")
    return Entry(**raw)


def settle(differences: Iterable[Difference], entries: Sequence[Entry], sources: Iterable[str]) -> Settlement:
    """Match differences and entries; only entries of the `sources` that were really compared can be stale."""
    settled: Counter[str] = Counter()
    left: list[Difference] = []
    for difference in differences:
        matching = [entry for entry in entries if entry.settles(difference)]
        if not matching:
            left.append(difference)
        settled.update(entry.name for entry in matching)
    compared = set(sources)
    stale = tuple(entry for entry in entries if entry.source in compared and not settled[entry.name])
    return Settlement(tuple(left), stale, dict(settled))
