"""Integer expressions of the assembler, with LLVM's operators, precedence and 64-bit arithmetic.

Owns reading and evaluating; which names have which values is the caller's. Comparisons give -1 for true and `>>` shifts in
zeros, as LLVM's MC layer does.
Source: LLVM MC, AsmParser and MCExpr; AMDGPU's functions (max, or, alignto, ...) from AMDGPUMCExpr.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

_MASK = (1 << 64) - 1
_MAX_DEPTH = 64

_TOKEN = re.compile(
    r"[ \t]*(?:(?P<float>(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])|\d+[eE][-+]?\d+(?![\w.]))"
    r"|(?P<number>0[xX][0-9A-Fa-f]+|0[bB][01]+|\d+(?![\w.$]))"
    r"|(?P<local>\d+[bf](?![\w.$]))"
    r"|(?P<name>[A-Za-z_.$][\w.$]*(?:@[\w@.]+)?|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<char>'(?:[^'\\\n]|\\.)')"
    r"|(?P<sign>\|\||&&|==|!=|<>|<=|>=|<<|>>|[-+~!*/%|&^<>(),]))"
)
_CHARACTERS = {"n": 10, "t": 9, "r": 13, "b": 8, "f": 12, "0": 0}

_BY_LEVEL = (
    ("||",),
    ("&&",),
    ("==", "!=", "<>", "<", "<=", ">", ">="),
    ("+", "-"),
    ("|", "!", "^", "&"),
    ("*", "/", "%", "<<", ">>"),
)
"""Binary operators, loosest first."""

_LEVELS = {sign: level for level, signs in enumerate(_BY_LEVEL, 1) for sign in signs}


class ExpressionError(Exception):
    """What is wrong in an expression and where (0-based column and length)."""

    def __init__(self, message: str, start: int, length: int = 1) -> None:
        super().__init__(message)
        self.message, self.start, self.length = message, start, length


class UnknownValue(ExpressionError):
    """A name that has no value (yet); `end` is the column behind the expression."""

    def __init__(self, name: str, start: int, length: int, end: int) -> None:
        super().__init__(f"'{name}' has no value here", start, length)
        self.name, self.end = name, end


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may refer to.

    `value` maps a name (a symbol, `.`, or a directional label such as `1b`) to its value, None when it has none.
    """

    value: Callable[[str], int | None]
    has_architected_flat_scratch: bool = True


def evaluate(text: str, scope: Scope, start: int = 0) -> int:
    """The value of the whole of `text` from `start`, as a signed 64-bit number.

    Raises: ExpressionError; UnknownValue for a name without a value.
    """
    value, end = evaluate_prefix(text, scope, start)
    rest = text[end:].lstrip()
    if rest:
        raise ExpressionError(f"unexpected '{rest[:1]}'", len(text) - len(rest))
    return value


def evaluate_prefix(text: str, scope: Scope, start: int = 0, *, only_operand: bool = False) -> tuple[int, int]:
    """The value of the longest expression at `start`, and the column behind it; of one operand with `only_operand`.

    Raises: as `evaluate`; `UnknownValue` only after the whole expression was read.
    """
    reader = _Reader(text, scope, start)
    value = reader.primary(0) if only_operand else reader.binary(1, 0)
    if reader.unknown is not None:
        name, place = reader.unknown
        raise UnknownValue(name, place, len(name), reader.at)
    return value, reader.at


def signed(value: int) -> int:
    """`value` wrapped to a signed 64-bit number."""
    value &= _MASK
    return value - (1 << 64) if value >> 63 else value


