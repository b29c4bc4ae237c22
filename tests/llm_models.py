"""Windows and scripted models for tests of the model proposer, without any server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from asmevo.backend.launch import Dispatch
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.kernel import Kernel
from asmevo.search.evaluation import Evaluator
from asmevo.search.llm.bench import ToolSession
from asmevo.search.llm.view import WindowView
from asmevo.search.llm.wire import Reply, Request, ToolCall, Usage, WireError
from asmevo.search.profile import Profile, profile_kernel
from asmevo.search.proposal import HotWindow, Situation
from asmevo.verify.judge import Judge, Level
from asmevo.verify.launch.dispatches import load_launches
from support import EXAMPLES


@lru_cache(maxsize=1)
def softmax() -> tuple[Kernel, Profile, tuple[Dispatch, ...]]:
    """The shipped softmax, its profile on the first launch, and that launch."""
    kernel = recover(load_file(EXAMPLES / "kernels" / "softmax.co"))
    dispatches = tuple(load_launches(EXAMPLES / "launches" / "softmax.toml", kernel)[:1])
    return kernel, profile_kernel(kernel, dispatches), dispatches


def evaluator() -> Evaluator:
    """Models and judges candidates made from the shipped softmax."""
    kernel, profile, dispatches = softmax()
    code_object = load_file(EXAMPLES / "kernels" / "softmax.co")
    return Evaluator(kernel, profile, dispatches, Judge(Level.EMULATE, dispatches), None, code_object)


def softmax_window(length: int | None = None) -> HotWindow:
    """The hottest block of the shipped softmax, or its first instructions."""
    kernel, profile, _ = softmax()
    label = profile.hot_blocks(1)[0]
    size = len(kernel.block(label).instructions)
    return HotWindow(label, 0, size if length is None else min(length, size), profile.estimate.total_cycles, {"vmcnt": 352.0})


def situation(length: int | None = None, **changes: Any) -> Situation:
    """What a proposer is asked about the shipped softmax."""
    kernel, profile, _ = softmax()
    made = Situation(kernel, kernel, profile.estimate.total_cycles, profile, (softmax_window(length),), seed=1)
    return replace(made, **changes)


def session(length: int | None = None, *, may_edit: bool = True) -> ToolSession:
    """Tools over the hottest block of the shipped softmax."""
    kernel, profile, _ = softmax()
    return ToolSession(WindowView(kernel, softmax_window(length), profile), evaluator(), may_edit)


def reply(text: str = "", *calls: tuple[str, Any], tokens: tuple[int, int] | None = (1000, 100), **more: Any) -> Reply:
    """A reply with tool calls, each a name and arguments (a string as it is, anything else as JSON)."""
    made = [
        ToolCall(f"c{n}", name, arguments if isinstance(arguments, str) else json.dumps(arguments))
        for n, (name, arguments) in enumerate(calls)
    ]
    return Reply(text, tuple(made), usage=None if tokens is None else Usage(*tokens), **more)


class Scripted:
    """A model that gives these replies in turn, the last one again and again; an error among them is raised."""

    def __init__(self, replies: Iterable[Reply | WireError]) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    def ask(self, request: Request, within_s: float | None = None) -> Reply:
        """The next reply."""
        found = self.replies[min(len(self.requests), len(self.replies) - 1)]
        self.requests.append(request)
        if isinstance(found, WireError):
            raise found
        return found

    def answers(self, number: int = -1) -> Sequence[dict[str, Any]]:
        """The tool answers that a request carried, as data."""
        return [json.loads(turn.text) for turn in self.requests[number].turns if turn.role == "tool"]
