"""What may be assumed of the state at a window's entry, and the analyses that it comes from.

Owns the list of assumptions, each of which can be switched off and is named in a verdict that used it, and their collection for
one place of a kernel. A fact is of the original kernel; it holds of the edited one too, since everything before the window is
proved equal.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.memory.addresses import AddressForm, MemoryAccess, MemoryAccesses
from asmevo.ir.analysis.values.fixpoint import Values
from asmevo.ir.analysis.values.value import Value
from asmevo.ir.isa.model import Space
from asmevo.ir.registers import AGPR0, MODE, SCC, VGPR0, units
from asmevo.verify.equivalence.extents import Extent

_WORD = (1 << 32) - 1


class Assumption(enum.Enum):
    """What a proof may assume; the value is the sentence that a verdict prints."""

    SCALAR_VALUES = "scalar registers hold what the value analysis found: ranges, alignment, constants"
    LANE_VALUES = "vector registers hold what the value analysis found, in lanes too that the launch does not fill"
    DISJOINT = "accesses that the address analysis found apart touch different bytes"
    NO_ALIAS = "different kernel arguments point to memory that does not overlap"


DEFAULT_ASSUMPTIONS = frozenset({Assumption.SCALAR_VALUES, Assumption.LANE_VALUES, Assumption.DISJOINT})
"""NO_ALIAS is left out: a caller may well pass one buffer twice."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Bits of registers known at entry, unit to (bits that are 0, bits that are 1), of 32; what they rest on."""

    known: Mapping[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    extents: tuple[Mapping[int, tuple[Extent, ...]], Mapping[int, tuple[Extent, ...]]] = ({}, {})
    """What accesses touch, by uid, of the original and of the edited kernel."""
    assumptions: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True when nothing is known."""
        return not self.known and not any(self.extents)

    @property
    def key(self) -> Hashable:
        """What two equal sets of facts share."""
        return tuple(sorted(self.known.items())), self.assumptions

    def apply(self, unit: int, value: int) -> int:
        """Return `value` changed to agree with what is known of `unit`."""
        zeros, ones = self.known.get(unit, (0, 0))
        return value & ~zeros & _WORD | ones


NO_FACTS = Facts()


class FactFinder:
    """Finds facts of one kernel; the analysis runs once, when first asked."""

    def __init__(self, manager: AnalysisManager, assumed: frozenset[Assumption]) -> None:
        self._manager = manager
        self._assumed = assumed

    def at(self, label: str, index: int, wanted: int) -> Facts:
        """Return the facts on the units `wanted` just before an instruction; none where the block is not reached."""
        used = self._assumed & {Assumption.SCALAR_VALUES, Assumption.LANE_VALUES}
        if not used:
            return NO_FACTS
        values = self._manager.get(Values)
        if label not in values.entries:
            return NO_FACTS
        state = values.before(label, index)
        known: dict[int, tuple[int, int]] = {}
        named: set[Assumption] = set()
        for unit in units(wanted & ((1 << AGPR0) - 1)):
            assumption = Assumption.LANE_VALUES if unit >= VGPR0 else Assumption.SCALAR_VALUES
            if assumption not in used or unit in (SCC, MODE) or (unit >= VGPR0 and state.partial >> unit & 1):
                continue
            bits = _bits(values.reader.unit(state, unit))
            if bits != (0, 0):
                known[unit] = bits
                named.add(assumption)
        texts = tuple(a.value for a in Assumption if a in named)
        return Facts(known, assumptions=(*texts, *values.assumptions)) if known else NO_FACTS

    def extents(self, manager: AnalysisManager) -> dict[int, tuple[Extent, ...]]:
        """Return what the accesses of a kernel (`manager`'s; either one) may touch, by the uid of their instruction."""
        if Assumption.DISJOINT not in self._assumed:
            return {}
        found: dict[int, tuple[Extent, ...]] = {}
        for access in manager.get(MemoryAccesses).accesses:
            if access.instruction.uid >= 0 and access.space in (Space.LDS, Space.GLOBAL, Space.BUFFER):
                extents = [_extent(access, form, Assumption.NO_ALIAS in self._assumed) for form in access.addresses]
                known = tuple(extent for extent in extents if extent is not None)
                if known and len(known) == len(extents):
                    found[access.instruction.uid] = known
        return found

    def with_extents(self, facts: Facts, old: Mapping[int, tuple[Extent, ...]], new: Mapping[int, tuple[Extent, ...]]) -> Facts:
        """Return `facts` with what the accesses of both kernels touch."""
        if not old and not new:
            return facts
        named = [Assumption.DISJOINT]
        if any(extent.argument is not None for found in (*old.values(), *new.values()) for extent in found):
            named.append(Assumption.NO_ALIAS)
        texts = (*(a.value for a in named), *facts.assumptions)
        if not facts.assumptions:
            texts = (*texts, *self._manager.get(Values).assumptions)
        return replace(facts, extents=(old, new), assumptions=texts)


def _extent(access: MemoryAccess, form: AddressForm | None, no_alias: bool) -> Extent | None:
    argument = access.argument_offset if no_alias and access.space is not Space.LDS else None
    base: Hashable = None
    intervals: tuple[tuple[int, int], ...] = ()
    if form is not None and form.lanes is not None and not form.assumes_no_wrap and _is_linear(access):
        base = (access.space, form.terms, access.descriptor.base.text if access.descriptor else None)
        intervals = _joined((low, low + access.bytes) for low in form.lanes)
    return None if base is None and argument is None else Extent(base, intervals, argument)


def _is_linear(access: MemoryAccess) -> bool:
    """Whether offsets are distances in memory: not where a buffer may be swizzled."""
    if access.space is not Space.BUFFER:
        return True
    return access.descriptor is not None and not access.instruction.modifier("idxen")


def _joined(intervals: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The union, as intervals that do not touch."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(intervals):
        if out and low <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], high)
        else:
            out.append((low, high))
    return tuple(out)


def _bits(value: Value) -> tuple[int, int]:
    return value.zeros & _WORD, value.ones & _WORD
