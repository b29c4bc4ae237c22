"""asmevo.toml: strict settings, and where each value came from.

Order: defaults < file < --set key=value < flag. An unknown key, a wrong type or a value out of range is an error with a caret
and the nearest name; a missing file is an error, never a default. Secrets are not settings: they live in environment variables.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from asmevo import toml_text
from asmevo.diagnostics import DiagnosticError, Span, fail


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class VerifySettings(_Strict):
    """How hard edits are judged."""

    level: Literal["none", "static", "smt", "emulate"] = Field(
        default="smt", description="static < smt < emulate (needs a launch)"
    )
    timeout_s: float = Field(
        default=5.0, gt=0, le=3600, allow_inf_nan=False, description="z3 budget for one window, CPU seconds"
    )
    seeds: int = Field(default=2, ge=1, le=1000, description="wave orders tried in strict emulation")


class SearchSettings(_Strict):
    """The budget and seed of `optimize`."""

    budget_s: float = Field(default=60.0, gt=0, allow_inf_nan=False, description="wall time of the search, seconds")
    attempts: int = Field(default=200, ge=0, description="most proposals tried")
    seed: int = Field(default=0, ge=0, description="seed of every random choice")
    windows: int = Field(default=4, ge=1, le=64, description="hot windows considered")


class TimingSettings(_Strict):
    """The cycle model's machine."""

    waves_per_simd: int | None = Field(
        default=None, ge=1, le=8, description="resident waves; by default what the launch's grid gives"
    )


class ModelSettings(_Strict):
    """The language model that proposes edits, if any. Its key is no setting: `key_env` names the environment variable."""

    name: str | None = Field(default=None, min_length=1, max_length=200, description="the model; without one none is asked")
    base_url: str = Field(default="https://api.openai.com/v1", max_length=2000, description="an OpenAI-compatible server")
    key_env: str = Field(
        default="OPENAI_API_KEY", pattern=r"^[A-Z][A-Z0-9_]*_API_KEY$", description="environment variable with the key"
    )
    api: Literal["chat", "responses"] = Field(default="chat", description="chat completions, or the responses API")
    stream: bool = Field(default=True, description="read replies as they are made")
    limit_name: Literal["max_completion_tokens", "max_tokens"] = Field(
        default="max_completion_tokens", description="how the server calls the limit of a reply in chat completions"
    )
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False, description="by default the server's own")
    max_tokens: int | None = Field(default=1_000_000, ge=1, description="budget of a search, tokens sent and received")
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="budget of a search, in money")
    price_in: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="money for a million tokens sent")
    price_out: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="money for a million tokens received")
    price_cached: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="money for a million tokens read from the server's cache"
    )
    replies: int = Field(default=24, ge=1, le=1000, description="replies in one visit at a window")
    reply_tokens: int = Field(default=8192, ge=256, le=1_000_000, description="tokens of one reply")
    context_tokens: int = Field(default=64_000, ge=4096, le=10_000_000, description="older turns are left out beyond that")
    timeout_s: float = Field(default=600.0, gt=0, le=86_400, allow_inf_nan=False, description="for one reply")
    stall_s: float = Field(default=60.0, gt=0, le=86_400, allow_inf_nan=False, description="between two pieces of a reply")
    repeats: int = Field(default=5, ge=0, le=100, description="times a request that failed is repeated")
    longest_wait_s: float = Field(default=120.0, gt=0, le=86_400, allow_inf_nan=False, description="before a repetition")


class Settings(_Strict):
    """Everything in asmevo.toml."""

    version: Literal[1] = 1
    target: str | None = Field(default=None, description="refuse objects for another chip")
    input: str | None = Field(default=None, description="code object, relative to the file")
    launch: str | None = Field(default=None, description="launch file, relative to the file")
    passes: str = Field(default="list-schedule,waitcnt-relax,nop-trim", description="pass pipeline, the same text as --passes")
    verify: VerifySettings = Field(default_factory=lambda: VerifySettings())
    search: SearchSettings = Field(default_factory=lambda: SearchSettings())
    timing: TimingSettings = Field(default_factory=lambda: TimingSettings())
    model: ModelSettings = Field(default_factory=lambda: ModelSettings())


_FLAGS = {"verify.level": "--verify", "model.name": "--model"}
"""Flags that are not called as the last part of their key."""


