"""Windows run on one concrete wave in the emulator: a state before, a state after, or the states after some instructions.

Owns the wave's form and its memory: one buffer, which `ADDRESS` points into, and LDS. It judges nothing.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from asmevo.backend.emulator import layout, prepare
from asmevo.backend.emulator.native import native
from asmevo.backend.emulator.prepare import Prepared
from asmevo.backend.emulator.setup import build_group, build_memory
from asmevo.backend.launch import Buffer, Dispatch
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa import lookup
from asmevo.ir.isa.model import Access
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import VGPR0

LANES = 64
MEMORY_BYTES = 1 << 16
LDS_BYTES = 1 << 16
HIGH_WORD = 0x11
"""The upper half of an address in the buffer whose lower half is small."""
_LIMIT = 100_000
_MEMORY_FAULTS = frozenset({"out-of-bounds", "misaligned", "write-to-readonly"})


@dataclass(frozen=True, slots=True)
class WaveState:
    """Scalar units (256,) uint32, vector units (512, 64) uint32 from VGPR0 on, the buffer's and LDS's bytes.

    `rows` are the vector units, from 0, whose values matter; None is all of them.
    """

    scalar: npt.NDArray[np.uint32]
    vector: npt.NDArray[np.uint32]
    memory: npt.NDArray[np.uint8]
    lds: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.intp] | None = None

    def unit(self, unit: int, lane: int) -> int:
        """Return one register's value in one lane."""
        return int(self.vector[unit - VGPR0, lane] if unit >= VGPR0 else self.scalar[unit])


@dataclass(frozen=True, slots=True)
class MemoryFault:
    """An access that cannot be made: `kind` as the emulator names it; the instruction's place in its window."""

    kind: str
    index: int
    lane: int
    address: int


class WindowRunner:
    """One window, decoded once. `problem` says why it cannot be run; None when it can.

    It has one wave, which every run starts anew: a state that it returned holds until the next run.
    """

    def __init__(self, window: Sequence[Instruction], target: str) -> None:
        end = Instruction("s_endpgm", (), (), lookup("s_endpgm"))
        self.instructions = tuple(window)
        block = Block("entry", (*self.instructions, end))
        self._prepared = prepare(Kernel("window", target, (block,), ("entry",)), False)
        self.stores = any(may_store(i) for i in self.instructions)
        """Whether the window may change memory or LDS."""
        self.problem = next(iter(self._prepared.problems.values()), None)

    def run(self, state: WaveState) -> WaveState | None:
        """Return the state after the window; None when it faults, which a proof assumes it does not."""
        wave = self._wave
        wave.start(state)
        return wave.view if wave.go(_LIMIT) == layout.END else None

    def memory_fault(self) -> MemoryFault | None:
        """Return what ended the last run; None when that was no access to memory."""
        return self._wave.memory_fault()

    def trace(self, state: WaveState, stops: Iterable[int] | None = None) -> Iterator[tuple[int, WaveState]]:
        """Yield (n, the state after instruction n) for ascending `stops` (None: for each), until a fault."""
        wave = self._wave
        wave.start(state)
        for n in range(len(self.instructions)) if stops is None else stops:
            if wave.go(n + 1) == layout.FAULT:
                return
            yield n, wave.view

    @cached_property
    def _wave(self) -> _Wave:
        return _Wave(self._prepared, self.stores)


def may_store(i: Instruction) -> bool:
    """Whether an instruction may write memory or LDS."""
    d = i.definition
    return d is not None and d.space is not None and (d.access is not Access.LOAD or bool(i.modifier("lds")))


class _Wave:
    """The memory that native code runs a window in, allocated once."""

    def __init__(self, prepared: Prepared, stores: bool) -> None:
        self._stores = stores
        self._memories: tuple[object, object] = (None, None)
        launch = Dispatch(
            "window", "window", (1, 1, 1), (LANES, 1, 1), b"", (), (Buffer("memory", np.zeros(MEMORY_BYTES, np.uint8), True),)
        )
        memory = build_memory(launch, LDS_BYTES)
        counts = np.zeros(len(prepared.ops), np.uint64)
        group = build_group(prepared, memory, counts, 1, LDS_BYTES, False)
        start = memory.starts[0]
        self._keep = (prepared, memory, counts, group)
        self._states = group.states
        self._step = _step()
        self._address = int(group.states.ctypes.data)
        # All between the registers and the queues, which a fast run does not use.
        first, last = layout.offset(layout.STATE, "valid"), layout.offset(layout.STATE, "vm_queue")
        self._control = np.ndarray((last - first,), np.uint8, group.states, first)
        self._fresh = self._control.copy()
        self._limit = np.ndarray((2,), np.uint64, group.states, layout.offset(layout.STATE, "executed"))
        self.view = WaveState(
            group.states["scalar"][0],
            group.states["vector"][0],
            memory.arena[start : start + MEMORY_BYTES],
            group.lds[:LDS_BYTES],
        )

    def start(self, state: WaveState) -> None:
        """Put the wave before the first instruction, in `state`."""
        self._control[:] = self._fresh
        view = self.view
        view.scalar[:] = state.scalar
        if state.rows is None:
            view.vector[:] = state.vector
        else:
            view.vector[state.rows] = state.vector[state.rows]
        if self._stores or self._memories[0] is not state.memory or self._memories[1] is not state.lds:
            view.memory[:] = state.memory
            view.lds[:] = state.lds
            self._memories = state.memory, state.lds

    def memory_fault(self) -> MemoryFault | None:
        record = self._states[0]
        kind = layout.FAULT_KINDS[int(record["fault"])]
        if kind not in _MEMORY_FAULTS or int(record["fault_unit"]):
            return None
        return MemoryFault(kind, int(record["at"]), int(record["fault_lane"]), int(record["fault_address"]))

    def go(self, executed: int) -> int:
        """Run until `executed` instructions of the window are done, or it ends. Return the native status."""
        self._limit[1] = executed
        status = self._step(self._address)
        while status == layout.BARRIER and int(self._limit[0]) < executed:
            status = self._step(self._address)
        return status


@lru_cache(maxsize=1)
def _step() -> Callable[[int], int]:
    """Return the native function that runs a wave."""
    return ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)(native().symbol("asm_run_fast"))
