"""Machine code to instruction texts.

Owns walking a byte string instruction by instruction. It must not interpret a text: branch operands stay raw simm16,
and lowering computes the targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from asmevo.frontend.llvm import InstructionDecoder, check_target

_WORD = 4
_KEY = 8
_CACHE_LIMIT = 1 << 17


@dataclass(frozen=True, slots=True)
class Decoded:
    """One instruction: byte offset in the text given, its bytes, and its text as LLVM prints it.

    `text` is None for bytes that are no instruction: one 4-byte word, or the 1 to 3 bytes left at the end.
    """

    offset: int
    encoding: bytes
    text: str | None


@cache
def _cache(target: str) -> dict[bytes, tuple[bytes, str | None]]:
    # Keys are the first dword of a 4-byte instruction (the first dword alone says that no second one follows)
    # or the 8 bytes of an 8-byte one. Longer instructions and data words are decoded anew.
    check_target(target)
    return {}


def disassemble(text: bytes, target: str) -> list[Decoded]:
    """Decode every instruction of `text`, in order; their encodings joined give `text` again.

    Bytes that do not decode become one 4-byte word with text None, and decoding goes on behind it. Never fails on the
    bytes; raises E0602 for an unknown target and E0601 when there is no LLVM library.
    """
    known = _cache(target)
    decoder = InstructionDecoder(text, target)
    out: list[Decoded] = []
    offset, end = 0, len(text)
    while offset < end:
        hit = known.get(text[offset : offset + _WORD]) or known.get(text[offset : offset + _KEY])
        if hit is None:
            hit = _decode(decoder, text, offset)
            if hit[1] is not None and len(hit[0]) in (_WORD, _KEY):
                if len(known) >= _CACHE_LIMIT:
                    known.clear()
                known[hit[0]] = hit
        encoding, line = hit
        out.append(Decoded(offset, encoding, line))
        offset += len(encoding)
    return out


def _decode(decoder: InstructionDecoder, text: bytes, offset: int) -> tuple[bytes, str | None]:
    length, line = decoder.at(offset)
    if length == 0 or length % _WORD:
        return text[offset : offset + _WORD], None
    return text[offset : offset + length], line
