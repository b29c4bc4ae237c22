"""Triton's cache: a folder a kernel, with NAME.hsaco and what a launch must know of it in NAME.json.

Source: Triton, `triton/compiler/compiler.py` (the cache's metadata).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from asmevo.diagnostics import Span, fail
from asmevo.frontend.containers.member import TritonMetadata

OBJECT_SUFFIXES = (".co", ".hsaco")

_MAX_BYTES = 1 << 20
_MAX_TEXT = 1024


def objects_in(folder: Path) -> Iterator[Path]:
    """Yield the objects of a folder and its folders, in order of their paths. Links to other folders are not followed.

    Raises E0113 for a folder that cannot be read; what vanishes meanwhile is not there.
    """
    found: list[Path] = []
    for parent, _, names in os.walk(folder, onerror=_unreadable):
        found += (Path(parent, name) for name in names if name.endswith(OBJECT_SUFFIXES))
    yield from sorted(path for path in found if path.is_file())


def _unreadable(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        fail("E0113", f"cannot read {str(error.filename)!r}: {error.strerror}", Span(str(error.filename)))


def metadata_of(path: Path) -> TritonMetadata | None:
    """Return what the .json beside an .hsaco says; None when there is none. Raises E0113, and E0157 when it is no such text."""
    beside = path.with_suffix(".json")
    if path.suffix != ".hsaco" or not beside.is_file():
        return None
    try:
        with beside.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except OSError as error:
        fail("E0113", f"cannot read '{beside}': {error.strerror or error}", Span(str(beside)))
    return parse_metadata(raw, str(beside))


def parse_metadata(raw: bytes, name: str) -> TritonMetadata:
    """Read Triton's metadata. Raises E0157 for what is no such text, too long, or of another backend."""
    where = Span(name)
    if len(raw) > _MAX_BYTES:
        fail("E0157", f"Triton metadata of more than {_MAX_BYTES} bytes", where)
    try:
        found: object = json.loads(raw)
    except (ValueError, RecursionError) as error:
        fail("E0157", f"Triton metadata is not JSON: {error}", where)
    if not isinstance(found, dict):
        fail("E0157", "Triton metadata is not a JSON object", where)
    values = cast("dict[str, Any]", found)
    target: object = values.get("target")
    arch = cast("dict[str, Any]", target).get("arch") if isinstance(target, dict) else values.get("arch")
    if not isinstance(arch, str) or len(arch) > _MAX_TEXT:
        fail("E0157", "Triton metadata names no target", where)
    name_ = values.get("name")
    if not isinstance(name_, str) or len(name_) > _MAX_TEXT:
        fail("E0157", "Triton metadata names no kernel", where)
    return TritonMetadata(
        name=name_,
        target=arch,
        shared_bytes=_count(values, "shared", where, 0),
        warp_count=_count(values, "num_warps", where, 1),
        warp_size=_count(values, "warp_size", where, 64),
    )


def _count(values: dict[str, Any], key: str, where: Span, default: int) -> int:
    value = values.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 32:
        fail("E0157", f"Triton metadata: '{key}' is not a count", where)
    return value
