"""A model behind a server: the openai package, with bounds on bytes and time of its replies.

Owns the connection, the key and what may be told of failures. The key goes into the request's head and nowhere else: whatever
comes back, an error's text too, is cleaned of it before anyone sees it. Redirects are not followed, and the package's own
repetitions are off: `retrying` has them.
"""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import httpx2
import openai

from asmevo.diagnostics import printable
from asmevo.search.llm.protocols import chat_body, chat_reply, responses_body, responses_reply
from asmevo.search.llm.wire import Reply, Request, ToolCall, Trouble, WireError

MAX_BYTES = 16 << 20
"""Of one reply on the wire, its frame included."""
MAX_EVENT_LINES = 1024
"""Of one event of a stream; the package's reader takes time with the square of them."""

_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|key|Bearer)[-_ ][A-Za-z0-9_.*-]{6,}")
_LEAST_KEY_CHARS = 8
"""A shorter key is a placeholder for servers that want none; ordinary text would hold it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: to connect, between two pieces of a reply, and for a reply as a whole."""

    connect_s: float = 10.0
    stall_s: float = 60.0
    whole_s: float = 600.0


class ServerModel:
    """Asks a server. `secret` is the key; it is not kept where `repr`, pickling or a traceback would show it."""

    def __init__(
        self,
        base_url: str,
        secret: str,
        limits: Limits,
        *,
        api: Literal["chat", "responses"] = "chat",
        stream: bool = True,
        limit_name: str = "max_completion_tokens",
    ) -> None:
        timeout = httpx2.Timeout(limits.whole_s, connect=limits.connect_s, read=limits.stall_s)
        self._http = _BoundedClient(limits.whole_s, timeout=timeout, follow_redirects=False)
        self._client = openai.OpenAI(
            api_key=secret,
            base_url=base_url,
            max_retries=0,
            timeout=timeout,
            http_client=self._http,
            default_headers={"Accept-Encoding": "identity"},
        )
        self._clean = _Cleaner(secret)
        self._api: Literal["chat", "responses"] = api
        self._stream = stream
        self._limit_name = limit_name

    def ask(self, request: Request, within_s: float | None = None) -> Reply:
        """The reply, as the protocol of models says. What a WireError says is safe to show."""
        clean, started = self._clean, time.monotonic()
        self._http.within(within_s)
        try:
            pieces = self._pieces(request)
            reply = chat_reply(pieces) if self._api == "chat" else responses_reply(pieces)
        except WireError as error:
            # From None: what the package raised holds the request with its head.
            raise WireError(
                error.trouble,
                clean(error.detail),
                retry_after_s=error.retry_after_s,
                received=error.received,
                seconds=_since(started),
            ) from None
        calls = tuple(ToolCall(clean.secret(c.id), clean.secret(c.name), clean.secret(c.arguments)) for c in reply.calls)
        return Reply(clean.secret(reply.text), calls, clean.secret(reply.refusal), reply.is_cut, reply.usage, _since(started))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _pieces(self, request: Request) -> Iterator[object]:
        """What the server sends, piece by piece, as plain data."""
        if self._api == "chat":
            path, body = "/chat/completions", chat_body(request, stream=self._stream, limit_name=self._limit_name)
        else:
            path, body = "/responses", responses_body(request, stream=self._stream)
        try:
            # As plain data: the package's own types take whatever a server sends for what it should be.
            if self._stream:
                yield from self._client.post(path, body=body, cast_to=object, stream=True, stream_cls=openai.Stream[object])
            else:
                yield self._client.post(path, body=body, cast_to=object)
        except _OutOfBounds as error:
            raise WireError(error.trouble, str(error)) from None
        except openai.APITimeoutError:
            raise WireError(Trouble.TIMEOUT, "the server did not answer in time") from None
        except openai.APIConnectionError as error:
            raise WireError(Trouble.CONNECTION, f"no connection: {type(error.__cause__).__name__}") from None
        except openai.APIStatusError as error:
            raise _refused(error) from None
        except openai.APIError as error:
            raise WireError(Trouble.SERVER, _told(error)) from None
        except httpx2.HTTPError as error:
            raise WireError(Trouble.CONNECTION, f"the connection broke: {type(error).__name__}") from None
        except (ValueError, RecursionError) as error:
            raise WireError(Trouble.MALFORMED, f"the reply is no JSON: {type(error).__name__}") from None


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)