class _Reader:
    """Precedence climbing over one text."""

    def __init__(self, text: str, scope: Scope, start: int) -> None:
        self.text, self.at = text, start
        self.unknown: tuple[str, int] | None = None
        self._scope = scope

    def _peek(self) -> re.Match[str] | None:
        return _TOKEN.match(self.text, self.at)

    def binary(self, least: int, depth: int) -> int:
        if depth > _MAX_DEPTH:
            raise ExpressionError(f"the expression nests deeper than {_MAX_DEPTH} levels", self.at)
        left = self.primary(depth)
        while (token := self._peek()) is not None and (sign := token["sign"]) in _LEVELS and _LEVELS[sign] >= least:
            place = token.start("sign")
            self.at = token.end()
            right = self.binary(_LEVELS[sign] + 1, depth + 1)
            left = self._apply(sign, left, right, place)
        return left

    def primary(self, depth: int) -> int:
        if depth > _MAX_DEPTH:
            raise ExpressionError(f"the expression nests deeper than {_MAX_DEPTH} levels", self.at)
        token = self._peek()
        if token is None:
            self._unexpected()
        start = self.at
        self.at = token.end()
        if token["float"]:
            # In an expression LLVM takes a float for the integer that has its bits in double precision.
            return struct.unpack("<q", struct.pack("<d", float(token["float"])))[0]
        if token["number"]:
            return self._number(token["number"], token.start("number"))
        if token["local"]:
            return self._value(token["local"], token.start("local"))
        if token["char"]:
            char = token["char"][1:-1]
            return _CHARACTERS.get(char[1], ord(char[1])) if char[0] == "\\" else ord(char)
        if token["name"]:
            return self._named(token, depth)
        sign = token["sign"]
        if sign == "(":
            value = self.binary(1, depth + 1)
            self._expect(")")
            return value
        if sign in ("-", "+", "~", "!"):
            value = self.primary(depth + 1)
            return signed({"-": -value, "+": value, "~": ~value, "!": int(not value)}[sign])
        self.at = start
        self._unexpected()

    def _number(self, digits: str, place: int) -> int:
        if digits[0] == "0" and digits.isdigit():
            if "8" in digits or "9" in digits:
                raise ExpressionError(f"'{digits}' starts with 0 and is not octal", place, len(digits))
            value = int(digits, 8)
        else:
            value = int(digits, 0)
        if value > _MASK:
            raise ExpressionError("the constant does not fit in 64 bits", place, len(digits))
        return signed(value)

    def _named(self, token: re.Match[str], depth: int) -> int:
        name, place = token["name"], token.start("name")
        following = self._peek()
        if following is None or following["sign"] != "(" or name not in _FUNCTIONS:
            return self._value(name, place)
        self.at = following.end()
        arguments = [self.binary(1, depth + 1)]
        while (token_ := self._peek()) is not None and token_["sign"] == ",":
            self.at = token_.end()
            arguments.append(self.binary(1, depth + 1))
        self._expect(")")
        if self.unknown is not None:
            return 1
        if name == "extrasgprs" and len(arguments) == 3 and self._scope.has_architected_flat_scratch:
            arguments[1] = 1
        value = _FUNCTIONS[name](arguments)
        if value is None:
            raise ExpressionError(f"{name}(...) does not take these arguments", place, len(name))
        return signed(value)

    def _value(self, name: str, place: int) -> int:
        value = self._scope.value(name)
        if value is None:
            self.unknown = self.unknown or (name, place)
            return 1
        return value

    def _expect(self, sign: str) -> None:
        token = self._peek()
        if token is None or token["sign"] != sign:
            self._unexpected(f"expected '{sign}'")
        self.at = token.end()

    def _unexpected(self, message: str | None = None) -> NoReturn:
        place = self.at + len(self.text[self.at :]) - len(self.text[self.at :].lstrip(" \t"))
        found = self.text[place : place + 1]
        raise ExpressionError(message or (f"unexpected '{found}'" if found else "a value is missing"), place)

    def _apply(self, sign: str, left: int, right: int, place: int) -> int:
        if self.unknown is not None:
            return 1
        if sign in ("/", "%"):
            if right == 0:
                raise ExpressionError("division by zero", place, len(sign))
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return signed(quotient if sign == "/" else left - quotient * right)
        return signed(_OPERATORS[sign](left, right))


def _shift_left(left: int, right: int) -> int:
    return left << right if 0 <= right < 64 else 0


def _shift_right(left: int, right: int) -> int:
    return (left & _MASK) >> right if 0 <= right < 64 else 0


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(bool(a or b)),
    "&&": lambda a, b: int(bool(a and b)),
    "==": lambda a, b: -(a == b),
    "!=": lambda a, b: -(a != b),
    "<>": lambda a, b: -(a != b),
    "<": lambda a, b: -(a < b),
    "<=": lambda a, b: -(a <= b),
    ">": lambda a, b: -(a > b),
    ">=": lambda a, b: -(a >= b),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "|": lambda a, b: a | b,
    "!": lambda a, b: a | ~b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "*": lambda a, b: a * b,
    "<<": _shift_left,
    ">>": _shift_right,
}


def _align_to(values: Sequence[int]) -> int | None:
    if len(values) != 2 or values[1] <= 0:
        return None
    return -(-values[0] // values[1]) * values[1]


def _extra_sgprs(values: Sequence[int]) -> int | None:
    """SGPRs kept for VCC, flat scratch and the XNACK mask: gfx9 keeps 6 when flat scratch or XNACK is in use."""
    if len(values) != 3:
        return None
    uses_vcc, uses_flat_scratch, uses_xnack = values
    return 6 if uses_flat_scratch else 4 if uses_xnack else 2 if uses_vcc else 0


def _total_vgprs(values: Sequence[int]) -> int | None:
    """Registers of the unified file: the accumulation registers start at a multiple of four."""
    if len(values) != 2:
        return None
    accumulation, plain = values
    return -(-plain // 4) * 4 + accumulation if accumulation else plain


def _or(values: Sequence[int]) -> int:
    result = 0
    for value in values:
        result |= value
    return result


_FUNCTIONS: dict[str, Callable[[Sequence[int]], int | None]] = {
    "max": max,
    "or": _or,
    "alignto": _align_to,
    "extrasgprs": _extra_sgprs,
    "totalnumvgprs": _total_vgprs,
}
