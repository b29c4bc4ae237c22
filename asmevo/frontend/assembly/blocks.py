"""A run of instructions with labels to the blocks of one kernel.

Owns block boundaries, block labels, successors and which blocks are frozen in code that came from a source. Its counterpart
for decoded objects is `frontend.lowering`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from asmevo.diagnostics import Diagnostic, Span, fail
from asmevo.frontend.assembly.lines import Line, located
from asmevo.frontend.lowering import indirect_instructions
from asmevo.ir.abi import KernelDescriptor, KernelMetadata
from asmevo.ir.instruction import Instruction, Label
from asmevo.ir.kernel import Block, Kernel


@dataclass(frozen=True, slots=True)
class Region:
    """One function's code: its instructions, their lines, and its labels by index into them.

    `elsewhere` are the labels of other functions; `fixed` says that something in it depends on where the code lies.
    """

    name: str
    instructions: tuple[Instruction, ...]
    lines: tuple[Line, ...]
    labels: Mapping[str, int]
    elsewhere: Set[str]
    fixed: bool
    roots: tuple[int, ...]
    """Indices of the instructions at which waves start: the entry, and what lies behind a preload prologue."""


def build_kernel(
    region: Region,
    target: str,
    named_roots: Sequence[str],
    file: str,
    descriptor: KernelDescriptor | None = None,
    metadata: KernelMetadata | None = None,
) -> Kernel:
    """The kernel of a region. Its roots are those of the region unless `named_roots` are labels of others.

    Raises: DiagnosticError E0133 for a label that is unknown or stands in another function.
    """
    count = len(region.instructions)
    for root in named_roots:
        if root not in region.labels:
            fail("E0133", f"unknown label '{root}'", Span(file))
    starts = {0, *region.roots, *(index for index in region.labels.values() if index < count)}
    for index, instruction in enumerate(region.instructions):
        if instruction.ends_block and index + 1 < count:
            starts.add(index + 1)
    leaders = sorted(starts)
    labels = _block_labels(region, leaders)
    is_fixed = region.fixed or bool(indirect_instructions(region.instructions))
    # The hardware relies on the size of a prologue.
    prologue = range(min(region.roots), max(region.roots))
    blocks = tuple(
        _block(
            region,
            labels,
            start,
            leaders[position + 1] if position + 1 < len(leaders) else count,
            is_fixed or start in prologue,
        )
        for position, start in enumerate(leaders)
    )
    roots = tuple(labels[region.labels[root]] for root in named_roots) or tuple(labels[root] for root in region.roots)
    return Kernel(region.name, target, blocks, roots, descriptor, metadata)


def _block_labels(region: Region, leaders: list[int]) -> dict[int, str]:
    """Instruction index to block label: the last label written before it, or a new one."""
    labels = {index: name for name, index in region.labels.items()}
    taken = set(region.labels)
    for index in leaders:
        if index not in labels:
            name = f"B_{index}"
            while name in taken:
                name = f"{name}_"
            labels[index] = name
            taken.add(name)
    return labels


def _block(region: Region, labels: dict[int, str], start: int, end: int, is_fixed: bool) -> Block:
    count = len(region.instructions)
    members = list(region.instructions[start:end])
    last = members[-1]
    definition = last.definition
    successors: tuple[str, ...] = ()
    if definition is not None and definition.is_branch and last.operands and isinstance(last.operands[-1], Label):
        target = last.operands[-1].name
        index = region.labels.get(target)
        if index is None or index not in labels or index >= count:
            where = "lies in another function" if target in region.elsewhere else "is unknown"
            message = f"label '{target}' {where}" if target in region.elsewhere else f"unknown label '{target}'"
            raise located(Diagnostic("E0133", message, last.span), region.lines[end - 1].origin)
        successors = (labels[index],)
        # A place with two names is one block: branches use the name it has.
        members[-1] = replace(last, operands=(*last.operands[:-1], Label(labels[index])))
    if end < count and (definition is None or not definition.is_terminator or definition.is_conditional):
        successors = (*successors, labels[end])
    frozen = is_fixed or any(member.definition is None for member in members)
    return Block(labels[start], tuple(members), successors, frozen)
