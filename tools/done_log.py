"""A log of finished work, so that a long run can be stopped and go on: one JSON object a line, named by its field `file`.

Owns reading and appending. It knows nothing of what the work is; a log made by older code is the user's to remove.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar

from asmevo.atomic import write_atomically

HELP = "note each object here when it is done and leave out those noted; remove the file when a check has changed"
"""What the option that names such a log says of it."""


class Done(Protocol):
    """A finished piece of work: a dataclass that JSON can hold, named by its file."""

    @property
    def file(self) -> str:
        """The name, unique in a log."""
        ...


Result = TypeVar("Result", bound=Done)


def read_log(log: Path, decode: Callable[[dict[str, Any]], Result]) -> dict[str, Result]:
    """What a log holds, by name; nothing when there is none. A last line that was cut short is left out."""
    found: dict[str, Result] = {}
    if log.exists():
        for line in log.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                result = decode(json.loads(line))
                found[result.file] = result
    return found


def logged(log: Path, known: Iterable[Result], fresh: Iterable[Result]) -> Iterator[Result]:
    """Yield `fresh`, each once it stands in the log, which begins with `known` and nothing else."""
    log.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(log, "".join(map(_line, known)).encode())
    with log.open("a", encoding="utf-8") as out:
        for result in fresh:
            out.write(_line(result))
            out.flush()
            yield result


def _line(result: Any) -> str:
    return json.dumps(asdict(result), separators=(",", ":")) + "\n"
