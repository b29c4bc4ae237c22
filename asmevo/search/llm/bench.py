"""The state that tools work on: a window, the edits sketched for it, and what came of those that were judged.

Owns sketches and their history. Nothing here judges: a sketch is a proposal like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from asmevo.diagnostics import fail
from asmevo.search.evaluation import Evaluator
from asmevo.search.llm.names import shortened
from asmevo.search.llm.view import WindowView
from asmevo.search.proposal import WindowText
from asmevo.search.records import Attempt

MAX_SKETCHES = 32
"""Sketches kept; the oldest goes first."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """An edit as an agent wrote it, and why. `cycles` are those of the kernel it makes, modelled; None when it makes none."""

    id: str
    change: WindowText
    why: str
    cycles: float | None = None


@dataclass(slots=True)
class ToolSession:
    """One agent at work on one window of a kernel; `evaluator` models what it sketches.

    `history` are attempts at the window that others made before, latest last.
    """

    view: WindowView
    evaluator: Evaluator
    may_edit: bool
    history: Sequence[Attempt] = ()
    sketches: dict[str, Sketch] = field(default_factory=dict[str, Sketch])
    attempts: list[tuple[str, Attempt]] = field(default_factory=list[tuple[str, Attempt]])
    """Each sketch that was judged, by its id, with what came of it."""
    _made: int = 0

    def sketched(self, change: WindowText, why: str, cycles: float | None) -> Sketch:
        """Keep a sketch."""
        self._made += 1
        sketch = Sketch(f"e{self._made}", change, why, cycles)
        self.sketches[sketch.id] = sketch
        while len(self.sketches) > MAX_SKETCHES:
            del self.sketches[next(iter(self.sketches))]
        return sketch

    def sketch(self, name: str) -> Sketch:
        """The sketch of this id. Raises E0951 when there is none."""
        if name not in self.sketches:
            there = ", ".join(self.sketches) or "none yet"
            fail("E0951", f"there is no edit {shortened(ascii(name), 40)}", help=f"there are: {there}")
        return self.sketches[name]

    def judged(self, sketch: Sketch, attempt: Attempt) -> dict[str, Any]:
        """Keep what came of a sketch, and return it as a tool's answer."""
        self.attempts.append((sketch.id, attempt))
        return {"edit": sketch.id, **self.told(attempt)}

    def told(self, attempt: Attempt) -> dict[str, Any]:
        """An attempt as an agent may see it."""
        names = self.view.names
        return {
            "status": attempt.status.value,
            "last_gate": attempt.gate.value,
            "what": names.text(attempt.description, 300),
            "modelled_cycles": None if attempt.cycles is None else round(attempt.cycles, 1),
            "reason": names.text(attempt.reason),
        }
