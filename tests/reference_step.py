"""The state after one instruction by the reference interpreter.

Every value and address comes from `reference` and `reference_matrix`; what memory and the lane intrinsics do is written here
anew, in plain Python, so that it shares nothing with the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from asmevo.backend.emulator import layout, reference, reference_floats, reference_matrix
from asmevo.ir.instruction import Immediate, Instruction, Register, Symbolic
from asmevo.ir.isa.model import Family, Space
from asmevo.ir.registers import EXEC, M0, MODE, SCC, VCC, VGPR0
from asmevo.ir.semantics import program_of, source_bits
from asmevo.ir.semantics.expr import Domain, Expr, Extend, MemoryOp, Op, Program
from asmevo.ir.semantics.matrix import operation_of
from machines import LANES, SCRATCH_BYTES, Machine

SPECIALS = {"scc": (SCC, 1), "vcc": (VCC, 64), "exec": (EXEC, 64), "m0": (M0, 32), "mode": (MODE, 32)}


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
    for name, (unit, bits) in SPECIALS.items():
        found.specials[name] = machine.pair(unit) if bits == 64 else int(machine.scalar[unit])
    return found


def run_reference(i: Instruction, machine: Machine, target: str = "gfx942") -> Machine:
    """The state after the instruction on a target, by the reference interpreter."""
    program = program_of(i, target)
    assert program is not None
    given = _operands(i, machine)
    after = machine.copy(memory=program.memory is not None or program.domain is Domain.INTRINSIC)
    if program.domain is Domain.INTRINSIC:
        _intrinsic(program, given, machine, after)
        return after
    results = reference.evaluate(program, given.values, given.specials, given.imms, given.values | given.specials)
    active = np.array([bool(given.specials["exec"] >> n & 1) for n in range(LANES)])
    for write in program.writes:
        unit, count = given.where.get(write.target) or SPECIALS[write.target]
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
    if name in ("ds_append", "ds_consume"):
        count = bin(given.specials["exec"]).count("1")
        at = (given.specials["m0"] & 0xFFFF) + given.imms.get("offset", 0)
        if count:
            old = int.from_bytes(machine.lds[at : at + 4].tobytes(), "little")
            new = (old + (count if name == "ds_append" else -count)) & 0xFFFFFFFF
            after.lds[at : at + 4] = np.frombuffer(new.to_bytes(4, "little"), np.uint8)
            active = np.array([bool(given.specials["exec"] >> n & 1) for n in range(LANES)])
            after.put(unit, np.full(LANES, old, object), 32, active)
        return
    if name.startswith("transpose:"):
        _transpose(program, int(name.removeprefix("transpose:")), given, machine, after)
        return
    operation = operation_of(name)
    assert operation is not None
    sides: dict[str, object] = {}
    for source in ("src0", "src1", "src2", "vdst", "idx", "scale0", "scale1"):
        if source in given.where:
            at, rows = given.where[source]
            sides[source] = machine.vector[at - VGPR0 : at - VGPR0 + rows]
        elif source in given.values:
            sides[source] = given.values[source]
    after.vector[unit - VGPR0 : unit - VGPR0 + count] = reference_matrix.evaluate(operation, sides, given.specials["mode"])


def _transpose(program: Program, width: int, given: _Operands, machine: Machine, after: Machine) -> None:
    """Rows of 16 elements, each read by consecutive lanes of a group of 16; a lane gets its own column."""
    assert program.memory is not None
    size = program.memory.bytes
    (places,) = reference.addresses(program, given.values, given.specials, given.imms)
    exec_mask = given.specials["exec"]
    active = np.array([bool(exec_mask >> n & 1) for n in range(LANES)])
    read = [
        int.from_bytes(machine.lds[int(places[n]) : int(places[n]) + size].tobytes(), "little") if active[n] else 0
        for n in range(LANES)
    ]
    elements = 8 * size // width
    mask = (1 << width) - 1
    values: list[int] = []
    for group in range(0, LANES, 16):
        flat = [read[group + n] >> width * e & mask for n in range(16) for e in range(elements)]
        matrix = np.array(flat, object).reshape(elements, 16)
        values += [sum(int(v) << width * e for e, v in enumerate(matrix[:, lane])) for lane in range(16)]
    after.put(given.where["vdst"][0], np.array(values, object), 8 * size, active)


# Memory ----------------------------------------------------------------------------------------------------------------------


def _float(op: Op, fmt: str, mode: int, *args: int) -> int:
    """A float atomic's operation: to nearest even whatever MODE says."""
    mode &= ~15
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
    base = 0 if i.definition.space in (Space.LDS, Space.SCRATCH) else layout.base_address(0)
    for lane in lanes:
        own = lane * SCRATCH_BYTES if i.definition.space is Space.SCRATCH else 0
        offsets = tuple(int(a[lane]) + own for a in at)
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
    space = {Space.LDS: after.lds, Space.SCRATCH: after.scratch.reshape(-1)}.get(i.definition.space, after.buffer)
    scalar = i.definition.family is Family.SMEM
    places = list(_places(i, memory, program, given))
    if memory.data and memory.atomic is None:
        # One address of all lanes after the other, as the engine: lanes that meet leave the last one's value.
        for k in range(len(memory.addresses)):
            for access in places:
                words = _words(memory, given, access.lane)
                _store(space, memory, access, k, words[k if len(words) > 1 else 0])
        return
    if memory.atomic is not None and len(memory.addresses) > 1:
        _exchange_two(space, memory, given, places, before, after)
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
            step = max(4, memory.bytes)
            place = int(evaluator.value(memory.to_lds)[0]) + step * access.lane
            after.lds[place : place + step] = np.frombuffer(_extended(loaded[0], memory, 0).to_bytes(step, "little"), np.uint8)
        elif memory.dest is not None:
            _deliver(memory, given.where[memory.dest][0], loaded, access.lane, before, after)


def _exchange_two(
    space: np.ndarray, memory: MemoryOp, given: _Operands, places: list[_Access], before: Machine, after: Machine
) -> None:
    """Two addresses a lane: every lane's first exchange, then every lane's second."""
    loaded: dict[int, list[int]] = {access.lane: [] for access in places}
    for k in range(len(memory.addresses)):
        for access in places:
            old = _load(space, memory, access, k, whole=False)
            loaded[access.lane].append(old)
            value = _words(memory, given, access.lane)[k]
            _store(
                space, memory, access, k, combine(str(memory.atomic), old, [value], 8 * memory.bytes, given.specials["mode"])
            )
    if memory.dest is not None:
        for access in places:
            _deliver(memory, given.where[memory.dest][0], loaded[access.lane], access.lane, before, after)


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
