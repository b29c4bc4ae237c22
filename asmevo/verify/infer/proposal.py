"""From a probed launch to one that a launch file can say: arguments with roles, types and contents, each with what was seen.

Owns those choices. The search is `explore`'s, the text `text`'s.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from asmevo.backend.emulator import run
from asmevo.backend.launch import RunResult
from asmevo.diagnostics import DiagnosticError, fail
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.verify.infer import text
from asmevo.verify.infer.explore import Effect, Explorer, Launch
from asmevo.verify.infer.probe import Geometry, Probe, Use
from asmevo.verify.infer.slots import Slot, find_slots
from asmevo.verify.infer.types import TypeGuesser
from asmevo.verify.launch.data import element_types
from asmevo.verify.launch.dispatches import MAX_GROUP_ITEMS, MAX_KERNARG_BYTES, parse_launches

DEFAULT_GROUP_ITEMS = 256
_FLOATS = ("f64", "f32", "f16", "bf16", "fp8", "bf8")
_UNTOUCHED_BYTES = 64
_CHECK_INSTRUCTIONS = 20_000_000
_REPAIRS = 4


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known besides the object, from Triton's metadata or a person; None where nothing is."""

    workgroup: tuple[int, int, int] | None = None
    dynamic_lds_bytes: int | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class BufferArgument:
    """A buffer: `elements` of `dtype`, its role and fill, `value` of a constant fill, the names it links to, and its use.

    `number` is the arena's in the probing runs; `slot` is None for one that no argument holds.
    """

    number: int
    name: str
    slot: Slot | None
    elements: int
    dtype: str
    role: str
    fill: str
    use: Use
    value: int = 0
    to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A scalar with its value, and what doubling it changed; None where that was not tried."""

    name: str
    slot: Slot
    value: int | float
    effect: Effect | None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A launch and how it came about. `skipped` are slots that no code reads; `axes` what a second work-group changed.

    `check` is the strict run of the launch as written, None when it was not tried since even the probe did not end; `fast` the
    one without strict checks, where those ended it.
    """

    kernel: Kernel
    geometry: Geometry
    group_source: str
    lds_source: str
    buffers: tuple[BufferArgument, ...]
    scalars: tuple[ScalarArgument, ...]
    skipped: tuple[Slot, ...]
    axes: Mapping[int, Effect]
    probe: Probe
    check: RunResult | None = None
    fast: RunResult | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def runs(self) -> bool:
        """Whether the launch as written runs to its end; what strict mode alone reports is the kernel's, as a rule."""
        return any(result is not None and not result.faults for result in (self.check, self.fast))


def propose(kernel: Kernel, hints: Hints, budget_s: float = 30.0) -> Proposal:
    """The launch that exploring found, completed and run once in strict mode. The search ends after about `budget_s` seconds.

    What needs contents and cannot do with random ones gets zeros; what strict mode finds undefined becomes an input too.
    """
    deadline = time.monotonic() + budget_s
    manager = AnalysisManager(kernel)
    slots = tuple(find_slots(kernel, manager))
    workgroup, group_source = _workgroup(kernel, hints)
    size = max([slot.offset + slot.size for slot in slots], default=0)
    if size > MAX_KERNARG_BYTES:
        fail("E0227", f"the kernel's arguments take {size} bytes, more than {MAX_KERNARG_BYTES}")
    explorer = Explorer(kernel, slots, workgroup, hints.dynamic_lds_bytes or 0, deadline)
    launch = explorer.explore()
    # Each pair of effects belongs to the launch with one work-group.
    axes = explorer.axis_effects(launch)
    effects = explorer.scalar_effects(launch)
    launch = _with_grid(explorer, launch, axes)
    buffers = _buffers(launch, TypeGuesser(kernel, manager))
    by_offset = {slot.offset: slot for slot in launch.slots}
    scalars = tuple(
        ScalarArgument(by_offset[offset].name, by_offset[offset], value, effects.get(offset))
        for offset, value in launch.scalars.items()
        if by_offset[offset].is_used
    )
    given = {argument.slot.offset for argument in (*buffers, *scalars) if argument.slot}
    skipped = tuple(slot for slot in launch.slots if slot.offset not in given)
    lds_source = _lds_source(kernel, hints, launch)
    geometry = launch.probe.geometry
    found = Proposal(kernel, geometry, group_source, lds_source, buffers, scalars, skipped, axes, launch.probe)
    return _checked(found) if launch.probe.is_finished else found


def _workgroup(kernel: Kernel, hints: Hints) -> tuple[tuple[int, int, int], str]:
    metadata = kernel.metadata
    if hints.workgroup is not None:
        limit = (metadata.max_flat_workgroup_size if metadata else None) or MAX_GROUP_ITEMS
        if math.prod(hints.workgroup) > limit:
            items = math.prod(hints.workgroup)
            fail("E0227", f"a work-group of {items} work-items is wanted; the kernel takes at most {limit}")
        return hints.workgroup, hints.source
    if metadata and metadata.required_workgroup_size:
        return metadata.required_workgroup_size, "the metadata asks for it"
    most = (metadata.max_flat_workgroup_size if metadata else None) or DEFAULT_GROUP_ITEMS
    if most <= DEFAULT_GROUP_ITEMS:
        return (most, 1, 1), "the most that the metadata allows"
    return (DEFAULT_GROUP_ITEMS, 1, 1), f"guessed; the metadata allows {most}"


