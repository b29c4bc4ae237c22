"""Rows of a run as JSON lines, so that a run that was cut off goes on where it ended. Owns the file's form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from asmevo import __version__
from asmevo.atomic import write_atomically
from bench.suite.bounds import Bound
from bench.suite.measure import Cycles, Found, Plan, Row


def key(plan: Plan, launch: Path, objects: Mapping[str, Path]) -> dict[str, Any]:
    """What a row depends on: this version, the plan, the launch and the objects by their SHA-256."""
    files = {"launch": launch, **objects}
    return {
        "asmevo": __version__,
        "plan": json.loads(json.dumps(asdict(plan))),
        "files": {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()},
    }


class Store:
    """The rows of one file by kernel, each with its key; written whole after each row."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._lines: dict[str, dict[str, Any]] = {}
        for line in lines:
            found = json.loads(line)
            self._lines[found["row"]["kernel"]] = found

    def find(self, kernel: str, key: Mapping[str, Any]) -> Row | None:
        """The row of a kernel when it was made from the same key."""
        line = self._lines.get(kernel)
        return row_of(line["row"]) if line is not None and line["key"] == key else None

    def keep(self, row: Row, key: Mapping[str, Any]) -> None:
        """Adds a row, or takes the place of the kernel's older one."""
        self._lines[row.kernel] = {"key": dict(key), "row": asdict(row)}
        text = "".join(json.dumps(line) + "\n" for line in self._lines.values())
        write_atomically(self.path, text.encode())


def row_of(data: Mapping[str, Any]) -> Row:
    """A row from its JSON form."""

    def found(item: Mapping[str, Any]) -> Found:
        return Found(**{**item, "cycles": Cycles(**item["cycles"])})

    return Row(
        **{
            **data,
            "before": Cycles(**data["before"]),
            "bound": Bound(**data["bound"]),
            "found": {name: found(item) for name, item in data["found"].items()},
            "rivals": {name: Cycles(**item) for name, item in data["rivals"].items()},
            "on_best": found(data["on_best"]) if data["on_best"] else None,
        }
    )
