"""Modelled cycles of work-groups on one compute unit, along recorded or assumed ways through the kernel.

Owns the question and the answer: which waves run where, under which conditions, and what came out, by instruction and cause.
What happens from issue to issue is `machine`'s. Cycles are modelled, never measured; each answer says what it rests on.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from asmevo.backend.timing import words
from asmevo.backend.timing.details import STORE_BYTES, details_of
from asmevo.backend.timing.occupancy import WAVE
from asmevo.backend.timing.program import Array, Builder, Figures, Machine, Trace, cause_name
from asmevo.backend.timing.stalls import by_cause
from asmevo.backend.timing.trace import assumed_executions, block_executions, representative_path
from asmevo.diagnostics import fail
from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.cost.costs import Timed, decoder
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.chips import Chip, chip_for
from asmevo.ir.kernel import Kernel

MAX_INSTRUCTIONS = 200_000_000
"""Issues after which a simulation ends with E0237: minutes."""
_SLICE = 4_000_000
_MAX_WAY = 2_000_000
"""Instructions of an assumed way; it is cut there."""
LEVELS = ("l2", "mall", "hbm")


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is taken for granted where nothing was recorded.

    `executions` counts each instruction by uid over `waves_counted` waves; without it loops run `loop_rounds` times and a
    branch goes either way in turn. `memory` is the level that vector loads find their data in ("l2", "mall" or "hbm"); every
    line of every access comes from there. `group_waves` is the size of a work-group (default: the metadata's largest, else the
    resident waves), `groups` how many run (default: those that are resident). `active_units` compute units share the
    bandwidth (default: all). `fetch`: instruction fetch is modelled, by the code's own addresses.
    """

    executions: Mapping[int, int] | None = None
    waves_counted: int = 1
    loop_rounds: int = 16
    memory: str = "l2"
    group_waves: int | None = None
    groups: int | None = None
    active_units: int | None = None
    fetch: bool = True


@dataclass(frozen=True, slots=True)
class Way:
    """The way of one wave: numbers of the blocks it ran, in order, shape (n,), by their place in `Kernel.blocks`.

    `accesses`, shape (k, 3), has a row for each memory instruction that it ran: cycles of the LDS banks or of the vector
    cache's look-up, where its lines begin in `lines`, and how many there are. None: addresses are as assumed.
    """

    blocks: Array
    accesses: Array | None = None
    lines: Array | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """Ways of all waves of some work-groups, group after group; they are run over and over until `groups` have run.

    `new_lines_far` of the lines that are new to the compute unit come from `memory`, the others from L2: where many compute
    units read the same data, one of them brings it.
    """

    ways: tuple[Way, ...]
    group_waves: int
    memory: str = "hbm"
    groups: int | None = None
    active_units: int | None = None
    new_lines_far: float = 1.0
    fetch: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Shares of the time, 0 to 1: matrix, vector and scalar units (mean of the SIMDs), LDS banks, vector cache, memory path."""

    matrix: float
    valu: float
    salu: float
    lds: float
    vector_cache: float
    memory: float


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of the compute unit: lines found in its vector cache, brought from L2 and from beyond, and stored."""

    hit_bytes: int
    near_bytes: int
    far_bytes: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class Event:
    """One issue: which resident wave, which instruction, and cycles.

    From `ready` to `issued` the wave waited, until `released` it could not issue another instruction.
    """

    wave: int
    uid: int
    ready: int
    issued: int
    released: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Modelled cycles of one compute unit.

    `cycles`: from the first work-group's start to the last one's end. `group_cycles`: from a work-group's start to its end, the
    mean. `stalls`: cycles that waves lost, by uid and cause, all
    waves together; other waves may have used them. `issues`: executions by uid. `block_cycles`: cycles of waves by block label.
    `notes` say what the figures rest on.
    """

    cycles: int
    group_cycles: float
    groups: int
    group_waves: int
    waves_per_simd: int
    wave_instructions: int
    chip: str
    stalls: Mapping[int, Mapping[str, float]]
    issues: Mapping[int, int]
    block_cycles: Mapping[str, float]
    utilisation: Utilisation
    traffic: Traffic
    notes: tuple[str, ...]
    events: tuple[Event, ...] = field(default=(), repr=False)

    @property
    def cycles_per_group(self) -> float:
        """Cycles of the compute unit for each work-group: less than a work-group's own time when several run at once."""
        return self.cycles / self.groups

    @property
    def stalls_by_cause(self) -> dict[str, float]:
        """Cycles lost by cause, over all instructions, largest first."""
        return by_cause(self.stalls)


