"""View `memory`: each access with its address, argument, LDS bank conflicts and coalescing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.ir.analysis.memory.addresses import MemoryAccess, MemoryAccesses
from asmevo.ir.analysis.memory.bank_conflicts import BankConflicts
from asmevo.ir.analysis.memory.coalescing import Coalescing, Segments
from asmevo.report.subject import Subject, place_of
from asmevo.report.views.table import cut, table


@dataclass(frozen=True, slots=True)
class AccessView:
    """One memory instruction.

    `bytes` counts one address of one lane (of the wave for scalar loads). `addresses` are sums as text, "?" where nothing is
    known. `bank_clocks` are (with, without) conflicts; `segments` of 64 and 128 bytes that the wave touches, and the fewest
    that would do; None where lanes' addresses are not known. `all_lanes`: every lane is surely active.
    """

    place: str
    block: str
    depth: int
    mnemonic: str
    space: str
    access: str
    bytes: int
    argument: str
    stride_bytes: int | None
    addresses: tuple[str, ...]
    bank_clocks: tuple[int, int] | None
    segments: tuple[Segments, ...] | None
    all_lanes: bool


@dataclass(frozen=True, slots=True)
class Total:
    """Accesses of one kind: how many, in loops, and how many with a known address."""

    space: str
    access: str
    count: int
    in_loops: int
    known: int


@dataclass(frozen=True, slots=True)
class MemoryView:
    """The accesses of reachable code in layout order, their totals, and what the addresses rest on."""

    totals: tuple[Total, ...]
    accesses: tuple[AccessView, ...]
    assumptions: tuple[str, ...]


def memory(subject: Subject) -> MemoryView:
    """Return the view of a subject."""
    analyses = subject.analyses
    found = analyses.get(MemoryAccesses)
    banks = {(u.access.label, u.access.index): u.cost for u in analyses.get(BankConflicts).uses}
    segments = {(u.access.label, u.access.index): u.segments for u in analyses.get(Coalescing).uses}
    accesses: list[AccessView] = []
    for one in found.accesses:
        site = (one.label, one.index)
        cost = banks.get(site)
        forms = [form for form in one.addresses if form is not None]
        accesses.append(
            AccessView(
                place_of(one.instruction, one.label),
                one.label,
                subject.depth(one.label),
                one.instruction.mnemonic,
                one.space.value,
                one.access.value,
                one.bytes,
                _argument(one),
                forms[0].lane_stride_bytes if forms else None,
                tuple("?" if form is None else form.text for form in one.addresses),
                None if cost is None else (cost.cycles, cost.ideal),
                segments.get(site) or None,
                one.full,
            )
        )
    return MemoryView(_totals(accesses), tuple(accesses), found.assumptions)


def _argument(access: MemoryAccess) -> str:
    if access.argument is not None and access.argument.name:
        return access.argument.name
    return "" if access.argument_offset is None else f"kernarg+{access.argument_offset}"


def _totals(accesses: Sequence[AccessView]) -> tuple[Total, ...]:
    kinds = sorted({(a.space, a.access) for a in accesses})
    table_: list[Total] = []
    for space, access in kinds:
        of_kind = [a for a in accesses if (a.space, a.access) == (space, access)]
        known = sum("?" not in a.addresses for a in of_kind)
        table_.append(Total(space, access, len(of_kind), sum(a.depth > 0 for a in of_kind), known))
    return tuple(table_)


def lines(view: MemoryView, *, most: int | None = None) -> list[str]:
    """Return the view as text."""
    head = ("memory", "access", "count", "in loops", "address known")
    found = table(head, ((t.space, t.access, t.count, t.in_loops, t.known) for t in view.totals), right=(2, 3, 4))
    rows = [
        (
            a.place, a.depth, a.mnemonic, a.bytes, a.argument,
            "" if a.stride_bytes is None else a.stride_bytes,
            "" if a.bank_clocks is None else f"{a.bank_clocks[0]}/{a.bank_clocks[1]}",
            "" if a.segments is None else " ".join(f"{s.touched}/{s.least}" for s in a.segments),
            " | ".join(a.addresses),
        )
        for a in view.accesses
    ]  # fmt: skip
    head = ("place", "depth", "instruction", "bytes", "argument", "stride", "bank clocks", "segments 64 128", "address")
    found += cut(table(head, rows, right=(1, 3, 5, 6)), most)
    return found + [f"assumes {assumption}" for assumption in view.assumptions]
