"""Captured dispatches made of launches: what kerncap would have left of a run of a shipped kernel. For tests only."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asmevo.backend.launch import Dispatch

BASE = 0x7F1200000000
_STEP = 1 << 21


def base_of(number: int) -> int:
    """The address of region `number`."""
    return BASE + number * _STEP


def write_capture(
    folder: Path, data: bytes, dispatch: Dispatch, *, lds_bytes: int = 0, more: Mapping[str, Any] | None = None, margin: int = 0
) -> Path:
    """Write a capture of a dispatch of the object `data`; each buffer is a region, with `margin` bytes before it."""
    memory = folder / "memory"
    memory.mkdir(parents=True)
    (folder / "kernel.hsaco").write_bytes(data)
    kernarg = bytearray(dispatch.kernarg)
    for slot in dispatch.pointers:
        struct.pack_into("<Q", kernarg, slot.offset, base_of(slot.buffer) + margin + slot.addend)
    (folder / "kernarg.bin").write_bytes(kernarg)
    contents = [bytearray(margin) + bytearray(buffer.data.tobytes()) for buffer in dispatch.buffers]
    for link in dispatch.links:
        struct.pack_into("<Q", contents[link.source], margin + link.offset, base_of(link.target) + margin + link.addend)
    write_regions(folder, contents)
    items = [g * w for g, w in zip(dispatch.grid, dispatch.workgroup, strict=True)]
    tree = {
        "mangled_name": dispatch.kernel + ".kd",
        "demangled_name": f"{dispatch.kernel} [clone .kd]",
        "isa_name": "amdgcn-amd-amdhsa--gfx942",
        "grid": items,
        "block": list(dispatch.workgroup),
        "group_segment_size": lds_bytes,
        **(more or {}),
    }
    (folder / "dispatch.json").write_text(json.dumps(tree))
    return folder


def write_regions(folder: Path, contents: Sequence[bytes | bytearray]) -> None:
    """Write regions with these contents, and the list of them."""
    regions = [
        {"base": base_of(n), "size": len(one), "is_pool": True, "contains_kernarg": False} for n, one in enumerate(contents)
    ]
    (folder / "memory_regions.json").write_text(json.dumps({"regions": regions}))
    for number, one in enumerate(contents):
        (folder / "memory" / f"region_{base_of(number):x}.bin").write_bytes(one)
