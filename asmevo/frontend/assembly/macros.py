"""Macros: their headers, the arguments of a call, and the text they expand to.

Owns text in, text out; which lines belong to a body and when a body is expanded is the expander's business.
Source: LLVM MC, AsmParser (parseDirectiveMacro, parseMacroArguments, expandMacro).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.frontend.assembly.lines import Line

_NAME = r"[A-Za-z_.$][\w.$]*"
_HEAD = re.compile(rf"\s*({_NAME})\s*,?")
_PARAMETER = re.compile(rf"\s*({_NAME})(?:\s*:\s*(\w+))?(\s*=)?")
_NAMED = re.compile(rf"\s*({_NAME})\s*=(?!=)")
_PIECE = re.compile(r'[ \t]+|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'|[\w.$@\\]+|<<|>>|\|\||&&|==|!=|<>|<=|>=|.')
_OPERATORS = frozenset(
    ("+", "-", "~", "/", "*", ".", "=", "==", "|", "||", "^", "&", "&&", "!", "!=", "<", "<=", "<<", "<>")
).union((">", ">=", ">>"))
_ESCAPE = re.compile(r"\\(@|\+|\(\)|[\w.$]+)")
_MAX_PARAMETERS = 256


class MacroError(Exception):
    """What is wrong with a macro's header or call, and at which column."""

    def __init__(self, message: str, start: int = 0) -> None:
        super().__init__(message)
        self.message, self.start = message, start


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `default` is empty when there is none."""

    name: str
    default: str = ""
    is_required: bool = False
    is_rest: bool = False


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: its parameters and the lines of its body."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Line, ...]


def parse_header(text: str) -> tuple[str, tuple[Parameter, ...]]:
    """Name and parameters of what follows `.macro`. Raises MacroError."""
    head = _HEAD.match(text)
    if not head:
        raise MacroError("a macro needs a name")
    position = head.end()
    parameters: list[Parameter] = []
    while text[position:].strip():
        match = _PARAMETER.match(text, position)
        if not match:
            raise MacroError("a parameter is a name", position)
        name, kind, takes_default = match.groups()
        position = match.end()
        if kind not in (None, "req", "vararg"):
            raise MacroError(f"a parameter is :req or :vararg, not :{kind}", match.start(2))
        if any(name == other.name for other in parameters):
            raise MacroError(f"parameter '{name}' stands twice", match.start(1))
        if parameters and parameters[-1].is_rest:
            raise MacroError(f"vararg parameter '{parameters[-1].name}' must be the last", match.start(1))
        if len(parameters) >= _MAX_PARAMETERS:
            raise MacroError(f"a macro has at most {_MAX_PARAMETERS} parameters", position)
        default = ""
        if takes_default:
            default, position = _argument(text, position)
        parameters.append(Parameter(name, default, kind == "req", kind == "vararg"))
        comma = re.compile(r"\s*,").match(text, position)
        position = comma.end() if comma else position
    return head.group(1), tuple(parameters)


def bind(macro: Macro, text: str) -> dict[str, str]:
    """The value of each parameter in a call with these arguments. Raises MacroError."""
    values: dict[str, str] = {}
    names = [parameter.name for parameter in macro.parameters]
    position, place, is_named = 0, 0, False
    while text[position:].strip():
        start = position
        named = _NAMED.match(text, position)
        if named:
            if named.group(1) not in names:
                raise MacroError(f"macro '{macro.name}' has no parameter '{named.group(1)}'", named.start(1))
            index, position, is_named = names.index(named.group(1)), named.end(), True
        elif is_named:
            raise MacroError("a positional argument follows a named one", position)
        else:
            index = place
        if index >= len(names):
            raise MacroError(f"macro '{macro.name}' takes {len(names)} arguments", start)
        parameter = macro.parameters[index]
        if parameter.is_rest:
            values[parameter.name], position = text[position:].strip(), len(text)
        else:
            value, position = _argument(text, position)
            if value:
                values[parameter.name] = _bare(value)
        place = index + 1
        position = _past_comma(text, position)
    for parameter in macro.parameters:
        if parameter.name not in values:
            if parameter.is_required:
                raise MacroError(f"macro '{macro.name}' needs a value for '{parameter.name}'")
            values[parameter.name] = _bare(parameter.default)
    return values


def arguments(text: str) -> list[str]:
    """The arguments of `.irp` and the like: separated by commas or blanks."""
    found: list[str] = []
    position = 0
    while text[position:].strip():
        value, position = _argument(text, position)
        found.append(_bare(value))
        position = _past_comma(text, position)
    return found


def substitute(text: str, values: dict[str, str], instance: int) -> str:
    r"""`text` with `\name` replaced, `\@` by the number of the expansion and `\()` by nothing."""

    def value(match: re.Match[str]) -> str:
        word = match.group(1)
        if word in ("@", "+"):
            return str(instance)
        return "" if word == "()" else values.get(word, match.group())

    return _ESCAPE.sub(value, text) if "\\" in text else text


def _past_comma(text: str, position: int) -> int:
    rest = text[position:].lstrip()
    return len(text) - len(rest) + 1 if rest.startswith(",") else position


def _argument(text: str, position: int) -> tuple[str, int]:
    """One argument, without its blanks, and the column behind it: a blank ends it unless an operator stands on either side."""
    while position < len(text) and text[position] in " \t":
        position += 1
    pieces: list[str] = []
    depth = 0
    is_open = True  # An operator, or the start: a blank does not end the argument here.
    while position < len(text):
        match = _PIECE.match(text, position)
        assert match is not None
        piece = match.group()
        if depth == 0 and piece == ",":
            break
        if piece[0] in " \t":
            following = _PIECE.match(text, match.end())
            if depth == 0 and not is_open and (following is None or following.group() not in _OPERATORS):
                position = match.end()
                break
            if depth:
                pieces.append(" ")
            position = match.end()
            continue
        depth += (piece == "(") - (piece == ")")
        pieces.append(piece)
        is_open = piece in _OPERATORS
        position = match.end()
    if depth > 0:
        raise MacroError("a parenthesis is not closed", position)
    return "".join(pieces), position


def _bare(value: str) -> str:
    """An argument in quotes stands for what is in them."""
    if len(value) >= 2 and value[0] == value[-1] == '"' and '"' not in value[1:-1]:
        return value[1:-1]
    return value


def character_items(text: str) -> Sequence[str]:
    """The items of `.irpc`: the characters of its argument."""
    found = arguments(text)
    return found[0] if found else ""
