"""Clang offload bundles: several targets' files in one, uncompressed.

Source: LLVM, "Clang Offload Bundler", "Bundled Binary File Layout".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from asmevo.frontend.containers.member import MAX_MEMBERS, Buffer, Entry, broken, check_entries, too_much

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
TEXT_MAGIC = b"__CLANG_OFFLOAD_BUNDLE____START__"
"""In bundles of texts, behind a comment mark at the start of a line."""

_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")
_MAX_ID = 1024


def entries(data: Buffer, name: str) -> tuple[Entry, ...]:
    """Return the entries of a bundle that starts `data`; bytes behind it are not looked at. Raises E0150, E0151."""
    found = tuple(entry for entry, _ in _table(data, name))
    check_entries(found, len(data), name)
    return found


def size_places(data: Buffer, name: str) -> tuple[int, ...]:
    """Return where each entry's size stands in the table, in the order of `entries`."""
    return tuple(place for _, place in _table(data, name))


def length(data: Buffer, name: str) -> int:
    """Return how many bytes the bundle that starts `data` takes."""
    end = len(MAGIC) + _COUNT.size
    for entry, place in _table(data, name):
        end = max(end, place + 2 * _COUNT.size, entry.stop)
    return min(end, len(data))


def _table(data: Buffer, name: str) -> Iterator[tuple[Entry, int]]:
    at = len(MAGIC)
    if at + _COUNT.size > len(data):
        broken(name, "the bundle's header is cut off", len(data))
    (count,) = _COUNT.unpack_from(data, at)
    at += _COUNT.size
    # Each entry takes room in the file, so a false count soon runs off its end.
    if count > (len(data) - at) // _ENTRY.size:
        broken(name, f"a bundle of {count} entries in {len(data)} bytes", len(MAGIC))
    if count > MAX_MEMBERS:
        too_much(name, f"a bundle of {count} entries")
    for _ in range(count):
        if at + _ENTRY.size > len(data):
            broken(name, "the bundle's table is cut off", len(data))
        start, size, id_size = _ENTRY.unpack_from(data, at)
        if id_size > _MAX_ID or at + _ENTRY.size + id_size > len(data):
            broken(name, f"a bundle entry's ID of {id_size} bytes", at)
        label = bytes(data[at + _ENTRY.size : at + _ENTRY.size + id_size]).decode("utf-8", errors="replace")
        yield Entry(label, start, size), at + _COUNT.size
        at += _ENTRY.size + id_size
