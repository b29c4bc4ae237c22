"""Recorded sessions: every request and reply as JSON lines, and a model that answers from them.

Owns the file. It holds no key and no address: a request is data, and replies were cleaned when they came. Of a request only the
turns that are new since the one before are written, with the digest of the whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO, cast

from asmevo.diagnostics import Span, fail
from asmevo.search.llm.wire import Model, Reply, Request, WireError

_FORM = 1
_MAX_LINE_CHARS = 4 << 20


class RecordingModel:
    """Asks another model and writes down what passes. Raises E0955 when the file exists already or cannot be written."""

    def __init__(self, model: Model, path: Path, head: Mapping[str, Any]) -> None:
        self._model, self._path = model, path
        self._before: list[dict[str, Any]] = []
        self._tools = ""
        try:
            self._file: TextIO = path.open("x", encoding="utf-8")
        except OSError as error:
            fail("E0955", f"the session cannot be recorded: {error.strerror}", Span(str(path)))
        self._write({"asmevo-session": _FORM, **head})

    def ask(self, request: Request, within_s: float | None = None) -> Reply:
        """The other model's reply, on the disk before it is returned."""
        data = request.to_data()
        turns = cast("list[dict[str, Any]]", data.pop("turns"))
        kept = next((n for n, (a, b) in enumerate(zip(self._before, turns, strict=False)) if a != b), None)
        kept = min(len(self._before), len(turns)) if kept is None else kept
        self._before = turns
        tools = json.dumps(data.pop("tools"))
        if tools != self._tools:
            self._tools = tools
            data["tools"] = json.loads(tools)
        line = {"request": request.sha256, **data, "kept": kept, "turns": turns[kept:]}
        try:
            reply = self._model.ask(request, within_s)
        except WireError as error:
            self._write({**line, "error": error.to_data()})
            raise
        self._write({**line, "reply": reply.to_data()})
        return reply

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, data: Mapping[str, Any]) -> None:
        try:
            self._file.write(json.dumps(data, separators=(",", ":")) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            fail("E0955", f"the session cannot be recorded: {error.strerror}", Span(str(self._path)))


class ReplayedModel:
    """Answers from a recording, in its order, and only the questions that were asked then. No connection is made.

    Raises E0955 for a file that is no recording, for a question that is another one than recorded, and at the recording's end.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = _lines(path)
        self.head: Mapping[str, Any] = next(self._lines, None) or {}
        if self.head.get("asmevo-session") != _FORM:
            fail("E0955", "this is no recorded session that this version reads", Span(str(path)))
        self._number = 0

    def ask(self, request: Request, within_s: float | None = None) -> Reply:
        """What was answered then, a failure too; at once."""
        del within_s
        self._number += 1
        line = next(self._lines, None)
        span = Span(str(self._path), self._number + 1, 1)
        if line is None:
            fail("E0955", f"the recorded session ends before request {self._number}", span)
        if line.get("request") != request.sha256:
            what = f"request {self._number} is not the one that was recorded"
            fail("E0955", what, span, "replay with the same kernel, launches, settings, seed and version of AsmEvo")
        try:
            if "error" in line:
                raise WireError.from_data(line["error"])
            return Reply.from_data(line["reply"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            fail("E0955", f"the recorded session has a line that is not understood: {type(error).__name__}", span)

    def close(self) -> None:
        """Nothing is open."""


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a recording; one that was cut off as it was written ends it."""
    try:
        with path.open(encoding="utf-8") as file:
            while text := file.readline(_MAX_LINE_CHARS):
                if not text.endswith("\n"):
                    return
                data = json.loads(text)
                if not isinstance(data, dict):
                    raise ValueError("no object")
                yield cast("dict[str, Any]", data)
    except OSError as error:
        fail("E0955", f"the recorded session cannot be read: {error.strerror}", Span(str(path)))
    except (ValueError, RecursionError):
        fail("E0955", "the recorded session has a line that is no JSON object", Span(str(path)))
