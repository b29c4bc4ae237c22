"""Accepted edits put together: what two verified kernels changed in different places."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.search.profile import AS_ORIGINAL
from asmevo.search.proposal import Proposal, Situation
from asmevo.search.records import Attempt


@dataclass(frozen=True, slots=True)
class ComposingProposer:
    """Takes over from an elite what it changed where the parent is as the original."""

    name: str = "compose"
    is_dialogue: bool = False

    def propose(self, situation: Situation) -> Generator[Proposal, Attempt | None, None]:
        """One candidate for each elite of which something can be taken over."""
        for number, elite in enumerate(situation.elites):
            kernel, places = composed(situation.original, situation.parent, elite)
            if places:
                told = situation.elite_counts[number] if situation.elite_counts else AS_ORIGINAL
                counts = {label: told[label] for label in places if label in told}
                what = f"with elite {number}'s {', '.join(places)}"[:400]
                yield Proposal(self.name, what, kernel, places[0], counts=counts)


def composed(original: Kernel, parent: Kernel, elite: Kernel) -> tuple[Kernel, list[str]]:
    """The parent with the elite's edits where the parent has none, and the blocks that were taken over."""
    fresh = max((i.uid for kernel in (original, parent, elite) for i in kernel.instructions()), default=0) + 1
    known = {instruction.uid for instruction in original.instructions()}
    blocks: list[Block] = []
    places: list[str] = []
    for first, ours, theirs in zip(original.blocks, parent.blocks, elite.blocks, strict=True):
        mixed = _mixed(first.instructions, ours.instructions, theirs.instructions)
        if mixed is None or mixed == ours.instructions:
            blocks.append(ours)
            continue
        members: list[Instruction] = []
        for instruction in mixed:
            if instruction.uid not in known:
                # What two lines of descent put in may have the same number.
                instruction, fresh = replace(instruction, uid=fresh), fresh + 1
            members.append(instruction)
        blocks.append(replace(ours, instructions=tuple(members)))
        places.append(ours.label)
    return (replace(parent, blocks=tuple(blocks)), places) if places else (parent, places)


def _mixed(
    first: tuple[Instruction, ...], ours: tuple[Instruction, ...], theirs: tuple[Instruction, ...]
) -> tuple[Instruction, ...] | None:
    """Both changes of a block; None when there is nothing to take over, or they touch the same stretch."""
    if theirs == first:
        return None
    if ours == first:
        return theirs
    our_start, our_stop = _changed(first, ours)
    their_start, their_stop = _changed(first, theirs)
    if our_stop <= their_start:
        return (*ours[: len(ours) - (len(first) - our_stop)], *first[our_stop:their_start], *theirs[their_start:])
    if their_stop <= our_start:
        return (*theirs[: len(theirs) - (len(first) - their_stop)], *first[their_stop:our_start], *ours[our_start:])
    return None


def _changed(first: Sequence[Instruction], other: Sequence[Instruction]) -> tuple[int, int]:
    """The stretch of `first` outside which both are the same."""
    shortest = min(len(first), len(other))
    head = next((n for n in range(shortest) if first[n] != other[n]), shortest)
    tail = next((n for n in range(shortest - head) if first[-1 - n] != other[-1 - n]), shortest - head)
    return head, len(first) - tail
