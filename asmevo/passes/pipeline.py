"""Pipeline text (`a,b{x=1},c`) to configured passes and back. The same text serves the command line and asmevo.toml.

A preset's name (`O2`) in the text stands for its passes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lark import Lark, Token, Tree, UnexpectedInput

from asmevo.diagnostics import Span, fail
from asmevo.passes.base import KernelPass, OptionInfo, options_of
from asmevo.passes.presets import PRESETS
from asmevo.passes.registry import find_pass
from asmevo.resources import grammar


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return Lark(grammar("pipeline.lark"), parser="lalr", propagate_positions=True, maybe_placeholders=False)


def parse_pipeline(text: str, origin: Span | None = None) -> tuple[KernelPass, ...]:
    """The passes that `text` names, in order, with their options.

    `origin` is where the text begins (file, line, column and source line), for carets. Raises E0202 for a syntax error, E0203
    for an unknown pass, E0205 for an unknown option, E0206 for a value of the wrong type or out of range.
    """
    start = origin or Span(file="--passes", line=1, column=1, source=text)
    try:
        tree = _parser().parse(text)  # pyright: ignore[reportUnknownMemberType]  lark leaves the text's type open
    except UnexpectedInput as error:
        column = error.column if error.column and error.column > 0 else len(text) + 1
        fail("E0202", "pipeline text is not understood here", _shift(start, column, 1), "write it as a,b{option=1},c")
    found: list[KernelPass] = []
    for entry in tree.children:
        if isinstance(entry, Tree):
            preset = PRESETS.get(str(entry.children[0]))
            if preset is None:
                found.append(_configure(entry, start))
            elif len(entry.children) > 1:
                name = entry.children[0]
                assert isinstance(name, Token)
                fail("E0205", f"preset '{name}' takes no options", _at(start, name), f"it stands for {preset}")
            else:
                found += parse_pipeline(preset)
    return tuple(found)


def names_preset(text: str) -> bool:
    """Whether a pipeline's text names a preset."""
    return any(name in PRESETS for name in re.findall(r"[\w-]+", text))


def pipeline_text(passes: Sequence[KernelPass]) -> str:
    """Text that parses back to the same passes; options at their default are left out, presets are spelt out."""
    parts: list[str] = []
    for item in passes:
        changed = [
            f"{info.name}={_value_text(getattr(item, info.name.replace('-', '_')))}"
            for info in options_of(type(item))
            if getattr(item, info.name.replace("-", "_")) != info.default
        ]
        parts.append(f"{item.name}{{{','.join(changed)}}}" if changed else item.name)
    return ",".join(parts)


def _configure(entry: Tree[Token], start: Span) -> KernelPass:
    name = entry.children[0]
    assert isinstance(name, Token)
    pass_type = find_pass(str(name), _at(start, name))
    known = {info.name: info for info in options_of(pass_type)}
    values: dict[str, int | float | bool | str] = {}
    for node in entry.children[1:]:
        assert isinstance(node, Tree)
        key, value = node.children
        assert isinstance(key, Token)
        assert isinstance(value, Tree)
        if str(key) not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            have = f"options of '{name}': {', '.join(known) or 'none'}"
            fail(
                "E0205",
                f"pass '{name}' has no option '{key}'",
                _at(start, key),
                f"did you mean '{near[0]}'? {have}" if near else have,
            )
        token = value.children[0]
        assert isinstance(token, Token)
        values[str(key).replace("-", "_")] = _convert(known[str(key)], token, start)
    factory: Any = pass_type
    return factory(**values)


def _convert(info: OptionInfo, token: Token, start: Span) -> int | float | bool | str:
    text = str(token)
    where = _at(start, token)
    if info.kind is bool:
        if text not in ("true", "false"):
            fail("E0206", f"option '{info.name}' takes true or false, not '{text}'", where)
        return text == "true"
    if info.kind is str:
        return text
    try:
        number = info.kind(text)
    except ValueError:
        fail("E0206", f"option '{info.name}' takes {info.kind.__name__}, not '{text}'", where)
    if (info.ge is not None and number < info.ge) or (info.le is not None and number > info.le):
        low = "" if info.ge is None else f"at least {info.ge:g}"
        high = "" if info.le is None else f"at most {info.le:g}"
        fail("E0206", f"option '{info.name}' is {text}, out of range", where, f"use {' and '.join(filter(None, (low, high)))}")
    return number


def _value_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _at(start: Span, token: Token) -> Span:
    return _shift(start, token.column or 1, len(token))


def _shift(start: Span, column: int, length: int) -> Span:
    return Span(start.file, start.line, start.column + column - 1, length, source=start.source)
