"""Native functions that record a fault, and that let one be forgiven.

Owns the first step of every report. It must not decide what is a fault. An operation whose faults are forgiven goes on: what it
waits for is delivered first, so that one missing wait gives one report.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.irkit import I32, I64, PTR, Function, Value, const
from asmevo.backend.emulator.layout import KIND, OP, STATE

FAULT_TYPE = ir.FunctionType(I32, (PTR, I32, I32, I64))
DRAIN_TYPE = ir.FunctionType(I32, (PTR,))
QUEUES = ("vm", "lds", "smem")


def check(f: Function, status: Value) -> None:
    """Returns from the function when a call failed."""
    with f.when(f.b.icmp_unsigned("!=", status, const(32, 0)), likely=False):
        f.b.ret(status)


def fault(f: Function, state: Value, kind: Value | str, lane: Value, address: Value) -> Value:
    """Records a fault; the status to return, 0 when it is forgiven."""
    number = const(32, KIND[kind]) if isinstance(kind, str) else kind
    lane32 = lane if lane.type == I32 else f.b.trunc(lane, I32)
    return f.b.call(f.external("asm_fault", I32, *FAULT_TYPE.args), [state, number, lane32, address])


def refuse(f: Function, state: Value, condition: Value, kind: Value | str, lane: Value, address: Value) -> None:
    """Returns a fault from the function when `condition` holds, unless it is forgiven."""
    with f.when(condition, likely=False):
        check(f, fault(f, state, kind, lane, address))


def build(module: ir.Module) -> None:
    """`asm_fault(state, kind, lane, address)` and `asm_drain(state)`, which delivers all that is outstanding."""
    f = Function(module, "asm_drain", DRAIN_TYPE)
    (state,) = f.args
    for queue in QUEUES:
        with f.loop(f.b.zext(f.get(STATE, state, f"{queue}_count"), I64)):
            check(f, f.b.call(f.external(f"asm_pop_{queue}", I32, PTR), [state]))
    f.ret(0)
    f = Function(module, "asm_fault", FAULT_TYPE)
    state, kind, lane, address = f.args
    b = f.b
    op = f.item(f.pointer(STATE, state, "ops"), f.get(STATE, state, "at"), OP.itemsize)
    forgiven = b.and_(b.lshr(f.get(OP, op, "forgiven"), kind), const(32, 1))
    with f.when(b.icmp_unsigned("!=", forgiven, const(32, 0)), likely=False):
        read, write = (b.icmp_unsigned("==", kind, const(32, KIND[name])) for name in ("pending-read", "pending-write"))
        with f.when(b.or_(read, write)):
            f.put(STATE, state, "fault_unit", 0)
            f.ret(b.call(f.external("asm_drain", I32, PTR), [state]))
        f.put(STATE, state, "fault_unit", 0)
        f.ret(0)
    f.put(STATE, state, "fault", kind)
    f.put(STATE, state, "fault_lane", lane)
    f.put(STATE, state, "fault_address", address)
    f.ret(layout.FAULT)
