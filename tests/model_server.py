"""A server of the OpenAI protocol for tests: a process of its own that does what a script says, the n-th act for request n.

Run as `python model_server.py SCRIPT KEY LOG`. SCRIPT is a JSON file with a list of acts, KEY the key that it wants ("" for
none), LOG takes a JSON line a request (never the key). It prints its port, and serves until standard input ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Act = dict[str, Any]


# ---- acts, as tests write them ----


def says(text: str = "", *calls: tuple[str, Any], usage: Sequence[int] | None = (1000, 100), **more: Any) -> Act:
    """A reply with text and tool calls (name and arguments; a string as it is, anything else as JSON)."""
    made = [(name, arguments if isinstance(arguments, str) else json.dumps(arguments)) for name, arguments in calls]
    return {"do": "reply", "text": text, "calls": made, "usage": usage, **more}


def status(number: int, message: str = "no", headers: dict[str, str] | None = None, **error: Any) -> Act:
    """An HTTP error."""
    return {"do": "status", "code": number, "headers": headers or {}, "error": {"message": message, **error}}


def raw(body: str, content_type: str = "text/event-stream", headers: dict[str, str] | None = None) -> Act:
    """A body as it is, with status 200."""
    return {"do": "raw", "body": body, "type": content_type, "headers": headers or {}}


STALL: Act = {"do": "stall"}
"""Begins an answer, then nothing."""
TRICKLE: Act = {"do": "trickle"}
"""Comments for ever, each in time."""
CUT: Act = {"do": "cut"}
"""Ends the connection in the middle of a reply."""
DROP: Act = {"do": "drop"}
"""Ends the connection before any answer."""
FLOOD: Act = {"do": "flood"}
"""One event without an end."""
JUDGE: Act = {"do": "judge"}
"""Wants the newest edit judged."""


def echo(number: int) -> Act:
    """An HTTP error that says the key that was sent."""
    return {"do": "echo", "code": number}


def solves(edits: dict[int, str]) -> Act:
    """Proposes the edit that is known for a window by its first instruction, once it has read it; reads it before."""
    return {"do": "solve", "edits": {str(uid): text for uid, text in edits.items()}}


@contextmanager
def serving(folder: Path, acts: Sequence[Act], key: str = "") -> Iterator[tuple[str, Path]]:
    """Run a server process with a script; its base URL and the file of what it was asked."""
    script, log = folder / "script.json", folder / "asked.jsonl"
    script.write_text(json.dumps(list(acts)))
    command = [sys.executable, __file__, str(script), key, str(log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1", log
        finally:
            process.stdin.close()
            process.wait(10)


# ---- the server ----


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    acts: Sequence[Act]
    key: str
    asked: Path
    count = 0
    lock = threading.Lock()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_right = not self.key or self.headers["Authorization"] == f"Bearer {self.key}"
        with _Handler.lock:
            act = self.acts[min(_Handler.count, len(self.acts) - 1)]
            _Handler.count += 1
            with self.asked.open("a") as file:
                file.write(json.dumps({"path": self.path, "authorized": is_right, "body": body}) + "\n")
        if not is_right:
            act = status(401, "wrong key")
        try:
            getattr(self, f"do_{act['do']}")(act, body)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.close_connection = True

    def do_reply(self, act: Act, body: dict[str, Any]) -> None:
        if "/responses" in self.path:
            self._responses(act, body["stream"])
        elif body["stream"]:
            self._events([*_chunks(act), "[DONE]"])
        else:
            calls = [_call(n, *call) for n, call in enumerate(act["calls"])]
            said = {"role": "assistant", "content": act["text"] or None, "tool_calls": calls or None}
            choice = {"index": 0, "message": said, "finish_reason": act.get("finish", "tool_calls" if calls else "stop")}
            self._whole({"id": "x", "object": "chat.completion", "choices": [choice], "usage": _usage(act)})

    def do_solve(self, act: Act, body: dict[str, Any]) -> None:
        last = next((m for m in reversed(body["messages"]) if m["role"] in ("tool", "user")), {})
        lines = json.loads(last["content"]).get("lines") if last.get("role") == "tool" else None
        if lines is None:
            self.do_reply(says("I read it.", ("read_window", {})), body)
            return
        edit = act["edits"].get(lines[0].split()[0][1:])
        if edit is None:
            self.do_reply(says("Nothing to gain here."), body)
        else:
            why = "long latencies are covered by independent work"
            self.do_reply(says("I have an order.", ("propose_edit", {"text": edit, "why": why})), body)

    def do_judge(self, act: Act, body: dict[str, Any]) -> None:
        told = [json.loads(m["content"]) for m in body["messages"] if m["role"] == "tool"]
        made = [data["edit"] for data in told if "edit" in data]
        self.do_reply(says("Judge it.", ("run_gates", {"edit": made[-1]})) if made else says("I have no edit."), body)

    def _responses(self, act: Act, stream: bool) -> None:
        output: list[dict[str, Any]] = []
        if act["text"]:
            output.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": act["text"]}]})
        for n, (name, arguments) in enumerate(act["calls"]):
            output.append({"type": "function_call", "call_id": f"c{n}", "name": name, "arguments": arguments})
        usage = dict(zip(("input_tokens", "output_tokens"), act["usage"], strict=False)) if act["usage"] else None
        response = {"id": "r", "object": "response", "status": "completed", "output": output, "usage": usage}
        if stream:
            self._events([{"type": "response.created"}, {"type": "response.completed", "response": response}])
        else:
            self._whole(response)

    def do_status(self, act: Act, body: dict[str, Any]) -> None:
        self._whole({"error": act["error"]}, act["code"], act["headers"])

    def do_echo(self, act: Act, body: dict[str, Any]) -> None:
        self._whole({"error": {"message": f"bad key {self.headers['Authorization']}"}}, act["code"], {})

    def do_raw(self, act: Act, body: dict[str, Any]) -> None:
        data = act["body"].encode()
        self.send_response(200)
        for name, value in {"Content-Type": act["type"], "Content-Length": str(len(data)), **act["headers"]}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_stall(self, act: Act, body: dict[str, Any]) -> None:
        self._begin()
        self._part(b": wait\n\n")
        time.sleep(30)

    def do_trickle(self, act: Act, body: dict[str, Any]) -> None:
        self._begin()
        for _ in range(600):
            self._part(b": still here\n\n")
            time.sleep(0.05)

    def do_cut(self, act: Act, body: dict[str, Any]) -> None:
        self._begin()
        for data in _chunks(says("half of a sentence that never"))[:1]:
            self._part(f"data: {json.dumps(data)}\n\n".encode())

    def do_drop(self, act: Act, body: dict[str, Any]) -> None:
        self.connection.close()

    def do_flood(self, act: Act, body: dict[str, Any]) -> None:
        self._begin()
        for _ in range(1000):
            self._part(b"data: " + b"x" * 65536)

    def _events(self, data: Sequence[object]) -> None:
        self._begin()
        for item in data:
            self._part(f"data: {item if isinstance(item, str) else json.dumps(item)}\n\n".encode())
        self.wfile.write(b"0\r\n\r\n")

    def _begin(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _part(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _whole(self, data: object, code: int = 200, headers: dict[str, str] | None = None) -> None:
        text = json.dumps(data).encode()
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(text)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)


def _usage(act: Act) -> dict[str, Any] | None:
    if not act["usage"]:
        return None
    sent, received, *cached = act["usage"]
    return {"prompt_tokens": sent, "completion_tokens": received, "prompt_tokens_details": {"cached_tokens": sum(cached)}}


def _call(number: int, name: str, arguments: str) -> dict[str, Any]:
    return {"index": number, "id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _chunks(act: Act) -> list[dict[str, Any]]:
    """A reply in small pieces, as servers send it: text by words, arguments in parts, then the end, then the usage."""

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "x", "object": "chat.completion.chunk", "choices": [choice]}

    made = [chunk({"content": word + " "}) for word in act["text"].split()]
    if refusal := act.get("refusal"):
        made.append(chunk({"refusal": refusal}))
    for number, (name, arguments) in enumerate(act["calls"]):
        made.append(chunk({"tool_calls": [_call(number, name, "")]}))
        for start in range(0, len(arguments), 40):
            piece = {"index": number, "function": {"arguments": arguments[start : start + 40]}}
            made.append(chunk({"tool_calls": [piece]}))
    made.append(chunk({}, act.get("finish", "tool_calls" if act["calls"] else "stop")))
    if act["usage"]:
        made.append({"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": _usage(act)})
    return made


def _main() -> None:
    script, _Handler.key, log = sys.argv[1:4]
    _Handler.acts, _Handler.asked = json.loads(Path(script).read_text()), Path(log)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _main()
