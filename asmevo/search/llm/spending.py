"""What asking a model costs, and when to stop.

Owns prices, the budget and the account. Tokens that a server does not count are estimated from above, and so is a reply that
broke off: a provider bills those too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from asmevo.search.llm.wire import Reply, Request, Usage, WireError
from asmevo.search.proposal import Cost

CHARACTERS_A_TOKEN = 2.5
"""Of assembly text; tokenisers in use make 2.6 to 3.3 characters a token of it, so that a count by this is too high."""

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Money for a million tokens: sent, received, and sent but read from the server's cache (None: as sent)."""

    sent: float = 0.0
    received: float = 0.0
    cached: float | None = None

    @property
    def are_known(self) -> bool:
        """Whether anything costs money."""
        return self.sent > 0 or self.received > 0

    def of(self, usage: Usage) -> float:
        """The money that a reply costs."""
        cached = self.sent if self.cached is None else self.cached
        return (
            (usage.tokens_in - usage.cached) * self.sent + usage.cached * cached + usage.tokens_out * self.received
        ) / _MILLION


@dataclass(slots=True)
class Account:
    """Keeps count against a budget of tokens and of money. None: not limited."""

    prices: Prices
    tokens: int | None = None
    money: float | None = None
    spent: Cost = field(default_factory=Cost)
    requests: int = 0
    estimated: int = 0
    """Requests whose tokens the server did not count."""
    _told: Cost = field(default_factory=Cost)

    def affordable(self, request: Request, wanted: int, tokens: int | None = None, money: float | None = None) -> int:
        """How many tokens a reply to `request` may have at most, of those wanted; 0 when not even the question can be paid.

        `tokens` and `money` are what others have left for it, beside the account's own budget.
        """
        asked = tokens_of(request.characters)
        allowed = wanted
        for limit, spent in ((self.tokens, self.spent.tokens_in + self.spent.tokens_out), (tokens, 0)):
            if limit is not None:
                allowed = min(allowed, limit - spent - asked)
        for budget, gone in ((self.money, self.spent.money), (money, 0.0)):
            if budget is not None and self.prices.are_known:
                left = budget - gone - asked * self.prices.sent / _MILLION
                each = self.prices.received / _MILLION
                allowed = min(allowed, int(left / each) if each else (allowed if left >= 0 else 0)) if left >= 0 else 0
        return max(allowed, 0)

    def answered(self, request: Request, reply: Reply) -> None:
        """Book a reply."""
        usage = reply.usage
        if usage is None or usage.tokens_in + usage.tokens_out == 0:
            self.estimated += 1
            received = len(reply.text) + len(reply.refusal) + sum(len(c.name) + len(c.arguments) for c in reply.calls)
            usage = Usage(tokens_of(request.characters), tokens_of(received))
        self._book(usage, reply.seconds)

    def failed(self, request: Request, error: WireError) -> None:
        """Book a request that failed: nothing when nothing came, otherwise what had come."""
        self.estimated += 1
        received = error.received
        usage = Usage(tokens_of(request.characters), tokens_of(received)) if received else Usage(0, 0)
        self._book(usage, error.seconds)

    def new(self) -> Cost:
        """What was spent since this was asked last."""
        now, before = self.spent, self._told
        self._told = now
        return Cost(
            now.tokens_in - before.tokens_in,
            now.tokens_out - before.tokens_out,
            now.money - before.money,
            round(now.seconds - before.seconds, 3),
        )

    def summary(self) -> str:
        """The account in one line."""
        spent = self.spent
        told = f"{self.requests} requests, {spent.tokens_in:,} tokens sent, {spent.tokens_out:,} received"
        money = f", {spent.money:.4f} of money" if self.prices.are_known else ""
        return f"{told}{money}" + (f" ({self.estimated} of them estimated)" if self.estimated else "")

    def _book(self, usage: Usage, seconds: float) -> None:
        self.spent += Cost(usage.tokens_in, usage.tokens_out, self.prices.of(usage), seconds)
        self.requests += 1


def tokens_of(characters: int) -> int:
    """An upper estimate of the tokens in so many characters of assembly and JSON."""
    return int(characters / CHARACTERS_A_TOKEN) + 1
