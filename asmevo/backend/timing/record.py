"""Ways of real waves: the emulator runs some work-groups of a launch, and their blocks and addresses are written down.

Owns the stepping and what is kept. The emulator's fast mode computes; its state is read between steps. Work-groups run alone on
the launch's initial memory, so one that waits for another does not end and is refused.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from asmevo.backend.emulator import layout, prepare
from asmevo.backend.emulator.native import native
from asmevo.backend.emulator.prepare import Prepared
from asmevo.backend.emulator.setup import Memory, Order, build_entry, build_group, build_memory, build_plan, group_size
from asmevo.backend.launch import Dispatch
from asmevo.backend.observe.accesses import AccessReader
from asmevo.backend.observe.watch import Moment
from asmevo.backend.timing.addresses import Seen, accesses_of, is_counted
from asmevo.backend.timing.simulate import Recorded, Way
from asmevo.diagnostics import fail
from asmevo.ir.isa.chips import Chip, chip_for
from asmevo.ir.kernel import Kernel

MAX_INSTRUCTIONS = 10_000_000
"""Wave-instructions of a recording before it is refused: about a minute."""
MAX_ACCESSES = 400_000
"""Memory instructions of a work-group before it is refused: some hundred megabytes."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What a launch's sampled work-groups did: ways of all their waves, work-group after work-group.

    `lines_per_group` are distinct vector cache lines that a work-group loads, on average; `footprint_bytes` all buffers of the
    launch.
    """

    ways: tuple[Way, ...]
    group_waves: int
    groups: tuple[int, ...]
    total_groups: int
    lines_per_group: float
    footprint_bytes: int
    wave_instructions: int

    def recorded(self, chip: Chip, memory: str | None = None, groups: int | None = None) -> Recorded:
        """The basis of a simulation. `memory` None: the first level that holds all buffers, as when launched over and over."""
        whole = self.footprint_bytes
        level = memory or ("l2" if whole <= chip.l2_bytes.value else "mall" if whole <= chip.mall_bytes.value else "hbm")
        touched = self.lines_per_group * self.total_groups * chip.l1_line_bytes.value
        part = min(1.0, whole / touched) if touched else 1.0
        why = "as asked" if memory else f"the first level that holds all {whole:,} bytes of buffers"
        notes = [
            f"blocks and addresses of {len(self.groups)} of {self.total_groups} work-groups, run by the emulator",
            f"what L2 does not have comes from {level.upper()}: {why}",
        ]
        if level != "l2" and part < 1:
            notes.append(f"{part:.0%} of the lines new to a compute unit come from there: others have brought the rest to L2")
        active = min(self.total_groups, chip.compute_units.value)
        return Recorded(self.ways, self.group_waves, level, groups, active_units=active, new_lines_far=part, notes=tuple(notes))


def record(kernel: Kernel, dispatch: Dispatch, *, groups: int = 1, chip: Chip | None = None) -> Recording:
    """Runs up to `groups` work-groups, evenly spread over the grid, and keeps the way of each of their waves.

    DiagnosticError E0504 when one faults, E0237 when they run too long; E0231 and E0507 as `emulator.run`.
    Complexity: some microseconds for a block or memory instruction.
    """
    chip = chip or chip_for(kernel.target)
    total = dispatch.grid[0] * dispatch.grid[1] * dispatch.grid[2]
    count = max(1, min(groups, total))
    chosen = tuple(n * total // count for n in range(count))
    recorder = _Recorder(kernel, dispatch, chip)
    for number in chosen:
        recorder.run(number)
    lines = [_distinct_lines(recorder.ways[n : n + recorder.waves]) for n in range(0, len(recorder.ways), recorder.waves)]
    return Recording(
        tuple(recorder.ways),
        recorder.waves,
        chosen,
        total,
        sum(lines) / len(lines),
        sum(len(buffer.data) for buffer in dispatch.buffers),
        recorder.executed,
    )


def _distinct_lines(ways: Sequence[Way]) -> int:
    found = [way.lines for way in ways if way.lines is not None and len(way.lines)]
    return len(np.unique(np.concatenate(found))) if found else 0


@dataclass(slots=True)
class _Wave:
    number: int
    workgroup: tuple[int, int, int]
    memory: Memory
    state: Any
    address: int
    blocks: list[int] = field(default_factory=list[int])
    seen: list[Seen] = field(default_factory=list[Seen])


class _Recorder:
    def __init__(self, kernel: Kernel, dispatch: Dispatch, chip: Chip) -> None:
        self._size = group_size(kernel, dispatch)
        self.waves = self._size.waves
        self.ways: list[Way] = []
        self.executed = 0
        self._accesses = 0
        self._dispatch = dispatch
        self._chip = chip
        self._prepared = prepare(kernel, strict=False)
        self._reader = AccessReader(kernel.target, strict=False)
        self._counted = [is_counted(i) for i in self._prepared.instructions]
        self._block_at = _first_operations(self._prepared)
        self._next_stop = self._stops()
        step = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
        self._enter = step(native().symbol("asm_dispatch_fast"))
        self._step = step(native().symbol("asm_run_fast"))

    def _stops(self) -> list[int]:
        """For each operation the next one behind it that begins a block or touches memory."""
        count = len(self._counted)
        stops = [count] * (count + 1)
        following = count
        for n in range(count - 1, -1, -1):
            stops[n] = following
            if n in self._block_at or self._counted[n]:
                following = n
        return stops

    def run(self, number: int) -> None:
        """Runs one work-group by its number in the grid."""
        gx, gy, _ = self._dispatch.grid
        place = np.array([[number % gx, number // gx % gy, number // (gx * gy)]], np.uint32)
        memory = build_memory(self._dispatch, self._size.lds_bytes, self._size.scratch_bytes)
        counts = np.zeros(max(1, len(self._counted)), np.uint64)
        group = build_group(self._prepared, memory, counts, self.waves, self._size.lds_bytes, False)
        entry = build_entry(self._prepared, self._dispatch, memory)
        order = Order(place, np.array([number], np.uint32), np.ones(1, np.uint64))
        plan = build_plan(self._prepared, group, entry, order, np.zeros(2, np.uint64))
        # A budget of nothing: the engine sets every wave up, and stops before the first instruction.
        group.states["limit"] = 0
        self._enter(plan.record.ctypes.data)
        address, stride = group.states.ctypes.data, group.states.strides[0]
        where = (int(place[0, 0]), int(place[0, 1]), int(place[0, 2]))
        waves = [_Wave(n, where, memory, group.states[n], address + n * stride) for n in range(self.waves)]
        for wave in waves:
            wave.state["executed"] = 0
        self._accesses = 0
        alive = waves
        while alive:
            alive = [wave for wave in alive if self._until_barrier(wave) == layout.BARRIER]
        for wave in waves:
            self.executed += int(wave.state["executed"])
            found = accesses_of(wave.seen, self._prepared.instructions, self._prepared.kernel.target, self._chip)
            self.ways.append(Way(np.array(wave.blocks, np.int64), found.accesses, found.lines))

    def _moment(self, wave: _Wave, pc: int) -> Moment:
        """The wave before an operation, as observers see it."""
        operation = self._prepared.ops.ctypes.data + pc * layout.OP.itemsize
        instruction = self._prepared.instructions[pc]
        return Moment(
            pc, instruction, wave.number, wave.workgroup, wave.state, (wave.address, operation), self._dispatch, wave.memory
        )

    def _until_barrier(self, wave: _Wave) -> int:
        """Steps a wave to its next barrier or its end."""
        state, step = wave.state, self._step
        while True:
            pc, executed = int(state["pc"]), int(state["executed"])
            block = self._block_at.get(pc)
            if block is not None:
                wave.blocks.append(block)
            if pc < len(self._counted) and self._counted[pc]:
                wave.seen.append(Seen(pc, self._reader.read(self._moment(wave, pc))))
                self._accesses += 1
            if self.executed + executed > MAX_INSTRUCTIONS or self._accesses > MAX_ACCESSES:
                what = f"launch '{self._dispatch.name}' is too long to record: a wave has run {executed:,} instructions"
                fail("E0237", what, help="bench a smaller launch")
            state["limit"] = executed + max(1, self._next_stop[pc] - pc)
            status = step(wave.address)
            if status in (layout.BARRIER, layout.END):
                return status
            if status != layout.BUDGET:
                kind = layout.FAULT_KINDS[int(state["fault"])] if status == layout.FAULT else "status"
                fail(
                    "E0504", f"launch '{self._dispatch.name}' faults while it is recorded: {kind}", help="run `asmevo emulate`"
                )


def _first_operations(prepared: Prepared) -> dict[int, int]:
    """The number of the block that begins at an operation; of blocks without instructions none."""
    found: dict[int, int] = {}
    count = 0
    for number, block in enumerate(prepared.kernel.blocks):
        if block.instructions:
            found[count] = number
        count += len(block.instructions)
    return found
