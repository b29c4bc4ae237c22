"""The rows of docs/triage.jsonl: one for each object, code, rule and pair of mnemonics. Owns their form, on disk and here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from asmevo.atomic import write_atomically

DATA = Path(__file__).resolve().parents[1] / "docs" / "triage.jsonl"


@dataclass(frozen=True, slots=True)
class Row:
    """All errors of one kind in one object, with what falls short, in one reading of the code.

    `lacks` is the wait that is missing (`vmcnt(3)`) or the wait states that pass of those needed (`1 of 2`), else empty.
    `pairs` are byte offsets of the instruction and of its producer (-1: none).
    """

    file: str
    code: str
    rule: str
    instruction: str
    producer: str
    lacks: str
    pairs: tuple[tuple[int, int], ...]

    @property
    def family(self) -> str:
        """Target and the first folder, or the name's first word for objects that lie in none."""
        parts = self.file.split("/")
        return "/".join(parts[:2]) if len(parts) > 2 else f"{parts[0]}/{Path(parts[-1]).stem.split('_')[0]}"


def read(data: Path = DATA) -> list[Row]:
    """The rows of a data file."""
    return [row_of(json.loads(line)) for line in data.read_text(encoding="utf-8").splitlines()]


def row_of(fields: dict[str, Any]) -> Row:
    """A row from what JSON says of it. TypeError when a field is missing or unknown."""
    given = dict(fields)
    given["pairs"] = tuple((int(a), int(b)) for a, b in given["pairs"])
    return Row(**given)


def write(rows: Iterable[Row], data: Path = DATA) -> None:
    """Write a data file, one row a line."""
    lines = [json.dumps(asdict(row), separators=(",", ":")) + "\n" for row in rows]
    write_atomically(data, "".join(lines).encode())
