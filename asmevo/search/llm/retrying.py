"""Asking again when a server is busy or breaks off: exponential backoff with seeded jitter, and the server's own Retry-After.

Owns when and how often; what is asked, and of whom, it does not know.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from asmevo.search.llm.spending import Account
from asmevo.search.llm.wire import Model, Reply, Request, WireError


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a request is repeated, and how long is waited in between, seconds.

    Before repetition n the wait is drawn from [half, whole] of first_s * 2^n, at most `longest_s`. A server that asks for more
    than `longest_s` is not waited for.
    """

    repeats: int = 5
    first_s: float = 1.0
    longest_s: float = 120.0


@dataclass(slots=True)
class Asker:
    """Asks a model through an account, again when that may help. `log` is told of each repetition, in words safe to show."""

    model: Model
    account: Account
    patience: Patience
    random_source: random.Random
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    log: Callable[[str], None] | None = None
    repeats: int = field(default=0, init=False)
    """Repetitions so far, over all requests."""

    def ask(self, request: Request, deadline: float | None = None) -> Reply:
        """The reply; what it and the tries that failed cost is booked. Raises the last WireError when the patience is spent.

        By `deadline`, in seconds of `clock`, nothing is repeated any more.
        """
        for attempt in range(self.patience.repeats + 1):
            try:
                reply = self.model.ask(request, None if deadline is None else deadline - self.clock())
            except WireError as error:
                self.account.failed(request, error)
                wait = self._wait(error, attempt)
                is_late = deadline is not None and wait is not None and self.clock() + wait >= deadline
                if wait is None or is_late or self.account.affordable(request, 1) < 1:
                    raise
                self.repeats += 1
                if self.log:
                    self.log(f"{error.trouble.value}: {error.detail}; again in {wait:.1f} s")
                self.sleep(wait)
                continue
            self.account.answered(request, reply)
            return reply
        raise AssertionError("the last repetition returns or raises")

    def _wait(self, error: WireError, attempt: int) -> float | None:
        """Seconds until the next try; None when there is none."""
        # Drawn in any case, so that a seeded run does not depend on what a server asks for.
        share = self.random_source.uniform(0.5, 1.0)
        if not error.trouble.may_pass or attempt >= self.patience.repeats:
            return None
        wait = min(self.patience.first_s * 2**attempt, self.patience.longest_s) * share
        if error.retry_after_s is not None:
            if error.retry_after_s > self.patience.longest_s:
                return None
            wait = max(wait, error.retry_after_s)
        return wait
