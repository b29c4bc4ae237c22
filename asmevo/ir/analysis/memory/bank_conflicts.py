"""LDS bank conflicts of accesses whose addresses are known lane by lane, up to a part that all lanes share.

Owns the findings; phases and cost are in `isa.lds_banks`. The shared part only turns the banks round, so it need not be known.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.memory.addresses import MemoryAccess, MemoryAccesses
from asmevo.ir.isa.lds_banks import BankCycles, bank_cycles, phases
from asmevo.ir.isa.model import Access, Space
from asmevo.ir.kernel import Kernel


@dataclass(frozen=True, slots=True)
class BankUse:
    """One LDS instruction; `cost` is None when lanes' addresses, or how the instruction is served, are not known.

    With some lanes off (`access.full` False) the cost is that of all lanes: no more than this.
    """

    access: MemoryAccess
    cost: BankCycles | None


@dataclass(frozen=True, slots=True)
class BankConflicts:
    """Every LDS load and store of reachable code in layout order."""

    uses: tuple[BankUse, ...]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> BankConflicts:
        """The uses of `kernel`."""
        known: dict[tuple[object, ...], BankCycles | None] = {}
        found: list[BankUse] = []
        for access in manager.get(MemoryAccesses).accesses:
            if access.space is Space.LDS and access.access in (Access.LOAD, Access.STORE):
                found.append(BankUse(access, _cost(kernel.target, access, known)))
        return cls(tuple(found))

    @property
    def conflicts(self) -> tuple[BankUse, ...]:
        """The uses that surely take more clocks than they would without conflicts."""
        return tuple(use for use in self.uses if use.cost is not None and use.cost.extra and use.access.full)


def _cost(target: str, access: MemoryAccess, known: dict[tuple[object, ...], BankCycles | None]) -> BankCycles | None:
    if len(access.addresses) != 1 or access.addresses[0] is None or access.addresses[0].lanes is None:
        return None
    lanes = access.addresses[0].lanes
    # Only distances matter, and turning all lanes by whole dwords changes nothing.
    shift = lanes[0] & ~3
    moved = tuple(offset - shift for offset in lanes)
    load = access.access is Access.LOAD
    key = (moved, access.bytes, load)
    if key not in known:
        served = phases(target, access.bytes, is_load=load)
        known[key] = None if served is None else bank_cycles(served, moved, access.bytes)
    return known[key]
