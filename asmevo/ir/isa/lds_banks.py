"""How LDS serves the lanes of one access: which lanes share a clock, and what bank conflicts cost.

Owns the phase tables and the count of clocks; addresses come from whoever has them, emulated or symbolic. A phase takes as many
clocks as its busiest bank has distinct dwords; lanes that read the same dword share it. Sources: shark-ai kernel guide and
composable_kernel documentation (banks, phases), HipKittens (phases of 128-bit reads, gfx950; measured), rocRoller (cost).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LANES = 64


@dataclass(frozen=True, slots=True)
class Phases:
    """The groups of lanes that are served together, in order, and the number of four-byte banks."""

    banks: int
    groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class BankCycles:
    """Clocks of the data part of one access: as it is, and without conflicts."""

    cycles: int
    ideal: int

    @property
    def extra(self) -> int:
        """The clocks that conflicts cost."""
        return self.cycles - self.ideal


def _runs(size: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(start, start + size)) for start in range(0, LANES, size))


def _twice(*groups: tuple[range, ...]) -> tuple[tuple[int, ...], ...]:
    """The groups of the first 32 lanes, then the same of the others."""
    return tuple(tuple(lane + half for part in group for lane in part) for half in (0, 32) for group in groups)


_HALVES = _runs(32)
_QUARTERS = _runs(16)
_EIGHTHS = _runs(8)
_WIDE_READ = _twice(
    (range(0, 4), range(20, 24)), (range(4, 8), range(16, 20)), (range(8, 12), range(28, 32)), (range(12, 16), range(24, 28))
)
_WIDE_READ_GFX950 = _twice((range(0, 4), range(12, 16), range(20, 28)), (range(4, 12), range(16, 20), range(28, 32)))


def phases(target: str, size_bytes: int, *, is_load: bool) -> Phases | None:
    """How an access of so many bytes a lane is served on `target`; None where no source tells (12-byte writes)."""
    new = target == "gfx950"
    if size_bytes <= 4:
        return Phases(32, _HALVES)
    if size_bytes == 8:
        return Phases(64, _HALVES) if new and is_load else Phases(32, _QUARTERS)
    if size_bytes == 16 and not is_load:
        return Phases(32, _EIGHTHS)
    if size_bytes == 16 and new:
        return Phases(64, _WIDE_READ_GFX950)
    return Phases(32, _WIDE_READ) if is_load and size_bytes in (12, 16) else None


def bank_cycles(served: Phases, addresses: Sequence[int | None], size_bytes: int) -> BankCycles:
    """The clocks of one access of a wave. `addresses`: 64 byte addresses, None for a lane that is off."""
    cycles = ideal = 0
    words = max(size_bytes // 4, 1)
    for group in served.groups:
        by_bank: dict[int, set[int]] = {}
        for lane in group:
            address = addresses[lane]
            if address is not None:
                first = address >> 2
                for word in range(first, first + words):
                    by_bank.setdefault(word % served.banks, set()).add(word)
        if by_bank:
            cycles += max(len(found) for found in by_bank.values())
            ideal += 1
    return BankCycles(cycles, ideal)
