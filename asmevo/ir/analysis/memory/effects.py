"""What an instruction does to memory, as far as order matters.

Owns the classes that dependence and waits share. It must not compare addresses: LDS and vector memory addresses differ by
lane, so a base register and an offset say nothing about overlap.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import lru_cache

from asmevo.ir.analysis.dataflow.facts import is_lds_dma
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Access, IssueClass, OpcodeDef, Space


class Domain(enum.Flag):
    """Memory that may alias. Scratch, global, buffer and scalar memory may all be the same bytes."""

    NONE = 0
    LDS = enum.auto()
    GLOBAL = enum.auto()


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Domains an instruction may read and write; a fence orders everything in both."""

    reads: Domain = Domain.NONE
    writes: Domain = Domain.NONE
    fence: bool = False

    def conflicts(self, other: MemoryUse) -> bool:
        """True when the two must keep their order: one writes what the other touches, or one is a fence."""
        if self.fence or other.fence:
            return self.touches and other.touches
        return bool(self.writes & (other.reads | other.writes) or other.writes & self.reads)

    @property
    def touches(self) -> bool:
        """True when any memory is involved."""
        return self.fence or self.reads is not Domain.NONE or self.writes is not Domain.NONE


_DOMAINS = {
    Space.LDS: Domain.LDS,
    Space.FLAT: Domain.LDS | Domain.GLOBAL,
    Space.GLOBAL: Domain.GLOBAL,
    Space.BUFFER: Domain.GLOBAL,
    Space.SCRATCH: Domain.GLOBAL,
    Space.SCALAR: Domain.GLOBAL,
}
_EVERYTHING = MemoryUse(Domain.LDS | Domain.GLOBAL, Domain.LDS | Domain.GLOBAL, fence=True)
_NOTHING = MemoryUse()


def memory_use(instruction: Instruction) -> MemoryUse:
    """The memory an instruction touches. Barriers and raw data are fences."""
    definition = instruction.definition
    if definition is None:
        return _EVERYTHING
    return _memory_use(definition, is_lds_dma(instruction))


@lru_cache(maxsize=4096)
def _memory_use(definition: OpcodeDef, dma: bool) -> MemoryUse:
    if definition.issue is IssueClass.BARRIER or definition.access is Access.FENCE:
        return _EVERYTHING
    if definition.space is None or definition.access is None:
        return _NOTHING
    domain = _DOMAINS[definition.space]
    if dma:
        return MemoryUse(Domain.GLOBAL, Domain.LDS)
    if definition.access is Access.LOAD:
        return MemoryUse(domain, Domain.NONE)
    if definition.access is Access.STORE:
        return MemoryUse(Domain.NONE, domain)
    return MemoryUse(domain, domain)