@dataclass(frozen=True, slots=True)
class ResolvedSettings:
    """Settings with each dotted key's origin: "default", "FILE", "--set" or a flag's name."""

    settings: Settings
    origins: Mapping[str, str]
    path: Path | None = None
    text: str = ""

    def locate(self, key: str) -> Span | None:
        """Where the file sets `key`'s value, for carets; None when it came from elsewhere."""
        return _locate(key, self.text, str(self.path)) if self.path else None


def resolve(path: Path | None, sets: Sequence[str] = (), flags: Mapping[str, Any] | None = None) -> ResolvedSettings:
    """Settings from `path`, `key=value` texts and flags (dotted key to value, None: not given). Raises E0207 to E0211."""
    text, tree = _read(path)
    origins: dict[str, str] = {key: str(path) for key in _leaves(tree)}
    for item in sets:
        key, separator, value = item.partition("=")
        if not separator:
            fail("E0208", f"'{item}' is not key=value", help="write --set search.seed=7")
        _put(tree, key.strip(), _value(value.strip()))
        origins[key.strip()] = "--set"
    for key, value in (flags or {}).items():
        if value is not None:
            _put(tree, key, value)
            origins[key] = _FLAGS.get(key) or "--" + key.rsplit(".", 1)[-1].replace("_", "-")
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        _explain(error, text, path, origins)
    for key in _leaves(settings.model_dump()):
        origins.setdefault(key, "default")
    return ResolvedSettings(settings, origins, path, text)


def _read(path: Path | None) -> tuple[str, dict[str, Any]]:
    if path is None:
        return "", {}
    try:
        with path.open("rb") as file:
            raw = file.read(toml_text.MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        fail("E0207", f"cannot read configuration {str(path)!r}: {getattr(error, 'strerror', None) or error}", Span(str(path)))
    text = toml_text.decoded(raw, str(path), "E0207")
    return text, toml_text.parsed(text, str(path), "E0209")


def _explain(error: ValidationError, text: str, path: Path | None, origins: Mapping[str, str]) -> NoReturn:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    span = (
        _locate(key, text, str(path)) if path and origins.get(key, str(path)) == str(path) else Span(origins.get(key, "--set"))
    )
    if first["type"] == "extra_forbidden":
        parent = first["loc"][:-1]
        model: type[BaseModel] = Settings
        for part in parent:
            model = cast("type[BaseModel]", model.model_fields[str(part)].annotation)
        names = list(model.model_fields)
        near = difflib.get_close_matches(str(first["loc"][-1]), names, n=1)
        where = f"known here: {', '.join(names)}"
        fail("E0210", f"unknown setting '{key}'", span, f"did you mean '{near[0]}'? {where}" if near else where)
    fail("E0211", f"setting '{key}': {first['msg'][:1].lower()}{first['msg'][1:]}, not {first['input']!r}", span)


def _locate(key: str, text: str, file: str) -> Span:
    """The value of a dotted key in TOML text, found by section and name (the TOML reader keeps no positions)."""
    section, _, name = key.rpartition(".")
    current = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[([^\[\]]+)\]", line)
        if header:
            current = header[1].strip()
            continue
        match = re.match(rf"\s*{re.escape(name)}\s*=\s*(.*?)\s*(#.*)?$", line)
        if current == section and match:
            return Span(file, number, match.start(1) + 1, max(len(match[1]), 1), source=line)
    return toml_text.first_place(text, file)


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> list[str]:
    keys: list[str] = []
    for name, value in tree.items():
        keys += (
            _leaves(cast("Mapping[str, Any]", value), f"{prefix}{name}.") if isinstance(value, dict) else [f"{prefix}{name}"]
        )
    return keys


def _put(tree: dict[str, Any], key: str, value: Any) -> None:
    *sections, name = key.split(".")
    for section in sections:
        inner: Any = tree.setdefault(section, {})
        if not isinstance(inner, dict):
            fail("E0208", f"'{key}' names a setting inside '{section}', which is a value")
        tree = cast("dict[str, Any]", inner)
    tree[name] = value


def _value(text: str) -> Any:
    try:
        return toml_text.parsed(f"value = {text}", "--set", "E0208")["value"]
    except DiagnosticError:
        return text
