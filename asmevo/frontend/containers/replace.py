"""Putting a changed code object back into the container it came from.

Everything else in the container stays byte for byte, but for the sizes and digests that must change. A host file's sections
and an archive's members keep their sizes: what does not fit is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NoReturn

from asmevo.diagnostics import Span, fail
from asmevo.frontend.containers import bundle, compressed
from asmevo.frontend.containers.member import SEPARATOR, Entry, Member
from asmevo.frontend.containers.opener import ELF_MAGIC, open_inputs, parts_of

_SIZE = struct.Struct("<Q")
_BUNDLE_ALIGNMENT = 4096


def replace_member(container: bytes, name: str, member: Member, new: bytes) -> bytes:
    """Return `container`, which was opened as `name`, with `new` in the place of `member`.

    In a bundle later members move by multiples of 4096 bytes when the new one is longer; a compressed bundle is compressed
    again by the same method. Raises E0154 when the container has no such member, E0158 when the new one does not fit.
    """
    paths = [found.path for found in open_inputs(container, name)]
    if member.path not in paths:
        fail("E0154", f"the container has no member '{member.path}'", Span(name))
    return _replaced(container, name, paths.index(member.path), new)


def _replaced(data: bytes, path: str, index: int, new: bytes) -> bytes:
    parts = parts_of(data, path)
    if parts is None:
        return new
    inner, entries = parts
    for number, entry in enumerate(entries):
        part = inner[entry.start : entry.stop]
        name = f"{path}{SEPARATOR}{entry.name}"
        count = len(open_inputs(part, name))
        if index >= count:
            index -= count
            continue
        part = _replaced(part, name, index, new)
        if inner.startswith(bundle.MAGIC):
            result = _in_bundle(inner, path, entries, number, part)
            return result if inner is data else compressed.compress(result, compressed.read_header(data, path))
        return _in_place(inner, name, entry, part)
    fail("E0154", "the container has no such member", Span(path))


def _in_bundle(data: bytes, path: str, entries: Sequence[Entry], number: int, part: bytes) -> bytes:
    entry = entries[number]
    following = [other.start for other in entries if other.size and other.start >= entry.stop]
    room = min(following, default=len(data)) - entry.start
    shift = -(-max(len(part) - room, 0) // _BUNDLE_ALIGNMENT) * _BUNDLE_ALIGNMENT if following else 0
    result = bytearray(data[: entry.start] + part)
    if following:
        result += bytes(room + shift - len(part)) + data[entry.start + room :]
    else:
        result += bytes(max(room - len(part), 0))
    for other, place in zip(entries, bundle.size_places(data, path), strict=True):
        if other is entry:
            _SIZE.pack_into(result, place, len(part))
        elif other.start >= entry.stop:
            _SIZE.pack_into(result, place - _SIZE.size, other.start + shift)
    return bytes(result)


def _in_place(data: bytes, name: str, entry: Entry, part: bytes) -> bytes:
    # Zeros behind a bundle are padding; behind anything else they would become part of it.
    is_padded = data.startswith(ELF_MAGIC) and part.startswith((bundle.MAGIC, compressed.MAGIC))
    if len(part) > entry.size or (len(part) < entry.size and not is_padded):
        _does_not_fit(name, len(part), entry.size, is_padded=is_padded)
    return data[: entry.start] + part + bytes(entry.size - len(part)) + data[entry.stop :]


def _does_not_fit(name: str, size: int, room: int, *, is_padded: bool) -> NoReturn:
    what = f"{size} bytes do not fit: the place has {'room for' if is_padded else 'exactly'} {room}"
    fail("E0158", what, Span(name), "build the container again from its members with the tool that made it")
