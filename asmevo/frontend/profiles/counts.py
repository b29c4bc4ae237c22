"""What was measured: counts, rows of a profile, and a profile.

Owns the data, and which of the counts is time lost. It must not know files.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from asmevo.diagnostics import Span, fail

MAX_ROWS = 1 << 18
"""Rows of a profile after equal ones are one: more than any object's instructions on a few dispatches."""
MAX_TEXT = 1024


class Method(enum.Enum):
    """How it was measured.

    A host trap tells where a wave was, up to two instructions late; a stochastic sample also whether it could not issue, and
    why; a thread trace has every execution of the waves that it follows.
    """

    HOST_TRAP = "host-trap PC samples"
    STOCHASTIC = "stochastic PC samples"
    THREAD_TRACE = "thread trace"


@dataclass(frozen=True, slots=True)
class Counts:
    """Samples with those of them that did not issue, by reason; executions; and cycles summed over these.

    `latency_cycles` is the time to issue with the stall, `idle_cycles` the gap before. What a method does not tell is 0.
    """

    samples: float = 0
    stalled: float = 0
    reasons: Mapping[str, float] = field(default_factory=dict[str, float])
    hits: float = 0
    latency_cycles: float = 0
    stall_cycles: float = 0
    idle_cycles: float = 0

    def __add__(self, other: Counts) -> Counts:
        """The two together."""
        names = dict.fromkeys([*self.reasons, *other.reasons])
        return Counts(
            self.samples + other.samples,
            self.stalled + other.stalled,
            {name: self.reasons.get(name, 0) + other.reasons.get(name, 0) for name in names},
            self.hits + other.hits,
            self.latency_cycles + other.latency_cycles,
            self.stall_cycles + other.stall_cycles,
            self.idle_cycles + other.idle_cycles,
        )

    def part(self, share: float) -> Counts:
        """The share of all counts."""
        return Counts(
            self.samples * share,
            self.stalled * share,
            {name: count * share for name, count in self.reasons.items()},
            self.hits * share,
            self.latency_cycles * share,
            self.stall_cycles * share,
            self.idle_cycles * share,
        )

    def lost(self, method: Method) -> float:
        """What measures the time lost: cycles without an issue, samples that did not issue, or, with host traps, samples."""
        if method is Method.THREAD_TRACE:
            return self.stall_cycles + self.idle_cycles
        return self.stalled if method is Method.STOCHASTIC else self.samples

    def seen(self, method: Method) -> float:
        """How often the instruction was met: executions or samples."""
        return self.hits if method is Method.THREAD_TRACE else self.samples


NOTHING = Counts()


@dataclass(frozen=True, slots=True)
class Row:
    """Counts of one place: its address in the object (as the ELF has it), its text, or both; empty text when not decoded.

    `group` tells apart rows that cannot be of one kernel: the code object, or, where there are no addresses, the dispatch.
    """

    group: int
    address: int | None
    text: str
    counts: Counts


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile. `undecoded` counts entries without a place, or that are not what they should be."""

    file: str
    method: Method
    rows: tuple[Row, ...]
    undecoded: int = 0


class Tally:
    """Collects rows; those of one place are added up. Raises E0165 beyond `MAX_ROWS`."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._rows: dict[tuple[int, int | None, str], Counts] = {}
        self.undecoded = 0

    def add(self, group: int, address: int | None, text: str, counts: Counts) -> None:
        """Count something at a place."""
        if len(text) > MAX_TEXT:
            self.undecoded += 1
            return
        key = (group, address, text)
        self._rows[key] = self._rows.get(key, NOTHING) + counts
        if len(self._rows) > MAX_ROWS:
            fail("E0165", f"more than {MAX_ROWS} places", Span(self._file))

    @property
    def holds_any(self) -> bool:
        """Whether anything was counted."""
        return bool(self._rows)

    def profile(self, method: Method) -> Profile:
        """All that was counted. Raises E0165 when it is nothing."""
        if not self._rows:
            more = f", and {self.undecoded} entries without a place" if self.undecoded else ""
            fail("E0165", f"the profile names no instruction{more}", Span(self._file))
        return Profile(self._file, method, tuple(Row(*key, counts) for key, counts in self._rows.items()), self.undecoded)


def mapping(value: object) -> Mapping[str, Any]:
    """A JSON object; an empty one for what is none."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def whole(value: object) -> int | None:
    """A count that may be text; None for what is none."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value if 0 <= value < 1 << 64 else None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 20:
        return int(value)
    return None
