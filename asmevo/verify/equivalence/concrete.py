"""Windows run on one concrete wave in the emulator: a state before, a state after, or the state after each instruction.

Owns the wave's form and its memory: one buffer, which `ADDRESS` points into, and LDS. It judges nothing.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from asmevo.backend.emulator import layout, prepare
from asmevo.backend.emulator.native import native
from asmevo.backend.emulator.setup import build_group, build_memory
from asmevo.backend.launch import Buffer, Dispatch
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa import lookup
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import VGPR0

LANES = 64
MEMORY_BYTES = 1 << 16
LDS_BYTES = 1 << 16
HIGH_WORD = 0x11
"""The upper half of an address in the buffer whose lower half is small."""
_LIMIT = 100_000


@dataclass(frozen=True, slots=True)
class WaveState:
    """Scalar units (256,) uint32, vector units (512, 64) uint32 from VGPR0 on, the buffer's and LDS's bytes."""

    scalar: npt.NDArray[np.uint32]
    vector: npt.NDArray[np.uint32]
    memory: npt.NDArray[np.uint8]
    lds: npt.NDArray[np.uint8]

    def unit(self, unit: int, lane: int) -> int:
        """Return one register's value in one lane."""
        return int(self.vector[unit - VGPR0, lane] if unit >= VGPR0 else self.scalar[unit])


class WindowRunner:
    """One window, decoded once. `problem` says why it cannot be run; None when it can."""

    def __init__(self, window: Sequence[Instruction], target: str) -> None:
        end = Instruction("s_endpgm", (), (), lookup("s_endpgm"))
        numbered = tuple(replace(i, uid=n) for n, i in enumerate((*window, end)))
        self.instructions = numbered[:-1]
        self._prepared = prepare(Kernel("window", target, (Block("entry", numbered),), ("entry",)), False)
        self.problem = next(iter(self._prepared.problems.values()), None)

    def run(self, state: WaveState) -> WaveState | None:
        """Return the state after the window; None when it faults, which a proof assumes it does not."""
        for final in self._run(state, _LIMIT):
            return final
        return None

    def trace(self, state: WaveState) -> Iterator[WaveState]:
        """The state after each instruction, until the end or a fault. Each is a view that the next one overwrites."""
        return self._run(state, 1)

    def _run(self, state: WaveState, stride: int) -> Iterator[WaveState]:
        buffer = Buffer("memory", state.memory, True)
        launch = Dispatch("window", "window", (1, 1, 1), (LANES, 1, 1), b"", (), (buffer,))
        memory = build_memory(launch, LDS_BYTES)
        counts = np.zeros(len(self._prepared.ops), np.uint64)
        group = build_group(self._prepared, memory, counts, 1, LDS_BYTES, False)
        group.lds[:LDS_BYTES] = state.lds
        states, start = group.states, memory.starts[0]
        states["scalar"][0], states["vector"][0] = state.scalar, state.vector
        step = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)(native().symbol("asm_run_fast"))
        view = WaveState(
            states["scalar"][0],
            states["vector"][0],
            memory.arena[start : start + MEMORY_BYTES],
            group.lds[:LDS_BYTES],
        )
        done = 0
        while True:
            done += stride
            states["limit"] = done
            status = step(states.ctypes.data)
            while status == layout.BARRIER and int(states["executed"][0]) < done:
                status = step(states.ctypes.data)
            if status == layout.FAULT or done > _LIMIT:
                return
            if stride == 1 and status != layout.END:
                yield view
            elif status == layout.END:
                if stride > 1:
                    yield view
                return
