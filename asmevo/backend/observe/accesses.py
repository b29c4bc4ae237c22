"""Which bytes a memory operation is about to touch, lane by lane, by the same native code that the engine computes them with.

Owns that code's extra functions and the Access they fill. It must not know what the accesses are wanted for.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from asmevo.backend.emulator import buffers, layout
from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.decode import decode
from asmevo.backend.emulator.form import Form, expressions
from asmevo.backend.emulator.form_key import form_key
from asmevo.backend.emulator.irkit import I32, I64, PTR, Function, Value, const
from asmevo.backend.emulator.layout import LANES
from asmevo.backend.emulator.native import native
from asmevo.backend.emulator.register_writes import CHUNK
from asmevo.backend.emulator.vector_memory import addresses
from asmevo.backend.observe.watch import Moment
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Space
from asmevo.ir.registers import EXEC
from asmevo.ir.semantics import program_of
from asmevo.ir.semantics.expr import Domain, MemoryOp

_TYPE = ir.FunctionType(I32, (PTR, PTR, PTR))
_POINTS = 2
Addresses = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Access:
    """One execution of a memory instruction: `addresses` shape (points, lanes) uint64, of active lanes in range only.

    `lanes` are their numbers; a scalar access has one, 0. `bytes` at each address. In LDS addresses count from the
    work-group's first byte. `out` are active lanes that a buffer's bounds left out. What it loads to LDS on the way is not
    in here.
    """

    space: Space
    bytes: int
    loads: bool
    stores: bool
    addresses: Addresses
    lanes: npt.NDArray[np.int64]
    out: int


@dataclass(slots=True)
class AccessReader:
    """Tells the accesses of the instructions of one target, in strict or fast runs."""

    target: str
    strict: bool
    _known: dict[int, tuple[Instruction, Callable[[Moment], Access | None] | None]] = field(default_factory=dict[int, Any])

    def is_access(self, i: Instruction) -> bool:
        """Whether the instruction touches memory in a way that can be told."""
        return self._reader(i) is not None

    def read(self, moment: Moment) -> Access | None:
        """The access that the wave is about to make; None when its instruction makes none that can be told."""
        reader = self._reader(moment.instruction)
        return None if reader is None else reader(moment)

    def _reader(self, i: Instruction) -> Callable[[Moment], Access | None] | None:
        found = self._known.get(id(i))
        if found is None or found[0] is not i:
            found = self._known[id(i)] = (i, _reader(i, self.target, self.strict))
        return found[1]


def _reader(i: Instruction, target: str, strict: bool) -> Callable[[Moment], Access | None] | None:
    program = program_of(i, target) if i.definition is not None else None
    if program is None or program.memory is None or i.definition is None or i.definition.space is None:
        return None
    form = decode(i, strict, target).form
    memory, space = program.memory, i.definition.space
    if form is None or space is Space.SCRATCH:
        return None  # The engine refuses the first too, when it is reached.
    key = hashlib.sha256(f"addresses {_version()} {form_key(form, False)}".encode()).hexdigest()
    address = native().function(f"a_{key[:32]}", lambda module, name: _build(module, name, form), key)
    function = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(address)
    points = len(memory.addresses)
    result = np.zeros(_POINTS * LANES + 2, np.uint64)
    loads = memory.dest is not None or memory.to_lds is not None
    stores = not loads or memory.atomic is not None

    def read(moment: Moment) -> Access | None:
        if function(*moment.addresses, result.ctypes.data):
            return None  # A descriptor that the engine refuses too.
        mask, out = int(result[-2]), int(result[-1])
        lanes = _lanes(mask)
        places = result[: points * LANES].reshape(points, LANES)[:, lanes]
        return Access(space, memory.bytes, loads or memory.atomic is not None, stores, places, lanes, out.bit_count())

    return read


def _lanes(mask: int) -> npt.NDArray[np.int64]:
    bits = np.frombuffer(mask.to_bytes(8, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little"))


def _version() -> str:
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def _build(module: ir.Module, name: str, form: Form) -> None:
    """`name(state, op, result)`: 64 addresses for each point, then the mask of lanes and that of lanes out of range."""
    f = Function(module, name, _TYPE)
    state, op, result = f.args
    memory = form.program.memory
    assert memory is not None
    m = Emitter(f, state, op, dict(form.places), {n: k for k, n in enumerate(form.modifiers)})
    m.prepare(expressions(form.program))
    if form.program.domain is Domain.SCALAR:
        mask, out = _scalar(m, memory, result)
    else:
        mask, out = _lanewise(m, memory, result)
    f.store(mask, f.at(result, 8 * _POINTS * LANES), 8)
    f.store(out, f.at(result, 8 * (_POINTS * LANES + 1)), 8)
    f.ret(0)


def _lanewise(m: Emitter, memory: MemoryOp, result: Value) -> tuple[Value, Value]:
    f = m.f
    mask: Value = f.load(I64, f.at(m.state, layout.unit_offset(EXEC)), 4)
    out: Value = const(64, 0)
    arrays = addresses(m, memory)
    if memory.resource is not None:
        span = buffers.resolve_addresses(m, memory, arrays[0], mask, CHUNK)
        mask, out = span.mask, span.out
    for point, array in enumerate(arrays):
        with f.loop(LANES) as lane:
            at = f.b.add(lane, const(64, LANES * point))
            f.store(f.load(I64, f.item(array, lane, 8), 8), f.item(result, at, 8), 8)
    return mask, out


def _scalar(m: Emitter, memory: MemoryOp, result: Value) -> tuple[Value, Value]:
    """As `scalar_memory.emit` computes it; with a descriptor it is in range when its first dword is."""
    f, b = m.f, m.f.b
    address = m.emit(memory.addresses[0])
    if memory.addresses[0].bits < 64:
        address = b.zext(address, I64)
    mask: Value = const(64, 1)
    if memory.resource is not None:
        at = m.slot(m.places[memory.resource].slot)
        offset = b.and_(address, const(64, -4))
        records = b.zext(f.load(I32, f.at(at, 8), 4), I64)
        mask = b.zext(b.icmp_signed(">=", b.sub(records, offset), const(64, 4)), I64)
        address = b.add(b.and_(f.load(I64, at, 4), const(64, 0xFFFF_FFFF_FFFC)), offset)
    f.store(b.and_(address, const(64, -4)), result, 8)
    return mask, b.xor(mask, const(64, 1))
