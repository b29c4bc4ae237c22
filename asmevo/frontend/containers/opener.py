"""From an input to its members: what each part is, and the way down through containers in containers.

Owns the recursion and its limits. Each format's layout is its own module's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from asmevo.diagnostics import DiagnosticError, Span, fail
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.codeobject import EM_AMDGPU, check_header, foreign_kind, target_id
from asmevo.frontend.containers import archive, bundle, compressed, host, triton
from asmevo.frontend.containers.member import (
    MAX_DEPTH,
    MAX_EXPANDED_BYTES,
    MAX_FILE_BYTES,
    MAX_MEMBERS,
    SEPARATOR,
    Entry,
    Kind,
    Member,
    broken,
    too_much,
)

ELF_MAGIC = b"\x7fELF"


def open_inputs(source: Path | str | bytes, name: str | None = None) -> tuple[Member, ...]:
    """Return every member of a file, of a folder (Triton's cache, or any with .hsaco and .co in it), or of bytes called `name`.

    A file that is no container is its own only member. What cannot be used is listed too, with the reason in `refusal`.
    Time and memory are bounded by the input's size and the limits. Raises E0113 when it cannot be read, E0150 for a damaged
    container, E0151 beyond the limits, E0155 for a compression that is not known.
    """
    budget = _Budget()
    if isinstance(source, bytes):
        return _unique(_members(source, name or "<bytes>", 0, budget))
    path = Path(source)
    if not os.path.isdir(path):
        return _unique(_file(path, name or str(path), budget))
    found: list[Member] = []
    for file in triton.objects_in(path):
        found += _file(file, f"{name or path}{SEPARATOR}{file.relative_to(path)}", budget)
    return _unique(iter(found))


@dataclass(slots=True)
class _Budget:
    """What the input may still take."""

    members: int = MAX_MEMBERS
    expanded_bytes: int = MAX_EXPANDED_BYTES
    file_bytes: int = MAX_FILE_BYTES


def read_file(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """Return a file's bytes. Raises E0113 when it cannot be read, E0151 when it has more than `limit` bytes."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        fail("E0113", f"cannot read {str(path)!r}: {reason}", Span(str(path)))
    if len(data) > limit:
        too_much(str(path), f"a file, or all files of a folder, of more than {MAX_FILE_BYTES} bytes")
    return data


def _file(path: Path, name: str, budget: _Budget) -> Iterator[Member]:
    data = read_file(path, budget.file_bytes)
    budget.file_bytes -= len(data)
    metadata, note = None, ""
    try:
        metadata = triton.metadata_of(path)
    except DiagnosticError as error:
        # The object is whole without it, so this is told, not refused.
        note = f"{path.stem}.json cannot be used: {error.diagnostics[0].message}"
    for member in _members(data, name, 0, budget):
        contradicts = metadata is not None and member.chip not in ("", metadata.target)
        found = f"{path.stem}.json is for {metadata.target}" if metadata and contradicts else note
        yield replace(member, triton=None if contradicts else metadata, note=found)


def _unique(members: Iterator[Member]) -> tuple[Member, ...]:
    """Number the paths that occur again, so that each names one member."""
    seen: dict[str, int] = {}
    found: list[Member] = []
    for member in members:
        count = seen[member.path] = seen.get(member.path, 0) + 1
        found.append(member if count == 1 else replace(member, path=f"{member.path}[{count - 1}]"))
    return tuple(found)


def parts_of(data: bytes, name: str, expanded_limit: int = MAX_EXPANDED_BYTES) -> tuple[bytes, tuple[Entry, ...]] | None:
    """Return a container's bytes, expanded when they were compressed, and its entries; None when it is no container.

    Raises as `open_inputs`.
    """
    if data.startswith(compressed.MAGIC):
        data = compressed.expand(data, name, expanded_limit)
        if not data.startswith(bundle.MAGIC):
            broken(name, "what was compressed is no offload bundle")
    if data.startswith(bundle.MAGIC):
        return data, bundle.entries(data, name)
    if data.startswith(archive.MAGIC):
        return data, archive.entries(data, name)
    if data.startswith(host.OFFLOAD_MAGIC):
        return data, (host.offload_image(data, name),)
    if data.startswith(ELF_MAGIC) and _is_host(data):
        return data, host.entries(data, name)
    return None


def _is_host(data: bytes) -> bool:
    return len(data) >= elf_reader.HEADER_BYTES and data[4:6] == b"\2\1" and int.from_bytes(data[18:20], "little") != EM_AMDGPU


def _members(data: bytes, path: str, depth: int, budget: _Budget) -> Iterator[Member]:
    if depth > MAX_DEPTH:
        too_much(path, f"containers nest deeper than {MAX_DEPTH}")
    parts = parts_of(data, path, budget.expanded_bytes)
    if parts is None:
        budget.members -= 1
        if budget.members < 0:
            too_much(path, f"more than {MAX_MEMBERS} members")
        yield _leaf(data, path)
        return
    inner, entries = parts
    if inner is not data:
        budget.expanded_bytes -= len(inner)
    if not entries:
        yield Member(path, "", data, Kind.EMPTY_CONTAINER, _nothing_in(data, path))
    for entry in entries:
        yield from _members(inner[entry.start : entry.stop], f"{path}{SEPARATOR}{entry.name}", depth + 1, budget)


def _nothing_in(data: bytes, path: str) -> str:
    if not data.startswith(ELF_MAGIC):
        return "an empty container"
    other = host.other_device_code(data, path)
    return f"a host file with {other} only" if other else "a host file with no AMD device code in it"


def _leaf(data: bytes, path: str) -> Member:
    if not data.startswith(ELF_MAGIC):
        return Member(path, "", data, Kind.OTHER, foreign_kind(data)[0] if data else "empty")
    target, kind = "", Kind.OTHER
    try:
        header = elf_reader.read(data, path).header
        target = target_id(header)
        wanted = elf_reader.ET_REL if header.kind == elf_reader.ET_REL else elf_reader.ET_DYN
        check_header(header, path, wanted)
        kind = Kind.RELOCATABLE if wanted == elf_reader.ET_REL else Kind.CODE_OBJECT
    except DiagnosticError as error:
        first = error.diagnostics[0]
        # The whole reason fits a line: what is wrong, and for a chip which ones are supported.
        reason = f"{first.message} ({first.help})" if first.code == "E0106" else first.message
        return Member(path, target, data, kind, reason)
    return Member(path, target, data, kind)