def _lds_source(kernel: Kernel, hints: Hints, launch: Launch) -> str:
    if launch.probe.geometry.dynamic_lds_bytes != (hints.dynamic_lds_bytes or 0):
        declared = kernel.descriptor.group_segment_bytes if kernel.descriptor else 0
        return f"as far as LDS was used; {declared} bytes are declared"
    return hints.source


def _with_grid(explorer: Explorer, launch: Launch, axes: Mapping[int, Effect]) -> Launch:
    """Two work-groups on each axis that moves anything, where that runs."""
    sides = [2 if axis in axes and (axes[axis].grown or axes[axis].moved) else 1 for axis in range(3)]
    if sides == [1, 1, 1]:
        return launch
    probe = explorer.at(launch, (sides[0], sides[1], sides[2]))
    return replace(launch, probe=probe) if probe.is_finished else launch


def _buffers(launch: Launch, guesser: TypeGuesser) -> tuple[BufferArgument, ...]:
    by_offset = {slot.offset: slot for slot in launch.slots}
    slots: list[Slot | None] = [*(by_offset[offset] for offset in launch.arenas), *(None for _ in launch.links)]
    names = _names(slots)
    found: list[BufferArgument] = []
    for number, (slot, use) in enumerate(zip(slots, launch.probe.uses, strict=False)):
        if slot is not None and not use.is_touched and not slot.is_used:
            continue
        to = _linked(launch, number, names)
        dtype = "u64" if to else guesser.guess(use.loads, use.stores, use.is_scalar, use.widths) if use.is_touched else "u8"
        size = element_types(guesser.kernel.target)[dtype].size
        end = max(use.end, 8 * len(to)) or _UNTOUCHED_BYTES
        role = "in" if not use.stores else "inout" if use.needs_contents else "out"
        value = launch.contents.get(number, 0)
        fill = "pointers" if to else "constant" if value else _fill(dtype, use)
        found.append(BufferArgument(number, names[number], slot, -(-end // size), dtype, role, fill, use, value, to))
    return tuple(found)


def _fill(dtype: str, use: Use) -> str:
    """Random numbers, but for what scalar loads read: counts and the like, of which zero is the harmless one."""
    if use.is_scalar or not use.is_touched:
        return "zeros"
    return "normal" if dtype in _FLOATS else "integers"


def _names(slots: list[Slot | None]) -> list[str]:
    """A name for each buffer, all different."""
    names: list[str] = []
    for number, slot in enumerate(slots):
        name = slot.name if slot else f"linked{number}"
        names.append(name if name not in names else f"{name}_{slot.offset if slot else number}")
    return names


def _linked(launch: Launch, number: int, names: list[str]) -> tuple[str, ...]:
    links = {link.offset // 8: names[link.target] for link in launch.links if link.source == number}
    return tuple(links.get(position, "") for position in range(max(links, default=-1) + 1))


def _checked(found: Proposal) -> Proposal:
    """Runs the text; what cannot be run so is put right as far as the fault tells, each time at another place."""
    notes: list[str] = []
    for _ in range(_REPAIRS):
        result = _run(found, "strict")
        found = replace(found, check=result, notes=tuple(notes))
        changed = _repaired(found, notes) if result.faults else None
        if changed is None:
            break
        found = changed
    return replace(found, fast=_run(found, "fast")) if found.check and found.check.faults else found


def _run(found: Proposal, mode: str) -> RunResult:
    try:
        (dispatch,) = parse_launches(text.as_toml(found), "the proposal", found.kernel)
    except DiagnosticError as error:
        fail("E0227", f"the launch that was found cannot be written: {error.diagnostics[0].message}")
    return run(found.kernel, dispatch, mode=mode, max_instructions=_CHECK_INSTRUCTIONS)


def _repaired(found: Proposal, notes: list[str]) -> Proposal | None:
    """The proposal with one thing changed; None when nothing that is left would help."""
    assert found.check is not None
    fault = found.check.faults[0]
    outputs = [buffer for buffer in found.buffers if buffer.role == "out"]
    suspects = [buffer for buffer in outputs if buffer.use.read] or outputs
    if fault.kind == "uninitialised-memory" and suspects:
        notes.append("something is read where nothing was written: outputs that may be read have contents too")
        changed = tuple(
            replace(buffer, role="inout", fill=_fill(buffer.dtype, buffer.use)) if buffer in suspects else buffer
            for buffer in found.buffers
        )
        return replace(found, buffers=changed)
    if fault.kind == "race" and math.prod(found.geometry.grid) > 1:
        notes.append("with these scalars several work-groups write the same bytes: one work-group")
        return replace(found, geometry=replace(found.geometry, grid=(1, 1, 1)))
    for fill in ("integers", "normal"):
        if fault.kind in ("out-of-bounds", "misaligned", "budget") and any(buffer.fill == fill for buffer in found.buffers):
            notes.append(f"with {fill} contents the launch ends in a fault ({fault.kind}): zeros instead")
            changed = tuple(replace(buffer, fill="zeros") if buffer.fill == fill else buffer for buffer in found.buffers)
            return replace(found, buffers=changed)
    return None
