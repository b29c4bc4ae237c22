"""Finds a launch that the kernel runs to its end: which slots are pointers, sizes for the scalars, how far everything reaches.

Owns the search over probing runs, and what happens when one scalar or one side of the grid is doubled. It knows no meaning of a
kernel: a launch that runs and touches every buffer is the best it can find.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from asmevo.backend.launch import BufferLink
from asmevo.ir.kernel import Kernel
from asmevo.verify.infer.probe import Geometry, Probe, Prober, Use
from asmevo.verify.infer.slots import POINTER_BYTES, Slot, SlotKind
from asmevo.verify.launch.dispatches import MAX_KERNARG_BYTES

SIZES = (64, 256, 128, 1024, 512, 32, 16, 4096, 8, 4, 2, 1)
"""What all scalars are set to, one after another, until a run touches everything; then what each alone is set to."""
_LONE_SIZES = (1, 128, 16, 256, 4, 1024, 0)
_CONTENTS = (64, 1, 256)
_MAX_LINKS = 24

Scalars = Mapping[int, int | float]


@dataclass(frozen=True, slots=True)
class Effect:
    """What doubling a scalar, or one side of the grid, changed: instructions as a ratio, and bytes touched by arena.

    `ended_early` says why the run did not come to its end; the rest is then empty.
    """

    instructions: float = 1.0
    grown: Mapping[int, float] = field(default_factory=dict[int, float])
    """Arenas of which another number of bytes is touched, as a ratio."""
    moved: Mapping[int, int] = field(default_factory=dict[int, int])
    """Arenas that are touched at other places only: by how many bytes the end moved."""
    ended_early: str = ""

    @property
    def role(self) -> str:
        """One word: count (of turns or waves' work), bound, stride, value (no effect on addresses) or unclear."""
        if self.ended_early:
            return "unclear"
        if abs(self.instructions - 1) > 1e-9:
            return "count"
        return "bound" if self.grown else "stride" if self.moved else "value"


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch that was probed: the slots with what they turned out to be, the arenas' offsets, links, scalars and the run."""

    slots: tuple[Slot, ...]
    arenas: tuple[int, ...]
    links: tuple[BufferLink, ...]
    scalars: Scalars
    contents: Mapping[int, int]
    """The 32-bit words that arenas, by number, were filled with where zeros did not do."""
    probe: Probe


@dataclass(slots=True)
class Explorer:
    """Explores one kernel until `deadline` (time.monotonic seconds); a run that was begun is finished."""

    kernel: Kernel
    slots: tuple[Slot, ...]
    workgroup: tuple[int, int, int]
    dynamic_lds_bytes: int
    deadline: float
    prober: Prober = field(init=False)
    _reached: set[int] = field(default_factory=set[int])
    """Pointers that some run touched."""

    def __post_init__(self) -> None:
        ends = [slot.offset + slot.size for slot in self.slots]
        if self.kernel.metadata:
            ends += [self.kernel.metadata.kernarg_bytes or 0]
            ends += [argument.offset + argument.size for argument in self.kernel.metadata.arguments]
        if self.kernel.descriptor:
            ends.append(self.kernel.descriptor.kernarg_bytes)
        self.prober = Prober(self.kernel, min(max(ends, default=0), MAX_KERNARG_BYTES))

    @property
    def is_late(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() > self.deadline

    def explore(self) -> Launch:
        """The best launch found with one work-group."""
        best: Launch | None = None
        for size in SIZES:
            found = self._try({slot.offset: 1.0 if slot.dtype == "f32" else size for slot in self._numbers()})
            if best is None or _score(found) > _score(best):
                best = found
            if self._is_whole(best) or self.is_late:
                break
        assert best is not None
        return self._improve(best)

    def at(self, launch: Launch, grid: tuple[int, int, int], scalars: Scalars | None = None) -> Probe:
        """The launch with another grid or other scalars."""
        geometry = replace(launch.probe.geometry, grid=grid)
        packed = self._packed(launch.scalars if scalars is None else scalars)
        return self.prober.run(geometry, launch.arenas, packed, launch.links, launch.contents)

    def scalar_effects(self, launch: Launch) -> dict[int, Effect]:
        """What doubling each scalar changes, as far as time allows; zero becomes one."""
        effects: dict[int, Effect] = {}
        for offset, value in launch.scalars.items():
            if self.is_late:
                break
            used = next(slot.is_used for slot in self.slots if slot.offset == offset)
            if used and launch.probe.is_finished:
                after = self.at(launch, launch.probe.geometry.grid, {**launch.scalars, offset: value * 2 or 1})
                effects[offset] = compare(launch.probe, after)
        return effects

    def axis_effects(self, launch: Launch) -> dict[int, Effect]:
        """What a second work-group on each axis whose number the kernel is given changes."""
        descriptor = self.kernel.descriptor
        effects: dict[int, Effect] = {}
        for axis in range(3):
            is_given = descriptor is None or descriptor.rsrc2 >> (7 + axis) & 1
            if is_given and launch.probe.is_finished and not self.is_late:
                grid = tuple(2 if axis == n else 1 for n in range(3))
                effects[axis] = compare(launch.probe, self.at(launch, (grid[0], grid[1], grid[2])))
        return effects

    def _numbers(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.kind is not SlotKind.POINTER]

    def _packed(self, scalars: Scalars) -> dict[int, bytes]:
        sizes = {slot.offset: slot.size for slot in self.slots}
        return {offset: _pack(value, sizes[offset]) for offset, value in scalars.items()}

    def _try(self, scalars: Scalars, links: Sequence[BufferLink] = (), contents: Mapping[int, int] | None = None) -> Launch:
        """One launch; slots that may be pointers hold arenas at first, and only those that are touched keep them."""
        geometry = Geometry((1, 1, 1), self.workgroup, self.dynamic_lds_bytes)
        certain = [slot.offset for slot in self.slots if slot.kind is SlotKind.POINTER]
        maybe = [slot.offset for slot in self.slots if slot.kind is SlotKind.UNKNOWN and slot.is_used]
        arenas = (*certain, *maybe)
        given = {offset: value for offset, value in scalars.items() if offset not in arenas}
        probe = self.prober.run(geometry, arenas, self._packed(given), links, contents)
        touched = {offset for offset, use in zip(arenas, probe.uses, strict=False) if use.is_touched}
        self._reached |= touched & set(certain)
        kept = (*certain, *(offset for offset in maybe if offset in touched))
        rest = {offset: value for offset, value in scalars.items() if offset not in kept}
        if kept != arenas:
            # Arenas that are left out may change the numbers of others: only certain ones have contents.
            probe = self.prober.run(geometry, kept, self._packed(rest), links, contents)
        kinds = {o: SlotKind.POINTER for o in kept}
        slots = tuple(replace(slot, kind=kinds.get(slot.offset, SlotKind.SCALAR)) for slot in self.slots)
        return Launch(slots, kept, tuple(links), rest, contents or {}, probe)

    def _improve(self, best: Launch) -> Launch:
        """While something is missing: follows pointers in buffers, fills buffers of counts, varies one scalar at a time."""
        best = self._with_contents(self._with_links(best))
        for offset in list(best.scalars):
            for value in _LONE_SIZES:
                if self._is_whole(best) or self.is_late:
                    return best
                if offset in best.scalars and isinstance(best.scalars[offset], int) and value != best.scalars[offset]:
                    found = self._with_links(self._try({**best.scalars, offset: value}, best.links, best.contents))
                    if _score(found) > _score(best):
                        best = found
        return best

    def _with_contents(self, best: Launch) -> Launch:
        """Lengths and counts in buffers are read by scalar loads, as a rule: others than zero may lead further."""
        certain = sum(slot.kind is SlotKind.POINTER for slot in self.slots)
        for number, use in enumerate(best.probe.uses[:certain]):
            for value in _CONTENTS if use.is_scalar else ():
                if self._is_whole(best) or self.is_late:
                    return best
                found = self._with_links(self._try(best.scalars, best.links, {**best.contents, number: value}))
                if _score(found) > _score(best):
                    best = found
        return best

    def _with_links(self, launch: Launch) -> Launch:
        """Where a run strays from an address that came out of a buffer: that buffer's pointers get arenas of their own."""
        while launch.probe.stray is not None and not self.is_late:
            known = {(link.source, link.offset) for link in launch.links}
            count = len(launch.arenas)
            words = [
                (n, at)
                for n, use in enumerate(launch.probe.uses)
                for at in sorted(use.words)
                if at + POINTER_BYTES <= use.bytes
            ]
            fresh = [word for word in words if word not in known][: _MAX_LINKS - len(known)]
            if not fresh:
                return launch
            links = [*launch.links]
            links += [BufferLink(source, at, count + len(links) + n) for n, (source, at) in enumerate(fresh)]
            packed = self._packed(launch.scalars)
            probe = self.prober.run(launch.probe.geometry, launch.arenas, packed, links, launch.contents)
            used = [link for link in links if link.target < len(probe.uses) and probe.uses[link.target].is_touched]
            if len(used) <= len(launch.links):
                return launch
            numbers = {link.target: count + n for n, link in enumerate(used)}
            kept = tuple(BufferLink(numbers.get(link.source, link.source), link.offset, numbers[link.target]) for link in used)
            launch = replace(
                launch, links=kept, probe=self.prober.run(launch.probe.geometry, launch.arenas, packed, kept, launch.contents)
            )
        return launch

    def _is_whole(self, launch: Launch) -> bool:
        wanted = {slot.offset for slot in launch.slots if slot.is_address} | self._reached
        touched = {offset for offset, use in zip(launch.arenas, launch.probe.uses, strict=False) if use.is_touched}
        return launch.probe.is_finished and wanted <= touched and any(use.stores for use in launch.probe.uses)


def _score(launch: Launch) -> tuple[int, int, int]:
    uses = launch.probe.uses
    touched = sum(use.is_touched for use in uses)
    return int(launch.probe.is_finished and touched > 0), touched, sum(bool(use.stores) for use in uses)


def _pack(value: int | float, size: int) -> bytes:
    if isinstance(value, float):
        return struct.pack("<f" if size == 4 else "<d", value)[:size]
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _touched(use: Use) -> int:
    return int((use.map != 0).sum())


def compare(before: Probe, after: Probe) -> Effect:
    """What differs in the second of two runs on the same arenas."""
    if not after.is_finished:
        return Effect(ended_early=after.ended_early)
    grown: dict[int, float] = {}
    moved: dict[int, int] = {}
    for number, (old, new) in enumerate(zip(before.uses, after.uses, strict=False)):
        if _touched(old) != _touched(new):
            grown[number] = _touched(new) / max(_touched(old), 1)
        elif old.end != new.end:
            moved[number] = new.end - old.end
    return Effect(after.wave_instructions / max(before.wave_instructions, 1), grown, moved)
