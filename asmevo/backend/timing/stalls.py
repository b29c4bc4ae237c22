"""Sums over the cycles that instructions wait for."""

from __future__ import annotations

from collections.abc import Mapping


def by_cause(stalls: Mapping[int, Mapping[str, float]]) -> dict[str, float]:
    """Cycles lost by cause, over all instructions (`stalls` is by uid), largest first; equal ones by name."""
    totals: dict[str, float] = {}
    for causes in stalls.values():
        for cause, cycles in causes.items():
            totals[cause] = totals.get(cause, 0.0) + cycles
    return dict(sorted(totals.items(), key=lambda item: (-item[1], item[0])))
