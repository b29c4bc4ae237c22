"""A captured dispatch as a launch file: regions become buffers with their contents beside it, addresses become pointers.

Owns the text, and where the contents stand: in the capture when that lies below the launch file, else in copies beside it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asmevo.atomic import write_atomically
from asmevo.diagnostics import Span, fail, printable
from asmevo.ir.kernel import Kernel
from asmevo.verify.capture.folder import Capture, Region, check_contents, contents
from asmevo.verify.capture.pieces import Inside, Piece, kernarg_pieces, links_inside
from asmevo.verify.infer.text import quoted
from asmevo.verify.launch.contents import MAX_BUFFER_BYTES
from asmevo.verify.launch.dispatches import MAX_GROUPS, MAX_LDS_BYTES

_DATA = ".data"
"""What a folder of copies has behind the launch file's name."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A launch file's text, the regions it uses, the rest's number, and the folder of copies if any were made."""

    text: str
    used: tuple[Region, ...]
    unused: int
    wild: tuple[Piece, ...]
    links: tuple[Inside, ...]
    copies: Path | None

    def as_data(self) -> dict[str, Any]:
        """What was imported, as plain data."""
        return {
            "regions": [{"name": r.name, "base": r.base, "bytes": r.size_bytes} for r in self.used],
            "regions_left_out": self.unused,
            "wild_pointers": [{"kernarg": piece.offset, "name": piece.name} for piece in self.wild],
            "links": [
                {"from": link.source.name, "at": link.offset, "to": link.target.name, "offset": link.addend}
                for link in self.links
            ],
            "copies": None if self.copies is None else str(self.copies),
        }


def import_capture(
    capture: Capture, kernel: Kernel, target: Path | None, followed: Sequence[tuple[Region, int | None]] = ()
) -> Imported:
    """The launch of a captured dispatch for a launch file at `target`; None is standard output, read in the current folder.

    Used are the regions that kernarg points into, and those that addresses at the `followed` places lead to. Contents are
    copied beside `target` when the capture lies elsewhere. Raises E0229.
    """
    pieces = kernarg_pieces(capture, kernel)
    links = links_inside(capture, followed)
    used = {p.region.base: p.region for p in pieces if p.region is not None}
    used |= {end.base: end for link in links for end in (link.source, link.target)}
    regions = tuple(used[base] for base in sorted(used))
    _check(capture, kernel, regions)
    names, copies = _places(capture, regions, target)
    lines = [*_head(capture, kernel, regions, pieces), *_launch(capture, kernel), "args = ["]
    for piece in pieces:
        lines += _argument(piece, capture)
    lines += ["]", "buffers = ["]
    for region in regions:
        lines += _buffer(region, names[region.base], [link for link in links if link.source is region])
    text = "\n".join([*lines, "]"]) + "\n"
    wild = tuple(piece for piece in pieces if piece.is_wild)
    return Imported(text, regions, len(capture.regions) - len(regions), wild, tuple(links), copies)


def _check(capture: Capture, kernel: Kernel, regions: Sequence[Region]) -> None:
    where = Span(str(capture.folder))
    total = sum(region.size_bytes for region in regions)
    if total > MAX_BUFFER_BYTES:
        largest = max(regions, key=lambda region: region.size_bytes)
        told = f"the regions used take {total:,} bytes, more than the {MAX_BUFFER_BYTES:,} of a launch"
        fail("E0229", f"{told}; {largest.name} has {largest.size_bytes:,}", where, "capture a run with smaller allocations")
    for region in regions:
        check_contents(capture, region)
    if math.prod(capture.grid) > MAX_GROUPS:
        fail("E0229", f"{math.prod(capture.grid):,} work-groups, more than the {MAX_GROUPS:,} of a launch", where)
    if _dynamic_lds(capture, kernel) > MAX_LDS_BYTES:
        fail("E0229", f"{capture.group_segment_bytes:,} bytes of LDS, more than any chip has", where)


def _dynamic_lds(capture: Capture, kernel: Kernel) -> int:
    fixed = kernel.descriptor.group_segment_bytes if kernel.descriptor else 0
    return max(capture.group_segment_bytes - fixed, 0)


def _places(capture: Capture, regions: Sequence[Region], target: Path | None) -> tuple[dict[int, str], Path | None]:
    """The files that the launch file names, by base, and the folder they were copied to."""
    home = Path(os.path.realpath(target.parent if target is not None else "."))
    memory = Path(os.path.realpath(capture.folder)) / "memory"
    if memory.is_relative_to(home):
        inside = memory.relative_to(home).as_posix()
        if "\\" not in inside:
            return {region.base: f"{inside}/{region.path.name}" for region in regions}, None
    if target is None:
        fail("E0229", "the capture is not below the current folder", Span(str(capture.folder)), "give -o, to copy its contents")
    folder = target.parent / (target.name + _DATA)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        fail("E0108", f"cannot make '{folder}': {error.strerror or error}", Span(str(folder)))
    for region in regions:
        write_atomically(folder / region.path.name, contents(capture, region))
    return {region.base: f"{folder.name}/{region.path.name}" for region in regions}, folder


def _head(capture: Capture, kernel: Kernel, regions: Sequence[Region], pieces: Sequence[Piece]) -> Iterator[str]:
    yield f"# A captured dispatch of {printable(kernel.name)} ({kernel.target}), by `asmevo launch import`."
    yield "# Buffers are regions of memory as they were before it; their types and roles are not captured, and yours to set."
    left = len(capture.regions) - len(regions)
    if left:
        yield f"# {left} other regions are left out: no kernel argument points into them."
    wild = [piece for piece in pieces if piece.is_wild]
    if wild:
        yield f"# {len(wild)} pointers lead to no captured region: using one faults."


def _launch(capture: Capture, kernel: Kernel) -> Iterator[str]:
    yield "version = 1"
    yield f"kernel = {quoted(kernel.name)}"
    yield f"grid = {list(capture.grid)}"
    yield f"workgroup = {list(capture.workgroup)}"
    lds = _dynamic_lds(capture, kernel)
    if lds:
        yield f"dynamic_lds_bytes = {lds}"


def _argument(piece: Piece, capture: Capture) -> Iterator[str]:
    name = f"name = {quoted(piece.name)}, " if piece.name else ""
    if piece.region is not None:
        offset = f", offset = {piece.addend}" if piece.addend else ""
        yield f'  {{ {name}at = {piece.offset}, pointer = "{piece.region.name}"{offset} }},'
        return
    raw = capture.kernarg[piece.offset : piece.offset + piece.size]
    told = "" if piece.size not in (1, 2, 4, 8) else f" # {int.from_bytes(raw, 'little')}"
    told = " # leads to no captured region" if piece.is_wild else told
    yield f'  {{ {name}at = {piece.offset}, bytes = "{raw.hex()}" }},{told}'


def _buffer(region: Region, file: str, links: Sequence[Inside]) -> Iterator[str]:
    head = f'name = "{region.name}", buffer = [{region.size_bytes}], dtype = "u8", role = "inout"'
    if not links:
        yield f'  {{ {head}, fill = "file", file = {quoted(file)} }},'
        return
    inside = ", ".join(
        f'{{ at = {link.offset}, to = "{link.target.name}"{f", offset = {link.addend}" if link.addend else ""} }}'
        for link in links
    )
    yield f'  {{ {head}, fill = "file", file = {quoted(file)}, links = [{inside}] }},'
