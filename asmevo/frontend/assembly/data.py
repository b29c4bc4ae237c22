"""Data directives in the code: their bytes.

Owns sizes and limits; data outside the code says nothing of a kernel and is not evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from asmevo.ir.instruction import Immediate, Instruction

MAX_DATA = 16 << 20
"""Bytes of data that one directive may place."""

_SIZES = {
    ".byte": 1,
    ".2byte": 2,
    ".short": 2,
    ".hword": 2,
    ".value": 2,
    ".4byte": 4,
    ".long": 4,
    ".int": 4,
    ".word": 4,
    ".8byte": 8,
    ".quad": 8,
}
_SPACES = frozenset((".zero", ".space", ".skip"))
_STRINGS = {".ascii": b"", ".asciz": b"\0", ".string": b"\0"}
DATA = frozenset((*_SIZES, *_SPACES, *_STRINGS, ".fill"))

_STRING = re.compile(r'[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(,?)')
_ESCAPE = re.compile(r"\\([0-7]{1,3}|[xX][0-9A-Fa-f]+|.)")
_ESCAPES = {"n": 10, "t": 9, "r": 13, "b": 8, "f": 12}

Evaluate = Callable[[int, int], int]
"""Value of the expression between two columns of the line."""


class DataError(Exception):
    """What is wrong in a data directive, and at which column."""

    def __init__(self, message: str, start: int) -> None:
        super().__init__(message)
        self.message, self.start = message, start


def data_bytes(name: str, text: str, start: int, value: Evaluate) -> bytes:
    """The bytes of a directive whose arguments begin at column `start` of `text`. Raises DataError, and what `value` raises."""
    if name in _STRINGS:
        return _strings(text, start, _STRINGS[name])
    places = _arguments(text, start)
    if name in _SIZES:
        size = _SIZES[name]
        return b"".join(_packed(value(*place), size, place[0]) for place in places)
    numbers = [value(*place) for place in places]
    if not 1 <= len(numbers) <= (3 if name == ".fill" else 2):
        raise DataError(f"{name} takes other arguments", start)
    count = numbers[0]
    size = 1 if name != ".fill" else numbers[1] if len(numbers) > 1 else 1
    filler = numbers[-1] if len(numbers) == (3 if name == ".fill" else 2) else 0
    if not 0 <= size <= 8 or count < 0 or count * size > MAX_DATA:
        raise DataError(f"{name} places at most {MAX_DATA} bytes, in items of 0 to 8", start)
    # GNU and LLVM both fill with the low four bytes of the value.
    return (filler & 0xFFFFFFFF).to_bytes(8, "little")[:size] * count


def _packed(value: int, size: int, start: int) -> bytes:
    bits = 8 * size
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise DataError(f"{value} does not fit in {size} bytes", start)
    return (value & ((1 << bits) - 1)).to_bytes(size, "little")


def _arguments(text: str, start: int) -> list[tuple[int, int]]:
    """Columns of the arguments between commas outside parentheses."""
    found: list[tuple[int, int]] = []
    depth, begin = 0, start
    for match in re.compile(r"'(?:[^'\\]|\\.)'|[(),]").finditer(text, start):
        sign = match.group()
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            found.append((begin, match.start()))
            begin = match.end()
    if text[begin:].strip() or found:
        found.append((begin, len(text)))
    return found


def _strings(text: str, start: int, end: bytes) -> bytes:
    out = b""
    at, more = start, "," if text[start:].strip() else ""
    while more:
        match = _STRING.match(text, at)
        if match is None:
            raise DataError("a string in quotes is missing", at)
        out += _ESCAPE.sub(_character, match.group(1)).encode("latin-1", errors="replace") + end
        at, more = match.end(), match.group(2)
    if text[at:].strip():
        raise DataError("unexpected text behind the string", at)
    return out


def _character(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] in "01234567":
        return chr(int(code, 8) & 255)
    if code[0] in "xX" and len(code) > 1:
        return chr(int(code[1:], 16) & 255)
    return chr(_ESCAPES[code]) if code in _ESCAPES else code


def data_instruction(code: bytes) -> Instruction:
    """The bytes as the instruction that stands for raw data: `.long` words, or `.byte` when they are no whole words."""
    size = 4 if len(code) % 4 == 0 else 1
    words = [int.from_bytes(code[at : at + size], "little") for at in range(0, len(code), size)]
    operands = tuple(Immediate(word, f"{word:#0{2 + 2 * size}x}") for word in words)
    return Instruction(".long" if size == 4 else ".byte", operands)
