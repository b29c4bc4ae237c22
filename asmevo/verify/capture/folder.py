"""A captured dispatch in the form that kerncap leaves: what was launched, its kernarg bytes, and where its memory lay.

Source: kerncap (ROCm IntelliKit), its replay program: dispatch.json (mangled_name, grid in work-items, block,
group_segment_size), kernarg.bin or kernarg_raw.bin, kernel.hsaco, memory_regions.json (regions: base, size) and
memory/region_BASE.bin with the base in hexadecimal. Other keys are for other readers and are passed over.

Owns reading these files, which may be hostile; the contents of regions are not read here. It must not know launch files.
"""

from __future__ import annotations

import itertools
import os
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

from asmevo.diagnostics import Span, fail, printable
from asmevo.json_text import parsed, read_bounded

OBJECT = "kernel.hsaco"
_DISPATCH, _REGIONS = "dispatch.json", "memory_regions.json"
_KERNARGS = ("kernarg.bin", "kernarg_raw.bin")
_INSIDE = "capture"
"""Where a reproducer keeps its capture."""
_SUFFIX = ".kd"
"""What the descriptor's symbol has behind the kernel's name."""
MAX_KERNARG_BYTES = 1 << 16
_MAX_JSON_BYTES = 1 << 23
_MAX_REGIONS = 1 << 16
_MAX_NAME = 4096
_MAX_SIDE = (1 << 32) - 1
_MAX_ADDRESS = 1 << 64


@dataclass(frozen=True, slots=True)
class Region:
    """Device memory [base, base + size_bytes) as it was before the dispatch; `path` is the file of its contents."""

    base: int
    size_bytes: int
    path: Path

    @property
    def end(self) -> int:
        """The first address behind it."""
        return self.base + self.size_bytes

    @property
    def name(self) -> str:
        """What a launch calls it."""
        return f"region_{self.base:x}"


@dataclass(frozen=True, slots=True)
class Capture:
    """One dispatch. `kernel` is None where the capture does not name it; `grid` counts work-groups; regions by base, disjoint.

    `group_segment_bytes` is all LDS of a work-group, 0 where the capture does not say.
    """

    folder: Path
    kernel: str | None
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    group_segment_bytes: int
    kernarg: bytes
    regions: tuple[Region, ...]

    def region_at(self, address: int) -> Region | None:
        """The region that holds an address."""
        at = bisect_right(self.regions, address, key=lambda region: region.base) - 1
        return self.regions[at] if at >= 0 and address < self.regions[at].end else None


def read_capture(folder: Path) -> Capture:
    """Read a capture folder, or that in the folder of a reproducer. Raises E0229 at the file that is missing or impossible."""
    if not folder.is_dir():
        fail("E0229", "no folder: a capture is a folder with dispatch.json in it", Span(str(folder)))
    if not (folder / _DISPATCH).exists() and (folder / _INSIDE / _DISPATCH).exists():
        folder = folder / _INSIDE
    path = folder / _DISPATCH
    tree = _object(parsed(read_bounded(path, "E0229", _MAX_JSON_BYTES), str(path), "E0229"), path, "a dispatch")
    items, block = _triple(tree, "grid", path), _triple(tree, "block", path)
    for axis in range(3):
        if items[axis] % block[axis]:
            told = f"the grid has {items[axis]} work-items and a work-group {block[axis]}"
            _refuse(path, f"{told}: a last work-group that is not whole cannot be run")
    grid = (items[0] // block[0], items[1] // block[1], items[2] // block[2])
    shared = _count(tree.get("group_segment_size", 0), path, "group_segment_size", _MAX_SIDE)
    return Capture(folder, _kernel(tree, path), grid, block, shared, _kernarg(folder), _regions(folder))


def contents(capture: Capture, region: Region) -> bytes:
    """The bytes of a region. Raises E0229 when its file is missing, leads out of the capture, or has another size."""
    check_contents(capture, region)
    return read_bounded(region.path, "E0229", region.size_bytes)


def check_contents(capture: Capture, region: Region) -> None:
    """Raises what `contents` raises, without reading."""
    path = region.path
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(capture.folder)):
        _refuse(path, "a link that leads out of the capture")
    try:
        found = path.stat().st_size if path.is_file() else None
    except OSError as error:
        _refuse(path, f"cannot be read: {error.strerror or error}")
    if found != region.size_bytes:
        _refuse(path, "no such file" if found is None else f"{found} bytes of a region of {region.size_bytes}")


def _kernel(tree: Mapping[str, Any], path: Path) -> str | None:
    name: object = tree.get("mangled_name")
    if name is None or name == "" or name == "unknown":
        return None
    if not isinstance(name, str) or len(name) > _MAX_NAME:
        _refuse(path, "'mangled_name' is no name")
    return name.removesuffix(_SUFFIX)


def _kernarg(folder: Path) -> bytes:
    for name in _KERNARGS:
        if (folder / name).exists():
            return read_bounded(folder / name, "E0229", MAX_KERNARG_BYTES)
    return _refuse(folder / _KERNARGS[0], "no such file")


def _regions(folder: Path) -> tuple[Region, ...]:
    path = folder / _REGIONS
    tree = _object(parsed(read_bounded(path, "E0229", _MAX_JSON_BYTES), str(path), "E0229"), path, "memory regions")
    given: object = tree.get("regions")
    if not isinstance(given, list):
        _refuse(path, "there is no list 'regions'")
    entries = cast("list[object]", given)
    if len(entries) > _MAX_REGIONS:
        _refuse(path, f"more than {_MAX_REGIONS} regions")
    found: list[Region] = []
    for entry in entries:
        one = _object(entry, path, "a region")
        base, size = (_count(one.get(key), path, key, _MAX_ADDRESS - 1) for key in ("base", "size"))
        if base + size > _MAX_ADDRESS:
            _refuse(path, f"the region at 0x{base:x} ends beyond all addresses")
        if size:
            found.append(Region(base, size, folder / "memory" / f"region_{base:x}.bin"))
    found.sort(key=lambda region: region.base)
    for before, after in itertools.pairwise(found):
        if after.base < before.end:
            _refuse(path, f"the regions at 0x{before.base:x} and 0x{after.base:x} overlap")
    return tuple(found)


def _object(tree: object, path: Path, what: str) -> Mapping[str, Any]:
    if not isinstance(tree, dict):
        _refuse(path, f"{what} is no JSON object")
    return cast("dict[str, Any]", tree)


def _triple(tree: Mapping[str, Any], key: str, path: Path) -> tuple[int, int, int]:
    """Three sides; those that are left out are 1."""
    given: object = tree.get(key)
    if not isinstance(given, list) or not 1 <= len(cast("list[object]", given)) <= 3:
        _refuse(path, f"'{key}' is no list of one to three numbers")
    sides = [_count(side, path, key, _MAX_SIDE) for side in cast("list[object]", given)]
    if 0 in sides:
        _refuse(path, f"'{key}' has a side of 0")
    x, y, z = (*sides, 1, 1)[:3]
    return x, y, z


def _count(value: object, path: Path, key: str, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        _refuse(path, f"'{key}' is {printable(repr(value))[:80]}, no whole number from 0 to {most}")
    return value


def _refuse(path: Path, message: str) -> NoReturn:
    fail("E0229", message, Span(str(path)))
