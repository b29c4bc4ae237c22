"""Machine code to instruction texts.

Owns walking a byte string instruction by instruction, and that no bytes can harm the process. It must not interpret a text:
branch operands stay raw simm16, and lowering computes the targets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from asmevo.diagnostics import fail
from asmevo.frontend.llvm import InstructionDecoder, check_target, library_lock
from asmevo.frontend.probe import crash_place

_WORD = 4
_KEY = 8
_CACHE_LIMIT = 1 << 17
_MAX_CRASHES = 64

Encoded = tuple[bytes, str | None]


class Decoded(NamedTuple):
    """One instruction: its byte offset, its bytes, and its text as LLVM prints it.

    `text` is None for bytes that are no instruction: one 4-byte word, or the 1 to 3 bytes left at the end.
    """

    offset: int
    encoding: bytes
    text: str | None


@cache
def _cache(target: str) -> dict[bytes, Encoded]:
    # Keys are the first dword of a 4-byte instruction (the first dword alone says that no second one follows)
    # or the 8 bytes of an 8-byte one. Longer instructions and data words are decoded anew.
    check_target(target)
    return {}


def disassemble(text: bytes, target: str, *, start: int = 0) -> list[Decoded]:
    """Decode every instruction of `text`, in order; their encodings joined give `text` again. Offsets count from `start`.

    Bytes that do not decode become one 4-byte word with text None, and decoding goes on behind it. Code not seen before is
    decoded in a forked child first: what crashes LLVM is data. Raises E0602 for an unknown target, E0601 when there is no
    LLVM library, E0606 when LLVM crashes more than 64 times, which no code does.
    """
    known = _cache(target)
    decoder = InstructionDecoder(text, target)
    return _walk(decoder, text, known, 0, _Guard(decoder, text, known), start)


def _walk(
    decoder: InstructionDecoder,
    text: bytes,
    known: dict[bytes, Encoded],
    offset: int,
    at_unknown: Callable[[int], Encoded | None],
    start: int = 0,
) -> list[Decoded]:
    """Return the instructions from `offset` on. `at_unknown` is asked before LLVM is, and may answer in its place."""
    result: list[Decoded] = []
    end = len(text)
    while offset < end:
        hit = known.get(text[offset : offset + _WORD]) or known.get(text[offset : offset + _KEY])
        if hit is None:
            hit = at_unknown(offset) or _decode(decoder, text, offset)
            if hit[1] is not None and len(hit[0]) in (_WORD, _KEY):
                if len(known) >= _CACHE_LIMIT:
                    known.clear()
                known[hit[0]] = hit
        encoding, line = hit
        result.append(Decoded(start + offset, encoding, line))
        offset += len(encoding)
    return result


def _decode(decoder: InstructionDecoder, text: bytes, offset: int) -> Encoded:
    length, line = decoder.at(offset)
    if length == 0 or length % _WORD:
        return _data(text, offset)
    return text[offset : offset + length], line


def _data(text: bytes, offset: int) -> Encoded:
    return text[offset : offset + _WORD], None


class _Guard:
    """Keeps bytes from LLVM that would crash it. A child decodes ahead to the end, or to the crash."""

    def __init__(self, decoder: InstructionDecoder, text: bytes, known: dict[bytes, Encoded]) -> None:
        self._decoder, self._text, self._known = decoder, text, known
        self._safe_to = 0
        self._harmful = -1
        self._crashes = 0

    def __call__(self, offset: int) -> Encoded | None:
        if offset >= self._safe_to:
            self._look_ahead(offset)
        return _data(self._text, offset) if offset == self._harmful else None

    def _look_ahead(self, offset: int) -> None:
        def decode_all(report: Callable[[int], None]) -> None:
            _walk(self._decoder, self._text, self._known, offset, report)

        with library_lock():
            place = crash_place(decode_all)
        if place is None:
            self._safe_to = len(self._text)
            return
        self._safe_to = self._harmful = place
        self._crashes += 1
        if self._crashes > _MAX_CRASHES:
            fail("E0606", f"the disassembler crashed {self._crashes} times: these {len(self._text)} bytes are not code")
