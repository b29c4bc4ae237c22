"""Host programs and libraries that carry device code: HIP's .hip_fatbin, OpenMP's and the new driver's offload binaries.

Owns finding the device parts in a host ELF file. What is in them is for the other readers.

Source: clang's HIP fat binary layout; LLVM, "Clang Offload Packager", "Binary Format".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from asmevo.frontend import elf as elf_reader
from asmevo.frontend.containers import bundle, compressed
from asmevo.frontend.containers.member import Entry, broken, check_entries
from asmevo.frontend.elf import ElfFile

OFFLOAD_MAGIC = b"\x10\xff\x10\xad"

_FATBIN = ".hip_fatbin"
_IN_SECTION = "__CLANG_OFFLOAD_BUNDLE__"
_OFFLOADING = ".llvm.offloading"
_NVIDIA = (".nv_fatbin", ".nvFatBinSegment")
_BINARY = struct.Struct("<4sIQQQ")
_IMAGE = struct.Struct("<HHIQQQQ")
_PAIR = struct.Struct("<QQ")
# A host object can have a section a function, each named by a C++ template's instance.
_MAX_SECTIONS, _MAX_NAME = 0xFFFF, 1 << 16
_MAX_STRINGS = 64
_MAX_TEXT = 1024
_OFFLOAD_ALIGNMENT = 8
# What clang tells the bundler and the linker for HIP.
_BUNDLE_ALIGNMENT = 4096


def entries(data: bytes, name: str) -> tuple[Entry, ...]:
    """Return the device parts of a host ELF file, in file order; none when it has none. Raises E0102, E0103, E0150, E0151."""
    elf = _read(data, name)
    found: list[Entry] = []
    for section in elf.sections:
        if not section.has_contents:
            continue
        start, stop = section.offset, section.offset + section.size
        if section.name == _FATBIN:
            found += (Entry(f"{_FATBIN}[{i}]", a, b - a) for i, (a, b) in enumerate(_slots(data, start, stop, name)))
        elif section.name == _OFFLOADING:
            found += (Entry(f"{_OFFLOADING}[{i}]", a, b - a) for i, (a, b) in enumerate(_binaries(data, start, stop, name)))
        elif section.name.startswith(_IN_SECTION):
            found.append(Entry(section.name.removeprefix(_IN_SECTION), start, section.size))
    check_entries(found, len(data), name)
    return tuple(found)


def _read(data: bytes, name: str) -> ElfFile:
    return elf_reader.read(data, name, max_sections=_MAX_SECTIONS, max_name=_MAX_NAME)


def other_device_code(data: bytes, name: str) -> str:
    """Return what else a host file carries, for a message; "" when nothing is known of."""
    return "NVIDIA device code" if any(s.name in _NVIDIA for s in _read(data, name).sections) else ""


def _slots(data: bytes, start: int, stop: int, name: str) -> Iterator[tuple[int, int]]:
    """Yield the slots of the bundles that a linker put one after another: each reaches up to the next one."""
    view = memoryview(data)
    begin: int | None = None
    at = start
    while (at := _skip_zeros(data, at, stop)) < stop:
        if begin is not None:
            yield begin, at
        begin = at
        rest = view[at:stop]
        if data.startswith(bundle.MAGIC, at):
            at += bundle.length(rest, name)
        elif data.startswith(compressed.MAGIC, at):
            at += compressed.read_header(rest, name).total_bytes or _next_bundle(data, at, stop) - at
        else:
            broken(name, f"no offload bundle in {_FATBIN} where one should start", at)
    if begin is not None:
        yield begin, stop


def _next_bundle(data: bytes, at: int, stop: int) -> int:
    """Return where the next bundle starts behind one that does not say how long it is; `stop` when there is none."""
    for place in range(at + _BUNDLE_ALIGNMENT, stop, _BUNDLE_ALIGNMENT):
        if data.startswith((bundle.MAGIC, compressed.MAGIC), place):
            return place
    return stop


def _skip_zeros(data: bytes, at: int, stop: int) -> int:
    while at < stop:
        block = data[at : min(at + 4096, stop)]
        rest = block.lstrip(b"\0")
        if rest:
            return at + len(block) - len(rest)
        at += len(block)
    return stop


def _binaries(data: bytes, start: int, stop: int, name: str) -> Iterator[tuple[int, int]]:
    at = start
    while at < stop:
        if data[at : at + 4] != OFFLOAD_MAGIC or at + _BINARY.size > stop:
            broken(name, f"no offload binary in {_OFFLOADING} where one should start", at)
        size = _BINARY.unpack_from(data, at)[2]
        if not _BINARY.size <= size <= stop - at:
            broken(name, f"an offload binary of {size} bytes", at)
        yield at, at + size
        at += size + -size % _OFFLOAD_ALIGNMENT


def offload_image(data: bytes, name: str) -> Entry:
    """Return the image in an offload binary, named by its triple and chip. Raises E0150."""
    if len(data) < _BINARY.size:
        broken(name, "an offload binary's header is cut off", len(data))
    _, version, _, entry_offset, entry_size = _BINARY.unpack_from(data)
    if version != 1 or entry_size < _IMAGE.size or entry_offset + _IMAGE.size > len(data):
        broken(name, f"an offload binary of version {version} or with its entry outside", 4)
    _, _, _, strings, count, start, size = _IMAGE.unpack_from(data, entry_offset)
    if count > _MAX_STRINGS or strings + count * _PAIR.size > len(data):
        broken(name, "an offload binary's texts lie outside", entry_offset)
    pairs = (_PAIR.unpack_from(data, strings + i * _PAIR.size) for i in range(count))
    texts = {_text(data, key, name): _text(data, value, name) for key, value in pairs}
    entry = Entry("-".join(filter(None, (texts.get("triple", ""), texts.get("arch", "")))) or "image", start, size)
    check_entries([entry], len(data), name)
    return entry


def _text(data: bytes, at: int, name: str) -> str:
    end = data.find(b"\0", at, at + _MAX_TEXT) if at < len(data) else -1
    if end < 0:
        broken(name, "an offload binary's text has no end", min(at, len(data)))
    return data[at:end].decode("utf-8", errors="replace")
