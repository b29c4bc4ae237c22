"""The kernarg segment as slots: pointers, scalars and what may be either, from metadata and from what the code reads.

Owns what is known before anything is run. Hidden arguments are left out: a launch fills them by itself.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace

from asmevo.ir.abi import KernelArgument
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.memory.addresses import MemoryAccesses
from asmevo.ir.analysis.memory.kernargs import KernargUse
from asmevo.ir.analysis.values.fixpoint import Values
from asmevo.ir.instruction import Register
from asmevo.ir.isa import base_mnemonic
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import VCC

POINTER_BYTES = 8
_PIECE = 8
_MAX_SLOTS = 256
_MAX_STEPS = 50_000
"""Instructions walked through to find scalars that are floats; each place is walked to from its block's start."""


class SlotKind(enum.Enum):
    """What a slot is used as, as far as known."""

    POINTER = "pointer"
    SCALAR = "scalar"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Slot:
    """`size` bytes of the kernarg segment from byte `offset`; `name` is the metadata's, or made of the position.

    `is_used` is False when no code reads it. `dtype` is f32 or i32 for a scalar of four bytes; other scalars are raw bytes.
    """

    offset: int
    size: int
    name: str
    kind: SlotKind
    is_used: bool = True
    is_address: bool = False
    """Whether some access surely starts from this pointer."""
    dtype: str = ""
    access: str = ""
    """What the metadata says of a pointer: read_only, write_only, read_write or nothing."""


def find_slots(kernel: Kernel, manager: AnalysisManager) -> list[Slot]:
    """The visible slots by offset, at most 256."""
    use = manager.get(KernargUse)
    declared = [a for a in (kernel.metadata.arguments if kernel.metadata else ()) if not a.value_kind.startswith("hidden_")]
    slots = list(_declared(declared)) if declared else list(_from_code(kernel, use))
    live = _live_at_start(kernel, manager)
    read = {
        byte
        for slot in use.slots
        if not slot.is_preload or live >> slot.index & 1
        for byte in range(slot.offset, slot.offset + slot.bytes)
    }
    pointers = {a.argument_offset for a in manager.get(MemoryAccesses).accesses if a.argument_offset is not None}
    floats = _float_offsets(kernel, manager)
    found: list[Slot] = []
    for slot in slots[:_MAX_SLOTS]:
        kind = SlotKind.POINTER if slot.kind is SlotKind.UNKNOWN and slot.offset in pointers else slot.kind
        used = not use.complete or any(slot.offset <= byte < slot.offset + slot.size for byte in read)
        dtype = ("f32" if slot.offset in floats else "i32") if slot.size == 4 else ""
        is_address = kind is SlotKind.POINTER and slot.offset in pointers
        found.append(replace(slot, kind=kind, is_used=used, is_address=is_address, dtype=dtype))
    return found


def _live_at_start(kernel: Kernel, manager: AnalysisManager) -> int:
    """Registers whose value from before the kernel may be read: a set of units."""
    liveness = manager.get(Liveness)
    live = 0
    for root in kernel.roots or (kernel.blocks[0].label,):
        live |= liveness.live_before(root, 0)
    return live


def _declared(arguments: list[KernelArgument]) -> Iterator[Slot]:
    for number, argument in enumerate(arguments):
        name = argument.name or f"arg{number}"
        if argument.value_kind == "global_buffer":
            yield Slot(argument.offset, argument.size, name, SlotKind.POINTER, access=argument.access)
        elif argument.value_kind != "by_value" or argument.size < POINTER_BYTES:
            yield Slot(argument.offset, argument.size, name, SlotKind.SCALAR)
        elif argument.size == POINTER_BYTES:
            yield Slot(argument.offset, argument.size, name, SlotKind.UNKNOWN)
        else:
            yield from _pieces(argument.offset, argument.size, name)


def _pieces(offset: int, size: int, name: str) -> Iterator[Slot]:
    """A structure in pieces that may be pointers."""
    at = offset
    while at < offset + size:
        step = min(_PIECE - at % _PIECE, offset + size - at)
        kind = SlotKind.UNKNOWN if step == POINTER_BYTES else SlotKind.SCALAR
        yield Slot(at, step, f"{name}_{at - offset}", kind)
        at += step


def _from_code(kernel: Kernel, use: KernargUse) -> Iterator[Slot]:
    """Without metadata: dwords that the code reads, pairs of them as eight bytes; all of them if some reads are unknown."""
    size = kernel.descriptor.kernarg_bytes if kernel.descriptor else 0
    words = {offset // 4 * 4 for slot in use.slots for offset in range(slot.offset, slot.offset + slot.bytes, 4)}
    if not use.complete:
        words |= set(range(0, size, 4))
    if size:
        words = {word for word in words if word + 4 <= size}
    for word in sorted(words):
        if word % _PIECE == 0 and word + 4 in words:
            yield Slot(word, _PIECE, f"arg{word}", SlotKind.UNKNOWN)
        elif word % _PIECE == 0 or word - 4 not in words:
            yield Slot(word, 4, f"arg{word}", SlotKind.SCALAR)


def _float_offsets(kernel: Kernel, manager: AnalysisManager) -> set[int]:
    """Kernarg dwords that a float instruction takes as they are."""
    values = manager.get(Values)
    found: set[int] = set()
    steps = 0
    for block in kernel.blocks:
        if block.label not in values.entries:
            continue
        for index, i in enumerate(block.instructions):
            if i.definition is None or not base_mnemonic(i.mnemonic).endswith(("_f32", "_f64")) or "_cvt_" in i.mnemonic:
                continue
            for operand in i.operands:
                if isinstance(operand, Register) and operand.range.unit < VCC and operand.range.count == 1:
                    steps += index
                    if steps > _MAX_STEPS:
                        return found
                    value = values.unit_before(block.label, index, operand.range.unit)
                    terms = value.terms or ()
                    if len(terms) == 1 and terms[0][1] == 1 and not value.const and isinstance(terms[0][0].detail, int):
                        symbol = terms[0][0]
                        if symbol.name.startswith("kernarg["):
                            found.add(int(symbol.detail))  # pyright: ignore[reportArgumentType] # checked above
    return found
