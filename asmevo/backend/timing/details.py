"""What the machine needs of each instruction beyond its costs: where its code lies, what its memory access touches, its target.

Owns the gathering from layout and analyses. Addresses are those that hold on every path, affine in the lane; where they are not
known, an access is taken to be without conflicts and to touch no more lines than its bytes need.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.backend.layout import lay_out
from asmevo.backend.timing.program import NO_DETAIL, Detail
from asmevo.ir.analysis.cost.costs import LANES
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.memory.bank_conflicts import BankConflicts
from asmevo.ir.analysis.memory.coalescing import Coalescing
from asmevo.ir.instruction import Immediate, Instruction, Label
from asmevo.ir.isa.chips import Chip
from asmevo.ir.isa.lds_banks import phases
from asmevo.ir.isa.model import Access, Counter, IssueClass, OpcodeDef, Space
from asmevo.ir.kernel import Kernel

Site = tuple[str, int]
STORE_BYTES = 64
"""What a store or atomic sends to a channel of L2 at once (CDNA3 white paper: 64 bytes a cycle and channel)."""


def details_of(kernel: Kernel, manager: AnalysisManager, chip: Chip, *, fetch: bool, rendezvous: bool) -> list[list[Detail]]:
    """For each block, the details of its instructions.

    `fetch`: with the addresses that the code has when it is written. `rendezvous`: barriers are modelled wave by wave and
    have no fixed cost. Raises E0603 to E0612 when `fetch` is asked for code that cannot be laid out.
    """
    codes = _addresses(kernel) if fetch else {}
    numbers = {block.label: number for number, block in enumerate(kernel.blocks)}
    banks = {(u.access.label, u.access.index): u.cost.cycles for u in manager.get(BankConflicts).uses if u.cost is not None}
    lines: dict[Site, int] = {}
    for use in manager.get(Coalescing).uses:
        wanted = chip.l1_line_bytes.value if use.access.access is Access.LOAD else STORE_BYTES
        for segments in use.segments:
            if segments.size_bytes == wanted:
                lines[use.access.label, use.access.index] = segments.touched
    found: list[list[Detail]] = []
    for block in kernel.blocks:
        row: list[Detail] = []
        for index, instruction in enumerate(block.instructions):
            site = (block.label, index)
            place = _Place(*codes.get(site, (-1, 4)), banks.get(site), lines.get(site))
            row.append(_detail(instruction, chip, kernel.target, numbers, place, rendezvous))
        found.append(row)
    return found


def _addresses(kernel: Kernel) -> dict[Site, tuple[int, int]]:
    """Address and size of each instruction's code, from the address of the first block; functions lie on 256 bytes."""
    start = kernel.blocks[0].offset or 0 if kernel.blocks else 0
    placed = lay_out(kernel, start).placed
    sites = [(block.label, index) for block in kernel.blocks for index in range(len(block.instructions))]
    return {site: (item.offset, len(item.code)) for site, item in zip(sites, placed, strict=True)}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an instruction's code lies, and what analysis tells of its access: cycles of banks, lines; None if nothing."""

    address: int
    size: int
    banks: int | None
    lines: int | None


def _detail(
    instruction: Instruction, chip: Chip, target: str, numbers: dict[str, int], place: _Place, rendezvous: bool
) -> Detail:
    address, size = place.address, place.size
    definition = instruction.definition
    if definition is None:
        return NO_DETAIL
    if definition.issue is IssueClass.BARRIER and rendezvous:
        return Detail(address, size, is_barrier=True, hold=chip.slot.value)
    if definition.mnemonic == "s_setprio":
        operand = instruction.operands[0] if instruction.operands else None
        return Detail(address, size, priority=operand.value & 3 if isinstance(operand, Immediate) else 0)
    if definition.is_branch:
        name = next((operand.name for operand in instruction.operands if isinstance(operand, Label)), "")
        return Detail(address, size, target=numbers.get(name, -1))
    store = definition.access in (Access.STORE, Access.ATOMIC, Access.ATOMIC_RETURN)
    if Counter.VMCNT in definition.counters:
        total = definition.memory_bytes * LANES
        return Detail(
            address, size, is_store=store,
            lines=place.lines if place.lines is not None else -(-total // (STORE_BYTES if store else chip.l1_line_bytes.value)),
            transfer=max(chip.slot.value, -(-total // chip.l1_bytes_per_cycle.value)),
        )  # fmt: skip
    if definition.issue is IssueClass.LDS or definition.space is Space.LDS:
        return Detail(address, size, banks=place.banks if place.banks is not None else _ideal_banks(definition, target))
    return Detail(address, size, is_scalar_memory=definition.issue is IssueClass.SMEM)


def _ideal_banks(definition: OpcodeDef, target: str) -> int:
    """Cycles of the banks without conflicts; two addresses a lane are two accesses."""
    double = 2 if "2" in definition.mnemonic.split("_")[1] else 1
    served = phases(target, definition.memory_bytes // double, is_load=definition.access is Access.LOAD)
    return double * len(served.groups) if served is not None else 8
