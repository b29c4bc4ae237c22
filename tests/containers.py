"""The containers made by real tools, and small ones made by hand to be wrong. For tests only."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from support import EXAMPLES

DATA = Path(__file__).resolve().parent / "data" / "containers"
HISTOGRAM = (EXAMPLES / "kernels" / "histogram.co").read_bytes()
BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
ID_942 = "hipv4-amdgcn-amd-amdhsa--gfx942"


def bundle(parts: Sequence[tuple[str, bytes]], alignment: int = 64) -> bytes:
    """An uncompressed offload bundle."""
    size = len(BUNDLE_MAGIC) + 8 + sum(24 + len(name) for name, _ in parts)
    table, contents = b"", b""
    for name, data in parts:
        contents += bytes(-(size + len(contents)) % alignment)
        table += struct.pack("<QQQ", size + len(contents), len(data), len(name)) + name.encode()
        contents += data
    return BUNDLE_MAGIC + struct.pack("<Q", len(parts)) + table + contents


def archive(parts: Sequence[tuple[str, bytes]]) -> bytes:
    """An archive with short GNU names."""
    data = b"!<arch>\n"
    for name, content in parts:
        data += f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(content):<10}`\n".encode() + content
        data += b"\n" * (len(content) % 2)
    return data


def host_file(sections: Sequence[tuple[str, bytes]]) -> bytes:
    """An x86-64 ELF file with these sections, the first at a multiple of 4096."""
    names, data, headers = b"\0", bytes(4096), bytes(64)
    for name, content in (*sections, (".shstrtab", b"")):
        content = content if name != ".shstrtab" else names + b".shstrtab\0"
        headers += struct.pack("<IIQQQQIIQQ", len(names), 1, 0, 0, len(data), len(content), 0, 0, 1, 0)
        names += name.encode() + b"\0"
        data += content
    count = len(sections) + 2
    start = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, len(data), 0, 64, 56, 0, 64, count, count - 1)
    return b"\x7fELF\x02\x01\x01" + bytes(9) + start + data[64:] + headers
