"""View `arguments`: which bytes of the kernarg segment are read, and which memory instructions start from each pointer."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.memory.addresses import MemoryAccesses
from asmevo.ir.analysis.memory.kernargs import KernargUse
from asmevo.ir.isa.model import Access
from asmevo.report.subject import Subject, place_of
from asmevo.report.views.table import table


@dataclass(frozen=True, slots=True)
class Slot:
    """Bytes that are read: `place` of the load; an SGPR for what the hardware preloads."""

    offset: int
    bytes: int
    place: str


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the metadata, the slots read of it, and the memory instructions whose address starts from it."""

    offset: int
    bytes: int
    kind: str
    name: str
    slots: tuple[Slot, ...]
    loads: int
    stores: int
    atomics: int


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments; `other` are slots that no argument of the metadata covers.

    `is_complete`: every use of the kernarg pointer was understood, so what has no slot is surely unused.
    """

    arguments: tuple[Argument, ...]
    other: tuple[Slot, ...]
    is_complete: bool


def arguments(subject: Subject) -> Arguments:
    """Return the view of a subject."""
    use = subject.analyses.get(KernargUse)
    named = subject.kernel.metadata.arguments if subject.kernel.metadata is not None else ()
    slots = {
        slot: Slot(
            slot.offset,
            slot.bytes,
            f"preloaded into s{slot.index}"
            if slot.is_preload
            else place_of(subject.kernel.block(slot.label).instructions[slot.index], slot.label),
        )
        for slot in use.slots
    }
    counts: dict[int, list[int]] = {}
    for access in subject.analyses.get(MemoryAccesses).accesses:
        if access.argument_offset is not None:
            row = counts.setdefault(access.argument_offset, [0, 0, 0])
            is_atomic = access.access in (Access.ATOMIC, Access.ATOMIC_RETURN)
            row[2 if is_atomic else 1 if access.access is Access.STORE else 0] += 1
    found = [
        Argument(
            a.offset, a.size, a.value_kind, a.name, tuple(slots[s] for s in use.slots if a in s.arguments),
            *counts.get(a.offset, [0, 0, 0]),
        )
        for a in named
    ]  # fmt: skip
    return Arguments(tuple(found), tuple(slots[s] for s in use.slots if not s.arguments), use.complete)


def lines(view: Arguments, *, most: int | None = None) -> list[str]:
    """Return the view as text."""
    del most
    head = ("offset", "bytes", "kind", "name", "loads", "stores", "atomics", "read by")
    unread = "nothing" if view.is_complete else "nothing known"
    rows = [
        (
            f"+{a.offset}", a.bytes, a.kind, a.name, a.loads or "", a.stores or "", a.atomics or "",
            ", ".join(f"{s.bytes} B at {s.place}" for s in a.slots) or unread,
        )
        for a in view.arguments
    ]  # fmt: skip
    found = table(head, rows, right=(0, 1, 4, 5, 6))
    found += [f"+{s.offset}: {s.bytes} B read at {s.place}, no argument of the metadata" for s in view.other]
    if not view.is_complete:
        found.append("the kernarg pointer is also used in ways not understood")
    return found
