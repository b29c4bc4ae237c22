"""A request done on a GPU by a child process under a watchdog: whatever the kernel does, an answer comes back.

Owns the child's life and how its end is read. It must not judge results.
"""

from __future__ import annotations

import contextlib
import enum
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from asmevo.atomic import write_atomically
from asmevo.backend.hip.messages import REPLY, REQUEST, Reply, Request, decoded_reply, encoded
from asmevo.diagnostics import fail, printable

_STDERR_BYTES = 1 << 16
_LINE_BYTES = 1 << 12


class Ended(enum.Enum):
    """How the child's work ended. DIED: the driver ended the process, as it does for a memory fault."""

    DONE = "done"
    HUNG = "hung"
    DIED = "died"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long one step (a launch, a copy) and the whole may take, seconds."""

    step_s: float = 10.0
    total_s: float = 600.0
    start_s: float = 60.0
    """Until the device is open: the driver's library takes seconds to load the first time."""


@dataclass(frozen=True, slots=True)
class Report:
    """How it ended, what was done last and for which object, what the driver said, and the reply when there is one."""

    ended: Ended
    step: str
    role: str
    dispatch: int
    message: str
    reply: Reply | None


def run(request: Request, limits: Limits | None = None, *, environment: Mapping[str, str] | None = None) -> Report:
    """What came of a request. It never hangs, and no fault of a kernel reaches this process.

    `environment` is added to the child's. Raises E0701 when HIP or the device cannot be used at all.
    """
    limits = limits or Limits()
    with tempfile.TemporaryDirectory(prefix="asmevo-hip-") as name:
        folder = Path(name)
        write_atomically(folder / REQUEST, encoded(request))
        with (folder / "stderr").open("w+b") as errors:
            command = [sys.executable, "-m", "asmevo.backend.hip.child", str(folder)]
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
            try:
                last, hung = _watch(child, limits)
            finally:
                _end(child)
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _STDERR_BYTES))
            said = errors.read().decode(errors="replace")
        return _report(child.returncode, last, hung, said, folder / REPLY)


def _report(code: int, last: dict[str, Any], hung: bool, said: str, answer: Path) -> Report:
    step, role, dispatch = str(last.get("step", "start")), str(last.get("role", "")), int(last.get("dispatch", -1))
    reply = decoded_reply(answer.read_bytes()) if code == 0 and not hung and answer.exists() else None
    message = reply.error if reply else _last_line(said)
    if step in ("start", "open") and (reply is None or reply.error):
        fail(
            "E0701",
            f"the GPU cannot be used: {message or 'its process ended without a word'}",
            help="`asmevo doctor` tells what is missing; `asmevo bench --model` needs no GPU",
        )
    if hung:
        return Report(Ended.HUNG, step, role, dispatch, "no answer within the time limit", None)
    if reply is None:
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return Report(Ended.DIED, step, role, dispatch, message or how, None)
    return Report(Ended.REFUSED if reply.error else Ended.DONE, step, role, dispatch, message, reply)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return printable(lines[-1][:400]) if lines else ""


def _watch(child: subprocess.Popen[bytes], limits: Limits) -> tuple[dict[str, Any], bool]:
    """The last step that the child told, and whether a time limit ended the wait."""
    out = cast("IO[bytes]", child.stdout)
    last: dict[str, Any] = {}
    end = time.monotonic() + limits.total_s
    deadline = time.monotonic() + limits.start_s
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(out, selectors.EVENT_READ)
        while True:
            wait = min(deadline, end) - time.monotonic()
            if wait <= 0 or not selector.select(wait):
                return last, True
            data = os.read(out.fileno(), _STDERR_BYTES)
            if not data:
                break
            *lines, pending = (pending + data).split(b"\n")
            if len(pending) > _LINE_BYTES:
                return last, True
            for line in lines:
                # The driver's library may print to stdout too; what is not ours is passed over.
                with contextlib.suppress(ValueError):
                    told = json.loads(line)
                    if isinstance(told, dict):
                        last = cast("dict[str, Any]", told)
            if last.get("step") not in (None, "open"):
                deadline = time.monotonic() + limits.step_s
    try:
        child.wait(max(0.0, min(limits.step_s, end - time.monotonic())))
    except subprocess.TimeoutExpired:
        return last, True
    return last, False


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and what it started; nothing of it stays behind."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdout:
        child.stdout.close()
