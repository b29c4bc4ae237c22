"""What recorded memory accesses cost: cycles of LDS banks and of the vector cache's look-up, and the lines they touch.

Owns the counting over many accesses at once. Addresses come from `observe.accesses`; the rules of banks are `isa.lds_banks`'s.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asmevo.backend.observe.accesses import Access as Touched
from asmevo.backend.timing.details import STORE_BYTES
from asmevo.backend.timing.program import Array
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.chips import Chip
from asmevo.ir.isa.lds_banks import LANES, Phases, bank_cycles, phases
from asmevo.ir.isa.model import Access, Counter, Space

SCALAR_LINE_BYTES = 64
Words = npt.NDArray[np.uint64]
_UNKNOWN_CYCLES = 4


@dataclass(frozen=True, slots=True)
class Seen:
    """One execution of a memory instruction: the operation's number, and what it touched; None when that cannot be told."""

    operation: int
    touched: Touched | None


@dataclass(frozen=True, slots=True)
class AccessBytes:
    """Accesses of one wave in order, as `Way` has them."""

    accesses: Array
    lines: Array


def is_counted(instruction: Instruction) -> bool:
    """Whether the machine takes a row of a way's accesses for the instruction: it increments a memory counter."""
    definition = instruction.definition
    return definition is not None and bool({Counter.VMCNT, Counter.LGKMCNT} & set(definition.counters))


def accesses_of(seen: Sequence[Seen], instructions: Sequence[Instruction], target: str, chip: Chip) -> AccessBytes:
    """A row for each access: cycles, first line, lines. What is not known costs four cycles and no line."""
    by_operation: dict[int, list[int]] = {}
    rows = np.zeros((len(seen), 3), np.int64)
    for place, one in enumerate(seen):
        if one.touched is None:
            rows[place, 0] = _UNKNOWN_CYCLES
        else:
            by_operation.setdefault(one.operation, []).append(place)
    lines: list[Array] = []
    total = 0
    for operation, places in by_operation.items():
        touched = [t for t in (seen[p].touched for p in places) if t is not None]
        cycles, found, counts = _costs(instructions[operation], touched, target, chip)
        rows[places, 0] = cycles
        rows[places, 1] = total + np.concatenate([[0], counts.cumsum()[:-1]])
        rows[places, 2] = counts
        lines.append(found)
        total += len(found)
    return AccessBytes(rows, np.concatenate([np.zeros(0, np.int64), *lines]))


def _costs(instruction: Instruction, touched: Sequence[Touched], target: str, chip: Chip) -> tuple[Array, Array, Array]:
    """Cycles, all lines in order, and how many of them each access of one instruction has."""
    definition = instruction.definition
    assert definition is not None
    none = np.zeros(len(touched), np.int64)
    size = touched[0].bytes
    addresses = np.zeros((len(touched[0].addresses), len(touched), LANES), np.uint64)
    active = np.zeros((len(touched), LANES), np.bool_)
    for n, one in enumerate(touched):
        addresses[:, n, one.lanes] = one.addresses
        active[n, one.lanes] = True
    is_load = definition.access in (Access.LOAD, Access.LDS_DMA)
    if definition.space is Space.LDS:
        everywhere = 1 << 40
        cycles = sum((bank_costs(a, active, size, everywhere, target, is_load) for a in addresses), none)
        return cycles, np.zeros(0, np.int64), none
    if definition.space is Space.SCALAR:
        found, counts = _lines(addresses[0], active, definition.memory_bytes, SCALAR_LINE_BYTES)
        return none, found, counts
    found, counts = _lines(addresses[0], active, size, chip.l1_line_bytes.value if is_load else STORE_BYTES)
    return np.maximum(counts, _UNKNOWN_CYCLES), found, counts


def _lines(addresses: Words, active: npt.NDArray[np.bool_], size: int, line: int) -> tuple[Array, Array]:
    """The distinct lines that each row's active lanes touch, row after row, and how many each row has."""
    count = -(-(size - 1) // line) + 1
    whole = np.broadcast_to(addresses, active.shape).astype(np.int64)
    steps = [np.minimum(n * line, size - 1) for n in range(count)]
    touched = np.concatenate([(whole + step) // line for step in steps], axis=1)
    on = np.concatenate([active] * count, axis=1)
    touched = np.where(on, touched, -1)
    touched.sort(axis=1)
    new = np.ones(touched.shape, np.bool_)
    new[:, 1:] = touched[:, 1:] != touched[:, :-1]
    new &= touched >= 0
    return touched[new], new.sum(axis=1).astype(np.int64)


def bank_costs(addresses: Words, active: npt.NDArray[np.bool_], size: int, lds_bytes: int, target: str, is_load: bool) -> Array:
    """Cycles of the LDS banks for each row of byte addresses (n, 64); lanes that are off or outside take no bank.

    Equal patterns, turned by whole dwords, are computed once.
    """
    served = phases(target, size, is_load=is_load)
    if served is None:
        return np.full(len(active), 8, np.int64)
    whole = np.broadcast_to(addresses, active.shape).astype(np.int64)
    on = active & (whole < lds_bytes)
    first = np.where(on, whole, 1 << 40).min(axis=1, keepdims=True) & ~3
    patterns, which = np.unique(np.where(on, whole - first, -1), axis=0, return_inverse=True)
    cycles = [_cycles_of(served, [a if a >= 0 else None for a in row], size) for row in patterns.tolist()]
    return np.array(cycles, np.int64)[which.reshape(-1)]


def _cycles_of(served: Phases, addresses: list[int | None], size: int) -> int:
    """Cycles of one access. A phase without lanes takes one too: strides of 512 and 1,024 dwords take 33 and 17 (PYHIP)."""
    idle = sum(all(addresses[lane] is None for lane in group) for group in served.groups)
    return bank_cycles(served, addresses, size).cycles + idle
