"""VGPR indexing: while MODE says so, M0 moves the vector registers of vector instructions.

Owns the moved copy of a decoded operation, which of an instruction's operands move, and the four instructions that control the
mode. Source: CDNA3 ISA guide, "VGPR Indexing".
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from llvmlite import ir

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.faulting import fault
from asmevo.backend.emulator.irkit import HANDLER, I8, I16, I32, I64, Function, Value, const
from asmevo.backend.emulator.layout import LANES, OP, STATE
from asmevo.backend.emulator.validity import check_operation, mark
from asmevo.ir.instruction import Instruction, Register
from asmevo.ir.isa.model import Family, Role
from asmevo.ir.registers import AGPR0, EXEC, M0, MODE, VGPR0

CONTROLS = ("s_set_gpr_idx_on", "s_set_gpr_idx_off", "s_set_gpr_idx_mode", "s_set_gpr_idx_idx")
MOST_UNITS = 64
"""How many unit entries an operation may have under indexing."""
_BITS = {"src0": 1, "src1": 2, "src2": 4, "vdst": 8}
"""The enable bit of each operand."""
_MODIFIERS = frozenset({"clamp", "mul", "div"})
_PACKED_MODIFIERS = _MODIFIERS | {"op_sel", "op_sel_hi", "neg_lo", "neg_hi"}
_FAMILIES = frozenset({Family.VOP1, Family.VOP2, Family.VOP3, Family.VOP3P, Family.VOPC})


@dataclass(frozen=True, slots=True)
class Movable:
    """What indexing moves of an operation: its flags, and its unit entries with their index bits, `reads` of them first."""

    flags: int
    units: bytes
    reads: int


def movable(i: Instruction, checked: bytes, reads: int) -> Movable:
    """Adds index bits to an operation's u16 unit entries; a unit that several sources name gets an entry for each.

    The flags are NOT_INDEXED for what is no vector ALU operation or has no vector operand, and NOT_INDEXABLE for what is not
    modelled under indexing: DPP, SDWA and matrix operations, half registers, accumulation registers, and destinations that are
    sources too, but for v_writelane_b32.
    """
    assert i.definition is not None
    vectors = [
        (slot, spec, operand.range)
        for slot, (spec, operand) in enumerate(zip(i.definition.operands, i.operands, strict=True))
        if isinstance(operand, Register) and operand.range.unit >= VGPR0
    ]
    if not vectors or not i.mnemonic.startswith("v_"):
        return Movable(layout.NOT_INDEXED, checked, reads)
    entries = [int(entry) for entry in np.frombuffer(checked, np.uint16)]
    named = _PACKED_MODIFIERS if i.definition.family is Family.VOP3P else _MODIFIERS
    modelled = (
        i.definition.family in _FAMILIES
        and not i.mnemonic.endswith(("_dpp", "_sdwa"))
        and all(modifier.name in named for modifier in i.modifiers)
        and all(place.unit < AGPR0 for _, _, place in vectors)
        and (all(spec.role is not Role.READ_WRITE for _, spec, _ in vectors) or i.mnemonic.startswith("v_writelane_b32"))
        and len(entries) <= MOST_UNITS // 2
    )
    if not modelled:
        return Movable(layout.NOT_INDEXABLE, checked, reads)
    slots = {spec.name: slot for slot, spec, _ in vectors}
    flags = sum(slots.get(name, 15) << 4 * k for k, name in enumerate(_BITS))
    halves = (entries[:reads], Role.WRITE), (entries[reads:], Role.READ)
    read, written = (
        [
            entry | bits << layout.INDEX_SHIFT
            for entry in half
            for bits in [
                _BITS[spec.name]
                for _, spec, place in vectors
                if place.mask >> (entry & layout.UNIT_BITS) & 1 and spec.role is not other
            ]
            or [0]
        ]
        for half, other in halves
    )
    return Movable(flags, np.array(read + written, np.uint16).tobytes(), len(read))


def build_controls(module: ir.Module) -> None:
    """`asm_s_set_gpr_idx_*`: slot 0 is the index, imm 0 what it moves."""
    for name in CONTROLS:
        f = Function(module, f"asm_{name}")
        state, op = f.args
        b = f.b
        mode, m0 = (f.at(state, layout.unit_offset(unit)) for unit in (MODE, M0))
        if name in ("s_set_gpr_idx_on", "s_set_gpr_idx_off"):
            value = b.and_(f.load(I32, mode, 4), const(32, ~layout.GPR_INDEX_ENABLE))
            on = layout.GPR_INDEX_ENABLE if name.endswith("_on") else 0
            f.store(b.or_(value, const(32, on)), mode, 4)
        if name in ("s_set_gpr_idx_on", "s_set_gpr_idx_idx"):
            slot = f.load(I32, f.at(op, layout.offset(OP, "slot")), 4)
            index = b.and_(f.load(I32, f.at(state, b.zext(slot, I64)), 4), const(32, 255))
            f.store(b.or_(b.and_(f.load(I32, m0, 4), const(32, ~255)), index), m0, 4)
        if name in ("s_set_gpr_idx_on", "s_set_gpr_idx_mode"):
            moved = b.trunc(f.load(I64, f.at(op, layout.offset(OP, "imm")), 8), I32)
            f.store(b.or_(b.and_(f.load(I32, m0, 4), const(32, ~0xF000)), b.shl(moved, const(32, 12))), m0, 4)
        f.ret(0)


def indexed_symbol(strict: bool) -> str:
    """The native function that runs an operation under VGPR indexing."""
    return f"asm_indexed_{'strict' if strict else 'fast'}"


def build_indexed(module: ir.Module, strict: bool) -> None:
    """`asm_indexed_*(state, op)`: runs an operation with its registers moved; its status.

    A register moved out of those the wave has is a fault. Strict mode checks and marks the registers that are really touched.
    """
    f = Function(module, indexed_symbol(strict))
    state, op = f.args
    b = f.b
    flags = b.zext(f.get(OP, op, "flags"), I32)
    with f.when(b.icmp_unsigned("==", flags, const(32, layout.NOT_INDEXABLE)), likely=False):
        f.ret(fault(f, state, "unsupported", const(32, 0), const(64, 0)))
    m0 = f.load(I32, f.at(state, layout.unit_offset(M0)), 4)
    index = b.and_(m0, const(32, 255))
    enables = b.and_(b.lshr(m0, const(32, 12)), const(32, 15))
    reads, writes, marks = (b.zext(f.get(OP, op, name), I64) for name in ("reads", "writes", "marks"))
    units = _moved_units(f, state, op, index, enables, b.add(reads, writes))
    patched = _moved_operation(f, op, flags, index, enables)
    active = f.load(I64, f.at(state, layout.unit_offset(EXEC)), 4)
    if strict:
        check_operation(f, state, op, units, reads, writes, active)
    status = b.call(Typed(f.pointer(OP, op, "handler")), [state, patched])
    if strict:
        mark(f, state, units, reads, marks, active)
    b.ret(status)


def _moved_units(f: Function, state: Value, op: Value, index: Value, enables: Value, count: Value) -> Value:
    """The operation's unit entries with the index added; returns a fault when one leaves the wave's VGPRs."""
    b = f.b
    source = f.pointer(OP, op, "units")
    units = f.local(I16, MOST_UNITS)
    end = b.add(f.get(STATE, state, "vgprs"), const(32, VGPR0))
    with f.loop(count) as n:
        entry = b.zext(f.load(I16, f.item(source, n, 2), 2), I32)
        wanted = b.and_(b.lshr(entry, const(32, layout.INDEX_SHIFT)), enables)
        distance = b.select(b.icmp_unsigned("!=", wanted, const(32, 0)), index, const(32, 0))
        unit = b.add(b.and_(entry, const(32, layout.UNIT_BITS)), distance)
        moved = b.icmp_unsigned("!=", distance, const(32, 0))
        outside = b.and_(moved, b.icmp_unsigned(">=", unit, end))
        with f.when(outside, likely=False):
            f.put(STATE, state, "fault_unit", unit)
            f.ret(fault(f, state, "out-of-bounds", const(32, 0), const(64, 0)))
        kept = b.and_(entry, const(32, 3 << layout.NEED_SHIFT))
        f.store(b.trunc(b.or_(unit, kept), I16), f.item(units, n, 2), 2)
    return units


def _moved_operation(f: Function, op: Value, flags: Value, index: Value, enables: Value) -> Value:
    """A copy of the operation whose vector slots have the index added."""
    b = f.b
    patched = f.local(I8, OP.itemsize)
    with f.loop(OP.itemsize // 8) as n:
        f.store(f.load(I64, f.item(op, n, 8), 8), f.item(patched, n, 8), 8)
    for k in range(4):
        nibble = b.and_(b.lshr(flags, const(32, 4 * k)), const(32, 15))
        there = b.icmp_unsigned("!=", nibble, const(32, 15))
        on = b.icmp_unsigned("!=", b.and_(enables, const(32, 1 << k)), const(32, 0))
        with f.when(b.and_(there, on)):
            slot = f.item(f.at(patched, layout.offset(OP, "slot")), nibble, 4)
            f.store(b.add(f.load(I32, slot, 4), b.mul(index, const(32, 4 * LANES))), slot, 4)
    return patched


class Typed:
    """An address with the type of a handler, as llvmlite's call instruction wants it."""

    def __init__(self, address: Value) -> None:
        self.address = address
        self.function_type = HANDLER
        self.type = address.type

    def get_reference(self) -> str:
        """The operand's text."""
        return self.address.get_reference()
