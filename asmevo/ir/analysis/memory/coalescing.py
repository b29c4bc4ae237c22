"""Coalescing of vector memory accesses: how many segments of memory a wave touches, against the least for its bytes.

Owns the counts. The part of the address that all lanes share is taken to be a multiple of the segment; where it is not, a wave
may touch one segment more.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.memory.addresses import MemoryAccess, MemoryAccesses
from asmevo.ir.isa.model import Space
from asmevo.ir.kernel import Kernel

SEGMENT_BYTES = (64, 128)
"""Half a line and a line of the vector caches of gfx942 and gfx950; gfx90a's line is 64 bytes."""


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments of `size_bytes` that the lanes touch, and the least that their distinct bytes need."""

    size_bytes: int
    touched: int
    least: int


@dataclass(frozen=True, slots=True)
class GlobalUse:
    """One global, buffer or flat access; `segments` is empty when lanes' addresses are not known.

    With some lanes off (`access.full` False) the counts are those of all lanes.
    """

    access: MemoryAccess
    segments: tuple[Segments, ...]


@dataclass(frozen=True, slots=True)
class Coalescing:
    """Every vector access to memory of reachable code in layout order."""

    uses: tuple[GlobalUse, ...]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> Coalescing:
        """The uses of `kernel`."""
        del kernel
        known: dict[tuple[tuple[int, ...], int], tuple[Segments, ...]] = {}
        found: list[GlobalUse] = []
        for access in manager.get(MemoryAccesses).accesses:
            if access.space in (Space.GLOBAL, Space.BUFFER, Space.FLAT):
                found.append(GlobalUse(access, _segments(access, known)))
        return cls(tuple(found))

    @property
    def scattered(self) -> tuple[GlobalUse, ...]:
        """The uses that touch more segments of some size than their bytes need, with every lane on."""
        return tuple(use for use in self.uses if use.access.full and any(s.touched > s.least for s in use.segments))


def _segments(access: MemoryAccess, known: dict[tuple[tuple[int, ...], int], tuple[Segments, ...]]) -> tuple[Segments, ...]:
    form = access.addresses[0] if len(access.addresses) == 1 else None
    # A buffer whose stride is not known may swizzle its addresses.
    swizzled = access.descriptor is not None and access.descriptor.stride_bytes is None
    if form is None or form.lanes is None or swizzled:
        return ()
    key = (form.lanes, access.bytes)
    if key not in known:
        touched = {offset + byte for offset in form.lanes for byte in range(access.bytes)}
        known[key] = tuple(
            Segments(size, len({byte // size for byte in touched}), -(-len(touched) // size)) for size in SEGMENT_BYTES
        )
    return known[key]
