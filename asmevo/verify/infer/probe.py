"""Runs a kernel on arenas: buffers of zeros behind every slot that may be a pointer, which grow as far as the kernel reaches.

Owns the run and what it saw of each arena: extents, widths, strides, which work-group touches what. It must not know what a
launch file looks like.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from asmevo.backend.emulator import run
from asmevo.backend.emulator.layout import base_address
from asmevo.backend.launch import Buffer, BufferLink, Dispatch, Fault, PointerSlot
from asmevo.backend.observe.accesses import Access, AccessReader
from asmevo.backend.observe.statistics import buffer_numbers
from asmevo.backend.observe.watch import Moment, Watch
from asmevo.ir.isa.model import Space
from asmevo.ir.kernel import Kernel

MAX_ARENA_BYTES = 64 << 20
MAX_TOTAL_BYTES = 256 << 20
MAX_LDS_BYTES = 160 << 10
MAX_ACCESSES = 20_000
"""Executions of memory instructions that a run may take: each is looked at, and a kernel may wait for others in a loop."""
_FIRST_BYTES = 1 << 12
_GROWTH = 4
_KEPT_BYTES = 1 << 18
"""Sizes up to this are where the next run starts; larger ones may have come of one bad guess."""
_MAX_RUNS = 200
_FAR = 1 << 34
"""An offset this far into an arena is one before the next arena's start."""
_OWN_REGIONS = 3
"""Regions behind the buffers': kernarg segment, dispatch packet, scratch memory."""
_ADDRESS_BITS = 48
_READ_FIRST, _WRITTEN, _READ = 1, 2, 4


@dataclass(frozen=True, slots=True)
class Geometry:
    """Grid in work-groups, work-group in work-items, and LDS on top of what the kernel declares."""

    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    dynamic_lds_bytes: int = 0


Span = tuple[int, int]
"""First byte and the one behind the last."""


@dataclass(slots=True)
class Use:
    """What a run did with one arena. `widths` count accesses by bytes a lane, `steps` the distances from lane to lane.

    `operations` are the numbers of the instructions that touched it: loads, stores. `groups` tells which bytes each work-group
    touched.
    """

    bytes: int
    map: np.ndarray[tuple[int], np.dtype[np.uint8]]
    widths: Counter[int] = field(default_factory=Counter[int])
    steps: Counter[int] = field(default_factory=Counter[int])
    loads: set[int] = field(default_factory=set[int])
    stores: set[int] = field(default_factory=set[int])
    is_atomic: bool = False
    is_scalar: bool = False
    groups: dict[tuple[int, int, int], Span] = field(default_factory=dict[tuple[int, int, int], Span])
    words: set[int] = field(default_factory=set[int])
    """Offsets of eight aligned bytes that were loaded at once, from which a pointer may come; at most 64."""

    @property
    def is_touched(self) -> bool:
        """Whether anything was read or written."""
        return bool(self.widths)

    def span(self, bit: int) -> Span | None:
        """The bytes from the first to the last with a bit of the map."""
        found = np.flatnonzero(self.map & np.uint8(bit))
        return (int(found[0]), int(found[-1]) + 1) if len(found) else None

    @property
    def read(self) -> Span | None:
        """The bytes read, from first to last."""
        return self.span(_READ)

    @property
    def written(self) -> Span | None:
        """The bytes written, from first to last."""
        return self.span(_WRITTEN)

    @property
    def needs_contents(self) -> bool:
        """Whether a byte was read that this launch had not written before."""
        return bool((self.map & np.uint8(_READ_FIRST)).any())

    @property
    def end(self) -> int:
        """The byte behind the last one touched."""
        found = self.span(_READ | _WRITTEN)
        return found[1] if found else 0

    @property
    def step(self) -> int | None:
        """The commonest distance in bytes from a lane to the next; None for scalar accesses only."""
        return self.steps.most_common(1)[0][0] if self.steps else None


