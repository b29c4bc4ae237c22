"""An outside agent that proposes over JSON lines: its own process, one object a line each way.

Owns the protocol (docs/search.md) and the process. What the agent is, and what it knows, is its own affair.
"""

from __future__ import annotations

import json
import os
import selectors
import shlex
import subprocess
import threading
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from asmevo.diagnostics import fail
from asmevo.ir.printer import print_instruction
from asmevo.search.proposal import HotWindow, Proposal, Situation, WindowText
from asmevo.search.records import Attempt

PROTOCOL = 1
_LINE_LIMIT = 4 << 20
_SHOWN_WINDOWS = 8
_SHOWN_ATTEMPTS = 30


@dataclass(frozen=True, slots=True)
class AgentProposer:
    """Starts `command` for each errand, tells it the situation, and takes its proposals until it says that it is done."""

    command: str
    timeout_s: float = 300.0
    name: str = "agent"
    is_dialogue: bool = True

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """Its proposals. Raises E0807 when it does not start, is silent for too long, or does not keep to the protocol."""
        with Conversation(self.command, self.timeout_s) as talk:
            talk.tell(_situation(situation))
            while (said := talk.hear()) is not None:
                attempt = yield self._proposal(said, situation)
                if attempt is None:
                    return
                talk.tell(_outcome(attempt))

    def _proposal(self, said: Mapping[str, Any], situation: Situation) -> Proposal:
        number, text, told = said.get("window", 0), said.get("text"), said.get("description", "")
        windows = situation.windows[:_SHOWN_WINDOWS]
        if type(number) is not int or not 0 <= number < len(windows) or not isinstance(text, str) or not isinstance(told, str):
            fail("E0807", "the agent's proposal has no window of those shown, or no text")
        window = windows[number]
        change = WindowText(window.label, window.start, window.stop, text)
        return Proposal(self.name, told or "no description", change, str(window))


def _situation(situation: Situation) -> dict[str, Any]:
    return {
        "protocol": PROTOCOL,
        "target": situation.parent.target,
        "cycles": {"original": situation.profile.estimate.total_cycles, "parent": situation.parent_cycles},
        "windows": [_window(situation, window) for window in situation.windows[:_SHOWN_WINDOWS]],
        "history": [_outcome(attempt) for attempt in situation.history[-_SHOWN_ATTEMPTS:]],
        "remaining": {"attempts": situation.limit, "seconds": situation.remaining.seconds},
    }


def _window(situation: Situation, window: HotWindow) -> dict[str, Any]:
    members = situation.parent.block(window.label).instructions[window.start : window.stop]
    return {
        "label": window.label,
        "start": window.start,
        "stop": window.stop,
        "cycles": window.cycles,
        "stalls": dict(window.stalls),
        "text": "\n".join(f"#{i.uid} {print_instruction(i)}" for i in members),
    }


def _outcome(attempt: Attempt) -> dict[str, Any]:
    return {
        "status": attempt.status.value,
        "gate": attempt.gate.value,
        "cycles": attempt.cycles,
        "reason": attempt.reason,
        "description": attempt.description,
        "where": attempt.where,
    }


class Conversation:
    """A process spoken to in JSON lines; it is ended with the conversation."""

    def __init__(self, command: str, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        try:
            words = shlex.split(command)
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except (OSError, ValueError, IndexError) as error:
            fail("E0807", f"the agent does not start: {error}")
        self._heard = b""

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue
        self._process.kill()
        self._process.wait()

    def tell(self, data: Mapping[str, Any]) -> None:
        """Sends one object."""
        assert self._process.stdin is not None
        # One that does not read would keep us for ever.
        watchdog = threading.Timer(self._timeout_s, self._process.kill)
        watchdog.start()
        try:
            self._process.stdin.write(json.dumps(data).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            fail("E0807", "the agent ended, or was ended, before it was told")
        finally:
            watchdog.cancel()

    def hear(self) -> Mapping[str, Any] | None:
        """The next object; None when it is done: it says so, or ends."""
        line = self._line()
        if line is None:
            return None
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            fail("E0807", "the agent said something that is no JSON")
        if not isinstance(said, dict):
            fail("E0807", "the agent said something that is no object")
        return None if cast("dict[str, Any]", said).get("done") is True else cast("dict[str, Any]", said)

    def _line(self) -> bytes | None:
        assert self._process.stdout is not None
        deadline = time.monotonic() + self._timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._heard:
                if len(self._heard) > _LINE_LIMIT:
                    fail("E0807", f"the agent's line is longer than {_LINE_LIMIT} bytes")
                if not selector.select(max(deadline - time.monotonic(), 0.0)):
                    fail("E0807", f"the agent said nothing for {self._timeout_s:g} s")
                more = os.read(self._process.stdout.fileno(), 1 << 16)
                if not more:
                    return None
                self._heard += more
        line, _, self._heard = self._heard.partition(b"\n")
        return line
