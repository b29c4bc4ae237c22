"""Reference pages made from the code: commands with their options, passes, proposers, settings.

Owns their text. Nothing is stored: the site makes them at each build, so that they cannot grow old.
"""

from __future__ import annotations

import enum
import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from typer import Typer
from typer.models import OptionInfo

MADE = "reference"
"""The folder of the made pages inside `docs`."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument or option: how it is spelled, its value, default and help."""

    spelled: tuple[str, ...]
    value: str
    default: str
    help: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command: `path` is all of its words but `asmevo`."""

    path: tuple[str, ...]
    help: str
    parameters: tuple[Parameter, ...]

    @property
    def title(self) -> str:
        """How it is called."""
        return " ".join(("asmevo", *self.path))


def pages() -> dict[str, str]:
    """Name in `docs` to text, of every made page."""
    made = {"commands": commands_page(), "passes": passes_page(), "proposers": proposers_page(), "settings": settings_page()}
    return {f"{MADE}/{name}.md": text for name, text in made.items()}


def commands() -> list[Command]:
    """Every command and subcommand, from the functions that are registered: simple commands first."""
    from asmevo.cli.main import app

    return list(_walk(app, ()))


def _walk(app: Typer, path: tuple[str, ...]) -> Iterator[Command]:
    for registered in app.registered_commands:
        function = registered.callback
        if function is None:
            continue
        name = registered.name or function.__name__.replace("_", "-")
        help = registered.help or inspect.getdoc(function) or ""
        yield Command((*path, name), inspect.cleandoc(help), tuple(_parameters(function)))
    for group in app.registered_groups:
        if group.typer_instance is not None and isinstance(group.name, str):
            yield from _walk(group.typer_instance, (*path, group.name))


def _parameters(function: Callable[..., Any]) -> Iterator[Parameter]:
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind, info = get_args(hints[name])[:2]
        is_option = isinstance(info, OptionInfo)
        is_flag = kind is bool
        # Inside Annotated, Typer keeps the first spelling in the place of the default.
        decls = [each for each in (info.default, *(info.param_decls or ())) if isinstance(each, str)]
        spelled = tuple(decls or [f"--{name.replace('_', '-')}"]) if is_option else (name.upper(),)
        is_required = parameter.default is inspect.Parameter.empty
        yield Parameter(
            spelled,
            "" if is_flag else info.metavar or _kind(kind, info.min, info.max),
            "required" if is_required else _default(parameter.default),
            info.help or "",
        )


def _kind(kind: Any, low: float | None, high: float | None) -> str:
    arguments = [each for each in get_args(kind) if each is not type(None)]
    inner = arguments[0] if arguments else kind
    if get_origin(kind) is list:
        return f"{_kind(inner, low, high)}, may be repeated"
    if arguments:
        return _kind(inner, low, high) if len(arguments) == 1 else " or ".join(_kind(each, low, high) for each in arguments)
    if isinstance(inner, type) and issubclass(inner, enum.Enum):
        return ", ".join(f"`{member.value}`" for member in inner)
    name = {"Path": "path", "str": "text", "int": "number", "float": "number"}.get(inner.__name__, inner.__name__)
    bounds = _bounds(low, high)
    return f"{name}, {bounds}" if bounds else name


def commands_page() -> str:
    """Every command with its arguments, options and examples."""
    parts = [
        "# Commands\n\n`asmevo COMMAND --help` prints the same. Results go to standard output, diagnostics and progress to"
        " standard error. Exit codes: 0 done, 1 the answer is no, 2 bad input, option or tool, 3 undecided, 70 a bug,"
        " 130 interrupted."
    ]
    for command in commands():
        parts += [f"## `{command.title}`", _with_examples(command.help), _parameter_table(command)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _with_examples(text: str) -> str:
    lines: list[str] = []
    for paragraph in text.replace("\f", "").split("\n\n"):
        shown = " ".join(paragraph.split())
        before, mark, example = shown.partition("Example: ")
        if mark and not before:
            lines.append("```\n" + "\n".join(part.strip() for part in example.split("; ")) + "\n```")
        elif shown:
            lines.append(_escaped(shown))
    return "\n\n".join(lines)


def _parameter_table(command: Command) -> str:
    rows = [
        (", ".join(f"`{each}`" for each in parameter.spelled), parameter.value, parameter.default, _escaped(parameter.help))
        for parameter in command.parameters
    ]
    return _table(("argument or option", "value", "default", "what it does"), rows)


def _default(value: object) -> str:
    shown = value.value if isinstance(value, enum.Enum) else value
    if shown is True:
        return "on"
    return "" if shown is None or shown is False or shown == [] else f"`{shown}`"


def passes_page() -> str:
    """Every pass with its documentation and options."""
    from asmevo.passes.base import options_of
    from asmevo.passes.registry import available_passes

    parts = [
        "# Passes, option by option",
        "`asmevo passes` lists them, `asmevo explain PASS` prints one. How they work, the presets and what they gain:"
        " [passes](../passes.md).",
    ]
    for name, kind in available_passes().items():
        parts += [f"## `{name}`", f"```text\n{inspect.cleandoc(kind.__doc__ or '')}\n```"]
        rows = [
            (f"`{o.name}`", f"`{json.dumps(o.default)}`", o.unit, _bounds(o.ge, o.le), _escaped(o.help))
            for o in options_of(kind)
        ]
        parts.append(_table(("option", "default", "unit", "range", "what it does"), rows))
    return "\n\n".join(part for part in parts if part) + "\n"


def proposers_page() -> str:
    """Every proposer of the search with its documentation."""
    from asmevo.search.proposers.registry import available_proposers

    parts = ["# Proposers", "Who proposes candidates in `asmevo optimize`. How the search uses them: [search](../search.md)."]
    for proposer in available_proposers():
        parts += [f"## `{proposer.name}`", f"```text\n{inspect.cleandoc(type(proposer).__doc__ or '')}\n```"]
    return "\n\n".join(parts) + "\n"


def settings_page() -> str:
    """Every setting of asmevo.toml."""
    from asmevo.config import Settings

    rows = list(_settings(Settings, ""))
    return (
        "# Settings\n\nThe keys of `asmevo.toml`. Defaults < file < `--set key=value` < flags; `asmevo config` prints each"
        " value and where it came from, `asmevo config --schema` the JSON schema for editors.\n\n"
        + _table(("key", "type", "default", "meaning"), rows)
        + "\n"
    )


def _settings(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in model.model_fields.items():
        kind: Any = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _settings(kind, f"{prefix}{name}.")
            continue
        default = field.get_default(call_default_factory=True)
        shown = "not set" if default is None else f"`{json.dumps(default, default=str)}`"
        yield f"`{prefix}{name}`", _type_name(kind), shown, _escaped(field.description or "")


def _type_name(kind: Any) -> str:
    arguments = getattr(kind, "__args__", ())
    if arguments and all(isinstance(each, (str, int)) for each in arguments):
        return " or ".join(f"`{each}`" for each in arguments)
    return _kind(kind, None, None)


def _bounds(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return ""
    return f"at least {low}" if high is None else f"at most {high}" if low is None else f"{low} to {high}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Text in which Markdown sees no tags and no emphasis that is not in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_") if "`" not in text else text
