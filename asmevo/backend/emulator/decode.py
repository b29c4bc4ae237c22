"""Decodes an instruction into what the dispatch loop needs of it.

Owns the mapping from an instruction to its handler, operand slots, constants and checked units. Each instruction is decoded
once for the process, so that a candidate that differs in a window costs only that window; forms are compiled once.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from asmevo.backend.emulator import hwreg, layout
from asmevo.backend.emulator.codegen import Place, special_kind
from asmevo.backend.emulator.dispatch import control_symbol
from asmevo.backend.emulator.floats import ROUNDED
from asmevo.backend.emulator.form import Form, expressions, nodes
from asmevo.backend.emulator.form_key import form_key
from asmevo.backend.emulator.handlers import build_handler
from asmevo.backend.emulator.indexing import CONTROLS, movable
from asmevo.backend.emulator.intrinsics import MODIFIERS, build_intrinsic
from asmevo.backend.emulator.native import native
from asmevo.diagnostics import DiagnosticError, fail
from asmevo.ir.effects import Effects, effects, unread_halves
from asmevo.ir.instruction import Immediate, Instruction, Label, Register, Symbolic, WaitCounts
from asmevo.ir.isa import base_mnemonic
from asmevo.ir.isa.model import Access, Counter, Family, IssueClass, Role, Space
from asmevo.ir.registers import (
    EXEC,
    EXECZ,
    HWREG,
    M0,
    MODE,
    UNIT_COUNT,
    VCCZ,
    VECTOR_MASK,
    VGPR0,
    VSKIP,
    RegisterFile,
    units,
)
from asmevo.ir.semantics import program_of, source_bits, unsupported_reason
from asmevo.ir.semantics.expr import Domain, Extend, Op, Program
from asmevo.ir.semantics.matrix import MatrixOperation, operation_of

_SPACES = {
    Space.LDS: "lds",
    Space.BUFFER: "buffer",
    Space.SCALAR: "scalar",
    Space.SCRATCH: "scratch",
    Space.FLAT: "flat",
}
_OPEN = (1 << 63) - 1
_VECTOR = frozenset({IssueClass.VALU, IssueClass.TRANS, IssueClass.MATRIX, IssueClass.LDS, IssueClass.VMEM, IssueClass.FLAT})
_READ_ANY = frozenset({"v_readlane_b32", "v_writelane_b32"})
_READ_FIRST = frozenset({"v_readfirstlane_b32"})
_COHERENT_BITS = frozenset({"sc0", "sc1", "glc", "scc"})
_ALWAYS = sum(1 << unit for unit in (EXEC, EXEC + 1, MODE, VSKIP, HWREG, VCCZ, EXECZ))
"""Units that hold a value from the start and that no deferred result may name, so that they need no check."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """One instruction, independent of the kernel it stands in; `slots` below 0 are constants, -1 - index.

    `form` is what its handler was built from; None when it has none of its own.
    """

    handler: int
    slots: tuple[int, ...]
    constants: tuple[int, ...]
    immediates: tuple[int, ...]
    units: bytes
    reads: int
    writes: int
    marks: int
    label: str | None
    approximate: bool
    problem: str | None
    form: Form | None = None
    flags: int = layout.NOT_INDEXED
    serial: bool = False
    vector: bool = False
    coherent: bool = False
    whole: bool = False
    """Whether operands must be valid in all lanes, also in those outside EXEC."""
    in_order: int = 0
    """RETURNS and REPLACES, of vector loads."""


_decoded: dict[tuple[object, ...], Decoded] = {}
_by_identity: dict[tuple[int, bool, str, bool], tuple[Instruction, Decoded]] = {}
_CACHE_LIMIT = 1 << 18


def decode(i: Instruction, strict: bool = True, target: str = "gfx942", rounds: bool = False) -> Decoded:
    """The decoded form of an instruction of a target, for strict or fast runs.

    `rounds`: MODE may ask for a rounding other than to nearest even, so float operations look.
    """
    known = _by_identity.get((id(i), strict, target, rounds))
    if known is not None and known[0] is i:
        return known[1]
    if len(_by_identity) >= _CACHE_LIMIT:
        _by_identity.clear()
        _decoded.clear()
    key = (i.mnemonic, i.operands, i.modifiers, strict, target, rounds)
    found = _decoded.get(key)
    if found is None:
        found = _decoded[key] = _decode(i, strict, target, rounds)
    _by_identity[id(i), strict, target, rounds] = (i, found)
    return found


def _refusal(why: str) -> Decoded:
    return Decoded(native().symbol("asm_refuse"), (), (), (), b"", 0, 0, 0, None, False, why)


def _decode(i: Instruction, strict: bool, target: str, rounds: bool) -> Decoded:
    if i.definition is None:
        return _refusal(f"raw data or unknown instruction '{i.mnemonic}'")
    program = program_of(i, target)
    if program is None:
        return _refusal(f"no semantics for '{i.mnemonic}': {unsupported_reason(i.mnemonic)}")
    try:
        decoded = _decode_program(i, program, strict, rounds)
        return replace(
            decoded,
            vector=i.definition.issue in _VECTOR,
            coherent=_is_coherent(i, program),
            whole=_needs_all(i),
            in_order=_order(i, program),
        )
    except DiagnosticError as error:
        return _refusal(error.diagnostics[0].message)


def _is_coherent(i: Instruction, program: Program) -> bool:
    """Whether the access of global memory is atomic, or is marked to be seen beyond the wave."""
    assert i.definition is not None
    if program.memory is None or i.definition.space is Space.LDS:
        return False
    return program.memory.atomic is not None or any(m.name in _COHERENT_BITS and m.value for m in i.modifiers)


def _needs_all(i: Instruction) -> bool:
    """Whether an instruction works on all lanes, whatever EXEC is."""
    assert i.definition is not None
    return i.definition.issue is IssueClass.MATRIX and not base_mnemonic(i.mnemonic).startswith("v_accvgpr")


def _order(i: Instruction, program: Program) -> int:
    """What of RETURNS and REPLACES an instruction has.

    Flat loads may come from LDS, out of order; a load of half a register needs the other half.
    """
    assert i.definition is not None
    memory, counters = program.memory, i.definition.counters
    if memory is None or memory.dest is None or Counter.VMCNT not in counters or Counter.LGKMCNT in counters:
        return 0
    whole = memory.atomic is None and memory.extend in (Extend.NONE, Extend.ZERO, Extend.SIGN)
    return layout.RETURNS | (layout.REPLACES if whole else 0)


def _decode_program(i: Instruction, program: Program, strict: bool, rounds: bool) -> Decoded:
    assert i.definition is not None
    definition = i.definition
    places: list[tuple[str, Place]] = []
    slots: list[int] = []
    constants: list[int] = []
    for index, (spec, operand) in enumerate(zip(definition.operands, i.operands, strict=True)):
        kind = "-"
        slot = 0
        bits = spec.bits
        if isinstance(operand, Register):
            unit = operand.range.unit
            bits = 32 * operand.range.count
            vector = operand.range.file in (RegisterFile.VGPR, RegisterFile.AGPR)
            if not 0 <= unit <= unit + operand.range.count <= (UNIT_COUNT if vector else VGPR0):
                fail("E0507", f"'{i.mnemonic}' names registers beyond the register file")
            kind = "v" if vector else special_kind(unit) or "s"
            slot = layout.unit_offset(unit)
        elif isinstance(operand, Immediate) or (isinstance(operand, Symbolic) and operand.value is not None):
            kind = "s"
            constants.append(source_bits(i, spec.name))
            slot = -len(constants)
            bits = max(bits, 64)
        places.append((spec.name, Place(index, kind, bits)))
        slots.append(slot)
    if len(slots) > layout.SLOTS:
        fail("E0507", f"'{i.mnemonic}' has more operands than a decoded operation holds")
    if program.domain is Domain.CONTROL:
        return _control(i, slots, constants)
    modifiers = tuple(sorted({str(e.attr) for e in nodes(expressions(program)) if e.op is Op.IMM}))
    if program.domain is Domain.INTRINSIC:
        modifiers = ("offset",) if program.memory is not None else MODIFIERS.get(str(program.intrinsic), ())
    if len(modifiers) > layout.IMMEDIATES:
        fail("E0507", f"'{i.mnemonic}' has more integer modifiers than a decoded operation holds")
    space = _SPACES.get(definition.space, "global") if definition.space is not None else ""
    deferred = ""
    if program.memory is None and Counter.LGKMCNT in definition.counters:
        deferred = "smem" if definition.family is Family.SMEM else "lds"
    waits = bool(deferred) or (program.memory is not None and program.memory.dest is not None)
    if waits and any(isinstance(o, Register) and o.range.mask & _ALWAYS for o in i.operands):
        fail("E0507", f"the emulator does not load the special registers that '{i.mnemonic}' names")
    _check_widths(i, program, dict(places))
    # Atomics round to nearest even whatever MODE says.
    directed = rounds and program.memory is None and any(e.op in ROUNDED for e in nodes(expressions(program)))
    selected = _selected_sources(i) if strict else 0
    # A load of half a register leaves the other half alone: that is no read.
    kept = _named(i, program.memory.dest) if program.memory is not None and program.memory.dest is not None else 0
    form = Form(program, tuple(places), modifiers, space, deferred, bool(selected), directed)
    key = form_key(form, strict)
    name = f"h_{key[:32]}"
    build: Callable[..., None] = build_intrinsic if program.domain is Domain.INTRINSIC else build_handler
    address = native().function(name, lambda module, symbol: build(module, symbol, form, strict), key)
    immediates = tuple(_integer(i, modifier) for modifier in modifiers)
    masked = program.domain is Domain.LANE and any(w.enable is not None for w in program.writes)
    checked, reads, writes = _units(i, keeps=masked, ignored=selected | kept)
    marks = 0 if waits or masked or base_mnemonic(i.mnemonic) == "v_writelane_b32" else writes
    moved = movable(i, checked, reads)
    return Decoded(
        address,
        tuple(slots),
        tuple(constants),
        immediates,
        moved.units,
        moved.reads,
        writes,
        marks,
        None,
        program.approximate,
        None,
        form,
        moved.flags,
        program.memory is not None and program.memory.atomic is not None and definition.space is not Space.LDS,
    )


def _selected_sources(i: Instruction) -> int:
    """The units of the sources that v_cndmask_b32 chooses between, whose handler checks them lane by lane; 0 for all else.

    A source from another lane (DPP) is checked as any other.
    """
    if base_mnemonic(i.mnemonic) != "v_cndmask_b32" or i.mnemonic.endswith("_dpp") or i.definition is None:
        return 0
    return (_named(i, "src0") | _named(i, "src1")) & VECTOR_MASK


def _named(i: Instruction, name: str) -> int:
    """The units of an operand; 0 where it is no register."""
    assert i.definition is not None
    for spec, operand in zip(i.definition.operands, i.operands, strict=True):
        if spec.name == name and isinstance(operand, Register):
            return operand.range.mask
    return 0


def _check_widths(i: Instruction, program: Program, places: dict[str, Place]) -> None:
    """Refuses operands narrower than what the program moves: native code does not check them again."""
    wanted = [(w.target, w.value.bits) for w in program.writes if w.value.bits > 1]
    memory = program.memory
    if memory is not None:
        total = 8 * memory.bytes * len(memory.addresses)
        wanted += [(memory.dest, total)] if memory.dest else []
        wanted += [(name, 8 * memory.bytes) for name in memory.data]
    operation = operation_of(str(program.intrinsic)) if program.domain is Domain.INTRINSIC else None
    if operation is not None:
        wanted += _matrix_widths(operation)
    for name, bits in wanted:
        place = places.get(name)
        if place is not None and place.kind == "v" and place.bits < bits:
            fail("E0507", f"operand '{name}' of '{i.mnemonic}' has {place.bits} bits, not {bits}")
        if place is not None and place.kind == "-":
            fail("E0507", f"operand '{name}' of '{i.mnemonic}' is no register")


def _matrix_widths(operation: MatrixOperation) -> list[tuple[str, int]]:
    shape = operation.shape
    result = shape.results_per_lane * shape.result_bits
    sources = [("src0", shape.per_lane_a * shape.element_bits), ("src1", shape.per_lane * shape.element_bits_b)]
    return [*sources, ("vdst", result), ("src2", result), ("idx", 32), ("scale0", 32), ("scale1", 32)]


def _integer(i: Instruction, modifier: str) -> int:
    value = i.modifier(modifier, 0)
    if not isinstance(value, int):
        fail("E0507", f"modifier '{modifier}' of '{i.mnemonic}' is not an integer")
    return int(value) & 0xFFFF_FFFF_FFFF_FFFF


def _control(i: Instruction, slots: list[int], constants: list[int]) -> Decoded:
    assert i.definition is not None
    immediates: tuple[int, ...] = ()
    label = None
    symbol = control_symbol(base_mnemonic(i.mnemonic), fence=i.definition.access is Access.FENCE)
    if symbol is None:
        fail("E0507", f"the emulator does not run '{i.mnemonic}'")
    if symbol == "asm_fence" and Counter.VMCNT not in i.definition.counters:
        symbol = "asm_nop"
    for spec, operand in zip(i.definition.operands, i.operands, strict=True):
        if isinstance(operand, WaitCounts):
            immediates = tuple(_OPEN if n is None else n for n in (operand.vmcnt, operand.lgkmcnt))
        elif isinstance(operand, Label):
            label = operand.name
        elif i.mnemonic in CONTROLS and spec.name in ("gpr_idx", "simm16"):
            immediates = (source_bits(i, spec.name) & 15,)
        elif isinstance(operand, Symbolic) and symbol in ("asm_getreg", "asm_setreg"):
            number, low, size = hwreg.field(operand.text) or fail("E0507", f"the emulator does not model {operand.text}")
            hwreg.check(operand.text, number, writes=symbol == "asm_setreg")
            immediates = (low, (1 << size) - 1, number)
    # VGPR indexing changes fields of M0 and leaves the rest, whatever it is.
    keeps = 1 << M0 if i.mnemonic in CONTROLS else 0
    checked, reads, writes = _units(i, ignored=keeps) if i.operands else (b"", 0, 0)
    marks = 0 if symbol == "asm_clock" or i.mnemonic in CONTROLS else writes
    return Decoded(
        native().symbol(symbol),
        tuple(slots),
        tuple(constants),
        immediates,
        checked,
        reads,
        writes,
        marks,
        label,
        False,
        None,
        serial=symbol == "asm_clock",
    )


def _units(i: Instruction, *, keeps: bool = False, ignored: int = 0) -> tuple[bytes, int, int]:
    """The checked units, reads before writes, as u16 entries.

    `keeps`: lanes that are not written keep the destination, which does not count as reading it. `ignored` are units that
    need not be valid.
    """
    assert i.definition is not None
    touched = effects(i)
    if keeps:
        read = 0
        for spec, operand in zip(i.definition.operands, i.operands, strict=True):
            if spec.role is not Role.WRITE and isinstance(operand, Register):
                read |= operand.range.mask
        touched = Effects(touched.reads & (read | ~VECTOR_MASK), touched.writes, touched.kills)
    need = layout.NEED_ACTIVE
    if _needs_all(i):
        need = layout.NEED_ALL
    elif base_mnemonic(i.mnemonic) in _READ_ANY:
        need = layout.NEED_ANY
    elif base_mnemonic(i.mnemonic) in _READ_FIRST:
        need = layout.NEED_FIRST
    unneeded = ignored | unread_halves(i) | _ALWAYS
    reads = [_entry(unit, need) for unit in units(touched.reads & ~unneeded)]
    writes = [_entry(unit, need) for unit in units(touched.writes & ~_ALWAYS)]
    return np.array(reads + writes, np.uint16).tobytes(), len(reads), len(writes)


def _entry(unit: int, need: int) -> int:
    return unit | (need if unit >= VGPR0 else layout.NEED_ALL) << 10
