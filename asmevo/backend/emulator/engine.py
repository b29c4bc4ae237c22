"""Runs a dispatch: work-groups one after another, their waves in seeded random order between barriers.

Owns scheduling and the result. The work is done by native code, called without the interpreter's lock.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ctypes
import random
from itertools import product

import numpy as np

from asmevo.backend.emulator import faults, layout
from asmevo.backend.emulator.decode import Prepared, prepare
from asmevo.backend.emulator.layout import STATE
from asmevo.backend.emulator.native import native
from asmevo.backend.emulator.setup import Entry, Group, Memory, build_entry, build_group, build_memory, reset_group
from asmevo.backend.launch import Dispatch, Fault, RunResult
from asmevo.diagnostics import fail
from asmevo.ir.kernel import Kernel

MAX_INSTRUCTIONS = 200_000_000
MAX_WAVES = 16
_EPOCH_LIMIT = layout.IN_FLIGHT - 2


def run(
    kernel: Kernel, dispatch: Dispatch, *, mode: str = "strict", seed: int = 0, max_instructions: int = MAX_INSTRUCTIONS
) -> RunResult:
    """Runs `dispatch` and returns the final buffers, or those at the first fault, which ends the run.

    `strict` checks registers, waits, definedness and LDS races; `fast` only bounds, alignment and write permission.
    `seed` chooses the order of work-groups and waves. `max_instructions` bounds wave-instructions over the whole run.
    DiagnosticError E0231 for a launch that cannot be set up.
    """
    if mode not in ("strict", "fast"):
        fail("E0201", f"unknown emulator mode '{mode}'", help="use strict or fast")
    items = dispatch.workgroup[0] * dispatch.workgroup[1] * dispatch.workgroup[2]
    waves = (items + layout.LANES - 1) // layout.LANES
    if min(dispatch.workgroup) < 1 or waves > MAX_WAVES:
        fail("E0231", f"launch '{dispatch.name}': a work-group has 1 to {MAX_WAVES * layout.LANES} work-items, not {items}")
    strict = mode == "strict"
    prepared = prepare(kernel, strict)
    static = kernel.descriptor.group_segment_bytes if kernel.descriptor else 0
    lds_bytes = static + dispatch.dynamic_lds_bytes
    memory = build_memory(dispatch, lds_bytes)
    counts = np.zeros(max(1, len(prepared.ops)), np.uint64)
    group = build_group(prepared, memory, counts, waves, lds_bytes, strict)
    entry = build_entry(prepared, dispatch, memory)
    fault, executed = _run_groups(prepared, dispatch, group, entry, random.Random(seed), max_instructions, strict)
    return _result(prepared, dispatch, memory, counts, fault, executed, seed)


def _run_groups(
    prepared: Prepared, dispatch: Dispatch, group: Group, entry: Entry, rng: random.Random, limit: int, strict: bool
) -> tuple[Fault | None, int]:
    prototype = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
    step = prototype(native().symbol("asm_run_strict" if strict else "asm_run_fast"))
    gx, gy, gz = dispatch.grid
    workgroups = [(x, y, z) for z, y, x in product(range(gz), range(gy), range(gx))]
    rng.shuffle(workgroups)
    states = group.states
    addresses = [states.ctypes.data + n * states.strides[0] for n in range(len(states))]
    # Views made once: a step is often a few hundred instructions, and looking its state up anew would cost as much.
    done = [ctypes.c_uint64.from_address(address + layout.offset(STATE, "executed")) for address in addresses]
    states["limit"] = limit
    orders = _Orders(rng)
    epoch = 1
    executed = 0
    for workgroup in workgroups:
        reset_group(group, entry, workgroup, epoch)
        alive = list(range(len(states)))
        while alive:
            waiting: list[int] = []
            for place in orders.draw(len(alive)):
                wave = alive[place]
                done[wave].value = executed
                status = step(addresses[wave])
                executed = done[wave].value
                if status == layout.BARRIER:
                    waiting.append(wave)
                elif status == layout.FAULT:
                    return faults.describe(prepared, dispatch, states[wave], wave, workgroup), executed
                elif status == layout.BUDGET:
                    return faults.budget(prepared, states[wave], limit, wave, workgroup), executed
            alive = waiting
            epoch += 1
            if epoch >= _EPOCH_LIMIT:
                fail("E0507", "the launch has more barriers than the race check can number")
            states["epoch"] = epoch
    return None, executed


class _Orders:
    """Random orders of so many waves, drawn from a pool that is shuffled once: a shuffle at each barrier costs too much."""

    POOL_BITS = 6

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._pools: dict[int, list[list[int]]] = {}

    def draw(self, count: int) -> list[int]:
        """An order of range(count)."""
        pool = self._pools.get(count)
        if pool is None:
            pool = self._pools[count] = [self._rng.sample(range(count), count) for _ in range(1 << self.POOL_BITS)]
        return pool[self._rng.getrandbits(self.POOL_BITS)]


def _result(
    prepared: Prepared,
    dispatch: Dispatch,
    memory: Memory,
    counts: np.ndarray[tuple[int], np.dtype[np.uint64]],
    fault: Fault | None,
    executed: int,
    seed: int,
) -> RunResult:
    spans = [slice(s, s + n) for s, n in zip(memory.starts, memory.sizes, strict=True)][: len(dispatch.buffers)]
    executions: dict[int, int] = {}
    for instruction, count in zip(prepared.instructions, counts.tolist(), strict=False):
        executions[instruction.uid] = executions.get(instruction.uid, 0) + count
    return RunResult(
        buffers=tuple(memory.arena[s].copy() for s in spans),
        written=tuple((memory.map[s] & layout.MAP_WRITTEN) != 0 for s in spans),
        executions=executions,
        faults=(fault,) if fault else (),
        wave_instructions=executed,
        approximate=bool((prepared.approximate & (counts[: len(prepared.ops)] > 0)).any()),
        seed=seed,
    )
