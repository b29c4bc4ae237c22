"""Which bytes of a captured kernarg segment, and of captured memory, are addresses.

Owns that decision. An address is eight bytes at an eight-byte boundary that fall inside a captured region: by the metadata a
pointer, a value of eight bytes or part of a structure; without metadata any. In memory nothing is taken for an address unless
the user says so: numbers may look like one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asmevo.diagnostics import Span, fail
from asmevo.ir.abi import KernelArgument
from asmevo.ir.kernel import Kernel
from asmevo.verify.capture.folder import Capture, Region, contents

_POINTER = 8
_MAX_LINKS = 1 << 16


@dataclass(frozen=True, slots=True)
class Piece:
    """Kernarg bytes [offset, offset + size): an address `addend` bytes into `region`, or, when that is None, plain bytes.

    `name` is the metadata's, empty without one. `is_wild`: a pointer by the metadata, not null, that leads to no region.
    """

    offset: int
    size: int
    name: str
    region: Region | None = None
    addend: int = 0
    is_wild: bool = False


@dataclass(frozen=True, slots=True)
class Inside:
    """Eight bytes at `offset` of `source` that hold the address `addend` bytes into `target`."""

    source: Region
    offset: int
    target: Region
    addend: int


def kernarg_pieces(capture: Capture, kernel: Kernel) -> list[Piece]:
    """The visible part of the kernarg segment in order; hidden arguments are left out, a launch fills them by itself.

    Raises E0229 when the segment is shorter than what the metadata asks for.
    """
    declared = kernel.metadata.arguments if kernel.metadata else ()
    visible = [argument for argument in declared if not argument.value_kind.startswith("hidden_")]
    if not declared:
        return list(_parts(capture, 0, len(capture.kernarg), ""))
    short = [a for a in visible if a.offset + a.size > len(capture.kernarg)]
    if short:
        told = f"kernarg of {len(capture.kernarg)} bytes, and '{kernel.name}' has an argument at {short[0].offset}"
        fail("E0229", f"{told} of {short[0].size} bytes", Span(str(capture.folder)))
    found: list[Piece] = []
    for argument in visible:
        if argument.value_kind == "by_value" and argument.size > _POINTER:
            found += _parts(capture, argument.offset, argument.size, argument.name)
        else:
            found.append(_whole(capture, argument))
    return found


def _whole(capture: Capture, argument: KernelArgument) -> Piece:
    plain = Piece(argument.offset, argument.size, argument.name)
    if argument.size != _POINTER:
        return plain
    (value,) = struct.unpack_from("<Q", capture.kernarg, argument.offset)
    region = capture.region_at(value)
    if region is None:
        return Piece(argument.offset, _POINTER, argument.name, is_wild=argument.value_kind != "by_value" and value != 0)
    return Piece(argument.offset, _POINTER, argument.name, region, value - region.base)


def _parts(capture: Capture, offset: int, size: int, name: str) -> Iterator[Piece]:
    """Addresses on their own, and the bytes between them each in one piece."""
    start, end = offset, offset + size
    for at in range(-(-offset // _POINTER) * _POINTER, end - _POINTER + 1, _POINTER):
        (value,) = struct.unpack_from("<Q", capture.kernarg, at)
        region = capture.region_at(value)
        if region is None:
            continue
        if start < at:
            yield Piece(start, at - start, _part_name(name, start - offset))
        yield Piece(at, _POINTER, _part_name(name, at - offset), region, value - region.base)
        start = at + _POINTER
    if start < end:
        yield Piece(start, end - start, _part_name(name, start - offset))


def _part_name(name: str, offset: int) -> str:
    return f"{name}_{offset}" if name else ""


def links_inside(capture: Capture, followed: Sequence[tuple[Region, int | None]]) -> list[Inside]:
    """The addresses at given offsets of regions, or all that look like one where the offset is None, in order.

    Raises E0229 for an offset at which no region's address stands, more than 65,536 links, and contents that cannot be read.
    """
    found: dict[tuple[int, int], Inside] = {}
    for source, offset in followed:
        data = contents(capture, source)
        if offset is not None and offset + _POINTER > len(data):
            fail("E0229", f"no eight bytes are at {offset} of {len(data)}", Span(str(source.path)))
        count = len(data) // _POINTER if offset is None else 1
        for number, (value,) in enumerate(struct.iter_unpack("<Q", data[offset or 0 : (offset or 0) + count * _POINTER])):
            target = capture.region_at(value)
            at = (offset or 0) + number * _POINTER
            if target is not None:
                found[source.base, at] = Inside(source, at, target, value - target.base)
            elif offset is not None:
                fail("E0229", f"at byte {offset} stands 0x{value:x}, no address in a region", Span(str(source.path)))
            if len(found) > _MAX_LINKS:
                fail("E0229", f"more than {_MAX_LINKS} addresses in memory", Span(str(source.path)))
    return [found[key] for key in sorted(found)]
