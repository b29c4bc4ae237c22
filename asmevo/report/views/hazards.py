"""View `hazards`: pairs with fewer wait states than a table asks for, and what each s_nop must give."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.ir.analysis.hazards.needed import HazardState, NopNeeds
from asmevo.ir.instruction import Immediate, Instruction
from asmevo.ir.printer import print_instruction
from asmevo.report.subject import Subject, place_of
from asmevo.report.views.table import cut, table


@dataclass(frozen=True, slots=True)
class Close:
    """A pair that is close by some reading: the states missing by LLVM's count and by the physical one (0: none)."""

    place: str
    block: str
    depth: int
    instruction: str
    producer_place: str
    producer: str
    rule: str
    source: str
    missing_llvm: int
    missing_physical: int


@dataclass(frozen=True, slots=True)
class Nop:
    """An s_nop: the states it gives, and the fewest in its place by each reading (0: it may go)."""

    place: str
    block: str
    depth: int
    states: int
    needed_llvm: int
    needed_physical: int


@dataclass(frozen=True, slots=True)
class Hazards:
    """Close pairs and nops of reachable code, in layout order."""

    close: tuple[Close, ...]
    nops: tuple[Nop, ...]


def hazards(subject: Subject) -> Hazards:
    """Return the view of a subject."""
    state, needs = subject.analyses.get(HazardState), subject.analyses.get(NopNeeds)
    blocks = {block.label: block.instructions for block in subject.kernel.blocks}
    position = {block.label: number for number, block in enumerate(subject.kernel.blocks)}
    close = [
        Close(
            place_of(_at(blocks, h.consumer), h.consumer[0]),
            h.consumer[0],
            subject.depth(h.consumer[0]),
            print_instruction(_at(blocks, h.consumer)),
            place_of(_at(blocks, h.producer), h.producer[0]),
            print_instruction(_at(blocks, h.producer)),
            h.rule.name,
            h.rule.source,
            h.missing_llvm,
            h.missing_physical,
        )
        for h in sorted(state.findings(), key=lambda h: (position[h.consumer[0]], h.consumer[1], h.producer, h.rule.name))
    ]
    nops: list[Nop] = []
    for site in sorted((s for s in needs.llvm if s[0] in state.flow.reachable), key=lambda site: (position[site[0]], site[1])):
        instruction = _at(blocks, site)
        operand = instruction.operands[0] if instruction.operands else None
        states = (operand.value & 15) + 1 if isinstance(operand, Immediate) else 1
        nops.append(
            Nop(
                place_of(instruction, site[0]), site[0], subject.depth(site[0]),
                states, min(needs.llvm[site], states), min(needs.physical[site], states),
            )
        )  # fmt: skip
    return Hazards(tuple(close), tuple(nops))


def _at(blocks: dict[str, tuple[Instruction, ...]], site: tuple[str, int]) -> Instruction:
    return blocks[site[0]][site[1]]


def lines(view: Hazards, *, most: int | None = None) -> list[str]:
    """Return the view as text."""
    physical = sum(c.missing_physical > 0 for c in view.close)
    given, needed = sum(n.states for n in view.nops), sum(n.needed_llvm for n in view.nops)
    found = [
        f"{len(view.close)} pairs below LLVM's table or the manual's, {physical} of them below what surely passes in between"
    ]
    if view.close:
        head = ("place", "depth", "instruction", "after", "at", "rule", "missing (LLVM)", "missing (physical)")
        rows = (
            (c.place, c.depth, c.instruction, c.producer, c.producer_place, c.rule, c.missing_llvm, c.missing_physical)
            for c in view.close
        )
        found += cut(table(head, rows, right=(1, 6, 7)), most)
    found.append(f"{len(view.nops)} s_nop give {given} wait states, {needed} needed by LLVM's count")
    if view.nops:
        head = ("place", "block", "depth", "states", "needed (LLVM)", "needed (physical)")
        rows = ((n.place, n.block, n.depth, n.states, n.needed_llvm, n.needed_physical) for n in view.nops)
        found += cut(table(head, rows, right=(2, 3, 4, 5)), most)
    return found
