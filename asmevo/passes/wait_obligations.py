"""What a region's waits must guarantee whatever its order, and the waits that do.

The same counter state enters the region as before; each instruction gets the weakest wait that completes what it touches; at
the end, and at each barrier, no more is outstanding than the original order left there, so that every later wait still means
what it meant and other waves see what they saw. Sharing that the original order had covered at an instruction (a store before
a scoped atomic, say) stays covered there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asmevo.ir.analysis.waits.brackets import CAPACITY, Brackets, Event, Pending, Use, event_of, register_use, sharing_use
from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.isa.model import Counter, IssueClass
from asmevo.passes.fillers import is_filler


@dataclass(frozen=True, slots=True)
class WaitObligations:
    """Counters entering and leaving a region, and for each node (instruction that is no filler) its event and its use.

    `bounds` holds for each barrier what may be outstanding at it, None for other nodes.
    """

    entering: Brackets
    leaving: Brackets
    events: tuple[Event, ...]
    uses: tuple[Use, ...]
    bounds: tuple[Brackets | None, ...]

    @classmethod
    def of(cls, entering: Brackets, instructions: Sequence[Instruction]) -> WaitObligations:
        """The obligations of a stretch that these counters enter."""
        state = entering
        events: list[Event] = []
        uses: list[Use] = []
        bounds: list[Brackets | None] = []
        for instruction in instructions:
            effect = effects(instruction)
            event = event_of(instruction, effect)
            if not is_filler(instruction):
                registers = register_use(instruction, effect)
                sharing = sharing_use(instruction)
                events.append(event)
                is_barrier = instruction.definition is not None and instruction.definition.issue is IssueClass.BARRIER
                bounds.append(state if is_barrier else None)
                uses.append(
                    Use(registers.vmcnt | (sharing & ~state.vmcnt.mask), registers.lgkmcnt | (sharing & ~state.lgkmcnt.mask))
                )
            if event != _NO_EVENT:
                state = state.after(event)
        return cls(entering, state, tuple(events), tuple(uses), tuple(bounds))

    def woven(self, order: Sequence[int]) -> Iterator[int | WaitCounts]:
        """The nodes of `order`, some of a region's or all, with the waits that they and the region's end need."""
        *waits, closing = self.waits(order)
        for node, wait in zip(order, waits, strict=True):
            if wait is not None:
                yield wait
            yield node
        if closing is not None:
            yield closing

    def waits(self, order: Sequence[int]) -> list[WaitCounts | None]:
        """For each place of `order` the wait before it, and last the one at the region's end; None where none is needed."""
        state = self.entering
        placed: list[WaitCounts | None] = []
        for node in order:
            bound = self.bounds[node]
            needed = state.needed(self.uses[node]) if bound is None else _within(state, bound)
            placed.append(None if needed == _NO_WAIT else needed)
            if needed != _NO_WAIT:
                state = state.after(Event(wait=needed))
            if self.events[node] != _NO_EVENT:
                state = state.after(self.events[node])
        closing = _within(state, self.leaving)
        placed.append(None if closing == _NO_WAIT else closing)
        return placed


_NO_EVENT = Event()
_NO_WAIT = WaitCounts()


def _within(found: Brackets, allowed: Brackets) -> WaitCounts:
    """The weakest wait after which no more is outstanding than `allowed`."""
    return WaitCounts(
        vmcnt=_closing(found.vmcnt, allowed.vmcnt, CAPACITY[Counter.VMCNT]),
        lgkmcnt=_closing(found.lgkmcnt, allowed.lgkmcnt, CAPACITY[Counter.LGKMCNT]),
    )


def _closing(found: Pending, allowed: Pending, capacity: int) -> int | None:
    """The weakest count after which nothing is outstanding that `allowed` does not have at the same age; None: no wait."""
    for age, slot in enumerate(found.slots):
        permitted = allowed.slots[age] if age < len(allowed.slots) else 0
        if slot & ~permitted:
            return min(age, capacity - 1) if found.in_order else 0
    return None
