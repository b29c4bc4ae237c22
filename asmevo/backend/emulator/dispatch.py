"""The native dispatch loops and the handlers of control operations.

Owns fetching, counting, the budget, and in strict mode the place of the checks around each operation. It must not know what an
operation computes.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import hwreg, layout
from asmevo.backend.emulator.faulting import fault
from asmevo.backend.emulator.indexing import CONTROLS, Typed, indexed_symbol
from asmevo.backend.emulator.irkit import I32, I64, PTR, Function, const
from asmevo.backend.emulator.layout import ENTRY, OP, STATE
from asmevo.backend.emulator.queue_codegen import fill_load, new_entry
from asmevo.backend.emulator.validity import check_operation, mark
from asmevo.ir.registers import EXEC, MODE, SCC, VCC

RUN_TYPE = ir.FunctionType(I32, (PTR,))
BRANCHES = {
    "s_branch": (None, True),
    "s_cbranch_scc0": (SCC, False),
    "s_cbranch_scc1": (SCC, True),
    "s_cbranch_vccz": (VCC, False),
    "s_cbranch_vccnz": (VCC, True),
    "s_cbranch_execz": (EXEC, False),
    "s_cbranch_execnz": (EXEC, True),
}
"""Branches: the state tested, and whether the branch is taken when it is not zero."""


_SYMBOLS = {
    "s_waitcnt": "asm_wait",
    "s_barrier": "asm_barrier",
    "s_endpgm": "asm_end",
    "s_endpgm_saved": "asm_end",
    "s_trap": "asm_trap",
    "s_getreg_b32": "asm_getreg",
    "s_setreg_b32": "asm_setreg",
    "s_setreg_imm32_b32": "asm_setreg",
    "s_setvskip": "asm_setvskip",
    "s_memtime": "asm_clock",
    "s_memrealtime": "asm_clock",
}
_NOTHING = frozenset(
    {"s_nop", "s_sleep", "s_wakeup", "s_setprio", "s_icache_inv", "s_incperflevel", "s_decperflevel", "s_ttracedata"}
    | {"s_sethalt", "v_nop", "ds_nop", "v_clrexcp"}
)


def control_symbol(mnemonic: str, *, fence: bool) -> str | None:
    """The native function of a control operation; None when it is not modelled."""
    if mnemonic in BRANCHES or mnemonic in CONTROLS:
        return f"asm_{mnemonic}"
    if fence:
        return "asm_fence"
    return "asm_nop" if mnemonic in _NOTHING else _SYMBOLS.get(mnemonic)


def _build_mode_and_clock(module: ir.Module) -> None:
    """`asm_setvskip` and `asm_clock`."""
    f = Function(module, "asm_setvskip")
    state, op = f.args
    b = f.b
    first, second = (
        f.load(I32, f.at(state, b.zext(f.load(I32, f.at(op, layout.offset(OP, "slot") + 4 * n), 4), I64)), 4) for n in (0, 1)
    )
    skip = b.and_(b.lshr(first, b.and_(second, const(32, 31))), const(32, 1))
    mode = f.at(state, layout.unit_offset(MODE))
    kept = b.and_(f.load(I32, mode, 4), const(32, ~layout.VSKIP_ENABLE))
    f.store(b.or_(kept, b.mul(skip, const(32, layout.VSKIP_ENABLE))), mode, 4)
    f.ret(0)
    f = Function(module, "asm_clock")
    state, op = f.args
    slot = f.load(I32, f.at(op, layout.offset(OP, "slot")), 4)
    home = f.at(state, f.b.zext(slot, I64))
    now = f.get(STATE, state, "executed")
    f.store(now, home, 4)
    with f.when(f.b.icmp_unsigned("!=", f.get(STATE, state, "strict"), const(32, 0))):
        entry = new_entry(f, state, "smem")
        f.store(now, f.field(ENTRY, entry, "data"), 4)
        fill_load(f, state, entry, layout.ENTRY_SCALAR, f.b.lshr(slot, const(32, 2)), 2, const(64, -1))
    f.ret(0)


def build_control(module: ir.Module) -> None:
    """All control operations but s_waitcnt."""
    hwreg.build_access(module)
    _build_mode_and_clock(module)
    for mnemonic, (unit, taken) in BRANCHES.items():
        f = Function(module, f"asm_{mnemonic}")
        state, op = f.args
        target = f.get(OP, op, "target")
        if unit is None:
            f.put(STATE, state, "pc", target)
        else:
            kind = I32 if unit == SCC else I64
            value = f.load(kind, f.at(state, layout.unit_offset(unit)), 4)
            wanted = f.b.icmp_unsigned("!=" if taken else "==", value, ir.Constant(kind, 0))
            f.put(STATE, state, "pc", f.b.select(wanted, target, f.get(STATE, state, "pc")))
        f.ret(0)
    for name, status in (("asm_barrier", layout.BARRIER), ("asm_end", layout.END), ("asm_nop", layout.CONTINUE)):
        Function(module, name).ret(status)
    f = Function(module, "asm_fence")
    state = f.args[0]
    with f.when(f.b.icmp_unsigned("!=", f.get(STATE, state, "strict"), const(32, 0))):
        entry = new_entry(f, state, "vm")
        f.put(ENTRY, entry, "kind", layout.ENTRY_STORE)
        f.put(ENTRY, entry, "mask", ir.Constant(I64, 0))
        f.put(ENTRY, entry, "atomic", layout.FENCE)
    f.ret(0)
    for name, kind in (("asm_trap", "trap"), ("asm_refuse", "unsupported")):
        f = Function(module, name)
        f.ret(fault(f, f.args[0], kind, const(32, 0), const(64, 0)))


def build_run(module: ir.Module, strict: bool) -> None:
    """`asm_run_strict` and `asm_run_fast`: run one wave until a barrier, its end, a fault or the budget."""
    f = Function(module, "asm_run_strict" if strict else "asm_run_fast", RUN_TYPE)
    (state,) = f.args
    b = f.b
    head = b.append_basic_block("fetch")
    b.branch(head)
    b.position_at_end(head)
    executed = f.get(STATE, state, "executed")
    with f.when(b.icmp_unsigned(">=", executed, f.get(STATE, state, "limit")), likely=False):
        f.ret(layout.BUDGET)
    pc = f.get(STATE, state, "pc")
    with f.when(b.icmp_unsigned(">=", pc, f.get(STATE, state, "op_count")), likely=False):
        f.ret(fault(f, state, "bad-control-flow", const(32, 0), const(64, 0)))
    f.put(STATE, state, "executed", b.add(executed, const(64, 1)))
    f.put(STATE, state, "at", pc)
    f.put(STATE, state, "pc", b.add(pc, const(32, 1)))
    tally = f.item(f.pointer(STATE, state, "counts"), pc, 8)
    f.store(b.add(f.load(I64, tally, 8), const(64, 1)), tally, 8)
    op = f.item(f.pointer(STATE, state, "ops"), pc, OP.itemsize)
    mode = f.load(I32, f.at(state, layout.unit_offset(MODE)), 4)
    unusual = b.and_(mode, const(32, layout.GPR_INDEX_ENABLE | layout.VSKIP_ENABLE))
    with f.when(b.icmp_unsigned("!=", unusual, const(32, 0)), likely=False):
        skips = b.icmp_unsigned("!=", b.and_(mode, const(32, layout.VSKIP_ENABLE)), const(32, 0))
        with f.when(b.and_(skips, b.icmp_unsigned("!=", f.get(OP, op, "vector"), const(32, 0)))):
            b.branch(head)
        movable = b.icmp_unsigned("!=", f.get(OP, op, "flags"), const(16, layout.NOT_INDEXED))
        indexing = b.icmp_unsigned("!=", b.and_(mode, const(32, layout.GPR_INDEX_ENABLE)), const(32, 0))
        with f.when(b.and_(movable, indexing)):
            moved = b.call(f.external(indexed_symbol(strict), I32, PTR, PTR), [state, op])
            with f.when(b.icmp_unsigned("!=", moved, const(32, 0)), likely=False):
                b.ret(moved)
            b.branch(head)
    active = f.load(I64, f.at(state, layout.unit_offset(EXEC)), 4) if strict else None
    if active is not None:
        reads, writes = (b.zext(f.get(OP, op, name), I64) for name in ("reads", "writes"))
        check_operation(f, state, op, f.pointer(OP, op, "units"), reads, writes, active)
    handler = f.pointer(OP, op, "handler")
    status = b.call(Typed(handler), [state, op])
    with f.when(b.icmp_unsigned("!=", status, const(32, 0)), likely=False):
        b.ret(status)
    if active is not None:
        reads, marks = (b.zext(f.get(OP, op, name), I64) for name in ("reads", "marks"))
        mark(f, state, f.pointer(OP, op, "units"), reads, marks, active)
    b.branch(head)
