"""Rows of a run as JSON lines, so that a run that was cut off goes on where it ended, and shards may be put together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.passes.measure import LoopRow, Row


def append(path: Path, row: Row) -> None:
    """Adds a row at the end of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(asdict(row)) + "\n")


def read(paths: Sequence[Path]) -> Iterator[Row]:
    """The rows of files that exist, for each kernel and pipeline the last. Lines that were cut off are left out."""
    found: dict[tuple[str, str], Row] = {}
    for path in paths:
        for line in path.read_text().splitlines() if path.exists() else ():
            if line.endswith("}"):
                row = _row(json.loads(line))
                found[row.kernel, row.pipeline] = row
    yield from found.values()


def _row(data: dict[str, Any]) -> Row:
    dispatches = {name: (before, after) for name, (before, after) in data["dispatches"].items()}
    loops = tuple(LoopRow(**loop) for loop in data["loops"])
    return Row(**{**data, "dispatches": dispatches, "loops": loops, "dropped": tuple(data.get("dropped", ()))})
