"""A model proposer made from settings: what `asmevo optimize --model` needs and nothing else does.

Owns the checks of address, key and budget, and the way from settings to a proposer. The openai package is loaded here, and only
for a model that is really asked.
"""

from __future__ import annotations

import ipaddress
import os
import random
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from asmevo import __version__
from asmevo.config import ModelSettings
from asmevo.diagnostics import fail, printable
from asmevo.search.llm.driver import Manners, ModelProposer
from asmevo.search.llm.prompting import VERSION
from asmevo.search.llm.retrying import Asker, Patience
from asmevo.search.llm.sessions import RecordingModel, ReplayedModel
from asmevo.search.llm.spending import Account, Prices
from asmevo.search.llm.variants import Variants
from asmevo.search.llm.wire import Model

_NO_KEY = "none"
"""What is sent to a server on this machine that was given no key; many want some word in its place."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where replies come from and go to: `record` keeps a session, `replay` answers from one and asks nobody."""

    record: Path | None = None
    replay: Path | None = None


def model_proposer(
    settings: ModelSettings,
    seed: int,
    sources: Sources,
    open_now: ExitStack,
    log: Callable[[str], None] | None = None,
    keep: Callable[[bytes], object] | None = None,
) -> ModelProposer | None:
    """The proposer that settings ask for; None when they name no model. What it opens is closed with `open_now`.

    `log` is told of repetitions and refusals, `keep` stores system prompts. Raises E0956 for an address, E0957 for a key that
    is not there, E0958 for a budget without prices, E0959 without the openai package, E0955 for a session.
    """
    if settings.name is None:
        if sources.record or sources.replay:
            fail("E0208", "a session of a model was named, but no model", help="give --model NAME")
        return None
    if settings.max_cost is not None and not (settings.price_in or settings.price_out):
        fail("E0958", "a budget of money needs prices", help="set model.price_in and model.price_out, for a million tokens")
    prices = Prices(settings.price_in, settings.price_out, settings.price_cached)
    account = Account(prices, settings.max_tokens, settings.max_cost)
    if log is not None:
        open_now.callback(lambda: log(account.summary()))
    model = _model(settings, seed, sources, open_now)
    sleep: dict[str, Any] = {"sleep": _no_sleep} if sources.replay else {}
    patience = Patience(settings.repeats, longest_s=settings.longest_wait_s)
    asker = Asker(model, account, patience, random.Random(f"{seed} waits"), log=log, **sleep)
    manners = Manners(
        settings.name, settings.replies, settings.reply_tokens, settings.context_tokens, settings.temperature, seed
    )
    return ModelProposer(asker, manners, Variants(random.Random(f"{seed} variants")), log, keep)


def _no_sleep(seconds: float) -> None:
    del seconds


def _model(settings: ModelSettings, seed: int, sources: Sources, open_now: ExitStack) -> Model:
    if sources.replay is not None:
        replayed = ReplayedModel(sources.replay)
        open_now.callback(replayed.close)
        return replayed
    check_address(settings.base_url)
    secret = key_for(settings, os.environ)
    try:
        from asmevo.search.llm.transport import Limits, ServerModel
    except ImportError:
        fail("E0959", "asking a model needs the openai package", help="pip install 'asmevo[llm]'")
    limits = Limits(stall_s=settings.stall_s, whole_s=settings.timeout_s)
    server = ServerModel(
        settings.base_url, secret, limits, api=settings.api, stream=settings.stream, limit_name=settings.limit_name
    )
    open_now.callback(server.close)
    if sources.record is None:
        return server
    head = {"asmevo": __version__, "model": settings.name, "api": settings.api, "seed": seed, "prompts": VERSION}
    recording = RecordingModel(server, sources.record, head)
    open_now.callback(recording.close)
    return recording


def check_address(base_url: str) -> None:
    """Raises E0956 for what is no address of a server, and for one with a key in it: addresses are shown."""
    try:
        parts = urlsplit(base_url)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        parts, is_right = urlsplit(""), False
    if parts.username or parts.password or parts.query or parts.fragment:
        fail("E0956", "the model's address holds more than a server and a path", help="the key goes into the environment")
    if not is_right:
        fail("E0956", f"{printable(base_url)[:200]!r} is no address of a server", help="such as http://127.0.0.1:8000/v1")


def key_for(settings: ModelSettings, environment: Mapping[str, str]) -> str:
    """The key, from the environment alone. A server on this machine needs none. Raises E0957."""
    secret = environment.get(settings.key_env, "").strip()
    if secret:
        if not secret.isascii() or not secret.isprintable():
            fail("E0957", f"the key in {settings.key_env} holds characters that no key has")
        return secret
    if not _is_this_machine(urlsplit(settings.base_url).hostname or ""):
        fail("E0957", f"the environment variable {settings.key_env} holds no key", help=f"export {settings.key_env}=...")
    return _NO_KEY


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
