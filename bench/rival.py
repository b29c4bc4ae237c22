"""Times tinygrad's emulator on a shipped kernel, where the variable ASMEVO_TINYGRAD names a checkout (clang must be on PATH).

Run by run.py in a process of its own: rival.py KERNEL.co LAUNCH.toml CASE. Prints nanoseconds a wave-instruction, start-up and
compilation left out, and 1 where its output is that of the strict emulator, else 0.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from asmevo.backend.emulator import prepare, run
from asmevo.backend.emulator.setup import build_entry, build_memory
from asmevo.backend.launch import Dispatch
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.kernel import Kernel
from asmevo.verify.launch.dispatches import load_launches

RUNS = 3
TOLERANCE = 1e-5
"""Relative: its exponential and division are the host's."""


def host_memory(kernel: Kernel, dispatch: Dispatch) -> tuple[Any, list[int]]:
    """The dispatch's memory with host addresses in its kernarg segment, and the user SGPRs at entry."""
    assert kernel.descriptor is not None
    memory = build_memory(dispatch, kernel.descriptor.group_segment_bytes + dispatch.dynamic_lds_bytes)
    base = memory.arena.ctypes.data
    kernarg = memory.starts[-2]
    for slot in dispatch.pointers:
        at = kernarg + slot.offset
        address = base + memory.starts[slot.buffer] + slot.addend
        memory.arena[at : at + 8] = np.array([address], np.uint64).view(np.uint8)
    memory = replace(memory, kernarg=base + kernarg, packet=base + memory.starts[-1])
    entry = build_entry(prepare(kernel), dispatch, memory)
    return memory, entry.scalar[0, : kernel.descriptor.user_sgpr_count].tolist()


def main() -> int:
    path, launch, case = sys.argv[1:]
    sys.path.insert(0, os.environ["ASMEVO_TINYGRAD"])
    from test.mockgpu.amd.emu import run_asm  # type: ignore[import-not-found]

    kernel = recover(load_file(Path(path)))
    dispatch = next(d for d in load_launches(Path(launch), kernel) if d.name == case)
    descriptor = kernel.descriptor
    assert descriptor is not None
    instructions = list(kernel.instructions())
    first = min(i.offset for i in instructions if i.offset is not None)
    last = max(instructions, key=lambda i: i.offset or 0)
    code = bytearray((last.offset or 0) + len(last.encoding or b"") - first)
    for i in instructions:
        if i.offset is not None and i.encoding is not None:
            code[i.offset - first : i.offset - first + len(i.encoding)] = i.encoding
    held = ctypes.create_string_buffer(bytes(code), len(code))
    roots = kernel.roots or (kernel.blocks[0].label,)
    root = roots[-1] if descriptor.preload_dwords else roots[0]
    entry = next(b for b in kernel.blocks if b.label == root).instructions[0].offset
    assert entry is not None
    ours = run(kernel, dispatch)
    lds = (descriptor.group_segment_bytes + dispatch.dynamic_lds_bytes + 511) // 512
    rsrc2 = descriptor.rsrc2 & ~(0x1FF << 15) | lds << 15
    times: list[float] = []
    agrees = True
    for _ in range(RUNS + 1):
        memory, users = host_memory(kernel, dispatch)
        started = time.process_time()
        run_asm(
            *(ctypes.addressof(held) + entry - first, len(code), *dispatch.grid, *dispatch.workgroup, memory.kernarg, rsrc2),
            *(0, "cdna", users),
        )
        times.append(time.process_time() - started)
        for n, (buffer, result) in enumerate(zip(dispatch.buffers, ours.buffers, strict=True)):
            theirs = memory.arena[memory.starts[n] : memory.starts[n] + len(result)]
            if buffer.writable:
                agrees &= np.allclose(theirs.view(np.float32), result.view(np.float32), TOLERANCE, 1e-7)
    print(statistics.median(times[1:]) / ours.wave_instructions * 1e9, int(agrees))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