def simulate(
    kernel: Kernel,
    basis: Recorded | Assumptions | None = None,
    *,
    chip: Chip | None = None,
    waves: int = 1,
    places: int | None = None,
    timeline: int = 0,
    skip: int = 0,
) -> Timing:
    """Runs work-groups of `kernel` on one compute unit that holds `waves` waves a SIMD, or one work-group if that is more.

    `places` says how many work-groups it holds instead. `chip` defaults to that of the kernel's target. `timeline` issues are
    kept as events, after the first `skip`. Deterministic. DiagnosticError E0230 for what the chip does not have, E0237 for a
    way that is too long.
    Complexity: linear in wave-instructions, some ten million a second.
    """
    chip = chip or chip_for(kernel.target)
    basis = basis or Assumptions()
    simds = chip.simds.value
    if not 1 <= waves <= chip.max_waves_per_simd.value:
        fail("E0230", f"{waves} waves per SIMD; {chip.name} has 1 to {chip.max_waves_per_simd.value}")
    if basis.memory not in LEVELS:
        fail("E0230", f"unknown memory level '{basis.memory}'", help=f"one of {', '.join(LEVELS)}")
    group_waves = basis.group_waves or _group_waves(kernel, waves * simds)
    if not 1 <= group_waves <= simds * chip.max_waves_per_simd.value:
        fail("E0230", f"a work-group of {group_waves} waves; a compute unit of {chip.name} has room for {simds * 8}")
    places = places or max(1, waves * simds // group_waves)
    if places * group_waves > simds * chip.max_waves_per_simd.value:
        fail(
            "E0230",
            f"{places} work-groups of {group_waves} waves; a compute unit of {chip.name} has room for {simds * 8} waves",
        )
    manager = AnalysisManager(kernel)
    ways, notes = _ways(kernel, manager, basis)
    builder = Builder(chip, _figures(chip, basis))
    decode = decoder(chip, 1)
    decoded: list[Timed] = []
    details = details_of(kernel, manager, chip, fetch=basis.fetch, rendezvous=group_waves > 1)
    for block, found in zip(kernel.blocks, details, strict=True):
        sequence = [decode(i) for i in block.instructions]
        builder.block(sequence, found)
        decoded += sequence
    for way in ways:
        builder.trace(Trace(way.blocks * 2, way.accesses, way.lines))
    groups = basis.groups or places
    ready = builder.machine(
        [n % simds for n in range(places * group_waves)], group_waves=group_waves, groups=groups, lds_paths=2,
        events=timeline, skip_events=skip,
    )  # fmt: skip
    ready.start()
    issued = _played(ready)
    if ready.head(words.ALIVE):
        fail("E0237", f"more than {MAX_INSTRUCTIONS:,} wave-instructions were to be modelled", help="model fewer work-groups")
    timing = _timing(kernel, chip, ready, decoded, issued, group_waves, groups, notes)
    return replace(timing, waves_per_simd=-(-min(places, groups) * group_waves // simds))


def _played(ready: Machine) -> int:
    """Runs until all waves ended or the budget is spent; an interrupt is seen between slices."""
    issued = 0
    while issued < MAX_INSTRUCTIONS:
        limit = min(_SLICE, MAX_INSTRUCTIONS - issued)
        step = ready.run(limit)
        issued += step
        if step < limit:
            break
    return issued


def _group_waves(kernel: Kernel, resident: int) -> int:
    metadata = kernel.metadata
    items = metadata.max_flat_workgroup_size if metadata is not None else None
    return min(-(-items // WAVE), 16) if items else min(resident, 16)


def _ways(kernel: Kernel, manager: AnalysisManager, basis: Recorded | Assumptions) -> tuple[tuple[Way, ...], tuple[str, ...]]:
    if isinstance(basis, Recorded):
        return basis.ways, basis.notes
    flow, loops = manager.get(Flow), manager.get(Loops)
    notes = [f"every vector load finds its data in {basis.memory.upper()}"]
    if basis.executions is None:
        counts: dict[str, float] = dict(assumed_executions(kernel, loops, basis.loop_rounds))
        notes.append(f"loops run {basis.loop_rounds} times, branches go either way in turn")
    else:
        counted = block_executions(kernel, loops, dict(basis.executions))
        counts = {label: count / basis.waves_counted for label, count in counted.items()}
        notes.append("branches go by the counts of an emulated launch, the same for every wave")
    path = representative_path(flow, counts, _MAX_WAY, rounds=None)
    if sum(len(flow.blocks[label].instructions) for label in path) >= _MAX_WAY:
        notes.append(f"the way of a wave is cut after {_MAX_WAY:,} instructions")
    numbers = {block.label: number for number, block in enumerate(kernel.blocks)}
    way = Way(np.array([numbers[label] for label in path], np.int64))
    return (way,), tuple(notes)


def _figures(chip: Chip, basis: Recorded | Assumptions) -> Figures:
    active = min(basis.active_units or chip.compute_units.value, chip.compute_units.value)
    latency = {"l2": chip.vmem_latency, "mall": chip.mall_latency, "hbm": chip.hbm_latency}[basis.memory].value
    bandwidth = {"l2": chip.l2_gb_per_s, "mall": chip.mall_gb_per_s, "hbm": chip.hbm_gb_per_s}[basis.memory].value
    part = basis.new_lines_far if isinstance(basis, Recorded) else 1.0
    near, far = _line_cost(chip, chip.l2_gb_per_s.value, active), _line_cost(chip, bandwidth, active)
    return Figures(
        near_latency=chip.vmem_latency.value,
        far_latency=latency,
        near_cost=near,
        far_cost=max(near, far),
        store_cost=_line_cost(chip, chip.l2_write_gb_per_s.value, active, STORE_BYTES),
        all_far=basis.memory != "l2",
        far_part=round(words.PARTS * part),
        group_launch=chip.group_launch.value,
        wave_launch=chip.wave_launch.value,
    )


def _line_cost(chip: Chip, gb_per_s: int, active: int, size: int = 0) -> int:
    """Sixteenths of a cycle that a line, or `size` bytes, takes of a compute unit's share."""
    share = gb_per_s * 1000 / (chip.clock_mhz.value * active)
    return round(words.SUB * (size or chip.l1_line_bytes.value) / min(share, chip.l2_bytes_per_cycle.value))


def _timing(
    kernel: Kernel,
    chip: Chip,
    played: Machine,
    decoded: list[Timed],
    issued: int,
    group_waves: int,
    groups: int,
    notes: tuple[str, ...],
) -> Timing:
    instructions = list(kernel.instructions())
    tallies = played.tallies().sum(axis=0)
    stalls: dict[int, dict[str, float]] = {}
    for place, cause in np.argwhere(tallies[:, : words.ISSUED]).tolist():
        known = stalls.setdefault(instructions[place].uid, {})
        name = cause_name(cause, decoded[place])
        known[name] = known.get(name, 0.0) + float(tallies[place, cause])
    counts = tallies[:, words.ISSUED].tolist()
    issues = {i.uid: n for i, n in zip(instructions, counts, strict=True) if n}
    blocks = played.blocks()[:, :, 1].sum(axis=1).tolist()
    # Stores may still be on their way when the last wave has ended.
    cycles = max(played.head(words.LAST), played.head(words.MEMORY_FREE) // words.SUB, 1)
    line = chip.l1_line_bytes.value
    simds = played.part(words.SIMDS, chip.simds.value, words.SIMD_WORDS) if issued else None
    used = [0.0] * 3 if simds is None else [float(simds[:, n].sum()) / chip.simds.value / cycles for n in _USED]
    return Timing(
        cycles=cycles,
        group_cycles=played.head(words.GROUP_TIME) / groups,
        groups=groups,
        group_waves=group_waves,
        waves_per_simd=1,
        wave_instructions=issued,
        chip=chip.name,
        stalls=stalls,
        issues=issues,
        block_cycles={block.label: float(c) for block, c in zip(kernel.blocks, blocks, strict=True) if c},
        utilisation=Utilisation(
            *used,
            lds=played.head(words.USED_BANKS) / cycles,
            vector_cache=played.head(words.USED_L1) / cycles,
            memory=played.head(words.USED_MEMORY) / words.SUB / cycles,
        ),
        traffic=Traffic(
            played.head(words.L1_HITS) * line,
            played.head(words.NEAR_LINES) * line,
            played.head(words.FAR_LINES) * line,
            played.head(words.STORE_LINES) * STORE_BYTES,
        ),
        notes=(f"{chip.name} model: nothing was measured", *notes),
        events=_events(played, instructions),
    )


_USED = (words.USED_MATRIX, words.USED_VALU, words.USED_SALU)


def _events(played: Machine, instructions: list[Instruction]) -> tuple[Event, ...]:
    rows = played.part(words.EVENTS, played.head(words.EVENT_COUNT), words.EVENT_WORDS).tolist()
    return tuple(Event(wave, instructions[op].uid, ready, at, end) for wave, op, ready, at, end in rows)
