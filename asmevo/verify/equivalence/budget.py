"""The clock that proofs' budgets are counted on: CPU time of the thread, so that a loaded machine decides the same.

z3 counts wall time. Owns what that clock is and how a query is given its share of it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, thread_time

now = thread_time
"""Seconds of CPU time that this thread has had. Deadlines of proofs are points of this clock."""

_MOST_LOAD = 16.0
"""How much more wall than CPU time a query may take."""


def attempts(deadline: float, ask: Callable[[int], bool]) -> bool:
    """Asks until it is decided or CPU time has come to `deadline`; whether it was decided.

    `ask` gets milliseconds of wall time. When those are over and much CPU time is left, other processes had the rest: it is
    asked again, for as much longer as they slowed it down.
    """
    load = 1.0
    while (left := deadline - now()) > 0:
        wall, cpu = monotonic(), now()
        if ask(min(max(int(left * load * 1000), 1), 1 << 30)):
            return True
        used = now() - cpu
        if used > left / 2 or monotonic() - wall < left * load / 2:
            return False
        load = min((monotonic() - wall) / max(used, 1e-3), _MOST_LOAD)
    return False
