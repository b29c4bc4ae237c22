"""What the memory instructions of a run did: executions, bytes, segments touched, LDS bank clocks, buffers reached.

Owns the counting. Segments and bank clocks follow the rules of `ir.analysis.memory.coalescing` and `ir.isa.lds_banks`; no cache
is modelled, so bytes are those that lanes asked for.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from asmevo.backend.emulator.layout import LANES, REGION_PAD, REGION_SHIFT
from asmevo.backend.observe.accesses import Access, AccessReader
from asmevo.backend.observe.watch import Moment, Watch
from asmevo.ir.analysis.memory.coalescing import SEGMENT_BYTES
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.lds_banks import BankCycles, bank_cycles, phases
from asmevo.ir.isa.model import Space

_TURN = max(SEGMENT_BYTES)
_KNOWN_LIMIT = 1 << 16


@dataclass(slots=True)
class Traffic:
    """One memory instruction over a run.

    `executions` count waves, `lanes` active lanes in range, `out` lanes that a buffer's bounds left out; `bytes` what lanes
    asked for. `segments` are (touched, least) sums for each of SEGMENT_BYTES, empty for LDS and scalar accesses; `bank_clocks`
    (with, without) conflicts, None where lanes do not tell them. `buffers` are the numbers of the dispatch's buffers that it
    reached, -1 for what is none: the kernarg segment, the dispatch packet, scratch memory.
    """

    instruction: Instruction
    space: Space
    loads: bool
    stores: bool
    executions: int = 0
    lanes: int = 0
    out: int = 0
    bytes: int = 0
    segments: list[tuple[int, int]] = field(default_factory=lambda: [])
    bank_clocks: tuple[int, int] | None = None
    buffers: set[int] = field(default_factory=lambda: set[int]())


@dataclass(slots=True)
class MemoryStatistics:
    """Counts every memory access of a strict or fast run that `join` adds it to."""

    target: str
    strict: bool
    reader: AccessReader = field(init=False)
    _by_number: dict[int, Traffic] = field(default_factory=dict[int, Traffic])
    _segments: dict[tuple[int, bytes], tuple[tuple[int, int], ...]] = field(default_factory=dict[Any, Any])
    _banks: dict[tuple[int, bool, bytes], BankCycles | None] = field(default_factory=dict[Any, Any])

    def __post_init__(self) -> None:
        self.reader = AccessReader(self.target, self.strict)

    def join(self, watch: Watch) -> None:
        """Adds the counting to a watch."""
        watch.before(self.reader.is_access, self._count)

    def traffic(self) -> list[Traffic]:
        """What was counted, in the kernel's order."""
        return [self._by_number[number] for number in sorted(self._by_number)]

    def _count(self, moment: Moment) -> bool:
        access = self.reader.read(moment)
        if access is None:
            return False
        entry = self._by_number.get(moment.number)
        if entry is None:
            entry = Traffic(moment.instruction, access.space, access.loads, access.stores)
            self._by_number[moment.number] = entry
        entry.executions += 1
        count = access.addresses.size
        entry.lanes += len(access.lanes)
        entry.out += access.out
        entry.bytes += count * access.bytes
        if not count:
            return False
        if access.space is Space.LDS:
            self._add_banks(entry, access)
        else:
            entry.buffers |= _buffers(access, len(moment.dispatch.buffers))
            if access.space is not Space.SCALAR:
                found = self._segments_of(access)
                known = entry.segments or [(0, 0)] * len(found)
                entry.segments = [(a + c, b + d) for (a, b), (c, d) in zip(known, found, strict=True)]
        return False

    def _segments_of(self, access: Access) -> Sequence[tuple[int, int]]:
        flat = access.addresses.reshape(-1)
        # Moving all lanes by whole segments changes nothing.
        moved = flat - (flat[0] & np.uint64(2**64 - _TURN))
        key = (access.bytes, moved.tobytes())
        found = self._segments.get(key)
        if found is None:
            touched = np.unique((moved[:, None] + np.arange(access.bytes, dtype=np.uint64)).reshape(-1))
            found = tuple((len(np.unique(touched // np.uint64(size))), -(-len(touched) // size)) for size in SEGMENT_BYTES)
            if len(self._segments) < _KNOWN_LIMIT:
                self._segments[key] = found
        return found

    def _add_banks(self, entry: Traffic, access: Access) -> None:
        if access.loads and access.stores:
            return  # How atomics are served is not published.
        for row in access.addresses:
            cost = self._banks_of(row - (row[0] & np.uint64(2**64 - 4)), access)
            if cost is None:
                return
            clocks, ideal = entry.bank_clocks or (0, 0)
            entry.bank_clocks = (clocks + cost.cycles, ideal + cost.ideal)

    def _banks_of(self, moved: Any, access: Access) -> BankCycles | None:
        key = (access.bytes, access.loads, access.lanes.tobytes() + moved.tobytes())
        if key not in self._banks:
            served = phases(self.target, access.bytes, is_load=access.loads)
            by_lane: list[int | None] = [None] * LANES
            for lane, address in zip(access.lanes.tolist(), moved.astype(np.int64).tolist(), strict=True):
                by_lane[lane] = address
            found = None if served is None else bank_cycles(served, by_lane, access.bytes)
            if len(self._banks) >= _KNOWN_LIMIT:
                return found
            self._banks[key] = found
        return self._banks[key]


def _buffers(access: Access, count: int) -> set[int]:
    numbers = buffer_numbers(access.addresses.reshape(-1))
    return {int(n) if 0 <= n < count else -1 for n in np.unique(numbers)}


def buffer_numbers(addresses: Any) -> Any:
    """The region that each guest address falls to, as int64: a buffer's number, beyond them the kernarg segment and others."""
    moved = addresses - np.uint64(REGION_PAD)
    return (moved >> np.uint64(REGION_SHIFT)).astype(np.int64) - 1
