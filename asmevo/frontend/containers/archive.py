"""Archives made by ar: GNU and BSD names.

Source: System V ABI, "Archive File"; GNU binutils and 4.4BSD for their long names.
"""

from __future__ import annotations

from asmevo.frontend.containers.member import MAX_MEMBERS, Entry, broken, check_entries

MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"
BIG_MAGIC = b"<bigaf>\n"

_HEADER_BYTES = 60
_END = b"`\n"
_INDEXES = ("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED", "__.SYMDEF_64", "__.SYMDEF_64 SORTED")
_MAX_NAME = 4096


def entries(data: bytes, name: str) -> tuple[Entry, ...]:
    """Return the members of an archive; its symbol index and table of names are not members. Raises E0150, E0151."""
    found: list[Entry] = []
    long_names = b""
    at = len(MAGIC)
    while at < len(data):
        header = data[at : at + _HEADER_BYTES]
        if len(header) < _HEADER_BYTES or header[58:] != _END:
            broken(name, "a member's header is cut off or damaged", at)
        size = _number(header[48:58], name, at)
        start = at + _HEADER_BYTES
        if start + size > len(data):
            broken(name, "a member ends behind the file", at)
        at = start + size + size % 2
        label = header[:16].decode("latin-1").rstrip(" ")
        if label == "//":
            long_names = data[start : start + size]
            continue
        if label.startswith("#1/"):
            length = _number(header[3:16], name, start)
            if length > min(size, _MAX_NAME):
                broken(name, f"a member's name of {length} bytes", start)
            label = data[start : start + length].rstrip(b"\0").decode("utf-8", errors="replace")
            start, size = start + length, size - length
        elif label.startswith("/") and label[1:].isdecimal() and label.isascii():
            label = _long_name(long_names, int(label[1:]), name, start)
        elif label not in _INDEXES:
            label = label.removesuffix("/")
        if len(found) > MAX_MEMBERS:
            break
        if label not in _INDEXES:
            found.append(Entry(label, start, size))
    check_entries(found, len(data), name)
    return tuple(found)


def _number(field: bytes, name: str, at: int) -> int:
    text = field.strip(b" ")
    if not text.isdigit():
        broken(name, "a member's size is no number", at)
    return int(text)


def _long_name(table: bytes, start: int, name: str, at: int) -> str:
    # GNU ends a name with "/\n", a thin archive's too; some writers end it with a zero byte.
    end = min((place for place in (table.find(b"/\n", start), table.find(b"\0", start)) if place >= 0), default=-1)
    if start >= len(table) or end < 0 or end - start > _MAX_NAME:
        broken(name, "a member's name lies outside the table of names", at)
    return table[start:end].decode("utf-8", errors="replace")
