"""The views by name. Owns the list and its order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from asmevo.report.subject import Subject
from asmevo.report.views import arguments, cfg, hazards, listing, loops, memory, pressure, profile, summary, timeline, waits


@dataclass(frozen=True, slots=True)
class View:
    """A view.

    `data` makes its dataclass from a subject, `lines(data, most=N)` its text with at most about N lines of each table.
    """

    name: str
    data: Callable[[Subject], Any]
    lines: Callable[..., list[str]]


VIEWS = {
    view.name: view
    for view in (
        View("summary", summary.summary, summary.lines),
        View("cfg", cfg.cfg, cfg.lines),
        View("waits", waits.waits, waits.lines),
        View("hazards", hazards.hazards, hazards.lines),
        View("pressure", pressure.pressure, pressure.lines),
        View("memory", memory.memory, memory.lines),
        View("loops", loops.loops, loops.lines),
        View("timeline", timeline.timeline, timeline.lines),
        View("arguments", arguments.arguments, arguments.lines),
        View("profile", profile.profile, profile.lines),
        View("listing", listing.listing, listing.lines),
    )
}
