"""Turns a native fault record into a Fault that says what happened, where, and which instruction should have been waited for.

Owns the wording. It must not decide what is a fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.layout import FAULT_KINDS, QUEUE_SLOTS, REGION_PAD, REGION_SHIFT
from asmevo.backend.emulator.prepare import Prepared
from asmevo.backend.emulator.setup import Plan
from asmevo.backend.launch import Dispatch, Fault
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Space
from asmevo.ir.registers import VGPR0, unit_name

_OF_REGISTERS = frozenset({"pending-read", "pending-write", "uninitialised-register"})
_OF_MEMORY = frozenset({"uninitialised-memory", "out-of-bounds", "misaligned", "write-to-readonly", "race"})
_SPECIAL_WAVES = {
    layout.WAVE_ATOMIC: "an atomic changed",
    layout.WAVE_DMA: "a load to LDS has not filled yet",
    layout.WAVE_MANY: "several waves read",
}


@dataclass(frozen=True, slots=True)
class Access:
    """One access of a watched byte: the work-group's number in the run's order, the wave, the operation, whether it writes."""

    group: int
    wave: int
    op: int
    write: bool


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a run with one thread stopped: what ran, its PLAN and the wave that stopped it."""

    prepared: Prepared
    dispatch: Dispatch
    plan: Plan

    @property
    def wave(self) -> int:
        """The wave's number in its work-group."""
        return int(self.plan.record["wave"][0])

    @property
    def group(self) -> int:
        """The work-group's number in the run's order."""
        return int(self.plan.record["group"][0])

    @property
    def state(self) -> Any:
        """The wave's STATE record."""
        return self.plan.group.states[self.wave]

    @property
    def kind(self) -> str:
        """What `state` was stopped by."""
        return FAULT_KINDS[int(self.state["fault"])]

    @property
    def op(self) -> int:
        """The number of the operation at fault: the one that ran last, or the load that had a race while outstanding."""
        load = int(self.state["fault_unit"]) if self.kind == "race" else 0
        return load - 1 if load else int(self.state["at"])

    @property
    def address(self) -> int:
        """The guest address at fault, for faults of memory."""
        return int(self.state["fault_address"])


def describe(stop: Stop, accesses: Sequence[Access] = ()) -> Fault:
    """The fault that a run stopped with. `accesses` are the last ones of a race's byte, oldest first, where they are known."""
    state, kind, unit = stop.state, stop.kind, int(stop.state["fault_unit"])
    instruction = _instruction(stop.prepared, stop.op)
    name = instruction.mnemonic if instruction else "execution"
    where = _scratch_place(stop, instruction) or _place(stop.dispatch, stop.address)
    cause: Instruction | None = None
    lane: int | None = int(state["fault_lane"])
    register = unit_name(unit) if kind in _OF_REGISTERS else None
    place = where if kind in _OF_MEMORY else None
    match kind:
        case "pending-read" | "pending-write":
            cause = _owner(stop, unit)
            owner = "a load" if cause is None else f"{cause.mnemonic}{_at(cause)}"
            verb, ends = (
                ("reads", "before {} has been waited for") if kind == "pending-read" else ("writes", "while {} is outstanding")
            )
            message = f"{name} {verb} {register} {ends.format(owner)}"
        case "uninitialised-register":
            message = f"{name} reads {register}, which was never written"
        case "uninitialised-memory":
            message = f"{name} reads {where}, which was never written"
        case "out-of-bounds" if unit:
            message = f"{name} reaches v{unit - VGPR0} by its index, which the wave does not have"
            lane, place = None, None
        case "out-of-bounds":
            message = f"{name} accesses {where}, outside every buffer"
        case "misaligned":
            message = f"{name} accesses {where}, which is misaligned"
        case "write-to-readonly":
            message = f"{name} writes {where}, which is read-only"
        case "race":
            other = _other_access(stop, accesses)
            cause = None if other is None else _instruction(stop.prepared, other.op)
            message = f"{name} accesses {where}, {_racer(stop, cause)}"
        case "unsupported":
            message, lane = _unsupported(stop, name), None
        case "bad-control-flow":
            message, lane = "execution ran past the last instruction", None
        case _:
            message, lane = f"{name} raised a {kind}", None
    return _fault(stop, kind, message, lane, register, place, cause)


def _scratch_place(stop: Stop, instruction: Instruction | None) -> str | None:
    """The lane's own byte that an instruction of scratch memory was at; None for others."""
    if instruction is None or instruction.definition is None or instruction.definition.space is not Space.SCRATCH:
        return None
    size, address = int(stop.state["scratch_size"]), stop.address
    offset = (address - int(stop.state["scratch"])) % size if size and address >= layout.base_address(0) else address
    beyond = f", beyond the {size} bytes of a lane and so" if stop.kind == "out-of-bounds" else ""
    return f"scratch+0x{offset:x}{beyond}"


def budget(stop: Stop, limit: int) -> Fault:
    """The fault of a run that used up its instructions."""
    return _fault(stop, "budget", f"the run reached its limit of {limit} wave-instructions")


