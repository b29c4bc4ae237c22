"""Requests and replies as the two protocols spell them: chat completions and responses.

Owns the spelling. What a server sends may be anything: it is checked here, and bounded by `wire`'s limits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from asmevo.search.llm.wire import MAX_CALLS, MAX_TEXT_CHARS, Reply, Request, ToolCall, Trouble, Turn, WireError, usage_of


class _Function(BaseModel):
    name: str | None = None
    arguments: str | None = None


class _Call(BaseModel):
    index: int = Field(default=0, ge=0, lt=1 << 16)
    id: str | None = None
    function: _Function = _Function()


class _Delta(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(BaseModel):
    choices: list[_Choice] = []
    usage: Any = None


def chat_body(request: Request, *, stream: bool, limit_name: str) -> dict[str, Any]:
    """The body of a chat completion; `limit_name` is what the server calls the limit of the reply's tokens."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(turn) for turn in request.turns],
        limit_name: request.reply_tokens,
        "stream": stream,
    }
    if request.tools:
        body["tools"] = [
            {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
            for name, description, schema in request.tools
        ]
    if stream:
        body["stream_options"] = {"include_usage": True}
    return body | _sampling(request)


def _sampling(request: Request) -> dict[str, Any]:
    told = {"temperature": request.temperature, "seed": request.seed}
    return {name: value for name, value in told.items() if value is not None}


def _message(turn: Turn) -> dict[str, Any]:
    if turn.role == "tool":
        return {"role": "tool", "tool_call_id": turn.call, "content": turn.text}
    if not turn.calls:
        return {"role": turn.role, "content": turn.text}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in turn.calls
    ]
    return {"role": turn.role, "content": turn.text or None, "tool_calls": calls}


def chat_reply(chunks: Iterable[object]) -> Reply:
    """The reply that a chat completion's chunks make, or the one object of a server that does not stream.

    Raises WireError: malformed for what is no chunk and for an end before the reply was complete, too large beyond the limits.
    """
    gathered = _Gathered()
    try:
        for data in chunks:
            gathered.add(_Chunk.model_validate(data))
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise WireError(Trouble.MALFORMED, f"{place}: {first['msg']}", received=gathered.characters) from None
    except WireError as error:
        raise WireError(
            error.trouble, error.detail, retry_after_s=error.retry_after_s, received=gathered.characters + error.received
        ) from None
    return gathered.reply()


class _Gathered:
    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, list[str]] = {}
        self._finish = ""
        self._usage: object = None
        self.characters = 0

    def add(self, chunk: _Chunk) -> None:
        if chunk.usage is not None:
            self._usage = chunk.usage
        for choice in chunk.choices[:1]:
            said = choice.delta or choice.message or _Delta()
            self._grow(self._text, said.content)
            self._grow(self._refusal, said.refusal)
            for number, call in enumerate(said.tool_calls or ()):
                # A server that sends whole calls need not number them.
                index = number if choice.message is not None else call.index
                parts = self._calls.setdefault(index, ["", "", ""])
                for place, part in enumerate((call.id, call.function.name, call.function.arguments)):
                    self.characters += len(part or "")
                    # Ids and names come whole; some servers repeat them with every part.
                    parts[place] = parts[place] + (part or "") if place == 2 else parts[place] or (part or "")
            self._finish = choice.finish_reason or self._finish
        if self.characters > MAX_TEXT_CHARS:
            raise WireError(Trouble.TOO_LARGE, f"the reply has more than {MAX_TEXT_CHARS} characters")

    def _grow(self, parts: list[str], part: str | None) -> None:
        if part:
            parts.append(part)
            self.characters += len(part)

    def reply(self) -> Reply:
        if not self._finish:
            raise WireError(Trouble.MALFORMED, "the reply broke off before its end", received=self.characters)
        refusal = "".join(self._refusal) or ("a filter of the server stopped it" if self._finish == "content_filter" else "")
        calls = [ToolCall(*parts) for _, parts in sorted(self._calls.items())]
        usage = usage_of(self._usage, ("prompt_tokens", "completion_tokens", "prompt_tokens_details"))
        return Reply("".join(self._text), distinct(calls), refusal, self._finish == "length", usage)


def distinct(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """The calls with an id each that no other has; at most MAX_CALLS of them."""
    found: list[ToolCall] = []
    seen: set[str] = set()
    for number, call in enumerate(calls):
        if number >= MAX_CALLS:
            break
        name = call.id[:128] if call.id and call.id[:128] not in seen else f"call_{number}_{len(seen)}"
        seen.add(name)
        found.append(ToolCall(name, call.name[:128], call.arguments))
    return tuple(found)


class _Part(BaseModel):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(BaseModel):
    type: str = ""
    content: list[_Part] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class _Response(BaseModel):
    status: str | None = None
    output: list[_Item] = []
    usage: Any = None
    incomplete_details: Any = None
    error: Any = None


class _Event(BaseModel):
    type: str = ""
    response: _Response | None = None


_LAST = ("response.completed", "response.incomplete", "response.failed")


def responses_body(request: Request, *, stream: bool) -> dict[str, Any]:
    """The body of a request to the responses API; nothing is kept on the server."""
    items: list[dict[str, Any]] = []
    for turn in request.turns:
        if turn.role == "tool":
            items.append({"type": "function_call_output", "call_id": turn.call, "output": turn.text})
            continue
        if turn.text:
            items.append({"role": turn.role, "content": turn.text})
        items += [
            {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments} for call in turn.calls
        ]
    body: dict[str, Any] = {
        "model": request.model,
        "input": items,
        "max_output_tokens": request.reply_tokens,
        "store": False,
        "stream": stream,
    }
    if request.tools:
        body["tools"] = [
            {"type": "function", "name": name, "description": description, "parameters": schema, "strict": False}
            for name, description, schema in request.tools
        ]
    return body | ({} if request.temperature is None else {"temperature": request.temperature})


def responses_reply(events: Iterable[object]) -> Reply:
    """The reply in a stream's last event, or in the one object of a server that does not stream. Raises as `chat_reply`."""
    last: _Response | None = None
    try:
        for data in events:
            event = _Event.model_validate(data)
            if event.type in _LAST:
                last = event.response
            elif event.type == "":
                last = _Response.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise WireError(Trouble.MALFORMED, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if last is None:
        raise WireError(Trouble.MALFORMED, "the reply broke off before its end")
    if last.status == "failed" or last.error:
        raise WireError(Trouble.SERVER, "the server says that the response failed")
    parts = [part for item in last.output if item.type == "message" for part in item.content or ()]
    calls = [
        ToolCall(item.call_id or "", item.name or "", item.arguments or "")
        for item in last.output
        if item.type == "function_call"
    ]
    text = "".join(part.text or "" for part in parts if part.type == "output_text")
    refusal = "".join(part.refusal or "" for part in parts if part.type == "refusal")
    if len(text) + sum(len(call.arguments) for call in calls) > MAX_TEXT_CHARS:
        raise WireError(Trouble.TOO_LARGE, f"the reply has more than {MAX_TEXT_CHARS} characters")
    usage = usage_of(last.usage, ("input_tokens", "output_tokens", "input_tokens_details"))
    return Reply(text, distinct(calls), refusal, last.status == "incomplete", usage)
