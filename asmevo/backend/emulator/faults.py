"""Turns a native fault record into a Fault that says what happened, where, and which wait was missing.

Owns the wording. It must not decide what is a fault.
"""

from __future__ import annotations

from typing import Any

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.decode import Prepared
from asmevo.backend.emulator.layout import FAULT_KINDS, QUEUE_SLOTS, REGION_PAD, REGION_SHIFT
from asmevo.backend.launch import Dispatch, Fault
from asmevo.ir.instruction import Instruction
from asmevo.ir.registers import VGPR0, unit_name


def describe(prepared: Prepared, dispatch: Dispatch, state: Any, wave: int, workgroup: tuple[int, int, int]) -> Fault:
    """The fault that `state` (one STATE record) stopped with."""
    kind = FAULT_KINDS[int(state["fault"])]
    at = int(state["at"])
    instruction = prepared.instructions[at] if at < len(prepared.instructions) else None
    lane: int | None = int(state["fault_lane"])
    unit = int(state["fault_unit"])
    address = int(state["fault_address"])
    name = instruction.mnemonic if instruction else "execution"
    where = _place(dispatch, address)
    match kind:
        case "pending-read":
            message = f"{name} reads {unit_name(unit)} before {_owner(prepared, state, unit)} has been waited for"
        case "pending-write":
            message = f"{name} writes {unit_name(unit)} while {_owner(prepared, state, unit)} is outstanding"
        case "uninitialised-register":
            message = f"{name} reads {unit_name(unit)}, which was never written"
        case "uninitialised-memory":
            message = f"{name} reads {where}, which was never written"
        case "out-of-bounds" if unit:
            message = f"{name} reaches v{unit - VGPR0} by its index, which the wave does not have"
            lane = None
        case "out-of-bounds":
            message = f"{name} accesses {where}, outside every buffer"
        case "misaligned":
            message = f"{name} accesses {where}, which is misaligned"
        case "write-to-readonly":
            message = f"{name} writes {where}, which is read-only"
        case "race":
            message = f"{name} accesses {where}, {_racer(int(state['fault_other']))} with no barrier and wait between"
        case "unsupported":
            if name.startswith("s_setreg"):
                why = "asks for a rounding other than to nearest even, which is not modelled"
            elif name.startswith("v_"):
                why = "is not modelled under VGPR indexing"
            else:
                why = "uses a buffer with swizzle or thread-id addressing"
            message = prepared.problems.get(at, f"{name} {why}")
            lane = None
        case "bad-control-flow":
            message = "execution ran past the last instruction"
            lane = None
        case _:
            message = f"{name} raised a {kind}"
            lane = None
    return Fault(kind, message, _uid(instruction), instruction.offset if instruction else None, wave, lane, workgroup)


def budget(prepared: Prepared, state: Any, limit: int, wave: int, workgroup: tuple[int, int, int]) -> Fault:
    """The fault of a run that used up its instructions."""
    at = int(state["at"])
    instruction = prepared.instructions[at] if at < len(prepared.instructions) else None
    return Fault(
        "budget",
        f"the run reached its limit of {limit} wave-instructions",
        _uid(instruction),
        instruction.offset if instruction else None,
        wave,
        None,
        workgroup,
    )


def _uid(instruction: Instruction | None) -> int:
    return instruction.uid if instruction else -1


def _owner(prepared: Prepared, state: Any, unit: int) -> str:
    """The youngest outstanding load of a unit, by mnemonic and place."""
    for queue in ("vm", "lds", "smem"):
        head, count = int(state[f"{queue}_head"]), int(state[f"{queue}_count"])
        for n in reversed(range(count)):
            entry = state[f"{queue}_queue"][(head + n) % QUEUE_SLOTS]
            dest, rows = int(entry["dest"]), int(entry["rows"])
            if int(entry["kind"]) != layout.ENTRY_STORE and dest <= unit < dest + rows:
                owner = prepared.instructions[int(entry["op"])]
                place = f" at +0x{owner.offset:x}" if owner.offset is not None else ""
                return f"{owner.mnemonic}{place}"
    return "a load"


def _racer(wave: int) -> str:
    names = {
        layout.WAVE_ATOMIC: "that an atomic changed",
        layout.WAVE_DMA: "that a load to LDS has not filled yet",
        layout.WAVE_MANY: "that several waves read",
    }
    return names.get(wave, f"that wave {wave} also accesses")


def _place(dispatch: Dispatch, address: int) -> str:
    """A guest address as buffer and offset; small ones are LDS."""
    if address < 1 << 20:
        return f"LDS+0x{address:x}"
    index = ((address - REGION_PAD) >> REGION_SHIFT) - 1
    names = [*(b.name for b in dispatch.buffers), "kernarg", "dispatch packet"]
    if 0 <= index < len(names):
        return f"{names[index]}+0x{address - layout.base_address(index):x}"
    return f"address 0x{address:x}"
