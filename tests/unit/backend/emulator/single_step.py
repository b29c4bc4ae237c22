"""Runs one instruction in the native engine and in the reference interpreter, from the same random state."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from asmevo.backend.emulator import layout, reference
from asmevo.backend.emulator.decode import prepare
from asmevo.backend.emulator.native import native
from asmevo.backend.emulator.setup import build_group, build_memory
from asmevo.backend.launch import Dispatch
from asmevo.ir.instruction import Immediate, Instruction, Register, Symbolic
from asmevo.ir.isa import lookup
from asmevo.ir.isa.model import Role
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import EXEC, M0, MODE, SCC, VCC, VGPR0
from asmevo.ir.semantics import program_of, source_bits

EMPTY = Dispatch("step", "step", (1, 1, 1), (64, 1, 1), b"", (), ())
FLOATS = np.array(
    [
        *(0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000),
        *(0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345, 0x40490FDB, 0x3C003C00, 0x7C00FC00, 0x7E010001, 0x80000400),
        0x03FF8001,
    ],
    np.uint32,
)


@dataclass
class Machine:
    """Random contents of every register, with MODE and EXEC given."""

    scalar: np.ndarray
    vector: np.ndarray

    @staticmethod
    def random(seed: int, mode: int, exec_mask: int) -> Machine:
        rng = np.random.default_rng(seed)
        vector = rng.integers(0, 1 << 32, (512, 64), np.uint32)
        vector[:, ::3] = rng.choice(FLOATS, vector[:, ::3].shape)
        near = rng.normal(size=vector[:, 1::3].shape).astype(np.float32) * 8
        vector[:, 1::3] = near.view(np.uint32)
        scalar = rng.integers(0, 1 << 32, 256, np.uint32)
        scalar[::3] = rng.choice(FLOATS, scalar[::3].shape)
        scalar[MODE], scalar[SCC] = mode, seed & 1
        scalar[EXEC], scalar[EXEC + 1] = exec_mask & 0xFFFFFFFF, exec_mask >> 32
        return Machine(scalar, vector)

    def pair(self, unit: int) -> int:
        return int(self.scalar[unit]) | int(self.scalar[unit + 1]) << 32

    def operand(self, unit: int, count: int):
        if unit >= VGPR0:
            total = np.zeros(64, object)
            for n in range(count):
                total = total | self.vector[unit - VGPR0 + n].astype(object) << (32 * n)
            return total
        return sum(int(self.scalar[unit + n]) << (32 * n) for n in range(count))


def run_native(i: Instruction, machine: Machine) -> Machine:
    """The registers after `i`."""
    end = Instruction("s_endpgm", (), (), lookup("s_endpgm"), uid=1)
    kernel = Kernel("step", "gfx942", (Block("entry", (i, end)),), ("entry",))
    prepared = prepare(kernel, False)
    if prepared.problems:
        raise NotImplementedError(prepared.problems[0])
    memory = build_memory(EMPTY, 0)
    counts = np.zeros(2, np.uint64)
    group = build_group(prepared, memory, counts, 1, 0, False)
    group.states["scalar"][0] = machine.scalar
    group.states["vector"][0] = machine.vector
    group.states["limit"] = 10
    step = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)(native().symbol("asm_run_fast"))
    assert step(group.states.ctypes.data) == layout.END
    return Machine(group.states["scalar"][0].copy(), group.states["vector"][0].copy())


def run_reference(i: Instruction, machine: Machine) -> Machine:
    """The registers after `i` by the reference interpreter."""
    program = program_of(i)
    assert program is not None
    assert i.definition is not None
    sources: dict[str, object] = {}
    old: dict[str, object] = {}
    where: dict[str, tuple[int, int]] = {}
    for spec, operand in zip(i.definition.operands, i.operands, strict=True):
        if isinstance(operand, Register):
            value = machine.operand(operand.range.unit, operand.range.count)
            sources[spec.name] = value
            old[spec.name] = value
            if spec.role is not Role.READ:
                where[spec.name] = (operand.range.unit, operand.range.count)
        elif isinstance(operand, Immediate) or (isinstance(operand, Symbolic) and operand.value is not None):
            sources[spec.name] = source_bits(i, spec.name)
    specials = {"scc": int(machine.scalar[SCC]), "exec": machine.pair(EXEC), "vcc": machine.pair(VCC)}
    specials |= {"m0": int(machine.scalar[M0]), "mode": int(machine.scalar[MODE])}
    old |= specials
    imms = {m.name: int(m.value) for m in i.modifiers if isinstance(m.value, int)}
    results = reference.evaluate(program, sources, specials, imms, old)
    after = Machine(machine.scalar.copy(), machine.vector.copy())
    places = {"scc": (SCC, 1), "vcc": (VCC, 2), "exec": (EXEC, 2), "m0": (M0, 1), "mode": (MODE, 1)}
    for target, value in results.items():
        unit, _ = where.get(target) or places[target]
        bits = next(w.value.bits for w in program.writes if w.target == target)
        ballot = bits == 1 and unit < VGPR0 and target not in ("scc", "m0", "mode")
        for n in range(2 if ballot else (bits + 31) // 32):
            if unit >= VGPR0:
                part = np.array([int(v) >> (32 * n) & 0xFFFFFFFF for v in value], np.uint32)
                mask = machine.pair(EXEC)
                active = np.array([mask >> lane & 1 for lane in range(64)], bool)
                row = after.vector[unit - VGPR0 + n]
                row[active] = part[active]
            else:
                after.scalar[unit + n] = int(value) >> (32 * n) & 0xFFFFFFFF
    return after


def differences(a: Machine, b: Machine) -> list[str]:
    """Where two machines differ."""
    found = [f"unit {n}: {a.scalar[n]:#x} != {b.scalar[n]:#x}" for n in np.nonzero(a.scalar != b.scalar)[0]]
    for row, lane in zip(*np.nonzero(a.vector != b.vector), strict=True):
        found.append(f"row {row} lane {lane}: {a.vector[row, lane]:#x} != {b.vector[row, lane]:#x}")
    return found
