"""VGPR indexing: while MODE says so, M0 moves the vector registers of vector instructions.

Owns the patched copy of a decoded operation and the four instructions that control the mode. Registers reached by an index are
not checked for validity, only for lying in the register file. Source: CDNA3 ISA guide, "VGPR Indexing".
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.irkit import HANDLER, I8, I32, I64, PTR, Function, Value, const
from asmevo.backend.emulator.layout import LANES, OP, STATE
from asmevo.backend.emulator.memory_codegen import fault
from asmevo.ir.registers import EXEC, M0, MODE, VGPR0

CONTROLS = ("s_set_gpr_idx_on", "s_set_gpr_idx_off", "s_set_gpr_idx_mode", "s_set_gpr_idx_idx")
_ROW = 4 * LANES
_REGISTERS = 256


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


def build_indexed(module: ir.Module) -> None:
    """`asm_indexed(state, op)`: runs an operation with its registers moved; its status."""
    f = Function(module, "asm_indexed")
    state, op = f.args
    b = f.b
    patched = f.local(I8, OP.itemsize)
    with f.loop(OP.itemsize // 8) as n:
        f.store(f.load(I64, f.item(op, n, 8), 8), f.item(patched, n, 8), 8)
    m0 = f.load(I32, f.at(state, layout.unit_offset(M0)), 4)
    flags = b.zext(f.get(OP, op, "flags"), I32)
    distance = b.mul(b.and_(m0, const(32, 255)), const(32, _ROW))
    first = layout.offset(STATE, "vector")
    last = first + (_REGISTERS - 1) * _ROW
    target = const(32, 0)
    for k in range(4):
        nibble = b.and_(b.lshr(flags, const(32, 4 * k)), const(32, 15))
        there = b.icmp_unsigned("!=", nibble, const(32, 15))
        on = b.icmp_unsigned("!=", b.and_(m0, const(32, 1 << (12 + k))), const(32, 0))
        slot = f.item(f.at(patched, layout.offset(OP, "slot")), b.select(there, nibble, const(32, 0)), 4)
        old = f.load(I32, slot, 4)
        moved = b.add(old, b.select(b.and_(there, on), distance, const(32, 0)))
        outside = b.and_(there, b.icmp_unsigned(">", moved, const(32, last)))
        with f.when(outside, likely=False):
            f.ret(fault(f, state, "out-of-bounds", const(32, 0), const(64, 0)))
        f.store(moved, slot, 4)
        if k == 3:
            target = b.select(there, moved, const(32, 0))
    status = b.call(Typed(f.pointer(OP, op, "handler")), [state, patched])
    with f.when(b.icmp_unsigned("!=", target, const(32, 0))):
        unit = b.add(b.udiv(b.sub(target, const(32, first)), const(32, _ROW)), const(32, VGPR0))
        active = f.load(I64, f.at(state, layout.unit_offset(EXEC)), 4)
        with f.loop(b.zext(f.get(OP, op, "marks"), I64)) as n:
            valid = f.item(f.field(STATE, state, "valid"), b.add(b.zext(unit, I64), n), 8)
            f.store(b.or_(f.load(I64, valid, 8), active), valid, 8)
    b.ret(status)


class Typed:
    """An address with the type of a handler, as llvmlite's call instruction wants it."""

    def __init__(self, address: Value) -> None:
        self.address = address
        self.function_type = HANDLER
        self.type = address.type

    def get_reference(self) -> str:
        """The operand's text."""
        return self.address.get_reference()


__all__ = ["CONTROLS", "PTR", "Typed", "build_controls", "build_indexed"]
