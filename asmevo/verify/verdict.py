"""Verdicts: what was decided about a change, and on what it rests."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class Outcome(enum.Enum):
    """What is known. UNKNOWN and UNSUPPORTED never count as success; PROVED never means tested."""

    IDENTICAL = "identical"
    PROVED = "proved"
    TESTED = "tested"
    REFUTED = "refuted"
    UNKNOWN = "unknown"
    UNSUPPORTED = "unsupported"
    ERROR = "error"

    @property
    def is_success(self) -> bool:
        """True for identical, proved and tested."""
        return self in (Outcome.IDENTICAL, Outcome.PROVED, Outcome.TESTED)


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A concrete difference: the place (`v3 lane 7`, `out+0x40`), both values, and a sentence about it."""

    where: str
    before: str
    after: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Basis:
    """One thing a verdict rests on: its method ("z3", "static waits", "emulator"), its outcome and what was covered."""

    method: str
    outcome: Outcome
    detail: str
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome with its basis, and a counterexample when refuted."""

    outcome: Outcome
    basis: tuple[Basis, ...] = ()
    counterexample: Counterexample | None = None
    reason: str = ""

    def basis_data(self) -> list[dict[str, Any]]:
        """What it rests on, as plain data."""
        return [
            {"method": b.method, "outcome": b.outcome.value, "detail": b.detail, "assumptions": list(b.assumptions)}
            for b in self.basis
        ]