def _fault(
    stop: Stop,
    kind: str,
    message: str,
    lane: int | None = None,
    register: str | None = None,
    place: str | None = None,
    cause: Instruction | None = None,
) -> Fault:
    instruction = _instruction(stop.prepared, stop.op)
    span = instruction.span if instruction else None
    x, y, z = stop.plan.order.groups[stop.group].tolist()
    return Fault(
        kind=kind,
        message=message,
        uid=instruction.uid if instruction else -1,
        offset=instruction.offset if instruction else None,
        wave=stop.wave,
        lane=lane,
        workgroup=(x, y, z),
        kernel=stop.prepared.kernel.name,
        source=str(span) if span is not None and span.line else None,
        register=register,
        place=place,
        cause=cause.uid if cause else None,
        cause_offset=cause.offset if cause else None,
    )


def _instruction(prepared: Prepared, op: int) -> Instruction | None:
    return prepared.instructions[op] if op < len(prepared.instructions) else None


def _at(instruction: Instruction) -> str:
    """Where an instruction stands, for the reader of a message."""
    if instruction.offset is not None:
        return f" at +0x{instruction.offset:x}"
    if instruction.span is not None and instruction.span.line:
        return f" at {instruction.span}"
    return ""


def _owner(stop: Stop, unit: int) -> Instruction | None:
    """The youngest outstanding load of a unit."""
    state = stop.state
    for queue in ("vm", "lds", "smem"):
        head, count = int(state[f"{queue}_head"]), int(state[f"{queue}_count"])
        for n in reversed(range(count)):
            entry = state[f"{queue}_queue"][(head + n) % QUEUE_SLOTS]
            dest, rows = int(entry["dest"]), int(entry["rows"])
            if int(entry["kind"]) != layout.ENTRY_STORE and dest <= unit < dest + rows:
                return _instruction(stop.prepared, int(entry["op"]))
    return None


def _other_access(stop: Stop, accesses: Sequence[Access]) -> Access | None:
    """The last access by another wave, or for a scalar load by this one; it writes, or the faulty access does."""
    mine = [a for a in accesses if (a.group, a.wave) == (stop.group, stop.wave)]
    others = [a for a in accesses if (a.group, a.wave) != (stop.group, stop.wave)]
    if _is_own(stop):
        others = mine[:-1]
    writes = [a for a in others if a.write]
    if writes:
        return writes[-1]
    return others[-1] if others and mine and mine[-1].write else None


def _is_own(stop: Stop) -> bool:
    """Whether the wave conflicts with itself."""
    if _is_lds(stop.address):
        return False
    group, wave = _segment(stop)
    return (group, wave) == (stop.group, stop.wave)


def _segment(stop: Stop) -> tuple[int, int]:
    segment = stop.plan.group.segments[int(stop.state["fault_other"])]
    return int(segment["group"]), int(segment["wave"])


def _racer(stop: Stop, cause: Instruction | None) -> str:
    word = int(stop.state["fault_other"])
    by = "" if cause is None else f", by {cause.mnemonic}{_at(cause)},"
    if _is_lds(stop.address):
        wave = word >> layout.EPOCH_BITS
        who = f"that {_SPECIAL_WAVES[wave]}" if wave in _SPECIAL_WAVES else f"that wave {wave} also accesses"
        missing = (
            "and has not waited for" if word & layout.IN_FLIGHT == layout.IN_FLIGHT else "with no barrier and wait between"
        )
        return f"{who}{by} {missing}"
    group, wave = _segment(stop)
    if (group, wave) == (stop.group, stop.wave):
        return f"that a vector store of the same wave{by} may not have reached: scalar loads do not wait for it"
    if group == stop.group:
        return f"that wave {wave} also accesses{by} with no barrier between"
    x, y, z = stop.plan.order.groups[group].tolist()
    return f"that wave {wave} of work-group ({x}, {y}, {z}) also accesses{by} with no wait and atomic between"


def _unsupported(stop: Stop, name: str) -> str:
    known = stop.prepared.problems.get(stop.op)
    if known is not None:
        return known
    if int(stop.plan.group.race["next"][0]) >= layout.SEGMENT_LIMIT:
        return (
            f"the run has more than {layout.SEGMENT_LIMIT} stretches between barriers and atomics: too many for the race check"
        )
    if name.startswith("flat_"):
        return f"{name} has lanes in LDS and lanes elsewhere, which is not modelled"
    return f"{name} is not modelled under VGPR indexing"


def _is_lds(address: int) -> bool:
    return address < 1 << 20


def _place(dispatch: Dispatch, address: int) -> str:
    """A guest address as buffer and offset; small ones are LDS."""
    if _is_lds(address):
        return f"LDS+0x{address:x}"
    index = ((address - REGION_PAD) >> REGION_SHIFT) - 1
    names = [*(b.name for b in dispatch.buffers), "kernarg", "dispatch packet"]
    if 0 <= index < len(names):
        return f"{names[index]}+0x{address - layout.base_address(index):x}"
    return f"address 0x{address:x}"