class _OutOfBounds(Exception):
    def __init__(self, trouble: Trouble, message: str) -> None:
        super().__init__(message)
        self.trouble = trouble


class _BoundedClient(httpx2.Client):
    """An HTTP client whose responses end with an error after MAX_BYTES, or `whole_s` after the request."""

    def __init__(self, whole_s: float, **options: Any) -> None:
        super().__init__(**options)
        self._most_s = self._whole_s = whole_s

    def within(self, seconds: float | None) -> None:
        """Bounds the next request more tightly, None: as by default. A silent server is noticed by the time for a pause."""
        self._whole_s = self._most_s if seconds is None else min(self._most_s, max(seconds, 0.001))

    def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Sends as the base class does; the body is always read through the bounds."""
        deadline = time.monotonic() + self._whole_s
        response = super().send(request, stream=True, **options)
        assert isinstance(response.stream, httpx2.SyncByteStream), "a synchronous client has synchronous responses"
        if response.headers.get("content-encoding", "identity") != "identity":
            response.close()
            raise _OutOfBounds(Trouble.MALFORMED, "the reply is compressed, which was not asked for")
        response.stream = _BoundedStream(response.stream, deadline)
        if not stream:
            response.read()
        return response


class _BoundedStream(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, deadline: float) -> None:
        self._inner, self._deadline = inner, deadline

    def __iter__(self) -> Iterator[bytes]:
        size = lines = 0
        end = b""
        for part in self._inner:
            size += len(part)
            if size > MAX_BYTES:
                raise _OutOfBounds(Trouble.TOO_LARGE, f"the reply has more than {MAX_BYTES} bytes")
            joined = end + part
            gap = max(joined.rfind(blank) for blank in (b"\n\n", b"\r\r", b"\r\n\r\n"))
            lines = joined.count(b"\n", max(gap, 0)) + joined.count(b"\r", max(gap, 0)) + (lines if gap < 0 else 0)
            end = joined[-3:]
            if lines > MAX_EVENT_LINES:
                raise _OutOfBounds(Trouble.MALFORMED, f"an event of the reply has more than {MAX_EVENT_LINES} lines")
            if time.monotonic() > self._deadline:
                raise _OutOfBounds(Trouble.TIMEOUT, "the reply took too long as a whole")
            yield part

    def close(self) -> None:
        self._inner.close()


@dataclass(frozen=True, slots=True, repr=False)
class _Cleaner:
    """Takes a key out of text."""

    key: str

    def secret(self, text: str) -> str:
        """`text` without the key, and without halves of characters, which no file and no request could hold."""
        whole = text.encode("utf-8", "replace").decode()
        return whole.replace(self.key, "[key]") if len(self.key) >= _LEAST_KEY_CHARS else whole

    def __call__(self, text: str) -> str:
        """A message safe to show: without the key or what looks like one, printable, short."""
        return printable(_LOOKS_LIKE_A_KEY.sub("[key]", self.secret(text)))[:400]


_TROUBLES = {401: Trouble.KEY, 403: Trouble.KEY, 402: Trouble.QUOTA, 408: Trouble.TIMEOUT, 409: Trouble.SERVER}


def _refused(error: openai.APIStatusError) -> WireError:
    status = error.status_code
    detail = f"HTTP {status}: {_told(error)}"
    if status == 429:
        trouble = Trouble.QUOTA if error.code == "insufficient_quota" else Trouble.RATE_LIMITED
    else:
        trouble = _TROUBLES.get(status) or (Trouble.SERVER if status >= 500 else Trouble.REQUEST)
    return WireError(trouble, detail, retry_after_s=_retry_after(error.response.headers))


def _told(error: openai.APIError) -> str:
    body = error.body
    told = body.get("message") if isinstance(body, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return told[:2000] if isinstance(told, str) else "no message"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: a number, or a date; None for neither."""
    told = headers.get("retry-after-ms")
    seconds = _number(told) / 1000 if told else _number(headers.get("retry-after") or "")
    if seconds != seconds:
        try:
            when = email.utils.parsedate_to_datetime(headers.get("retry-after") or "")
        except ValueError:
            return None
        seconds = when.timestamp() - time.time()
    return max(seconds, 0.0)


def _number(text: str) -> float:
    """The number that a header holds; NaN for none."""
    return float(text) if re.fullmatch(r"\s*\d{1,9}(?:\.\d{1,9})?\s*", text) else float("nan")
