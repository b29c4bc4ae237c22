"""Hardware registers that s_getreg and s_setreg reach: which are modelled, what they hold, and their native access.

Where a wave runs is not modelled, so HW_ID and XCC_ID are made from the work-group's number: group n runs on die n modulo 8,
and its waves go round the four SIMDs. STATUS tells SCC, EXECZ and VCCZ, whether the work-group has several waves, and VALID.
TRAPSTS holds what was written to it: no exception is modelled. The others are constant. Source: CDNA3 ISA guide, "Hardware
Registers".
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import re

from llvmlite import ir

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.irkit import I32, I64, Function, Value, const
from asmevo.backend.emulator.layout import OP, STATE
from asmevo.diagnostics import fail
from asmevo.ir.registers import EXEC, MODE, SCC, VCC
from asmevo.ir.semantics.form import PRIVATE_APERTURE, SHARED_APERTURE
from asmevo.ir.symbols import HWREG_IDS

MODE_NUMBER = HWREG_IDS["HW_REG_MODE"]
_STATUS, _TRAPSTS, _HW_ID, _XCC_ID = (HWREG_IDS[f"HW_REG_{name}"] for name in ("STATUS", "TRAPSTS", "HW_ID", "XCC_ID"))
_GPR_ALLOC, _LDS_ALLOC, _IB_STS, _BASES = (
    HWREG_IDS[f"HW_REG_{name}"] for name in ("GPR_ALLOC", "LDS_ALLOC", "IB_STS", "SH_MEM_BASES")
)
_READABLE = frozenset({MODE_NUMBER, _STATUS, _TRAPSTS, _HW_ID, _XCC_ID, _GPR_ALLOC, _LDS_ALLOC, _IB_STS, _BASES})
_WRITABLE = frozenset({MODE_NUMBER, _TRAPSTS})
_TEXT = re.compile(r"hwreg\(\s*(\w+)\s*(?:,\s*(\d+)\s*,\s*(\d+))?\s*\)", re.IGNORECASE)
_DIES, _UNITS, _ENGINES = 8, 10, 4
"""Dies of a chip, and what a die is made of: shader engines with so many compute units each."""
_LDS_GRANULE = 512


def field(text: str) -> tuple[int, int, int] | None:
    """Number, lowest bit and width of a printed hwreg(...); None where it cannot be read."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    name = found[1].upper()
    number = int(name) if name.isdigit() else HWREG_IDS.get(name if name.startswith("HW_REG_") else f"HW_REG_{name}")
    return None if number is None else (number, int(found[2] or 0), int(found[3] or 32))


def check(text: str, number: int, *, writes: bool) -> None:
    """E0507 for a register that is not modelled."""
    if number not in (_WRITABLE if writes else _READABLE):
        fail("E0507", f"the emulator does not model {'writing' if writes else 'reading'} {text}")


def constants(vgprs: int, sgprs: int, lds_bytes: int) -> dict[int, int]:
    """What the constant registers hold, by number, for a wave with so many registers and bytes of LDS."""
    granules = (lds_bytes + _LDS_GRANULE - 1) // _LDS_GRANULE
    return {
        _GPR_ALLOC: max(0, vgprs // 8 - 1) << 8 | max(0, sgprs // 16 - 1) << 24,
        _LDS_ALLOC: granules << 12,
        _BASES: SHARED_APERTURE >> 48 << 16 | PRIVATE_APERTURE >> 48,
    }


def emit_placement(f: Function, state: Value, group: Value, wave: Value) -> None:
    """Sets HW_ID and XCC_ID of wave `wave` (i64) of the work-group with number `group` (i32)."""
    b = f.b
    slot = b.udiv(group, const(32, _DIES))
    unit = b.urem(slot, const(32, _UNITS))
    engine = b.urem(b.udiv(slot, const(32, _UNITS)), const(32, _ENGINES))
    number = b.trunc(wave, I32)
    where = b.or_(b.lshr(number, const(32, 2)), b.shl(b.and_(number, const(32, 3)), const(32, 4)))
    where = b.or_(where, b.or_(b.shl(unit, const(32, 8)), b.shl(engine, const(32, 13))))
    for register, value in ((_HW_ID, where), (_XCC_ID, b.urem(group, const(32, _DIES)))):
        f.store(value, f.at(f.field(STATE, state, "hwregs"), 4 * register), 4)


def _status(f: Function, state: Value) -> Value:
    """STATUS: SCC, EXECZ, VCCZ, IN_TG and VALID; EXPORT_RDY, TRAP_EN and the like read as 0."""
    b = f.b
    scc = b.and_(f.load(I32, f.at(state, layout.unit_offset(SCC)), 4), const(32, 1))
    result = b.or_(scc, const(32, 1 << 16))
    for unit, bit in ((EXEC, 9), (VCC, 10)):
        zero = b.icmp_unsigned("==", f.load(I64, f.at(state, layout.unit_offset(unit)), 4), const(64, 0))
        result = b.or_(result, b.shl(b.zext(zero, I32), const(32, bit)))
    several = b.icmp_unsigned(">", f.get(STATE, state, "waves"), const(32, 1))
    return b.or_(result, b.shl(b.zext(several, I32), const(32, 11)))


def build_access(module: ir.Module) -> None:
    """`asm_getreg` and `asm_setreg`: imm 0 is the field's lowest bit, imm 1 its mask, imm 2 the register's number."""
    for name in ("asm_getreg", "asm_setreg"):
        f = Function(module, name)
        state, op = f.args
        b = f.b
        low, mask, number = (f.load(I64, f.at(op, layout.offset(OP, "imm") + 8 * n), 8) for n in range(3))
        low, mask = b.trunc(low, I32), b.trunc(mask, I32)
        slot = layout.offset(OP, "slot") + (0 if name == "asm_getreg" else 4)
        register = f.at(state, b.zext(f.load(I32, f.at(op, slot), 4), I64))
        mode = f.at(state, layout.unit_offset(MODE))
        held = f.item(f.field(STATE, state, "hwregs"), b.and_(number, const(64, 31)), 4)
        place = b.select(b.icmp_unsigned("==", number, const(64, MODE_NUMBER)), mode, held)
        value = f.load(I32, place, 4)
        if name == "asm_getreg":
            status = b.icmp_unsigned("==", number, const(64, _STATUS))
            value = b.select(status, _status(f, state), value)
            f.store(b.and_(b.lshr(value, low), mask), register, 4)
        else:
            new = b.shl(b.and_(f.load(I32, register, 4), mask), low)
            f.store(b.or_(b.and_(value, b.not_(b.shl(mask, low))), new), place, 4)
        f.ret(0)
