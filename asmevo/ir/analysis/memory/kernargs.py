"""Which parts of the kernarg segment a kernel uses, and by which instructions.

Owns the list of slots. Only loads whose address is surely the kernarg pointer plus a constant count; `complete` says whether
any other use of that pointer was seen.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.abi import KernelArgument
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.values.fixpoint import Values
from asmevo.ir.analysis.values.step import kernarg_offset
from asmevo.ir.analysis.values.value import Kind
from asmevo.ir.kernel import Kernel


@dataclass(frozen=True, slots=True)
class KernargSlot:
    """`bytes` from byte `offset` on, read by the instruction at (label, index), or preloaded into a register (label "").

    `arguments` are those of the metadata that it overlaps.
    """

    offset: int
    bytes: int
    label: str
    index: int
    arguments: tuple[KernelArgument, ...]

    @property
    def is_preload(self) -> bool:
        """True when the hardware loads it before the wave starts; `index` is then the SGPR."""
        return not self.label


@dataclass(frozen=True, slots=True)
class KernargUse:
    """Slots by offset; arguments that no slot overlaps are `unused` (certain only when `complete`)."""

    slots: tuple[KernargSlot, ...]
    unused: tuple[KernelArgument, ...]
    complete: bool

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> KernargUse:
        """The kernarg slots that reachable code of `kernel` reads."""
        values = manager.get(Values)
        entry = values.reader.entry
        arguments = entry.kernargs.arguments
        places = [(offset, 4, "", unit) for unit, offset in entry.preloads]
        complete = True
        for (label, index), seen in values.memory.items():
            offset = kernarg_offset(seen.addresses[0], values.reader)
            if offset is not None and seen.resource is None and len(seen.addresses) == 1:
                places.append((offset, seen.operation.bytes, label, index))
            elif any(s.kind is Kind.KERNARG_BASE for v in (*seen.addresses, *(seen.resource or ())) for s, _ in v.terms or ()):
                complete = False
        slots = tuple(
            KernargSlot(offset, size, label, index, tuple(a for a in arguments if _overlap(a, offset, size)))
            for offset, size, label, index in sorted(places)
        )
        used = {a for slot in slots for a in slot.arguments}
        return cls(slots, tuple(a for a in arguments if a not in used), complete)


def _overlap(argument: KernelArgument, offset: int, size: int) -> bool:
    return argument.offset < offset + size and offset < argument.offset + argument.size
