"""The metadata note as YAML between `.amdgpu_metadata` and its end.

Owns the YAML's form and that LLVM gives the note's bytes back. Reading the note's meaning is the frontend's business.
"""

# msgpack comes without type annotations.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import cast

import msgpack

from asmevo.frontend import elf as elf_reader
from asmevo.frontend.llvm import Assembled, assemble_object
from asmevo.frontend.metadata import NT_AMDGPU_METADATA

BEGIN, END = ".amdgpu_metadata", ".end_amdgpu_metadata"
_OWNER = b"AMDGPU"
_PLAIN_KEY = re.compile(r"[A-Za-z_.][A-Za-z0-9_.]*")


@lru_cache(maxsize=64)
def metadata_lines(raw: bytes, target: str) -> tuple[str, ...] | None:
    """The directive with the YAML of a note's contents; None when LLVM would not make the same bytes of it."""
    try:
        value = cast(object, msgpack.unpackb(raw, strict_map_key=False))
        yaml = ("---", *_node(value, "", ""), "...")
    except (ValueError, RecursionError, _NoYaml):
        return None
    made = assemble_object("\n".join((BEGIN, *yaml, END, "")), target, hsa=True)
    return (f"\t{BEGIN}", *yaml, f"\t{END}") if metadata_of(made) == raw else None


def metadata_of(made: Assembled) -> bytes | None:
    """The contents of the first metadata note that LLVM made; None when it refused the source."""
    if made.errors:
        return None
    elf = elf_reader.read(made.object, "<metadata>")
    note = next((note for note in elf_reader.notes(elf) if note.owner == _OWNER), None)
    return made.object[note.offset : note.offset + note.size] if note else None


def note_lines(raw: bytes) -> list[str]:
    """The note as exact bytes in a section of its own."""
    lines = ['\t.section .note,"a",@note', "\t.p2align 2", f"\t.long {len(_OWNER) + 1}, {len(raw)}, {NT_AMDGPU_METADATA}"]
    lines += ['\t.asciz "AMDGPU"', "\t.p2align 2"]
    lines += [f"\t.byte {', '.join(f'{byte:#04x}' for byte in raw[at : at + 16])}" for at in range(0, len(raw), 16)]
    return [*lines, "\t.p2align 2"]


class _NoYaml(Exception):
    """A value that these lines have no form for."""


def _node(value: object, first: str, pad: str) -> Iterator[str]:
    """The lines of a value; `first` stands before the first line, `pad` before the others."""
    if isinstance(value, dict) and value:
        for key, item in cast("dict[object, object]", value).items():
            if not isinstance(key, str) or not _PLAIN_KEY.fullmatch(key):
                raise _NoYaml
            if isinstance(item, dict | list) and item:
                yield f"{first}{key}:"
                yield from _node(cast(object, item), f"{pad}  ", f"{pad}  ")
            else:
                yield f"{first}{key}: {_scalar(cast(object, item))}"
            first = pad
    elif isinstance(value, list) and value:
        for item in cast("list[object]", value):
            yield from _node(item, f"{first}- ", f"{pad}  ")
            first = pad
    else:
        yield f"{first}{_scalar(cast(object, value))}"


def _scalar(value: object) -> str:
    if isinstance(value, str) and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if value == {}:
        return "{}"
    if value == []:
        return "[]"
    raise _NoYaml
