"""A place for an outside agent to work at: hot windows of a kernel, one chosen at a time, with the tools over it.

Owns which window is chosen, and what an accepted edit changes: it becomes the kernel that is worked on. Judging is the
evaluator's, as in a search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from asmevo.diagnostics import fail
from asmevo.ir.kernel import Kernel
from asmevo.search.drafting import drafted
from asmevo.search.evaluation import Evaluation, Evaluator
from asmevo.search.lineage import edits
from asmevo.search.llm import toolbox
from asmevo.search.llm.bench import Sketch, ToolSession
from asmevo.search.llm.toolbox import Answer, Arguments, Submission, Tool
from asmevo.search.llm.view import WindowView
from asmevo.search.profile import AS_ORIGINAL, Counts, Profile
from asmevo.search.proposal import HotWindow, Proposal
from asmevo.search.records import Attempt, Gate, Status
from asmevo.search.standing import MINIMUM_GAIN
from asmevo.search.windows import hot_windows

_AGENT = "mcp"
_HISTORY = 64
"""Attempts kept for a window that is chosen again."""


class ListWindows(Arguments):
    """Nothing to say."""


class ChooseWindow(Arguments):
    """Which window."""

    number: Annotated[int, Field(ge=0, le=10_000, description="its number in list_windows")]


@dataclass(slots=True)
class Desk:
    """One agent's work on a kernel.

    `judge` is the evaluator's, wherever it runs; `accepted` is told of each kernel that passed every gate and is faster than
    all before.
    """

    original: Kernel
    profile: Profile
    evaluator: Evaluator
    judge: Callable[[Kernel], Evaluation]
    blocks: int
    may_edit: bool
    accepted: Callable[[Kernel], None] | None = None
    parent: Kernel = field(init=False)
    windows: tuple[HotWindow, ...] = field(init=False)
    session: ToolSession | None = field(init=False, default=None)
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    _chosen: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._take(self.original)

    def tools(self) -> tuple[Tool[Any], ...]:
        """What is offered."""
        return (*_WINDOW_TOOLS, *toolbox.tools(edits=self.may_edit))

    def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """A tool's answer, whatever is sent."""
        if any(tool.name == name for tool in _WINDOW_TOOLS):
            found = toolbox.run_tool(_WINDOW_TOOLS, self, name, arguments, ascii)
        elif self.session is None:
            return toolbox.refusal("no-window", "nothing in this kernel runs in these launches that could be worked on")
        else:
            found = toolbox.call(self.session, name, arguments)
        return Answer(self._judged(found.sketch)) if isinstance(found, Submission) else found

    def list(self) -> dict[str, Any]:
        """The windows, as plain data."""
        assert self.session is not None or not self.windows, "the first window is chosen at once"
        rows = [
            {
                "number": number,
                "block": self.session.view.names.label(window.label) if self.session else "",
                "instructions": window.stop - window.start,
                "modelled_cycles": round(window.cycles, 1),
                "lost": {cause: round(cycles, 1) for cause, cycles in window.stalls.items() if cycles},
            }
            for number, window in enumerate(self.windows[:64])
        ]
        return {"windows": rows, "chosen": self._chosen, "kernel_cycles": round(self.profile.estimate.total_cycles, 1)}

    def choose(self, number: int) -> dict[str, Any]:
        """Make a window the one that tools work on. Raises E0951 when there is none of this number."""
        if number >= len(self.windows):
            fail("E0951", f"there is no window {number}", help=f"list_windows shows {len(self.windows)}")
        window = self.windows[number]
        self._chosen = number
        history = [attempt for attempt in self.attempts if attempt.where.startswith(f"{window.label}[")][-_HISTORY:]
        self.session = ToolSession(WindowView(self.parent, window, self.profile), self.evaluator, self.may_edit, history)
        return {"chosen": number, "instructions": window.stop - window.start}

    def _take(self, kernel: Kernel, counts: Counts = AS_ORIGINAL) -> None:
        """Go on from a kernel: it is modelled anew, and the window that loses most is chosen."""
        self.parent = kernel
        self.profile = self.evaluator.profile.of(kernel, counts, self.evaluator.estimate(kernel, counts))
        self.windows = hot_windows(kernel, self.profile.estimate, self.blocks)
        if self.windows:
            self.choose(0)

    def _judged(self, sketch: Sketch) -> dict[str, Any]:
        session = self.session
        assert session is not None, "a sketch is one of a session"
        attempt, candidate, counts = self._attempt(sketch, str(session.view.window))
        self.attempts.append(attempt)
        told = session.judged(sketch, attempt)
        if candidate is None:
            return told
        if self.accepted is not None:
            self.accepted(candidate)
        self._take(candidate, counts)
        return {**told, "next": "the kernel has changed: windows and marks are new, read again"}

    def _attempt(self, sketch: Sketch, where: str) -> tuple[Attempt, Kernel | None, Counts]:
        """What comes of a sketch, and the kernel with how often its blocks run when it is accepted."""
        now = self.profile.estimate.total_cycles
        bar = now * (1 - MINIMUM_GAIN)
        proposal = Proposal(_AGENT, sketch.why, sketch.change, where)
        draft = drafted(proposal, self.parent, self.evaluator, bar, self.profile.counts)
        cycles = draft.measured.cycles if draft.measured is not None else None

        def ended(status: Status, gate: Gate, reason: str) -> Attempt:
            return Attempt(len(self.attempts), _AGENT, sketch.why, status, cycles, reason, gate, where, draft.digest)

        if draft.status is not None or draft.edit is None or cycles is None:
            return ended(draft.status or Status.ILLEGAL, draft.gate, draft.reason), None, AS_ORIGINAL
        if cycles > bar:
            reason = f"{cycles:,.0f} modelled cycles, at most {bar:,.0f} are wanted"
            return ended(Status.NOT_FASTER, Gate.MODEL, reason), None, AS_ORIGINAL
        candidate = edits.applied(self.parent, draft.edit)
        evaluation = self.judge(candidate)
        attempt = ended(evaluation.status, evaluation.gate, evaluation.reason)
        return attempt, candidate if evaluation.status is Status.ACCEPTED else None, evaluation.counts


def _list_windows(desk: Desk, arguments: ListWindows) -> dict[str, Any]:
    del arguments
    return desk.list()


def _choose_window(desk: Desk, arguments: ChooseWindow) -> dict[str, Any]:
    return desk.choose(arguments.number)


_WINDOW_TOOLS: tuple[Tool[Desk], ...] = (
    Tool(
        "list_windows",
        "List the hot windows, those first in which most cycles are lost. All other tools work on the chosen one.",
        ListWindows,
        _list_windows,
    ),
    Tool("choose_window", "Choose the window that all other tools work on.", ChooseWindow, _choose_window),
)