@dataclass(frozen=True, slots=True)
class Stray:
    """An access that falls into no arena: the instruction's number and the address."""

    operation: int
    address: int


@dataclass(frozen=True, slots=True)
class Probe:
    """One run to its end, or as far as it came.

    `fault`, `stray`, `too_far` (an arena's number) or `is_tired` (more than MAX_ACCESSES) say why it ended early.
    """

    geometry: Geometry
    uses: tuple[Use, ...]
    wave_instructions: int
    fault: Fault | None = None
    stray: Stray | None = None
    too_far: int | None = None
    is_tired: bool = False

    @property
    def ended_early(self) -> str:
        """Why the run did not come to its end; empty when it did."""
        if self.too_far is not None:
            return "a buffer would be larger than what is tried"
        if self.is_tired:
            return f"more than {MAX_ACCESSES:,} accesses to memory, as if it waited for others"
        if self.stray is not None:
            return "an access outside every buffer"
        return self.fault.kind if self.fault else ""

    @property
    def is_finished(self) -> bool:
        """Whether every work-group came to its end."""
        return not self.ended_early


@dataclass(slots=True)
class Prober:
    """Runs one kernel again and again; sizes that a run had to reach are where the next one starts.

    `arenas` are the kernarg offsets that hold an arena's address, in order; arenas beyond them are reached by links.
    """

    kernel: Kernel
    kernarg_bytes: int
    max_instructions: int = 1_000_000
    _sizes: dict[int, int] = field(default_factory=dict[int, int])
    _reader: AccessReader = field(init=False)
    runs: int = 0

    def __post_init__(self) -> None:
        self._reader = AccessReader(self.kernel.target, False)

    def run(
        self,
        geometry: Geometry,
        arenas: Sequence[int],
        scalars: Mapping[int, bytes],
        links: Sequence[BufferLink] = (),
        contents: Mapping[int, int] | None = None,
    ) -> Probe:
        """Runs until no arena and no LDS has to grow any more. Uses are in the order of the arenas, then of linked ones.

        `contents` are the 32-bit words that arenas are filled with, by their numbers; zeros elsewhere.
        """
        contents = contents or {}
        count = len(arenas) + len(links)
        kernarg = bytearray(self.kernarg_bytes)
        for offset, data in scalars.items():
            kernarg[offset : offset + len(data)] = data
        slots = tuple(PointerSlot(offset, n) for n, offset in enumerate(arenas))
        known = {n: size for n, size in self._sizes.items() if size <= _KEPT_BYTES}
        for _ in range(_MAX_RUNS):
            self.runs += 1
            sizes = [known.get(n, _FIRST_BYTES) for n in range(count)]
            words = {n: np.full(size // 4, contents.get(n, 0), np.uint32).view(np.uint8) for n, size in enumerate(sizes)}
            buffers = [Buffer(f"arena{n}", data, True) for n, data in words.items()]
            dispatch = Dispatch(
                "probe", self.kernel.name, geometry.grid, geometry.workgroup, bytes(kernarg), slots, tuple(buffers),
                geometry.dynamic_lds_bytes, tuple(links),
            )  # fmt: skip
            seen = _Seen(self._reader, tuple(Use(size, np.zeros(size, np.uint8)) for size in sizes), self._lds(geometry))
            watch = Watch()
            watch.before(self._reader.is_access, seen.look)
            result = run(self.kernel, dispatch, mode="fast", max_instructions=self.max_instructions, observer=watch)
            executed = result.wave_instructions
            if seen.lds_needed:
                more = seen.lds_needed - self._declared_lds()
                geometry = Geometry(geometry.grid, geometry.workgroup, -(-more // 16) * 16)
                continue
            if seen.grow is not None:
                number, end = seen.grow
                if end > MAX_ARENA_BYTES or sum(sizes) - sizes[number] + end > MAX_TOTAL_BYTES:
                    return Probe(geometry, seen.uses, executed, too_far=number)
                known[number] = self._sizes[number] = min(
                    max(sizes[number] * _GROWTH, -(-end // _FIRST_BYTES) * _FIRST_BYTES), MAX_ARENA_BYTES
                )
                continue
            return Probe(
                geometry, seen.uses, executed, result.faults[0] if result.faults else None, seen.stray, None, seen.is_tired
            )
        return Probe(geometry, (), 0, too_far=0)

    def _declared_lds(self) -> int:
        return self.kernel.descriptor.group_segment_bytes if self.kernel.descriptor else 0

    def _lds(self, geometry: Geometry) -> int:
        return self._declared_lds() + geometry.dynamic_lds_bytes


@dataclass(slots=True)
class _Seen:
    """What a run's accesses were; ends the run where something must grow first."""

    reader: AccessReader
    uses: tuple[Use, ...]
    lds_bytes: int
    lds_needed: int = 0
    grow: tuple[int, int] | None = None
    stray: Stray | None = None
    accesses: int = 0

    @property
    def is_tired(self) -> bool:
        return self.accesses > MAX_ACCESSES

    def look(self, moment: Moment) -> bool:
        self.accesses += 1
        if self.is_tired:
            return True
        access = self.reader.read(moment)
        if access is None or not access.addresses.size:
            return False
        if access.space is Space.LDS:
            return self._look_at_lds(moment, access)
        numbers = buffer_numbers(access.addresses)
        first = int(numbers.flat[0])
        count = len(self.uses)
        if (numbers == first).all() and 0 <= first < count:
            return self._note(moment, access, first, access.addresses)
        for number in np.unique(numbers).tolist():
            chosen = access.addresses[numbers == number]
            if count <= number < count + _OWN_REGIONS or int(chosen.flat[0]) >> _ADDRESS_BITS:
                continue  # The engine's own memory, or no address of global memory: it is the judge of that.
            if not 0 <= number < count:
                self.stray = Stray(moment.number, int(chosen.flat[0]))
                return True
            if self._note(moment, access, number, chosen):
                return True
        return False

    def _look_at_lds(self, moment: Moment, access: Access) -> bool:
        end = int(access.addresses.max()) + access.bytes
        if end <= self.lds_bytes:
            return False
        if end > MAX_LDS_BYTES:
            self.stray = Stray(moment.number, end - access.bytes)
        else:
            self.lds_needed = end
        return True

    def _note(
        self, moment: Moment, access: Access, number: int, addresses: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
    ) -> bool:
        use = self.uses[number]
        places = (addresses - np.uint64(base_address(number))).astype(np.int64)
        low, end = int(places.min()), int(places.max()) + access.bytes
        if low < 0 or end > _FAR:
            self.stray = Stray(moment.number, int(addresses.flat[0]))
            return True
        if end > use.bytes:
            self.grow = (number, end)
            return True
        touched = (places.reshape(-1, 1) + np.arange(access.bytes)).reshape(-1)
        before = use.map[touched]
        if access.loads:
            fresh = np.where(before & np.uint8(_WRITTEN), 0, _READ_FIRST).astype(np.uint8)
            use.map[touched] |= np.uint8(_READ) | fresh
            use.loads.add(moment.number)
            if access.bytes >= 8 and low % 8 == 0 and len(use.words) < 64:
                use.words.update(int(at) + more for at in places.flat[:64].tolist() for more in range(0, access.bytes, 8))
        if access.stores:
            use.map[touched] |= np.uint8(_WRITTEN)
            use.stores.add(moment.number)
        use.is_atomic |= access.loads and access.stores
        use.is_scalar |= access.space is Space.SCALAR
        use.widths[access.bytes] += 1
        if places.ndim == 2 and places.shape[1] > 1:
            values, counts = np.unique(np.diff(places[0]), return_counts=True)
            use.steps.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        known = use.groups.get(moment.workgroup)
        use.groups[moment.workgroup] = (low, end) if known is None else (min(low, known[0]), max(end, known[1]))
        return False
