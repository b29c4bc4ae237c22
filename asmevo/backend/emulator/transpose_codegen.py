"""Native code of the LDS reads that transpose among 16 lanes.

Owns the exchange between lanes; the read itself is an ordinary LDS load. EXEC must be all ones; what an inactive lane would
read counts as zeros.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.faulting import check
from asmevo.backend.emulator.form import Form
from asmevo.backend.emulator.irkit import I32, I64, Value, const
from asmevo.backend.emulator.layout import ENTRY, LANES
from asmevo.backend.emulator.memory_codegen import transfer
from asmevo.backend.emulator.queue_codegen import fill_load, new_entry
from asmevo.backend.emulator.register_writes import blend, dest_unit
from asmevo.backend.emulator.vector_memory import addresses, note_addresses
from asmevo.ir.registers import EXEC
from asmevo.ir.semantics.memory import transposed_from


def emit(m: Emitter, form: Form, strict: bool) -> None:
    """Reads, exchanges, and delivers to vdst now, or in strict mode when a wait covers it."""
    f = m.f
    memory = form.program.memory
    assert memory is not None
    assert memory.dest is not None
    width = int(str(form.program.intrinsic).removeprefix("transpose:"))
    count = memory.bytes // 4
    m.prepare(memory.addresses)
    mask = f.load(I64, f.at(m.state, layout.unit_offset(EXEC)), 4)
    arrays = addresses(m, memory)
    rows, turned = (f.local(I32, LANES * count) for _ in range(2))
    with f.loop(LANES * count) as n:
        f.store(const(32, 0), f.item(rows, n, 4), 4)
    entry = new_entry(f, m.state, "lds") if strict else None
    check(f, transfer(f, "lds_load", memory.bytes, strict, [m.state, arrays[0], mask, rows]))
    _exchange(m, rows, turned, width, count)
    if entry is None:
        home = m.slot(m.places[memory.dest].slot)
        for row in range(count):
            blend(f, f.at(home, 4 * LANES * row), f.at(turned, 4 * LANES * row), mask)
        return
    data = f.field(ENTRY, entry, "data")
    with f.loop(LANES * count) as n:
        f.store(f.load(I32, f.item(turned, n, 4), 4), f.item(data, n, 4), 4)
    fill_load(f, m.state, entry, layout.ENTRY_LOAD, dest_unit(m, memory.dest), count, mask)
    note_addresses(f, entry, arrays, memory.bytes)


def _exchange(m: Emitter, rows: Value, turned: Value, width: int, count: int) -> None:
    """`turned` gets the elements of `width` bits that `transposed_from` names; both have `count` rows of 64 lanes."""
    f, b = m.f, m.f.b
    elements = 32 * count // width
    bits = 32 * count
    whole = ir.IntType(bits)
    mask = const(bits, (1 << width) - 1)
    # Within 16 lanes the pattern is that of lane 0's group, so one loop over the groups serves.
    with f.loop(LANES // 16) as group:
        first = b.mul(group, const(64, 16))
        for lane in range(16):
            result: Value = const(bits, 0)
            for element in range(elements):
                source, place = transposed_from(lane, element, elements)
                value: Value = const(bits, 0)
                for row in range(place * width // 32, (place * width + width - 1) // 32 + 1):
                    at = f.item(f.at(rows, 4 * (LANES * row + source)), first, 4)
                    value = b.or_(value, b.shl(b.zext(f.load(I32, at, 4), whole), const(bits, 32 * row)))
                part = b.and_(b.lshr(value, const(bits, place * width)), mask)
                result = b.or_(result, b.shl(part, const(bits, element * width)))
            for row in range(count):
                word = b.trunc(b.lshr(result, const(bits, 32 * row)), I32)
                f.store(word, f.item(f.at(turned, 4 * (LANES * row + lane)), first, 4), 4)
