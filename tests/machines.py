"""States of one wave for tests: random ones full of corner values, what the native engine makes of them, and how two differ."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field, replace

import numpy as np

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.native import native
from asmevo.backend.emulator.prepare import prepare
from asmevo.backend.emulator.setup import build_group, build_memory
from asmevo.backend.launch import Buffer, Dispatch
from asmevo.frontend.parser import parse_line
from asmevo.ir.instruction import Instruction, Register
from asmevo.ir.isa import lookup
from asmevo.ir.isa.model import Space
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import EXEC, EXECZ, M0, MODE, SCC, VCC, VCCZ, VGPR0
from asmevo.ir.semantics import program_of

LANES = 64
BUFFER_BYTES = 1 << 14
LDS_BYTES = 1 << 16
SCRATCH_BYTES = 1 << 12
ALL = (1 << LANES) - 1
_SLOT = 16
_BUFFER_WORD = 0x00020000

F32 = [
    0,
    1,
    2,
    0x000FFFFF,
    0x00400000,
    0x007FFFFF,
    0x00800000,
    0x00800001,
    0x01000000,
    0x33800000,
    0x33800001,
    0x34000000,
    0x3EFFFFFF,
    0x3F000000,
    0x3F7FFFFF,
    0x3F800000,
    0x3F800001,
    0x3FC00000,
    0x40000000,
    0x40200000,
    0x40490FDB,
    0x38800000,
    0x387FFFFF,
    0x387FE000,
    0x33000000,
    0x477FE000,
    0x477FEFFF,
    0x477FF000,
    0x437F0000,
    0x43700000,
    0x47600000,
    0x4B000001,
    0x4EFFFFFF,
    0x4F000000,
    0x4F7FFFFF,
    0x4F800000,
    0x5F000000,
    0x7E800000,
    0x7F000000,
    0x7F7FFFFF,
    0x7F800000,
    0x7FC00000,
    0x7FC12345,
    0x7F800001,
    0x7FBFFFFF,
    0x7FFFFFFF,
]
F16 = [
    0,
    1,
    2,
    0x01FF,
    0x0200,
    0x03FF,
    0x0400,
    0x0401,
    0x1400,
    0x3555,
    0x37FF,
    0x3800,
    0x3BFF,
    0x3C00,
    0x3C01,
    0x3E00,
    0x4000,
    0x4248,
    0x4BFF,
    0x5801,
    0x5BF8,
    0x7800,
    0x7BFF,
    0x7C00,
    0x7E00,
    0x7E55,
    0x7C01,
    0x7DFF,
    0x7F80,
    0x7FC1,
]
F64 = [
    0,
    1,
    0xFFFFFFFFFFFFF,
    0x10000000000000,
    0x10000000000001,
    0x3690000000000000,
    0x36A0000000000000,
    0x380FFFFFE0000000,
    0x3FE0000000000000,
    0x3FEFFFFFFFFFFFFF,
    0x3FF0000000000000,
    0x3FF0000000000001,
    0x3FF8000000000000,
    0x4000000000000000,
    0x41DFFFFFFFC00000,
    0x41E0000000000000,
    0x41EFFFFFFFE00000,
    0x41F0000000000000,
    0x47EFFFFFE0000000,
    0x47EFFFFFF0000000,
    0x7FE0000000000000,
    0x7FEFFFFFFFFFFFFF,
    0x7FF0000000000000,
    0x7FF8000000000000,
    0x7FF0000000000001,
    0x7FFFFFFFFFFFFFFF,
]
INTEGERS = [*range(-70, 71), *(1 << n for n in range(32)), *((1 << n) - 1 for n in range(1, 33)), 0x80008000, 0x7FFF8000]


@dataclass
class Machine:
    """Registers by unit number, scalar (256,) and vector (512, 64); one buffer; LDS; scratch memory, (64, n) bytes."""

    scalar: np.ndarray
    vector: np.ndarray
    buffer: np.ndarray
    lds: np.ndarray
    scratch: np.ndarray = field(default_factory=lambda: np.zeros((LANES, SCRATCH_BYTES), np.uint8))

    def copy(self, *, memory: bool = True) -> Machine:
        """A copy; without `memory` it shares the bytes of memory with this one."""
        if not memory:
            return Machine(self.scalar.copy(), self.vector.copy(), self.buffer, self.lds, self.scratch)
        return Machine(self.scalar.copy(), self.vector.copy(), self.buffer.copy(), self.lds.copy(), self.scratch.copy())

    def pair(self, unit: int) -> int:
        return int(self.scalar[unit]) | int(self.scalar[unit + 1]) << 32

    def operand(self, unit: int, count: int):
        """A register operand: an array of Python integers for a vector one, else an integer."""
        if unit in (VCCZ, EXECZ):
            return int(self.pair(VCC if unit == VCCZ else EXEC) == 0)
        if unit >= VGPR0:
            rows = self.vector[unit - VGPR0 : unit - VGPR0 + count].astype(object)
            return sum((rows[n] << (32 * n) for n in range(count)), np.zeros(LANES, object))
        return sum(int(self.scalar[unit + n]) << (32 * n) for n in range(count))

    def put(self, unit: int, value, bits: int, lanes: np.ndarray | None = None) -> None:
        """Writes consecutive registers; of vector ones only `lanes` (a bool array) if given."""
        for n in range((bits + 31) // 32):
            if unit >= VGPR0:
                part = np.array([int(v) >> (32 * n) & 0xFFFFFFFF for v in value], np.uint32)
                row = self.vector[unit - VGPR0 + n]
                row[:] = part if lanes is None else np.where(lanes, part, row)
            else:
                self.scalar[unit + n] = int(value) >> (32 * n) & 0xFFFFFFFF


def patterns(rng: np.random.Generator, pairs: int, width: int) -> np.ndarray:
    """Register contents of shape (2 * pairs, width) that are corner or ordinary values of every format."""
    shape = (pairs, width)
    sign = rng.integers(0, 2, shape, np.uint64)

    def signed(values: list[int], bits: int) -> np.ndarray:
        return rng.choice(np.array(values, np.uint64), shape) | sign << np.uint64(bits - 1)

    def both(low: np.ndarray, high: np.ndarray, bits: int) -> np.ndarray:
        return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(bits)

    def f16_pair() -> np.ndarray:
        return both(signed(F16, 16), rng.permutation(signed(F16, 16), axis=1), 16)

    def near(kind: type, width: type) -> np.ndarray:
        return (rng.normal(size=shape) * 8).astype(kind).view(width).astype(np.uint64)

    integers = np.array([n & 0xFFFFFFFF for n in INTEGERS], np.uint64)
    halves = [
        lambda: signed(F32, 32),
        f16_pair,
        lambda: rng.integers(0, 1 << 32, shape, np.uint64),
        lambda: near(np.float32, np.uint32),
        lambda: both(near(np.float16, np.uint16), near(np.float16, np.uint16), 16),
        lambda: rng.choice(integers, shape),
    ]
    wide = [both(make(), make(), 32) for make in halves]
    wide += [signed(F64, 64), near(np.float64, np.uint64)]
    kind = rng.integers(0, len(wide), shape)
    # In a quarter of the lanes all registers hold the same kind, so that its values meet.
    kind[:, ::4] = np.arange(0, width, 4) // 4 % len(wide)
    chosen = np.choose(kind, wide)
    return np.stack([chosen & np.uint64(0xFFFFFFFF), chosen >> np.uint64(32)], 1).reshape(2 * pairs, width).astype(np.uint32)


def random_machine(seed: int, mode: int = 0x3F0, exec_mask: int = ALL) -> Machine:
    """A state whose registers hold corner values and random ones of every format."""
    rng = np.random.default_rng(seed)
    scalar = patterns(rng, 128, 4)[:, seed % 4].copy()
    scalar[MODE], scalar[SCC] = mode, seed & 1
    scalar[EXEC], scalar[EXEC + 1] = exec_mask & 0xFFFFFFFF, exec_mask >> 32
    vector = patterns(rng, 256, LANES)
    memory = [patterns(rng, size // 8, 1).view(np.uint8).reshape(-1) for size in (BUFFER_BYTES, LDS_BYTES)]
    scratch = patterns(rng, LANES * SCRATCH_BYTES // 8, 1).view(np.uint8).reshape(LANES, SCRATCH_BYTES)
    return Machine(scalar, vector, *memory, scratch)


def aim(i: Instruction, machine: Machine, seed: int, target: str = "gfx942") -> Machine:
    """`machine` with address registers set so that `i` touches the buffer or LDS, each lane at a place of its own.

    It shares the bytes of memory with `machine`.
    """
    assert i.definition is not None
    rng = np.random.default_rng(seed + 1)
    machine = machine.copy(memory=False)
    space, base = i.definition.space, layout.base_address(0)
    if space is None:
        return machine
    memory = getattr(program_of(i, target), "memory", None)
    atomic = memory is not None and memory.atomic is not None
    loads = memory is None or (memory.dest is not None and not atomic)
    places = (rng.integers(0, 128, LANES) if loads else rng.permutation(128)[:LANES]).astype(object) * _SLOT
    if atomic:
        places[::5] = places[0]
    machine.scalar[M0] = 1024
    for spec, operand in zip(i.definition.operands, i.operands, strict=True):
        if not isinstance(operand, Register):
            continue
        unit, bits = operand.range.unit, 32 * operand.range.count
        if spec.name in ("saddr", "sbase") and space is not Space.BUFFER and bits == 64:
            machine.put(unit, base + 1024, 64)
        elif spec.name in ("srsrc", "sbase"):
            stride = 32 if any(m.name == "idxen" for m in i.modifiers) and seed % 2 else 0
            records = 100 if stride else BUFFER_BYTES // 8
            machine.put(unit, base | stride << 48 | records << 64 | _BUFFER_WORD << 96, 128)
    for spec, operand in zip(i.definition.operands, i.operands, strict=True):
        if isinstance(operand, Register) and (
            spec.name in ("addr", "vaddr", "soffset") or (spec.name == "saddr" and space is Space.SCRATCH)
        ):
            unit, bits = operand.range.unit, 32 * operand.range.count
            if unit < VGPR0:
                machine.put(unit, 48, 32)
            elif space in (Space.GLOBAL, Space.FLAT) and bits == 64:
                machine.put(unit, places + base + 1024, 64)
            elif space is Space.BUFFER:
                pair = any(m.name == "idxen" for m in i.modifiers) and bits == 64
                index = any(m.name == "idxen" for m in i.modifiers)
                machine.put(unit, places // _SLOT | places % 48 << 32 if pair else places // _SLOT if index else places, bits)
            else:
                machine.put(unit, places, 32)
    return machine


# Native ----------------------------------------------------------------------------------------------------------------------


class Step:
    """One or more instructions prepared for the native engine. NotImplementedError with the reason when it refuses one.

    `rounds`: the kernel can set MODE's rounding, so machines may come with another one than to nearest.
    """

    def __init__(self, *instructions: Instruction, target: str = "gfx942", rounds: bool = False) -> None:
        end = Instruction("s_endpgm", (), (), lookup("s_endpgm"))
        never = (parse_line("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s0"),) if rounds else ()
        numbered = tuple(replace(i, uid=n) for n, i in enumerate((*instructions, end, *never)))
        self.kernel = Kernel("step", target, (Block("entry", numbered),), ("entry",))
        self.prepared = prepare(self.kernel, False)
        if self.prepared.problems:
            raise NotImplementedError(self.prepared.problems[0])

    def run(self, machine: Machine) -> Machine:
        """The state after the instruction."""
        buffer = Buffer("data", machine.buffer, True)
        launch = Dispatch("step", "step", (1, 1, 1), (LANES, 1, 1), b"", (), (buffer,))
        memory = build_memory(launch, LDS_BYTES, machine.scratch.size)
        scratch = slice(memory.scratch_starts[0], memory.scratch_starts[0] + machine.scratch.size)
        memory.arena[scratch] = machine.scratch.reshape(-1)
        counts = np.zeros(len(self.prepared.ops), np.uint64)
        group = build_group(self.prepared, memory, counts, 1, LDS_BYTES, False)
        group.lds[:LDS_BYTES] = machine.lds
        group.states["scalar"][0] = machine.scalar
        group.states["vector"][0] = machine.vector
        group.states["limit"] = 1000
        step = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)(native().symbol("asm_run_fast"))
        status = step(group.states.ctypes.data)
        kind = layout.FAULT_KINDS[int(group.states["fault"][0])]
        assert status == layout.END, f"the engine stopped: {kind} at {int(group.states['fault_address'][0]):#x}"
        start = memory.starts[0]
        return Machine(
            group.states["scalar"][0].copy(),
            group.states["vector"][0].copy(),
            memory.arena[start : start + BUFFER_BYTES].copy(),
            group.lds[:LDS_BYTES].copy(),
            memory.arena[scratch].reshape(machine.scratch.shape).copy(),
        )


# Comparison ------------------------------------------------------------------------------------------------------------------


def differences(mine: Machine, theirs: Machine, ulps: int = 0) -> list[str]:
    """Where two states differ; vector registers may differ by `ulps` in the last place."""
    found = [f"unit {n}: {mine.scalar[n]:#x} != {theirs.scalar[n]:#x}" for n in np.nonzero(mine.scalar != theirs.scalar)[0]]
    if not np.array_equal(mine.vector, theirs.vector):
        far = np.abs(mine.vector.astype(np.int64) - theirs.vector.astype(np.int64)) > ulps
        for row, lane in zip(*np.nonzero(far), strict=True):
            found.append(f"v{row}, lane {lane}: {mine.vector[row, lane]:#x} != {theirs.vector[row, lane]:#x}")
    for name in ("buffer", "lds", "scratch"):
        one, other = getattr(mine, name), getattr(theirs, name)
        if one is other:
            continue
        # Eight bytes at a time: most states are equal.
        if np.array_equal(one.view(np.uint64), other.view(np.uint64)):
            continue
        places = np.nonzero((one != other).reshape(-1))[0]
        if len(places):
            found.append(f"{name}: {len(places)} bytes from {places[0]:#x}")
    return found
