"""Records of a run, a line each in a file of JSON lines, so that a run can be stopped and taken up again, and split.

Owns the file. What a record says is for the run; it has an "index".
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def read(path: Path) -> list[Record]:
    """Return the records in a file; a line that was cut off while it was written is left out."""
    found: list[Record] = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            record: Any = json.loads(line)
        except ValueError:
            continue
        found.append(record)
    return found


def read_all(paths: Sequence[Path]) -> list[Record]:
    """Return the records of several files in order of their index, each index once."""
    found = {record["index"]: record for path in paths for record in read(path)}
    return [found[index] for index in sorted(found)]


def append(path: Path, record: Record) -> None:
    """Append a record, so that it is there even when the run is killed next."""
    with path.open("a") as file:
        if file.tell() and not path.read_bytes().endswith(b"\n"):
            file.write("\n")  # after a line that was cut off
        file.write(json.dumps(record) + "\n")
        file.flush()
        os.fsync(file.fileno())


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what tells a run its part and its files: `shard`, `output` (the first is appended to), `report_only`."""
    parser.add_argument("--shard", type=_shard, default=(0, 1), metavar="K/N", help="only windows K, K + N, K + 2 N and so on")
    parser.add_argument(
        "--output", type=Path, action="append", default=[], help="file to append to (JSON lines); further ones are read"
    )
    parser.add_argument("--report-only", action="store_true", help="summarise the files, run nothing")


def _shard(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and int(number) < int(count)):
        raise argparse.ArgumentTypeError("expected K/N with K below N")
    return int(number), int(count)
