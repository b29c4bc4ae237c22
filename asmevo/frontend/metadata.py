"""The AMDGPU metadata note: MessagePack bytes to what is known of each kernel.

Owns checking the note's types and limits. Figures the note leaves out stay None; they are never guessed.
Source: LLVM AMDGPUUsage, "Code Object Metadata" (version 3 and later).
"""

# msgpack comes without type annotations.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, cast

import msgpack

from asmevo.diagnostics import Span, fail
from asmevo.ir.abi import KernelArgument, KernelMetadata

NT_AMDGPU_METADATA = 32
_MAX_NOTE = 16 << 20
_MAX_NESTING = 64
_MAX_KERNELS = 1 << 14
_MAX_ARGUMENTS = 1 << 12

Map = Mapping[Any, Any]


def unpack(raw: bytes, file: str, offset: int) -> Map:
    """Decode the note's MessagePack map. Raises E0107 when it is broken, too large, too deep or not a map."""
    where = Span(file, offset=offset)
    if len(raw) > _MAX_NOTE:
        fail("E0107", f"metadata of {len(raw)} bytes; at most {_MAX_NOTE} are read", where)
    try:
        # Some writers pad the note: zero bytes behind the map are accepted.
        unpacker = msgpack.Unpacker(strict_map_key=False, max_buffer_size=max(len(raw), 1), unicode_errors="replace")
        unpacker.feed(raw)
        value: object = unpacker.unpack()
        rest = raw[unpacker.tell() :]
    except (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        fail("E0107", f"the metadata is not valid MessagePack: {error or type(error).__name__}", where)
    if rest.strip(b"\0"):
        fail("E0107", f"{len(rest)} bytes follow the metadata map", where)
    if not isinstance(value, dict):
        fail("E0107", "the metadata is not a map", where)
    _check_nesting(cast(object, value), where)
    return cast(Map, value)


def _check_nesting(value: object, where: Span) -> None:
    level: list[object] = [value]
    for _ in range(_MAX_NESTING):
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (cast(Map, node).values() if isinstance(node, dict) else cast("list[object]", node))
        ]
        if not level:
            return
    fail("E0107", f"the metadata nests deeper than {_MAX_NESTING} levels", where)


def kernels_of(metadata: Map, file: str, offset: int) -> tuple[KernelMetadata, ...]:
    """Return the entries of `amdhsa.kernels`, in order. Raises E0107 for a field of the wrong type."""
    reader = _Reader(file, offset)
    entries = reader.listed(metadata, "amdhsa.kernels", _MAX_KERNELS)
    return tuple(_kernel(reader, reader.mapped(entry, "a kernel")) for entry in entries)


def _kernel(reader: _Reader, entry: Map) -> KernelMetadata:
    name = reader.text(entry, ".name")
    if not name:
        reader.wrong("a kernel has no name")
    return KernelMetadata(
        name=name,
        symbol=reader.text(entry, ".symbol") or f"{name}.kd",
        arguments=tuple(
            _argument(reader, reader.mapped(a, "an argument")) for a in reader.listed(entry, ".args", _MAX_ARGUMENTS)
        ),
        kernarg_bytes=reader.number(entry, ".kernarg_segment_size"),
        group_segment_bytes=reader.number(entry, ".group_segment_fixed_size"),
        private_segment_bytes=reader.number(entry, ".private_segment_fixed_size"),
        vgpr_count=reader.number(entry, ".vgpr_count"),
        agpr_count=reader.number(entry, ".agpr_count"),
        sgpr_count=reader.number(entry, ".sgpr_count"),
        max_flat_workgroup_size=reader.number(entry, ".max_flat_workgroup_size"),
        required_workgroup_size=reader.size(entry, ".reqd_workgroup_size"),
        wavefront_size=reader.number(entry, ".wavefront_size"),
    )


def _argument(reader: _Reader, entry: Map) -> KernelArgument:
    offset, size = reader.number(entry, ".offset"), reader.number(entry, ".size")
    if offset is None or size is None:
        reader.wrong("an argument has no offset or no size")
    return KernelArgument(
        name=reader.text(entry, ".name"),
        offset=offset,
        size=size,
        value_kind=reader.text(entry, ".value_kind"),
        address_space=reader.text(entry, ".address_space"),
        value_type=reader.text(entry, ".value_type"),
        access=reader.text(entry, ".actual_access") or reader.text(entry, ".access"),
    )


class _Reader:
    """Typed access to the decoded map; a wrong type is the file's error."""

    def __init__(self, file: str, offset: int) -> None:
        self._where = Span(file, offset=offset)

    def wrong(self, what: str) -> NoReturn:
        fail("E0107", f"metadata: {what}", self._where)

    def text(self, entry: Map, key: str) -> str:
        value = entry.get(key, "")
        return value if isinstance(value, str) else self.wrong(f"'{key}' is not text")

    def number(self, entry: Map, key: str) -> int | None:
        value = entry.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 32:
            self.wrong(f"'{key}' is not a count or size")
        return value

    def size(self, entry: Map, key: str) -> tuple[int, int, int] | None:
        numbers = [part for part in self.listed(entry, key, 3) if isinstance(part, int) and 0 < part < 1 << 32]
        if key not in entry:
            return None
        return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 else self.wrong(f"'{key}' is not three sizes")

    def listed(self, entry: Map, key: str, limit: int) -> list[object]:
        value = entry.get(key, [])
        if not isinstance(value, list):
            self.wrong(f"'{key}' is not a list")
        found = cast("list[object]", value)
        return found if len(found) <= limit else self.wrong(f"'{key}' has {len(found)} entries; at most {limit} are read")

    def mapped(self, entry: object, what: str) -> Map:
        return cast(Map, entry) if isinstance(entry, dict) else self.wrong(f"{what} is not a map")
