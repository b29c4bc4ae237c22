"""Compressed offload bundles ("CCOB"), versions 1 to 3, zlib and zstd.

Source: LLVM, "Clang Offload Bundler", "Compression and Decompression"; clang's OffloadBundler.h.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass

from asmevo.diagnostics import Span, fail
from asmevo.frontend.containers.member import Buffer, broken, too_much

MAGIC = b"CCOB"
ZLIB, ZSTD = 0, 1

_START = struct.Struct("<4sHH")
# By version: what follows the version and method. Version 1 does not say how long the file is.
_REST = {1: struct.Struct("<IQ"), 2: struct.Struct("<IIQ"), 3: struct.Struct("<QQQ")}
_MAX_ZSTD_WINDOW = 128 << 20


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a compressed bundle; sizes in bytes. `total_bytes` counts the header too, None in version 1."""

    version: int
    method: int
    total_bytes: int | None
    expanded_bytes: int
    digest: int
    header_bytes: int


def read_header(data: Buffer, name: str) -> Header:
    """Read the header that starts `data`. Raises E0150 when it is damaged, E0155 for a version or method not known."""
    if len(data) < _START.size:
        broken(name, "the compressed bundle's header is cut off", len(data))
    _, version, method = _START.unpack_from(data)
    if version not in _REST:
        what = f"a compressed bundle of version {version}; versions 1 to {max(_REST)} are read"
        fail("E0155", what, Span(name, offset=4))
    if method not in (ZLIB, ZSTD):
        fail("E0155", f"compression method {method} is not known (0 zlib, 1 zstd)", Span(name, offset=6))
    rest = _REST[version]
    size = _START.size + rest.size
    if len(data) < size:
        broken(name, "the compressed bundle's header is cut off", len(data))
    values = rest.unpack_from(data, _START.size)
    total = values[0] if version > 1 else None
    if total is not None and not size <= total <= len(data):
        broken(name, f"a compressed bundle of {total} bytes in {len(data)}", _START.size)
    return Header(version, method, total, values[-2], values[-1], size)


def expand(data: bytes, name: str, limit: int) -> bytes:
    """Return the bundle in a compressed one that starts `data`; what follows its end is not looked at.

    Allocates no more than `limit` bytes, whatever the header or the stream says. Raises E0150 when size or digest are not as
    the header says or the stream is damaged, E0151 beyond `limit`, E0155 as `read_header`.
    """
    header = read_header(data, name)
    if header.expanded_bytes > limit:
        too_much(name, f"a compressed part expands to {header.expanded_bytes} bytes; {limit} are left of what is allowed")
    body = data[header.header_bytes : header.total_bytes]
    expander = _expand_zlib if header.method == ZLIB else _expand_zstd
    result = expander(body, name, header)
    if len(result) != header.expanded_bytes:
        more = "more" if len(result) > header.expanded_bytes else f"{len(result)}"
        broken(name, f"{more} bytes come out of a compressed bundle that says {header.expanded_bytes}", header.header_bytes)
    if _digest(result) != header.digest:
        broken(name, "the digest of a compressed bundle does not match", header.header_bytes - 8)
    return result


def _expand_zlib(body: bytes, name: str, header: Header) -> bytes:
    stream = zlib.decompressobj()
    try:
        return stream.decompress(body, header.expanded_bytes + 1)
    except zlib.error as error:
        broken(name, f"zlib: {error}", header.header_bytes)


def _expand_zstd(body: bytes, name: str, header: Header) -> bytes:
    import zstandard

    # Not one byte more: behind the frame padding can follow. The digest shows whether it was all.
    left, parts = header.expanded_bytes, list[bytes]()
    try:
        with zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW).stream_reader(body) as stream:
            while left and (part := stream.read(left)):
                parts.append(part)
                left -= len(part)
    except (zstandard.ZstdError, MemoryError) as error:
        broken(name, f"zstd: {error}", header.header_bytes)
    return b"".join(parts)


def compress(bundle: bytes, like: Header) -> bytes:
    """Return a compressed bundle of the same version and method as `like`."""
    if like.method == ZLIB:
        body = zlib.compress(bundle, 6)
    else:
        import zstandard

        body = zstandard.ZstdCompressor(level=19, write_content_size=True).compress(bundle)
    rest = _REST[like.version]
    values = [len(bundle), _digest(bundle)]
    if like.version > 1:
        values.insert(0, _START.size + rest.size + len(body))
    return _START.pack(MAGIC, like.version, like.method) + rest.pack(*values) + body


def _digest(data: bytes) -> int:
    return struct.unpack_from("<Q", hashlib.md5(data, usedforsecurity=False).digest())[0]
