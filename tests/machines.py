"""Runs one instruction in the native engine and in the reference interpreter, from the same state, registers and memory.

The reference side takes every value and address from `reference` and `reference_matrix`; what memory does is written here anew,
in plain Python, so that it shares nothing with the engine.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from asmevo.backend.emulator import layout, reference, reference_floats, reference_matrix
from asmevo.backend.emulator.decode import prepare
from asmevo.backend.emulator.native import native
from asmevo.backend.emulator.setup import build_group, build_memory
from asmevo.backend.launch import Buffer, Dispatch
from asmevo.ir.instruction import Immediate, Instruction, Register, Symbolic
from asmevo.ir.isa import lookup
from asmevo.ir.isa.model import Family, Space
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import EXEC, EXECZ, M0, MODE, SCC, VCC, VCCZ, VGPR0
from asmevo.ir.semantics import program_of, source_bits
from asmevo.ir.semantics.expr import Domain, Expr, Extend, MemoryOp, Op, Program
from asmevo.ir.semantics.matrix import shape_of

LANES = 64
BUFFER_BYTES = 1 << 14
LDS_BYTES = 1 << 16
ALL = (1 << LANES) - 1
_SLOT = 16
_BUFFER_WORD = 0x00020000

F32 = [
    0, 1, 2, 0x000FFFFF, 0x00400000, 0x007FFFFF, 0x00800000, 0x00800001, 0x01000000, 0x33800000, 0x33800001, 0x34000000,
    0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC00000, 0x40000000, 0x40200000, 0x40490FDB,
    0x38800000, 0x387FFFFF, 0x387FE000, 0x33000000, 0x477FE000, 0x477FEFFF, 0x477FF000, 0x437F0000, 0x43700000, 0x47600000,
    0x4B000001, 0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF, 0x4F800000, 0x5F000000, 0x7E800000, 0x7F000000, 0x7F7FFFFF,
    0x7F800000, 0x7FC00000, 0x7FC12345, 0x7F800001, 0x7FBFFFFF, 0x7FFFFFFF,
]
F16 = [
    0, 1, 2, 0x01FF, 0x0200, 0x03FF, 0x0400, 0x0401, 0x1400, 0x3555, 0x37FF, 0x3800, 0x3BFF, 0x3C00, 0x3C01, 0x3E00, 0x4000,
    0x4248, 0x4BFF, 0x5801, 0x5BF8, 0x7800, 0x7BFF, 0x7C00, 0x7E00, 0x7E55, 0x7C01, 0x7DFF, 0x7F80, 0x7FC1,
]
F64 = [
    0, 1, 0xFFFFFFFFFFFFF, 0x10000000000000, 0x10000000000001, 0x3690000000000000, 0x36A0000000000000, 0x380FFFFFE0000000,
    0x3FE0000000000000, 0x3FEFFFFFFFFFFFFF, 0x3FF0000000000000, 0x3FF0000000000001, 0x3FF8000000000000, 0x4000000000000000,
    0x41DFFFFFFFC00000, 0x41E0000000000000, 0x41EFFFFFFFE00000, 0x41F0000000000000, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000,
    0x7FE0000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF,
]
INTEGERS = [*range(-70, 71), *(1 << n for n in range(32)), *((1 << n) - 1 for n in range(1, 33)), 0x80008000, 0x7FFF8000]


@dataclass
class Machine:
    """Registers by unit number, scalar (256,) and vector (512, 64); one buffer; LDS."""

    scalar: np.ndarray
    vector: np.ndarray
    buffer: np.ndarray
    lds: np.ndarray

    def copy(self) -> Machine:
        return Machine(self.scalar.copy(), self.vector.copy(), self.buffer.copy(), self.lds.copy())

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


def _patterns(rng: np.random.Generator, pairs: int, width: int) -> np.ndarray:
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
    scalar = _patterns(rng, 128, 4)[:, seed % 4].copy()
    scalar[MODE], scalar[SCC] = mode, seed & 1
    scalar[EXEC], scalar[EXEC + 1] = exec_mask & 0xFFFFFFFF, exec_mask >> 32
    vector = _patterns(rng, 256, LANES)
    memory = [_patterns(rng, size // 8, 1).view(np.uint8).reshape(-1) for size in (BUFFER_BYTES, LDS_BYTES)]
    return Machine(scalar, vector, *memory)


def aim(i: Instruction, machine: Machine, seed: int) -> Machine:
    """`machine` with address registers set so that `i` touches the buffer or LDS, each lane at a place of its own."""
    assert i.definition is not None
    rng = np.random.default_rng(seed + 1)
    machine = machine.copy()
    space, base = i.definition.space, layout.base_address(0)
    if space is None:
        return machine
    memory = getattr(program_of(i), "memory", None)
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
        if isinstance(operand, Register) and spec.name in ("addr", "vaddr", "soffset"):
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
    """One or more instructions prepared for the native engine. NotImplementedError with the reason when it refuses one."""

    def __init__(self, *instructions: Instruction) -> None:
        end = Instruction("s_endpgm", (), (), lookup("s_endpgm"))
        numbered = tuple(replace(i, uid=n) for n, i in enumerate((*instructions, end)))
        self.kernel = Kernel("step", "gfx942", (Block("entry", numbered),), ("entry",))
        self.prepared = prepare(self.kernel, False)
        if self.prepared.problems:
            raise NotImplementedError(self.prepared.problems[0])

    def run(self, machine: Machine) -> Machine:
        """The state after the instruction."""
        buffer = Buffer("data", machine.buffer, True)
        memory = build_memory(Dispatch("step", "step", (1, 1, 1), (LANES, 1, 1), b"", (), (buffer,)), LDS_BYTES)
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
        )


# Reference -------------------------------------------------------------------------------------------------------------------

_SPECIALS = {"scc": (SCC, 1), "vcc": (VCC, 64), "exec": (EXEC, 64), "m0": (M0, 32), "mode": (MODE, 32)}


@dataclass
class _Operands:
    """The operands of one instruction by name: values, and where registers lie (unit, registers)."""

    values: dict[str, object]
    where: dict[str, tuple[int, int]]
    specials: dict[str, int]
    imms: dict[str, int]


def _operands(i: Instruction, machine: Machine) -> _Operands:
    assert i.definition is not None
    found = _Operands({}, {}, {}, {m.name: int(m.value) for m in i.modifiers if isinstance(m.value, int)})
    for spec, operand in zip(i.definition.operands, i.operands, strict=True):
        if isinstance(operand, Register):
            found.values[spec.name] = machine.operand(operand.range.unit, operand.range.count)
            found.where[spec.name] = (operand.range.unit, operand.range.count)
        elif isinstance(operand, Immediate) or (isinstance(operand, Symbolic) and operand.value is not None):
            found.values[spec.name] = source_bits(i, spec.name)
    for name, (unit, bits) in _SPECIALS.items():
        found.specials[name] = machine.pair(unit) if bits == 64 else int(machine.scalar[unit])
    return found


def run_reference(i: Instruction, machine: Machine) -> Machine:
    """The state after the instruction, by the reference interpreter."""
    program = program_of(i)
    assert program is not None
    given = _operands(i, machine)
    after = machine.copy()
    if program.domain is Domain.INTRINSIC:
        _intrinsic(program, given, machine, after)
        return after
    results = reference.evaluate(program, given.values, given.specials, given.imms, given.values | given.specials)
    active = np.array([bool(given.specials["exec"] >> n & 1) for n in range(LANES)])
    for write in program.writes:
        unit, count = given.where.get(write.target) or _SPECIALS[write.target]
        bits = 32 * count if write.target in given.where else count
        after.put(unit, results[write.target], bits, active if unit >= VGPR0 else None)
    if program.memory is not None:
        _access(i, program.memory, program, given, machine, after)
    return after


def _intrinsic(program: Program, given: _Operands, machine: Machine, after: Machine) -> None:
    unit, count = given.where["vdst"]
    name = str(program.intrinsic)
    if name == "v_writelane_b32":
        after.vector[unit - VGPR0, int(given.values["src1"]) & 63] = given.values["src0"]
        return
    if name == "ds_permute_b32":
        landed = np.zeros(LANES, np.uint32)
        active = np.array([bool(given.specials["exec"] >> n & 1) for n in range(LANES)])
        for lane in np.nonzero(active)[0]:
            target = (given.values["addr"][lane] + given.imms.get("offset", 0)) // 4 % LANES
            landed[target] = given.values["data0"][lane]
        after.put(unit, landed, 32, active)
        return
    shape = shape_of(name.removeprefix("mfma:"))
    sides: list[object] = []
    for source in ("src0", "src1", "src2"):
        if source in given.where:
            at, rows = given.where[source]
            sides.append(machine.vector[at - VGPR0 : at - VGPR0 + rows])
        else:
            sides.append(given.values[source])
    after.vector[unit - VGPR0 : unit - VGPR0 + count] = reference_matrix.multiply(shape, *sides, given.specials["mode"])


# Memory ----------------------------------------------------------------------------------------------------------------------


def _float(op: Op, fmt: str, mode: int, *args: int) -> int:
    bits = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}[fmt]
    e = Expr(op, bits, tuple(Expr(Op.CONST, bits, (), 0) for _ in args), fmt)
    return int(reference_floats.evaluate(e, [np.array([a], object) for a in args], mode)[0])


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def combine(atomic: str, old: int, data: list[int], bits: int, mode: int) -> int:
    """What an atomic leaves in memory."""
    operation, kind = atomic.rsplit("_", 1)
    x = data[0]
    if operation == "cmpst" and kind[0] == "f":
        return data[1] if _float(Op.FEQ, kind, mode, old, x) else old
    if kind[0] in "fb" and kind not in ("b32", "b64"):
        op = {"add": Op.FADD, "min": Op.FMIN, "max": Op.FMAX}[operation.removeprefix("pk_")]
        if not operation.startswith("pk_"):
            return _float(op, kind, mode, old, x)
        parts = [_float(op, kind, mode, old >> k & 0xFFFF, x >> k & 0xFFFF) for k in (0, 16)]
        return parts[0] | parts[1] << 16
    order = (lambda v: _signed(v, bits)) if kind[0] == "i" else (lambda v: v)
    table = {
        "add": lambda: old + x,
        "sub": lambda: old - x,
        "rsub": lambda: x - old,
        "inc": lambda: 0 if old >= x else old + 1,
        "dec": lambda: x if old == 0 or old > x else old - 1,
        "min": lambda: min(old, x, key=order),
        "max": lambda: max(old, x, key=order),
        "and": lambda: old & x,
        "or": lambda: old | x,
        "xor": lambda: old ^ x,
        "swap": lambda: x,
        "cmpswap": lambda: x if old == data[1] else old,
        "cmpst": lambda: data[1] if old == x else old,
        "wrap": lambda: old - x if old >= x else old + data[1],
        "mskor": lambda: old & ~x | data[1],
    }
    return table[operation]() & ((1 << bits) - 1)


def _extended(value: int, memory: MemoryOp, old: int) -> int:
    bits = 8 * memory.bytes
    if "sign" in memory.extend.value:
        value = _signed(value, bits) & 0xFFFFFFFF
    if memory.extend in (Extend.D16_LO, Extend.D16_LO_SIGN):
        return value & 0xFFFF | old & 0xFFFF0000
    if memory.extend in (Extend.D16_HI, Extend.D16_HI_SIGN):
        return value << 16 & 0xFFFF0000 | old & 0xFFFF
    return value


@dataclass(frozen=True)
class _Access:
    """Where lane `lane` goes: its byte offsets in the space, and which dwords of each are in range."""

    lane: int
    offsets: tuple[int, ...]
    limit: int | None
    """Buffer offsets from here on read as 0 and are not written."""
    inside: bool


def _places(i: Instruction, memory: MemoryOp, program: Program, given: _Operands) -> Iterator[_Access]:
    assert i.definition is not None
    at = reference.addresses(program, given.values, given.specials, given.imms)
    lanes = [0] if program.domain is Domain.SCALAR else [n for n in range(LANES) if given.specials["exec"] >> n & 1]
    evaluator = reference.Evaluator(given.values, given.specials, given.imms, {})
    base = 0 if i.definition.space is Space.LDS else layout.base_address(0)
    for lane in lanes:
        offsets = tuple(int(a[lane]) for a in at)
        limit, inside = None, True
        if memory.resource is not None:
            words = int(given.values[memory.resource])
            start, stride, records = words & (1 << 48) - 1, words >> 48 & 0x3FFF, words >> 64 & 0xFFFFFFFF
            soffset = int(evaluator.value(memory.soffset)[lane]) if memory.soffset is not None else 0
            index = int(evaluator.value(memory.index)[lane]) if memory.index is not None else None
            place = offsets[0] + soffset + (index or 0) * stride
            structured = index is not None and stride != 0
            inside = index < records if structured else place < records
            limit = None if structured else records + start - base
            offsets = (place + start,)
        if program.domain is Domain.SCALAR:
            offsets = tuple(a & ~3 for a in offsets)
        yield _Access(lane, tuple(a - base for a in offsets), limit, inside)


def _access(i: Instruction, memory: MemoryOp, program: Program, given: _Operands, before: Machine, after: Machine) -> None:
    assert i.definition is not None
    space = after.lds if i.definition.space is Space.LDS else after.buffer
    scalar = i.definition.family is Family.SMEM
    places = list(_places(i, memory, program, given))
    if memory.data and memory.atomic is None:
        # One address of all lanes after the other, as the engine: lanes that meet leave the last one's value.
        for k in range(len(memory.addresses)):
            for access in places:
                words = _words(memory, given, access.lane)
                _store(space, memory, access, k, words[k if len(words) > 1 else 0])
        return
    for access in places:
        loaded = [_load(space, memory, access, k, whole=scalar) for k in range(len(memory.addresses))]
        if memory.atomic is not None and access.inside:
            bits = 8 * memory.bytes
            words = _words(memory, given, access.lane)
            parts = words if len(words) > 1 else [words[0] & (1 << bits) - 1, words[0] >> bits]
            _store(space, memory, access, 0, combine(memory.atomic, loaded[0], parts, bits, given.specials["mode"]))
        if memory.to_lds is not None:
            evaluator = reference.Evaluator(given.values, given.specials, given.imms, {})
            place = int(evaluator.value(memory.to_lds)[0]) + 4 * access.lane
            after.lds[place : place + 4] = np.frombuffer(_extended(loaded[0], memory, 0).to_bytes(4, "little"), np.uint8)
        elif memory.dest is not None:
            _deliver(memory, given.where[memory.dest][0], loaded, access.lane, before, after)


def _words(memory: MemoryOp, given: _Operands, lane: int) -> list[int]:
    data = [given.values[name] for name in memory.data]
    return [int(d[lane]) if isinstance(d, np.ndarray) else int(d) for d in data]


def _load(space: np.ndarray, memory: MemoryOp, access: _Access, k: int, *, whole: bool) -> int:
    """The value at address `k`; dwords out of range read as 0, for `whole` also those partly so."""
    step = min(4, memory.bytes)
    value = 0
    for n in range(0, memory.bytes, step):
        place = access.offsets[k] + n
        if access.inside and (access.limit is None or place + (step if whole else 1) <= access.limit):
            value |= int.from_bytes(space[place : place + step].tobytes(), "little") << (8 * n)
    return value


def _store(space: np.ndarray, memory: MemoryOp, access: _Access, k: int, value: int) -> None:
    value >>= 16 if memory.extend is Extend.D16_HI and memory.dest is None else 0
    for n in range(memory.bytes):
        place = access.offsets[k] + n
        if access.inside and (access.limit is None or access.offsets[k] + n // 4 * 4 < access.limit):
            space[place] = value >> (8 * n) & 0xFF


def _deliver(memory: MemoryOp, unit: int, loaded: list[int], lane: int, before: Machine, after: Machine) -> None:
    bits = max(32, 8 * memory.bytes)
    value = sum(part << (bits * k) for k, part in enumerate(loaded))
    if unit < VGPR0:
        after.put(unit, value, bits)
        return
    if memory.bytes < 4:
        value = _extended(value, memory, int(before.vector[unit - VGPR0, lane]))
    for n in range(bits * len(loaded) // 32):
        after.vector[unit - VGPR0 + n, lane] = value >> (32 * n) & 0xFFFFFFFF


# Comparison ------------------------------------------------------------------------------------------------------------------


def differences(mine: Machine, theirs: Machine, ulps: int = 0) -> list[str]:
    """Where two states differ; vector registers may differ by `ulps` in the last place."""
    found = [f"unit {n}: {mine.scalar[n]:#x} != {theirs.scalar[n]:#x}" for n in np.nonzero(mine.scalar != theirs.scalar)[0]]
    far = np.abs(mine.vector.astype(np.int64) - theirs.vector.astype(np.int64)) > ulps
    for row, lane in zip(*np.nonzero(far), strict=True):
        found.append(f"v{row}, lane {lane}: {mine.vector[row, lane]:#x} != {theirs.vector[row, lane]:#x}")
    for name in ("buffer", "lds"):
        places = np.nonzero(getattr(mine, name) != getattr(theirs, name))[0]
        if len(places):
            found.append(f"{name}: {len(places)} bytes from {places[0]:#x}")
    return found
