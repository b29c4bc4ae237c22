"""What a loader requires of an object's file: segments, symbols, flags and note.

Owns the rules about the file as a whole; `kernel_rules` has those about each kernel. The object has been read before, so what
makes a file unreadable is not found here. Nothing is changed.

Source: System V ABI, "Program Loading"; LLVM AMDGPUUsage, "ELF Code Object"; ROCr's code object loader (the symbols it needs).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from asmevo.backend.kernel_rules import check_kernel
from asmevo.diagnostics import Diagnostic, Severity, Span
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.codeobject import CodeObject
from asmevo.frontend.elf import PT_LOAD, Segment
from asmevo.frontend.metadata import unpack

_PAGE = 4096
_EXECUTE, _WRITE = 1, 2
_DT_STRTAB, _DT_SYMTAB = 5, 6
_HASH_TAGS = frozenset({4, 0x6FFFFEF5})
_STT_OBJECT = 1
_KNOWN_FLAGS = 0xFFF
_S_NOP, _S_CODE_END, _CHUNK = 0xBF800000, 0xBF9F0000, 1 << 16
_VERSION_OF_ABI = {1: [1, 0], 2: [1, 1], 3: [1, 2]}
_PREFETCH_BYTES = 1024
"""What the instruction fetch may read behind the last instruction: 16 cache lines of 64 bytes, which compilers fill up."""


def check_object(obj: CodeObject) -> tuple[Diagnostic, ...]:
    """Return every breach of the loader's rules, in the order of the file's parts; errors, warnings and notes."""
    found = [
        *_check_segments(obj),
        *_check_code(obj),
        *_check_symbols(obj),
        *_check_dynamic(obj),
        *_check_flags(obj),
        *_check_note(obj),
    ]
    for entry in obj.kernels:
        found += check_kernel(obj, entry)
    return tuple(found)


def _loads(obj: CodeObject) -> list[Segment]:
    return [s for s in obj.elf.segments if s.kind == PT_LOAD]


def _check_segments(obj: CodeObject) -> Iterator[Diagnostic]:
    table = obj.elf.header.segment_offset
    for segment in _loads(obj):
        where = Span(obj.name, offset=table + segment.index * elf_reader.SEGMENT_BYTES)
        alignment = segment.alignment
        if alignment < _PAGE or alignment & (alignment - 1):
            yield Diagnostic(
                "E0640", f"segment {segment.index} is aligned to {alignment}, which is no multiple of a page", where
            )
        elif (segment.offset - segment.address) % alignment:
            what = f"segment {segment.index}: file offset 0x{segment.offset:x} and address 0x{segment.address:x} do not match"
            yield Diagnostic("E0640", f"{what} modulo 0x{alignment:x}", where)
        if segment.file_size > segment.memory_size:
            yield Diagnostic("E0641", f"segment {segment.index} has more bytes in the file than in memory", where)
        if segment.flags & _EXECUTE and segment.flags & _WRITE:
            yield Diagnostic(
                "E0642", f"segment {segment.index} is both executable and writable", where, severity=Severity.WARNING
            )
    for one, other in pairwise(_loads(obj)):
        if one.address + one.memory_size > other.address:
            where = Span(obj.name, offset=table + other.index * elf_reader.SEGMENT_BYTES)
            yield Diagnostic("E0641", f"segments {one.index} and {other.index} overlap or are out of order in memory", where)


def _check_code(obj: CodeObject) -> Iterator[Diagnostic]:
    start, end = obj.text.address, obj.text.address + obj.text.size
    where = Span(obj.name, offset=obj.text.offset)
    holder = next(
        (
            s
            for s in _loads(obj)
            if s.address <= start
            and end <= s.address + s.file_size
            and s.offset + start - s.address == obj.text.offset
            and s.flags & _EXECUTE
        ),
        None,
    )
    if holder is None:
        yield Diagnostic("E0642", ".text is not loaded by an executable segment", where)
        return
    # The loader gives all segments one piece of memory, rounded up to pages.
    last = max(s.address + s.memory_size for s in _loads(obj))
    mapped = -(-last // _PAGE) * _PAGE
    code = obj.data[obj.text.offset : obj.text.offset + obj.text.size]
    used = _used_bytes(code)
    if mapped - (start + used) < _PREFETCH_BYTES:
        what = f"{mapped - start - used} bytes are mapped behind the last instruction; the fetch may read {_PREFETCH_BYTES}"
        yield Diagnostic("E0653", what, where, "fill up with s_nop", Severity.WARNING)


def _used_bytes(code: bytes) -> int:
    """How far the code reaches up to the filler at its end. In chunks, as a huge one may be nothing else."""
    words = np.frombuffer(code, "<u4", len(code) // 4)
    for stop in range(len(words), 0, -_CHUNK):
        start = max(stop - _CHUNK, 0)
        chunk = words[start:stop]
        is_filler = (chunk == 0) | (chunk == _S_CODE_END) | (chunk & 0xFFFF0000 == _S_NOP)
        if not is_filler.all():
            return 4 * (start + int(np.flatnonzero(~is_filler)[-1]) + 1)
    return 0


def _check_symbols(obj: CodeObject) -> Iterator[Diagnostic]:
    tables = [s for s in obj.elf.sections if s.kind == elf_reader.SHT_DYNSYM]
    dynamic = {s.name: s for s in obj.symbols if any(t.offset <= s.place < t.offset + t.size for t in tables)}
    for entry in obj.kernels:
        symbol = dynamic.get(entry.symbol)
        if symbol is None:
            yield Diagnostic(
                "E0649", f"'{entry.symbol}' is no dynamic symbol: the loader does not find the kernel", Span(obj.name)
            )
            continue
        where = Span(obj.name, offset=symbol.place)
        if symbol.kind != _STT_OBJECT:
            yield Diagnostic("E0649", f"'{entry.symbol}' is no data symbol (type {symbol.kind})", where)
        if symbol.value != entry.descriptor_address:
            yield Diagnostic("E0649", f"'{entry.symbol}' has two values in two symbol tables", where)
        if symbol.size != 64:
            what = f"'{entry.symbol}' has size {symbol.size} instead of 64"
            yield Diagnostic("E0651", what, where, severity=Severity.NOTE)
        code = next((s for s in obj.symbols if s.kind == elf_reader.STT_FUNC and s.name == entry.name), None)
        if code is None or not code.size:
            what = f"'{entry.name}' has no function symbol" if code is None else f"the symbol '{entry.name}' has size 0"
            yield Diagnostic("E0651", what, Span(obj.name), severity=Severity.NOTE)


def _check_dynamic(obj: CodeObject) -> Iterator[Diagnostic]:
    values = {tag: (value, place) for tag, value, place in elf_reader.dynamic_entries(obj.elf)}
    for tag, name in ((_DT_SYMTAB, ".dynsym"), (_DT_STRTAB, ".dynstr")):
        section = obj.elf.section(name)
        value, place = values.get(tag, (None, None))
        if section is None or value != section.address:
            shown = "missing" if value is None else f"0x{value:x}"
            yield Diagnostic(
                "E0650", f"the dynamic section's place of {name} is {shown}, not that section", Span(obj.name, offset=place)
            )
    if _HASH_TAGS.isdisjoint(values):
        yield Diagnostic("E0650", "the dynamic section names no symbol hash table", Span(obj.name))


def _check_flags(obj: CodeObject) -> Iterator[Diagnostic]:
    unknown = obj.elf.header.flags & ~_KNOWN_FLAGS
    if unknown:
        yield Diagnostic("E0648", f"unknown e_flags 0x{unknown:x}", Span(obj.name, offset=48))


def _check_note(obj: CodeObject) -> Iterator[Diagnostic]:
    offset, size = obj.note
    where = Span(obj.name, offset=offset)
    metadata = unpack(obj.data[offset : offset + size], obj.name, offset)
    wanted = _VERSION_OF_ABI.get(obj.abi_version)
    version = metadata.get("amdhsa.version")
    if wanted is not None and version != wanted:
        what = f"metadata version {version} does not go with code object version {obj.abi_version + 2} ({wanted})"
        yield Diagnostic("E0647", what, where, severity=Severity.WARNING)
    target = metadata.get("amdhsa.target")
    # amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-; newer compilers spell the first parts otherwise.
    if isinstance(target, str) and target.split(":", 1)[0].rsplit("-", 1)[-1] != obj.target:
        yield Diagnostic("E0647", f"metadata for '{target}' in an object for {obj.target}", where)
    if not any(s.kind == elf_reader.PT_NOTE and s.offset <= offset < s.offset + s.file_size for s in obj.elf.segments):
        yield Diagnostic("E0647", "no note segment holds the metadata: the runtime does not find it", where)
