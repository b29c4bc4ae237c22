import random

import pytest

from asmevo.search.llm.retrying import Asker, Patience
from asmevo.search.llm.spending import Account, Prices, tokens_of
from asmevo.search.llm.wire import Reply, Request, Trouble, Turn, Usage, WireError, usage_of
from asmevo.search.proposal import Cost
from llm_models import Scripted, reply

REQUEST = Request("m", (Turn("system", "x" * 1000), Turn("user", "go")), (), 500)


def asker(replies, account=None, **patience):
    waits = []
    made = Asker(Scripted(replies), account or Account(Prices()), Patience(**patience), random.Random(1), waits.append)
    return made, waits


def busy(seconds=None, trouble=Trouble.RATE_LIMITED):
    return WireError(trouble, "busy", retry_after_s=seconds)


def test_waits_grow_and_repeat_for_a_seed():
    one, waits = asker([busy(), busy(), busy(), reply("ok")])
    assert one.ask(REQUEST).text == "ok"
    assert [0.5 * 2**n <= wait <= 2**n for n, wait in enumerate(waits)] == [True] * 3
    again, others = asker([busy(), busy(), busy(), reply("ok")])
    again.ask(REQUEST)
    assert waits == others


def test_a_server_that_says_how_long_is_waited_for():
    one, waits = asker([busy(7.0), reply("ok")])
    one.ask(REQUEST)
    assert waits == [7.0]


def test_a_server_that_wants_too_long_is_left():
    one, waits = asker([busy(500.0), reply("ok")], longest_s=120.0)
    with pytest.raises(WireError):
        one.ask(REQUEST)
    assert waits == []


@pytest.mark.parametrize("trouble", [Trouble.KEY, Trouble.QUOTA, Trouble.REQUEST])
def test_what_cannot_pass_is_not_asked_again(trouble):
    one, waits = asker([busy(trouble=trouble), reply("ok")])
    with pytest.raises(WireError):
        one.ask(REQUEST)
    assert waits == []


def test_patience_ends():
    one, waits = asker([busy(trouble=Trouble.SERVER)], repeats=3)
    with pytest.raises(WireError):
        one.ask(REQUEST)
    assert len(waits) == 3
    assert len(one.model.requests) == 4


def test_nothing_is_repeated_beyond_the_deadline():
    one, waits = asker([busy()], repeats=50)
    one.clock = lambda: sum(waits)
    with pytest.raises(WireError):
        one.ask(REQUEST, deadline=10.0)
    assert sum(waits) < 10


def test_money_is_counted_by_the_server_s_tokens():
    account = Account(Prices(sent=2.0, received=10.0, cached=0.5))
    one, _ = asker([Reply("ok", usage=Usage(1_000_000, 100_000, 400_000), seconds=1.5)], account)
    one.ask(REQUEST)
    cost = account.spent
    assert cost.money == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10)
    assert (cost.tokens_in, cost.tokens_out, cost.seconds) == (1_000_000, 100_000, 1.5)
    assert account.new() == cost
    assert account.new() == Cost()
    assert account.estimated == 0


def test_tokens_that_are_not_counted_are_estimated_from_above():
    account = Account(Prices(sent=1.0, received=1.0))
    one, _ = asker([reply("y" * 500, tokens=None)], account)
    one.ask(REQUEST)
    cost = account.spent
    assert cost.tokens_in >= REQUEST.characters / 3
    assert cost.tokens_out >= 500 / 3
    assert account.estimated == 1


def test_a_server_that_counts_nothing_does_not_make_it_free():
    account = Account(Prices())
    asker([reply("y" * 500, tokens=(0, 0))], account)[0].ask(REQUEST)
    assert account.spent.tokens_out > 0


def test_a_reply_that_breaks_off_is_paid():
    account = Account(Prices(sent=1.0, received=1.0))
    broken = WireError(Trouble.CONNECTION, "cut", received=300, seconds=2.0)
    one, _ = asker([broken, reply("ok", tokens=(10, 1))], account)
    one.ask(REQUEST)
    cost = account.spent
    assert cost.tokens_in == tokens_of(REQUEST.characters) + 10
    assert cost.seconds == 2.0
    assert account.requests == 2


@pytest.mark.parametrize(
    "told",
    [
        None,
        5,
        {},
        {"in": -1, "out": 1},
        {"in": "7", "out": 1},
        {"in": True, "out": 1},
        {"in": 1 << 40, "out": 1},
        {"in": 1.5, "out": 1},
    ],
)
def test_counts_that_cannot_be_are_none(told):
    assert usage_of(told, ("in", "out", "details")) is None


def test_more_cached_than_sent_is_not_believed():
    assert usage_of({"in": 10, "out": 1, "details": {"cached_tokens": 99}}, ("in", "out", "details")) == Usage(10, 1, 10)
    assert usage_of({"in": 10, "out": 1, "details": {"cached_tokens": -9}}, ("in", "out", "details")) == Usage(10, 1, 0)


def test_the_budget_bounds_a_reply():
    asked = tokens_of(REQUEST.characters)
    assert Account(Prices(), tokens=asked + 300).affordable(REQUEST, 1000) == 300
    assert Account(Prices(), tokens=asked - 1).affordable(REQUEST, 1000) == 0
    assert Account(Prices()).affordable(REQUEST, 1000) == 1000
    money = Account(Prices(1.0, 10.0), money=(asked + 50 * 10) / 1e6)
    assert 49 <= money.affordable(REQUEST, 1000) <= 50
    assert Account(Prices(1.0, 10.0), money=1e-9).affordable(REQUEST, 1000) == 0
    assert Account(Prices(1.0, 0.0), money=1.0).affordable(REQUEST, 1000) == 1000
    assert Account(Prices()).affordable(REQUEST, 1000, tokens=asked + 7) == 7


def test_repetitions_end_with_the_budget():
    account = Account(Prices(), tokens=3 * tokens_of(REQUEST.characters))
    broken = WireError(Trouble.CONNECTION, "cut", received=300)
    one, waits = asker([broken], account, repeats=50)
    with pytest.raises(WireError):
        one.ask(REQUEST)
    assert len(waits) < 4
