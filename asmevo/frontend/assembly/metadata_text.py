"""The text between `.amdgpu_metadata` and its end: a bounded subset of YAML to plain values.

Owns the subset: maps with text keys, lists, and scalars; no anchors, aliases or tags. What the values mean is the business of
`frontend.metadata`. A scalar is an integer, a boolean or text, as LLVM's reader decides it.
"""

from __future__ import annotations

import re
from typing import NoReturn, Protocol, cast

import yaml

from asmevo.diagnostics import Diagnostic
from asmevo.frontend.assembly.lines import Line, located

Value = int | bool | str | list["Value"] | dict[str, "Value"]

_MAX_CHARACTERS = 4 << 20
_MAX_DEPTH = 32
_NUMBER = re.compile(r"[-+]?(?:0[xX][0-9A-Fa-f]+|0[oO]?[0-7]+|[1-9]\d{0,19}|0)\Z")


class _Mark(Protocol):
    """A place in YAML text, counted from 0."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


def parse_metadata(lines: list[Line], opening: Line) -> dict[str, Value]:
    """The map that the lines hold.

    Raises: DiagnosticError E0147 for text that is no such YAML, with its line.
    """
    text = _text(lines)
    if len(text) > _MAX_CHARACTERS:
        opening.fail("E0147", f"metadata of {len(text)} characters; at most {_MAX_CHARACTERS} are read")
    reader = _Builder(lines, opening)
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reader.fail(error.problem or "the text is not YAML", mark)
    except yaml.YAMLError as error:
        opening.fail("E0147", f"the text is not YAML: {error}")
    result = reader.result
    if not isinstance(result, dict):
        opening.fail("E0147", "the metadata is not a map")
    return result


def _text(lines: list[Line]) -> str:
    """The original lines with blank ones between, so that YAML's line numbers count from the first."""
    out: list[str] = []
    for line in lines:
        while len(out) < line.number - lines[0].number:
            out.append("")
        out.append(line.shown)
    return "\n".join(out) + "\n"


class _Builder:
    """Values from parser events, without recursion."""

    def __init__(self, lines: list[Line], opening: Line) -> None:
        self._lines, self._opening = lines, opening
        self._stack: list[tuple[list[Value] | dict[str, Value], str | None]] = []
        self.result: Value | None = None

    def fail(self, message: str, mark: _Mark | None) -> NoReturn:
        if mark is None or not self._lines:
            self._opening.fail("E0147", message)
        number = self._lines[0].number + mark.line
        line = next((line for line in self._lines if line.number >= number), self._lines[-1])
        span = line.span(mark.column, 1) if line.number == number else line.span()
        raise located(Diagnostic("E0147", message, span), line.origin)

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            self.fail("aliases are not read", event.start_mark)
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            self.fail("anchors are not read", event.start_mark)
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            if len(self._stack) >= _MAX_DEPTH:
                self.fail(f"the metadata nests deeper than {_MAX_DEPTH} levels", event.start_mark)
            self._check_tag(event.tag, event.start_mark)
            self._stack.append(({} if isinstance(event, yaml.MappingStartEvent) else [], None))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            value, _ = self._stack.pop()
            self._add(cast(Value, value), event.start_mark)
        elif isinstance(event, yaml.ScalarEvent):
            self._check_tag(event.tag, event.start_mark)
            self._scalar(event)
        elif isinstance(event, yaml.DocumentStartEvent) and self.result is not None:
            self.fail("a second document follows", event.start_mark)

    def _check_tag(self, tag: str | None, mark: _Mark | None) -> None:
        if tag is not None:
            self.fail(f"the tag {tag} is not read", mark)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        text = event.value
        if self._stack and isinstance(self._stack[-1][0], dict) and self._stack[-1][1] is None:
            entries, _ = self._stack[-1]
            if text in entries:
                self.fail(f"'{text}' stands twice", event.start_mark)
            self._stack[-1] = (entries, text)
            return
        value: Value = text
        if event.style is None and event.implicit[0]:
            if _NUMBER.match(text):
                value = int(text, 8) if re.match(r"[-+]?0[0-7]", text) else int(text, 0)
            elif text in ("true", "false"):
                value = text == "true"
        self._add(value, event.start_mark)

    def _add(self, value: Value, mark: _Mark | None) -> None:
        if not self._stack:
            self.result = value
            return
        owner, key = self._stack[-1]
        if isinstance(owner, list):
            owner.append(value)
        elif key is None:
            self.fail("a key is a plain text", mark)
        else:
            owner[key] = value
            self._stack[-1] = (owner, None)
