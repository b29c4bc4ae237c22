"""Builds the handlers of operations that are not lane by lane, by intrinsic name.

Owns v_writelane_b32, ds_permute_b32, ds_append and ds_consume, and the table from name to builder; matrix operations stand
in `matrix_codegen`, transposing reads in `transpose_codegen`.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import atomics, layout, matrix_codegen, transpose_codegen
from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.form import Form
from asmevo.backend.emulator.irkit import I32, I64, Function, const
from asmevo.backend.emulator.layout import LANES, STATE
from asmevo.backend.emulator.register_writes import blend, defer, dest_unit
from asmevo.diagnostics import fail
from asmevo.ir.registers import EXEC, M0
from asmevo.ir.semantics.matrix import operation_of

_COUNTERS = ("ds_append", "ds_consume")
MODIFIERS: dict[str, tuple[str, ...]] = {name: ("offset",) for name in ("ds_permute_b32", *_COUNTERS)}
"""The integer modifiers that an intrinsic's handler reads."""


def build_intrinsic(module: ir.Module, name: str, form: Form, strict: bool) -> None:
    """Adds the handler of an intrinsic form to `module`; E0507 when the emulator has none."""
    intrinsic = form.program.intrinsic
    f = Function(module, name)
    m = Emitter(f, f.args[0], f.args[1], dict(form.places), {n: k for k, n in enumerate(form.modifiers)})
    if intrinsic == "v_writelane_b32":
        _write_lane(m, strict)
    elif intrinsic == "ds_permute_b32":
        _permute(m, form, strict)
    elif intrinsic in _COUNTERS:
        _count(m, form, strict)
    elif form.program.memory is not None:
        transpose_codegen.emit(m, form, strict)
    elif (operation := operation_of(str(intrinsic))) is not None:
        matrix_codegen.build(m, operation)
    else:
        fail("E0507", f"the emulator has no '{intrinsic}'")
    f.ret(layout.CONTINUE)


def _write_lane(m: Emitter, strict: bool) -> None:
    f, b = m.f, m.f.b
    value = f.load(I32, m.slot(m.places["src0"].slot), 4)
    lane = b.and_(f.load(I32, m.slot(m.places["src1"].slot), 4), const(32, LANES - 1))
    f.store(value, f.item(m.slot(m.places["vdst"].slot), lane, 4), 4)
    if strict:
        valid = f.item(f.field(STATE, m.state, "valid"), dest_unit(m, "vdst"), 8)
        bit = b.shl(const(64, 1), b.zext(lane, I64))
        f.store(b.or_(f.load(I64, valid, 8), bit), valid, 8)


def _permute(m: Emitter, form: Form, strict: bool) -> None:
    """Pushes each active lane's data to the lane its address names; the highest active source wins."""
    f, b = m.f, m.f.b
    landed = f.local(I32, LANES)
    mask = f.load(I64, f.at(m.state, layout.unit_offset(EXEC)), 4)
    offset = b.trunc(f.load(I64, f.at(m.op, layout.offset(layout.OP, "imm")), 8), I32)
    addresses, data = (m.slot(m.places[n].slot) for n in ("addr", "data0"))
    with f.loop(LANES) as lane:
        f.store(const(32, 0), f.item(landed, lane, 4), 4)
    with f.each_lane(mask) as lane:
        address = b.add(f.load(I32, f.item(addresses, lane, 4), 4), offset)
        target = b.and_(b.lshr(address, const(32, 2)), const(32, LANES - 1))
        f.store(f.load(I32, f.item(data, lane, 4), 4), f.item(landed, target, 4), 4)
    blend(f, m.slot(m.places["vdst"].slot), landed, mask)
    if strict and form.deferred:
        defer(m, "vdst", form.deferred)


def _count(m: Emitter, form: Form, strict: bool) -> None:
    """The LDS dword at M0 + offset changes by the number of active lanes, and they get what it was."""
    f, b = m.f, m.f.b
    mask = f.load(I64, f.at(m.state, layout.unit_offset(EXEC)), 4)
    home = m.slot(m.places["vdst"].slot)
    with f.when(b.icmp_unsigned("!=", mask, const(64, 0))):
        offset = f.load(I64, f.at(m.op, layout.offset(layout.OP, "imm")), 8)
        base = b.and_(f.load(I32, f.at(m.state, layout.unit_offset(M0)), 4), const(32, 0xFFFF))
        address = b.add(b.zext(base, I64), offset)
        at = atomics.place(m, "lds", address, const(64, 0), 4, strict)
        old = f.load(I32, at)
        lanes = b.trunc(b.call(f.intrinsic("llvm.ctpop.i64", I64, I64), [mask]), I32)
        f.store(b.add(old, lanes) if form.program.intrinsic == "ds_append" else b.sub(old, lanes), at)
        with f.each_lane(mask) as lane:
            f.store(old, f.item(home, lane, 4), 4)
    if strict and form.deferred:
        defer(m, "vdst", form.deferred)
