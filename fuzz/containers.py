"""Mutated containers: bundles, archives, compressed bundles and host programs, alone and one in another.

Compressed ones are often changed inside and packed again with the right digest, or nothing behind the digest would be reached.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Sequence
from random import Random

import zstandard

from fuzz import mutate, objects, seeds

_BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
_IDS = (
    b"hipv4-amdgcn-amd-amdhsa--gfx942",
    b"host-x86_64-unknown-linux-gnu-",
    b"hip-amdgcn-amd-amdhsa--gfx90a:xnack+",
    b"",
    b"a!b",
    b"\xff\xfe",
    b"x" * 1100,
    b"../../etc/passwd",
    b"\x1b[31m",
    b"hipv4-amdgcn-amd-amdhsa--gfx942",
)
_NAMES = (
    b"a.o/",
    b"/",
    b"//",
    b"/0",
    b"/99999",
    b"/\xb2",
    b"#1/4",
    b"#1/99999",
    b"#1/\xb2",
    b"#1/",
    b"__.SYMDEF",
    b"",
    b"a b",
    b"\xe9.o",
    b"/SYM64/",
)
_SIZES = (b"0", b"-1", b"1e9", b"9" * 10, b"\xb2", b"", b"0x10", b"+5", b"1 2", b"4")


def bundle(parts: Sequence[tuple[bytes, bytes]], rng: Random | None = None) -> bytes:
    """Return an offload bundle; with `rng`, one number in its table is changed."""
    head = len(_BUNDLE_MAGIC) + 8 + sum(24 + len(name) for name, _ in parts)
    table, contents, places = b"", b"", [(len(_BUNDLE_MAGIC), 8)]
    for name, data in parts:
        place = len(_BUNDLE_MAGIC) + 8 + len(table)
        places += [(place, 8), (place + 8, 8), (place + 16, 8)]
        table += struct.pack("<QQQ", head + len(contents), len(data), len(name)) + name
        contents += data
    made = bytearray(_BUNDLE_MAGIC + struct.pack("<Q", len(parts)) + table + contents)
    if rng is not None:
        place, size = rng.choice(places)
        mutate.set_number(rng, made, place, size, (len(made), head))
    return bytes(made)


def archive(parts: Sequence[tuple[bytes, bytes]], rng: Random | None = None) -> bytes:
    """Return an archive; with `rng`, one member's name or size is wrong."""
    data = b"!<arch>\n"
    wrong = rng.randrange(len(parts)) if rng and parts else -1
    for index, (name, content) in enumerate(parts):
        label, size = name, str(len(content)).encode()
        if rng is not None and index == wrong:
            label, size = (rng.choice(_NAMES), size) if rng.random() < 0.5 else (label, rng.choice(_SIZES))
        data += (
            label[:16].ljust(16) + b"0".ljust(12) + b"0".ljust(6) * 2 + b"644".ljust(8) + size[:10].ljust(10) + b"`\n" + content
        )
        data += b"\n" * (len(content) % 2)
    return data


def compressed(content: bytes, version: int, method: int, rng: Random | None = None) -> bytes:
    """Return a compressed bundle, its digest right; with `rng`, one number of its header is changed."""
    body = zlib.compress(content, 1) if method == 0 else zstandard.ZstdCompressor(level=1).compress(content)
    digest = struct.unpack_from("<Q", hashlib.md5(content, usedforsecurity=False).digest())[0]
    total = 8 + {1: 12, 2: 16, 3: 24}[version] + len(body)
    rest = {1: struct.pack("<IQ", len(content), digest), 2: struct.pack("<IIQ", total, len(content), digest)}.get(
        version, struct.pack("<QQQ", total, len(content), digest)
    )
    made = bytearray(b"CCOB" + struct.pack("<HH", version, method) + rest + body)
    if rng is not None:
        place, size = rng.choice(((4, 2), (6, 2), (8, 4), (12, 4), (8, 8), (16, 8)))
        mutate.set_number(rng, made, place, size, (len(made), len(content)))
    return bytes(made)


def _host(content: bytes, section: bytes) -> bytes:
    names = b"\0" + section + b"\0.shstrtab\0"
    start = 64 + 3 * 64
    headers = bytes(64)
    headers += struct.pack("<IIQQQQIIQQ", 1, 1, 0, 0, start, len(content), 0, 0, 1, 0)
    headers += struct.pack("<IIQQQQIIQQ", 2 + len(section), 3, 0, 0, start + len(content), len(names), 0, 0, 1, 0)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64, 0, 64, 56, 0, 64, 3, 2)
    return head + headers + content + names


def _packaged(content: bytes) -> bytes:
    texts = b"triple\0amdgcn-amd-amdhsa\0arch\0gfx942\0"
    start = 32 + 40 + 32
    image = start + len(texts)
    pairs = struct.pack("<4Q", start, start + 7, start + 25, start + 30)
    return (
        struct.pack("<4sIQQQ", b"\x10\xff\x10\xad", 1, image + len(content), 32, 40)
        + struct.pack("<HHIQQQQ", 1, 4, 0, 72, 2, image, len(content))
        + pairs
        + texts
        + content
    )


def _wrapped(rng: Random, content: bytes, lies: Random | None) -> bytes:
    match rng.randrange(6):
        case 0:
            parts = [(rng.choice(_IDS), content)] * rng.choice((1, 1, 2))
            return bundle(parts, lies)
        case 1:
            return archive([(rng.choice(_NAMES), content), (b"b.o/", b"x")][: rng.choice((1, 2))], lies)
        case 2:
            inner = bundle([(_IDS[0], content)], lies if rng.random() < 0.5 else None)
            return compressed(inner, rng.choice((1, 2, 3)), rng.randrange(2), lies if rng.random() < 0.5 else None)
        case 3:
            return _host(
                bundle([(_IDS[0], content)], lies) * rng.choice((1, 1, 3)), rng.choice((b".hip_fatbin", b".hip_fatbin", b".x"))
            )
        case 4:
            return _host(_packaged(content), b".llvm.offloading")
        case _:
            return _packaged(content)


def mutated(rng: Random) -> bytes:
    """Return a container: a real one changed, or one put together around an object, with a lie in it somewhere."""
    if rng.random() < 0.35:
        data = bytearray(rng.choice(seeds.containers()))
        for _ in range(rng.choice((1, 1, 2, 3))):
            change: Callable[[Random, bytearray], None] = mutate.change_length if rng.random() < 0.15 else _change_front
            change(rng, data)
        return bytes(data)
    content = objects.mutated(rng, rng.choice((seeds.linked()[0], seeds.relocatable()[0])))
    levels = rng.choice((1, 1, 1, 2, 3, 8))
    lie = rng.randrange(levels + 1)
    for level in range(levels):
        content = _wrapped(rng, content, rng if level == lie else None)
    data = bytearray(content)
    if rng.random() < 0.3:
        _change_front(rng, data)
    return bytes(data)


def _change_front(rng: Random, data: bytearray) -> None:
    """Most of a container's structure stands at its front."""
    mutate.change_bytes(rng, data, 0, rng.choice((64, 256, len(data))))
