"""The tools over one hot window: one registry for every agent, whether a model that AsmEvo asks or one that asks AsmEvo.

Owns names, JSON schemas, strict and bounded arguments, and who may use what. What a tool does is in `tools`. Whatever an agent
sends, the answer is plain data or an error text; nothing is raised for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from asmevo.diagnostics import DiagnosticError
from asmevo.search.llm.bench import Sketch, ToolSession
from asmevo.search.llm.names import shortened

S = TypeVar("S")

MAX_ARGUMENT_CHARS = 64_000
MAX_ANSWER_CHARS = 64_000
"""Characters of the arguments that are read and of an answer that is given, as JSON."""


class Arguments(BaseModel):
    """Base of all arguments: no key that is not known, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True, slots=True)
class Submission:
    """An edit that the agent wants judged: the host runs the gates and gives what came of it to `ToolSession.judged`."""

    sketch: Sketch


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says: plain data, or with `is_error` why it could not."""

    data: Mapping[str, Any]
    is_error: bool = False

    def text(self) -> str:
        """The answer as JSON in ASCII: kernel text inside stays a quoted string, whatever it holds."""
        return bounded_json(self.data)


@dataclass(frozen=True, slots=True)
class Tool(Generic[S]):
    """One tool over a state of type S. `edits` marks those that propose changes; they are kept from read-only agents."""

    name: str
    description: str
    arguments: type[Arguments]
    run: Callable[[S, Any], Mapping[str, Any] | Submission]
    edits: bool = False

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, without titles."""
        return _untitled(self.arguments.model_json_schema())


def tools(*, edits: bool) -> tuple[Tool[ToolSession], ...]:
    """Every tool, or without `edits` those that only read."""
    from asmevo.search.llm.tools import TOOLS

    return tuple(tool for tool in TOOLS if edits or not tool.edits)


def call(session: ToolSession, name: str, arguments: str | Mapping[str, Any]) -> Answer | Submission:
    """Run a tool of a session; see `run_tool`. A tool that the session does not allow is one that does not exist."""
    return run_tool(tools(edits=session.may_edit), session, name, arguments, session.view.names.text)


def run_tool(
    offered: Sequence[Tool[S]], state: S, name: str, arguments: str | Mapping[str, Any], shown: Callable[[str], str]
) -> Answer | Submission:
    """Run one of the tools on an agent's arguments, which may be anything; `shown` makes a message safe to show.

    An unknown tool, arguments that are too long, no JSON or not as the schema says, and what the tool refuses all become an
    error answer that says what to do.
    """
    tool = next((tool for tool in offered if tool.name == name), None)
    if tool is None:
        known = ", ".join(tool.name for tool in offered)
        return refusal("unknown-tool", f"there is no tool {shortened(ascii(name), 80)}; there are {known}")
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    except (TypeError, ValueError, RecursionError):
        return refusal("malformed", "the arguments are no JSON")
    if len(text) > MAX_ARGUMENT_CHARS:
        return refusal("malformed", f"the arguments have {len(text)} characters, the limit is {MAX_ARGUMENT_CHARS}")
    try:
        parsed = tool.arguments.model_validate_json(text or "{}")
    except ValidationError as error:
        return refusal("malformed", _explained(error))
    try:
        found = tool.run(state, parsed)
    except DiagnosticError as error:
        first = error.diagnostics[0]
        told = shown(first.message + (f"; {first.help}" if first.help else ""))
        return refusal(first.code, told)
    return found if isinstance(found, Submission) else Answer(found)


def refusal(kind: str, message: str) -> Answer:
    """An error answer."""
    return Answer({"error": kind, "message": message}, is_error=True)


def bounded_json(data: Mapping[str, Any]) -> str:
    """`data` as compact JSON in ASCII of at most MAX_ANSWER_CHARS characters."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    if len(text) <= MAX_ANSWER_CHARS:
        return text
    told = f"the answer has {len(text)} characters, the limit is {MAX_ANSWER_CHARS}: ask for a smaller part"
    return json.dumps({"error": "too-long", "message": told})


def _explained(error: ValidationError) -> str:
    # Not what was sent: that may be long, and the agent knows it.
    found = [f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors(include_input=False)[:4]]
    return shortened("; ".join(found), 600)


def _untitled(schema: Any) -> Any:
    """A schema without the titles that pydantic makes of names; a property called `title` stays."""
    if isinstance(schema, dict):
        items = cast("dict[str, Any]", schema)
        return {
            key: {name: _untitled(inner) for name, inner in value.items()} if key == "properties" else _untitled(value)
            for key, value in items.items()
            if not (key == "title" and isinstance(value, str))
        }
    if isinstance(schema, list):
        return [_untitled(item) for item in cast("list[Any]", schema)]
    return schema
