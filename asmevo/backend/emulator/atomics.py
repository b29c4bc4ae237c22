"""Native code of atomic read-modify-write operations on global memory and LDS, lane after lane.

Owns what each named operation does to one memory word. Lanes act in ascending order, waves in the order they
are run.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import buffers, floats, layout, lds_codegen, race_codegen
from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.faulting import refuse
from asmevo.backend.emulator.irkit import I32, I64, Value, const
from asmevo.backend.emulator.layout import ENTRY, LANES
from asmevo.backend.emulator.memory_codegen import DEFINED, STORES, TRACKED, resolve
from asmevo.backend.emulator.queue_codegen import fill_load, new_entry
from asmevo.diagnostics import fail
from asmevo.ir.registers import VGPR0
from asmevo.ir.semantics.expr import Expr, MemoryOp, Op

_PLAIN = {"add": "add", "sub": "sub", "and": "and_", "or": "or_", "xor": "xor"}
_CHOICES = {"smin": "<", "smax": ">", "umin": "<", "umax": ">"}


def emit(m: Emitter, memory: MemoryOp, space: str, arrays: list[Value], mask: Value, out: Value | None, strict: bool) -> None:
    """One atomic a lane; the old value goes to `memory.dest` when there is one, 0 in the lanes of `out` (out of range).

    Two addresses (exchanges of LDS) take one data operand each, all lanes' first before their second.
    """
    f, b = m.f, m.f.b
    size = memory.bytes
    count = size // 4 * len(arrays)
    returned = f.local(I32, count * LANES)
    if strict and space != "lds":
        race_codegen.sync(f, m.state, release=True, acquire=memory.dest is not None)
    for k, addresses in enumerate(arrays):
        names = memory.data if len(arrays) == 1 else (memory.data[k],)
        rows = f.at(returned, 4 * LANES * (size // 4) * k)
        with f.each_lane(mask) as lane:
            address = f.load(I64, f.item(addresses, lane, 8), 8)
            _exchange(m, str(memory.atomic), names, space, address, lane, size, rows, strict)
    queue = "lds" if space == "lds" else "vm"
    entry = new_entry(f, m.state, queue) if strict else None
    if entry is not None:
        f.put(ENTRY, entry, "atomic", 1)
    if memory.dest is not None:
        if out is not None:
            buffers.clear_rows(m, returned, count, out)
            mask = b.or_(mask, out)
        _deliver(m, memory.dest, returned, mask, count, entry)
    elif entry is not None:
        f.put(ENTRY, entry, "kind", layout.ENTRY_STORE)
        f.put(ENTRY, entry, "mask", mask)
    if entry is not None and space == "lds":
        _note(m, entry, arrays, size)


def _exchange(
    m: Emitter,
    atomic: str,
    names: tuple[str, ...],
    space: str,
    address: Value,
    lane: Value,
    size: int,
    returned: Value,
    strict: bool,
) -> None:
    """One lane's atomic; the old value goes to the lane's place in the rows `returned`."""
    f, b = m.f, m.f.b
    odd = b.icmp_unsigned("!=", b.and_(address, const(64, size - 1)), const(64, 0))
    refuse(f, m.state, odd, "misaligned", lane, address)
    at = place(m, space, address, lane, size, strict)
    old = f.load(ir.IntType(8 * size), at)
    operands = [_operand(m, name, lane, size) for name in names]
    f.store(combine(m, atomic, old, operands, size), at)
    for row in range(size // 4):
        part = b.trunc(b.lshr(old, const(8 * size, 32 * row)) if row else old, I32)
        f.store(part, f.item(f.at(returned, 4 * LANES * row), lane, 4), 4)


def _note(m: Emitter, entry: Value, arrays: list[Value], size: int) -> None:
    """Keeps the LDS addresses: the change is certain for other waves only when it has been waited for."""
    f = m.f
    f.put(ENTRY, entry, "points", len(arrays))
    f.put(ENTRY, entry, "bytes", size)
    for k, addresses in enumerate(arrays):
        kept = f.at(f.field(ENTRY, entry, "address"), 4 * LANES * k)
        with f.loop(LANES) as lane:
            address = f.b.trunc(f.load(I64, f.item(addresses, lane, 8), 8), I32)
            f.store(address, f.item(kept, lane, 4), 4)


def place(m: Emitter, space: str, address: Value, lane: Value, size: int, strict: bool) -> Value:
    """The host address of an atomic access to global memory or LDS, checked."""
    f = m.f
    if space != "lds":
        return resolve(f, m.state, address, size, lane, STORES | (DEFINED | TRACKED if strict else 0))
    at, inside = lds_codegen.place(f, m.state, address, lane, size)
    if strict:
        race_codegen.watch_one(f, m.state, inside, const(64, size), const(32, 1))
        lds_codegen.check_defined(f, m.state, inside, lane, size)
        lds_codegen.check_races(f, m.state, "lds_writer", inside, lane, size, atomic=True)
        lds_codegen.check_races(f, m.state, "lds_reader", inside, lane, size)
        word = const(32, layout.WAVE_ATOMIC << layout.EPOCH_BITS | layout.IN_FLIGHT)
        lds_codegen.mark_written(f, m.state, inside, size, word)
        lds_codegen.note_change(f, m.state)
    return at


def _operand(m: Emitter, name: str, lane: Value, size: int) -> list[Value]:
    """A data operand's values of `size` bytes each: one, or two for a compare-and-swap's pair."""
    f, b = m.f, m.f.b
    place = m.places[name]
    per = size // 4
    count = max(1, place.bits // 32 // per)
    values: list[Value] = []
    for n in range(count):
        value: Value = const(8 * size, 0)
        for row in range(per):
            part = f.load(I32, f.item(f.at(m.slot(place.slot), 4 * LANES * (n * per + row)), lane, 4), 4)
            wide = part if size == 4 else b.shl(b.zext(part, ir.IntType(8 * size)), const(8 * size, 32 * row))
            value = b.or_(value, wide)
        values.append(value)
    return values


def combine(m: Emitter, name: str, old: Value, operands: list[list[Value]], size: int) -> Value:
    """What an atomic leaves in memory; `operands` are the values of each data operand."""
    b = m.f.b
    bits = 8 * size
    operation, _, kind = name.rpartition("_")
    x = operands[0][0]
    operation = operation.removeprefix("pk_")
    if kind in ("f32", "f64", "f16", "bf16") and operation in ("add", "min", "max"):
        return _float(m, operation, kind, old, x, bits)
    if operation in ("min", "max"):
        operation = ("s" if kind.startswith("i") else "u") + operation
    if operation in _PLAIN:
        return getattr(b, _PLAIN[operation])(old, x)
    if operation in _CHOICES:
        compare = b.icmp_signed if operation.startswith("s") else b.icmp_unsigned
        return b.select(compare(_CHOICES[operation], x, old), x, old)
    match operation:
        case "swap" | "wrxchg":
            return x
        case "rsub":
            return b.sub(x, old)
        case "inc":
            return b.select(b.icmp_unsigned(">=", old, x), const(bits, 0), b.add(old, const(bits, 1)))
        case "dec":
            wrap = b.or_(b.icmp_unsigned("==", old, const(bits, 0)), b.icmp_unsigned(">", old, x))
            return b.select(wrap, x, b.sub(old, const(bits, 1)))
        case "cmpswap":
            return b.select(b.icmp_unsigned("==", old, operands[0][1]), x, old)
        case "cmpst":
            return b.select(_equal(m, kind, old, x, bits), operands[1][0], old)
        case "wrap":
            return b.select(b.icmp_unsigned(">=", old, x), b.sub(old, x), b.add(old, operands[1][0]))
        case "mskor":
            return b.or_(b.and_(old, b.not_(x)), operands[1][0])
        case _:
            fail("E0507", f"the emulator has no atomic '{name}'")


def _equal(m: Emitter, kind: str, old: Value, x: Value, bits: int) -> Value:
    if kind not in ("f32", "f64"):
        return m.f.b.icmp_unsigned("==", old, x)
    leaves = (Expr(Op.CONST, bits, (), 0), Expr(Op.CONST, bits, (), 1))
    return floats.emit(m, Expr(Op.FEQ, 1, leaves, kind), [old, x])


def _float(m: Emitter, operation: str, kind: str, old: Value, x: Value, bits: int) -> Value:
    op = {"add": Op.FADD, "min": Op.FMIN, "max": Op.FMAX}[operation]
    leaves = (Expr(Op.CONST, bits, (), 0), Expr(Op.CONST, bits, (), 1))
    if kind in ("f16", "bf16"):
        b = m.f.b
        halves: list[Value] = []
        for low in (0, 16):
            pair = [b.trunc(b.lshr(v, const(32, low)), ir.IntType(16)) for v in (old, x)]
            halves.append(b.zext(floats.emit(m, Expr(op, 16, leaves, kind), pair), I32))
        return b.or_(halves[0], b.shl(halves[1], const(32, 16)))
    return floats.emit(m, Expr(op, bits, leaves, kind), [old, x])


def _deliver(m: Emitter, dest: str, returned: Value, mask: Value, rows: int, entry: Value | None) -> None:
    f, b = m.f, m.f.b
    place = m.places[dest]
    home = m.slot(place.slot)
    target = home if entry is None else f.field(ENTRY, entry, "data")
    for row in range(rows):
        with f.each_lane(mask) as lane:
            value = f.load(I32, f.item(f.at(returned, 4 * LANES * row), lane, 4), 4)
            f.store(value, f.item(f.at(target, 4 * LANES * row), lane, 4), 4)
    if entry is not None:
        slot = f.load(I32, f.at(m.op, layout.offset(layout.OP, "slot") + 4 * place.slot), 4)
        row = b.lshr(b.sub(slot, const(32, layout.offset(layout.STATE, "vector"))), const(32, 8))
        fill_load(f, m.state, entry, layout.ENTRY_LOAD, b.add(row, const(32, VGPR0)), rows, mask)
