"""Runs a shipped kernel on tinygrad's emulator and judges each instruction that touches no memory by the reference interpreter.

`python -m tools.semantics.second_emulator softmax` needs ASMEVO_TINYGRAD, a checkout, and clang on PATH. It prints the first
difference of each instruction. After one, the reference's result takes the place of the emulator's, so that every instruction
is judged by itself; buffers that are equal at the end say that loads, stores and atomics agree too. `--as-it-is` compares
nothing on the way.
"""

# Neither tinygrad nor the helpers of tests and bench are typed.
# pyright: basic

from __future__ import annotations

import argparse
import ctypes
import importlib
import itertools
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from asmevo.backend.emulator import run
from asmevo.backend.launch import Dispatch
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Family
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction
from asmevo.ir.registers import MODE, SCC
from asmevo.ir.semantics.expr import Domain
from asmevo.ir.semantics.registry import program_of
from asmevo.verify.launch.dispatches import load_launches

ROOT = Path(__file__).resolve().parents[2]
LANES, SCALARS = 64, 128


def _libraries(checkout: str) -> tuple[Any, Any, Any, Any]:
    """The emulator, the placing of buffers in host memory, states of a wave, and steps of the reference."""
    sys.path[:0] = [checkout, str(ROOT / "bench"), str(ROOT / "tests")]
    emulator, rival, machines, reference = map(
        importlib.import_module, ("test.mockgpu.amd.emu", "rival", "machines", "reference_step")
    )
    return emulator, rival, machines, reference


@dataclass
class Judge:
    """Compares single instructions. `mode` is MODE at entry: the shipped kernels do not change it."""

    kernel: Kernel
    mode: int
    emulator: Any
    machines: Any
    reference: Any
    memory: tuple[Any, Any, Any]
    """What states have for memory: nothing in it is read."""
    seen: dict[int, str] = field(default_factory=dict)
    """The first difference of each instruction, by offset."""
    steps: dict[int, Any] = field(default_factory=dict)
    compared: int = 0

    def state(self, wave: Any) -> Any:
        """A copy of a wave's registers."""
        held = np.frombuffer(wave._sgpr_mv, np.uint32)
        scalar = np.zeros(256, np.uint32)
        scalar[:SCALARS], scalar[SCC], scalar[MODE] = held[:SCALARS], held[self.emulator.SCC.offset], self.mode
        return self.machines.Machine(scalar, np.concatenate(self._vectors(wave)), *self.memory)

    @staticmethod
    def _vectors(wave: Any) -> list[Any]:
        views = (wave._vgpr_mv, wave.accvgpr_buf.as_memoryview(force_zero_copy=True).cast("I"))
        return [np.frombuffer(view, np.uint32).reshape(256, LANES) for view in views]

    def judge(self, i: Instruction, before: Any, wave: Any) -> None:
        """Compares what `i` left with what it had to leave, and puts that in its place."""
        assert i.offset is not None
        self.compared += 1
        wanted, left = self._wanted(i, before), self.state(wave)
        scalars = np.flatnonzero(wanted.scalar[: SCC + 1] != left.scalar[: SCC + 1])
        vectors = np.argwhere(wanted.vector != left.vector)
        if not len(scalars) and not len(vectors):
            return
        found = [f"unit {u}: {left.scalar[u]:#x}, not {wanted.scalar[u]:#x}" for u in scalars[:1]]
        found += [f"v{r} lane {n}: {left.vector[r, n]:#x}, not {wanted.vector[r, n]:#x}" for r, n in vectors[:1]]
        self.seen.setdefault(i.offset, f"+{i.offset:#x} {print_instruction(i)}: {'; '.join(found)}")
        held = np.frombuffer(wave._sgpr_mv, np.uint32)
        held[:SCALARS], held[self.emulator.SCC.offset] = wanted.scalar[:SCALARS], wanted.scalar[SCC]
        for view, rows in zip(self._vectors(wave), np.split(wanted.vector, 2), strict=True):
            view[:] = rows

    def _wanted(self, i: Instruction, before: Any) -> Any:
        assert i.definition is not None
        assert i.offset is not None
        if i.definition.family is not Family.MATRIX:
            return self.reference.run_reference(i, before, self.kernel.target)
        # The reference's matrix products take seconds; the native engine's are tested against them.
        if i.offset not in self.steps:
            self.steps[i.offset] = self.machines.Step(i, target=self.kernel.target)
        return self.steps[i.offset].run(before)


def _judged(i: Instruction | None, target: str) -> bool:
    """Whether an instruction's registers can be computed from registers alone."""
    program = program_of(i, target) if i is not None else None
    if program is None or program.memory is not None or program.domain is Domain.CONTROL:
        return False
    return not str(program.intrinsic).startswith("ds_")


