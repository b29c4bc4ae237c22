"""Requests to a model and replies from it, whatever the protocol that carries them.

Owns the data and what can go wrong. Nothing that a server tells is taken for granted.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, cast

MAX_CALLS = 16
"""Tool calls of one reply that are read; the rest is left out."""
MAX_TEXT_CHARS = 200_000
MAX_TOKENS = 1 << 31


class Trouble(enum.Enum):
    """Why there is no reply."""

    RATE_LIMITED = "rate-limited"
    SERVER = "server-error"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    MALFORMED = "malformed-reply"
    TOO_LARGE = "too-large"
    QUOTA = "quota"
    KEY = "key-refused"
    REQUEST = "request-refused"

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later."""
        return self not in (Trouble.QUOTA, Trouble.KEY, Trouble.REQUEST)


class WireError(Exception):
    """No reply. `detail` is safe to show: without key, bounded. `received` counts characters that came before it broke."""

    def __init__(
        self, trouble: Trouble, detail: str, *, retry_after_s: float | None = None, received: int = 0, seconds: float = 0.0
    ) -> None:
        super().__init__(f"{trouble.value}: {detail}")
        self.trouble, self.detail, self.retry_after_s = trouble, detail, retry_after_s
        self.received, self.seconds = received, seconds

    def to_data(self) -> dict[str, Any]:
        """As plain data for a recording."""
        return {
            "trouble": self.trouble.value,
            "detail": self.detail,
            "retry_after_s": self.retry_after_s,
            "received": self.received,
            "seconds": self.seconds,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> WireError:
        """From what `to_data` gave. KeyError, TypeError or ValueError for anything else."""
        retry = data["retry_after_s"]
        return cls(
            Trouble(data["trouble"]),
            str(data["detail"]),
            retry_after_s=None if retry is None else float(retry),
            received=count(data["received"]),
            seconds=float(data["seconds"]),
        )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants run; `arguments` are its words, not yet read as JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the server counted. `cached` of the input ones were read from its cache."""

    tokens_in: int
    tokens_out: int
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said. `refusal` when it, or a filter, declined; `is_cut` when its tokens ran out; `usage` None: not told.

    `seconds` is how long it took, to the millisecond.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    is_cut: bool = False
    usage: Usage | None = None
    seconds: float = 0.0

    def to_data(self) -> dict[str, Any]:
        """As plain data for a recording."""
        usage = self.usage
        return {
            "text": self.text,
            "calls": [[c.id, c.name, c.arguments] for c in self.calls],
            "refusal": self.refusal,
            "cut": self.is_cut,
            "usage": None if usage is None else [usage.tokens_in, usage.tokens_out, usage.cached],
            "seconds": self.seconds,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Reply:
        """From what `to_data` gave. KeyError, TypeError or ValueError for anything else."""
        usage = data["usage"]
        calls = tuple(ToolCall(str(i), str(n), str(a)) for i, n, a in data["calls"])
        told = None if usage is None else Usage(*(count(value) for value in usage))
        return cls(str(data["text"]), calls, str(data["refusal"]), bool(data["cut"]), told, float(data["seconds"]))


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation. `role` is system, user, assistant or tool; `call` the id that a tool's answer is for."""

    role: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    call: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One question: the conversation so far and the tools at hand.

    `tools` are (name, description, JSON schema); `reply_tokens` bounds the answer; `temperature` None: the server's own.
    """

    model: str
    turns: tuple[Turn, ...]
    tools: tuple[tuple[str, str, Mapping[str, Any]], ...]
    reply_tokens: int
    temperature: float | None = None
    seed: int | None = None

    def to_data(self) -> dict[str, Any]:
        """As plain data: no key, no address."""
        return {
            "model": self.model,
            "turns": [
                {"role": t.role, "text": t.text, "calls": [[c.id, c.name, c.arguments] for c in t.calls], "call": t.call}
                for t in self.turns
            ],
            "tools": [[name, description, dict(schema)] for name, description, schema in self.tools],
            "reply_tokens": self.reply_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
        }

    @property
    def sha256(self) -> str:
        """The digest of what is asked: equal questions have equal ones."""
        return sha256(json.dumps(self.to_data(), sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    @property
    def characters(self) -> int:
        """How long it is as text."""
        own = sum(len(t.text) + sum(len(c.name) + len(c.arguments) for c in t.calls) + 16 for t in self.turns)
        return own + sum(len(name) + len(description) + len(json.dumps(schema)) for name, description, schema in self.tools)


class Model(Protocol):
    """Whoever answers: a server, or a recording of one."""

    def ask(self, request: Request, within_s: float | None = None) -> Reply:
        """The reply to a request, within so many seconds. Raises WireError when there is none."""
        ...


def count(value: object) -> int:
    """A number of tokens as a server tells it. ValueError for what cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_TOKENS:
        raise ValueError(f"not a number of tokens: {str(value)[:40]}")
    return value


def usage_of(told: object, names: Sequence[str]) -> Usage | None:
    """Usage under the given names (input, output); None when a server tells nothing, or nothing that can be."""
    if not isinstance(told, dict):
        return None
    data = cast("dict[str, Any]", told)
    try:
        tokens_in, tokens_out = count(data.get(names[0])), count(data.get(names[1]))
    except ValueError:
        return None
    details = data.get(names[2])
    cached = cast("dict[str, Any]", details).get("cached_tokens") if isinstance(details, dict) else 0
    try:
        return Usage(tokens_in, tokens_out, min(count(cached or 0), tokens_in))
    except ValueError:
        return Usage(tokens_in, tokens_out)