def _groups(emulator: Any, kernel: Kernel, dispatch: Dispatch, memory: Any, users: list[int], judge: Judge | None) -> None:
    """The kernel on tinygrad's emulator, as its own `run_asm` runs work-groups: a wave at a time up to a barrier."""
    descriptor = kernel.descriptor
    assert descriptor is not None
    placed = {i.offset: i for i in kernel.instructions() if i.offset is not None}
    code = bytearray(max(offset + len(i.encoding or b"") for offset, i in placed.items()))
    for offset, i in placed.items():
        code[offset : offset + len(i.encoding or b"")] = i.encoding or b""
    held = ctypes.create_string_buffer(bytes(code), len(code) + 64)
    base = ctypes.addressof(held)
    roots = kernel.roots or (kernel.blocks[0].label,)
    root = roots[-1] if descriptor.preload_dwords else roots[0]
    entry = next(block for block in kernel.blocks if block.label == root).instructions[0].offset
    assert entry is not None
    lds_bytes = descriptor.group_segment_bytes + dispatch.dynamic_lds_bytes
    everything = emulator.Buffer("CPU", 1 << 40, emulator.dtypes.uint32, options=emulator.BufferSpec(external_ptr=0))
    lds = emulator.Buffer("CPU", -(-lds_bytes // 512) * 128 or 1, emulator.dtypes.uint32).ensure_allocated()
    shared = [everything.ensure_allocated()._buf.va_addr, lds._buf.va_addr, 0]
    items = int(np.prod(dispatch.workgroup))
    for z, y, x in itertools.product(*(range(n) for n in reversed(dispatch.grid))):
        running: list[tuple[Any, list[Any]]] = []
        for first in range(0, items, LANES):
            start = (base + entry, first, items, *dispatch.workgroup, memory.kernarg, descriptor.rsrc2)
            wave = emulator._init_wave(*start, 0, "cdna", x, y, z, users, LANES)
            own = [wave.sgpr_buf._buf.va_addr, wave.vgpr_buf._buf.va_addr, *shared, wave.accvgpr_buf._buf.va_addr]
            running.append((wave, [ctypes.c_uint64(address) for address in own]))
        while running:
            running = [(wave, own) for wave, own in running if _until_barrier(emulator, kernel, wave, own, base, placed, judge)]
        ctypes.memset(lds._buf.va_addr, 0, lds_bytes)


def _until_barrier(
    emulator: Any, kernel: Kernel, wave: Any, own: list[Any], base: int, placed: dict[int, Instruction], judge: Judge | None
) -> bool:
    """Runs a wave up to a barrier or its end; whether it goes on."""
    while wave.pc != emulator.ENDPGM_PC:
        (program, runtime), decoded = emulator._decode_at(wave.pc, "cdna")
        i = placed.get(wave.pc - base)
        before = judge.state(wave) if judge is not None and _judged(i, kernel.target) else None
        runtime.fxn(*[own[n] for n in program.arg.globals])
        if judge is not None and i is not None and before is not None:
            judge.judge(i, before, wave)
        if isinstance(decoded, emulator.irc.SOPP) and decoded.op in emulator._BARRIER_OPS:
            return True
    return False


def main(arguments: Iterable[str] | None = None) -> int:
    """Runs a kernel's first launch and prints the differences; 1 when its buffers differ at the end."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: python -m tools.semantics.second_emulator softmax")
    parser.add_argument("kernel", help="the name of a shipped kernel")
    parser.add_argument("--case", help="the launch's name (default: the first)")
    parser.add_argument("--as-it-is", action="store_true", help="do not judge and replace results on the way")
    given = parser.parse_args(None if arguments is None else list(arguments))
    if "ASMEVO_TINYGRAD" not in os.environ:
        parser.error("ASMEVO_TINYGRAD names no checkout of tinygrad")
    emulator, rival, machines, reference = _libraries(os.environ["ASMEVO_TINYGRAD"])
    kernel = recover(load_file(ROOT / "examples" / "kernels" / f"{given.kernel}.co"))
    dispatches = load_launches(ROOT / "examples" / "launches" / f"{given.kernel}.toml", kernel)
    dispatch = next(d for d in dispatches if given.case in (None, d.name))
    memory, users = rival.host_memory(kernel, dispatch)
    rsrc1 = kernel.descriptor.rsrc1 if kernel.descriptor else 0
    mode = rsrc1 >> 12 & 0xFF | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9
    sizes = machines.BUFFER_BYTES, machines.LDS_BYTES, (LANES, machines.SCRATCH_BYTES)
    none: Any = tuple(np.zeros(size, np.uint8) for size in sizes)
    judge = None if given.as_it_is else Judge(kernel, mode, emulator, machines, reference, none)
    with emulator._MXCSRContext():
        _groups(emulator, kernel, dispatch, memory, users, judge)
    if judge is not None:
        print(*judge.seen.values(), f"{judge.compared} executed instructions compared", sep="\n")
    wrong = 0
    for number, (buffer, wanted) in enumerate(zip(dispatch.buffers, run(kernel, dispatch).buffers, strict=True)):
        start = memory.starts[number]
        differing = int(np.count_nonzero(memory.arena[start : start + len(wanted)] != wanted))
        print(f"{buffer.name}: {differing} of {len(wanted)} bytes differ")
        wrong += differing
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
