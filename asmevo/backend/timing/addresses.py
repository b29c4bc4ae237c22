"""Addresses of recorded memory accesses, and what they cost: cycles of LDS banks, lines of memory.

Owns the evaluation of the address expressions of `ir.semantics` over many accesses at once. The rules of banks are
`isa.lds_banks`'s. A buffer's swizzle is not followed: its lanes are taken to lie one after another.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asmevo.backend.timing.details import STORE_BYTES
from asmevo.backend.timing.program import Array
from asmevo.ir.instruction import Immediate, Instruction, Register, Symbolic
from asmevo.ir.isa.chips import Chip
from asmevo.ir.isa.lds_banks import Phases, bank_cycles, phases
from asmevo.ir.isa.model import Access, Counter, Space
from asmevo.ir.registers import VGPR0
from asmevo.ir.semantics import program_of, source_bits
from asmevo.ir.semantics.expr import Expr, MemoryOp, Op

LANES = 64
SCALAR_LINE_BYTES = 64
Words = npt.NDArray[np.uint64]
_STRIDE_MASK = 0x3FFF


@dataclass(frozen=True, slots=True)
class Site:
    """A memory instruction: its effect, the registers to look at (first unit, count) with their names, and its constants.

    `memory` is None when the semantics say nothing of its addresses.
    """

    instruction: Instruction
    memory: MemoryOp | None
    names: tuple[str, ...]
    registers: tuple[tuple[int, int], ...]
    constants: dict[str, int]
    modifiers: dict[str, int]


@dataclass(frozen=True, slots=True)
class Seen:
    """One execution of a site: the operation's number, EXEC, M0, and the site's registers, (count, 64) or (count,) uint32."""

    operation: int
    mask: int
    m0: int
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class AccessBytes:
    """Accesses of one wave in order, as `Way` has them."""

    accesses: Array
    lines: Array


def site_of(instruction: Instruction, target: str) -> Site | None:
    """The site of an instruction that increments a memory counter; None for others."""
    definition = instruction.definition
    if definition is None or not {Counter.VMCNT, Counter.LGKMCNT} & set(definition.counters):
        return None
    program = program_of(instruction, target)
    memory = program.memory if program is not None else None
    names: list[str] = []
    registers: list[tuple[int, int]] = []
    constants: dict[str, int] = {}
    wanted = {str(e.attr) for e in _nodes(memory) if e.op is Op.SRC} | ({memory.resource or ""} if memory else set())
    for spec, operand in zip(definition.operands, instruction.operands, strict=False):
        if spec.name not in wanted:
            continue
        if isinstance(operand, Register):
            names.append(spec.name)
            registers.append((operand.range.unit, operand.range.count))
        elif isinstance(operand, Immediate) or (isinstance(operand, Symbolic) and operand.value is not None):
            constants[spec.name] = source_bits(instruction, spec.name)
    modifiers = {str(e.attr): _integer(instruction, str(e.attr)) for e in _nodes(memory) if e.op is Op.IMM}
    return Site(instruction, memory, tuple(names), tuple(registers), constants, modifiers)


def _integer(instruction: Instruction, name: str) -> int:
    value = instruction.modifier(name, 0)
    return int(value) if isinstance(value, int) else 0


def _nodes(memory: MemoryOp | None) -> list[Expr]:
    """All nodes of the expressions that addresses are made from."""
    if memory is None:
        return []
    stack = [*memory.addresses, *(e for e in (memory.index, memory.soffset) if e is not None)]
    found: list[Expr] = []
    while stack:
        node = stack.pop()
        found.append(node)
        stack += node.args
    return found


def accesses_of(seen: Sequence[Seen], sites: Sequence[Site | None], lds_bytes: int, target: str, chip: Chip) -> AccessBytes:
    """A row for each access: cycles, first line, lines. What is not known costs as little as its bytes allow."""
    by_operation: dict[int, list[int]] = {}
    for place, one in enumerate(seen):
        by_operation.setdefault(one.operation, []).append(place)
    rows = np.zeros((len(seen), 3), np.int64)
    lines: list[Array] = []
    total = 0
    for operation, places in by_operation.items():
        site = sites[operation]
        assert site is not None
        cycles, found, counts = _costs(site, [seen[p] for p in places], lds_bytes, target, chip)
        rows[places, 0] = cycles
        rows[places, 1] = total + np.concatenate([[0], counts.cumsum()[:-1]])
        rows[places, 2] = counts
        lines.append(found)
        total += len(found)
    return AccessBytes(rows, np.concatenate([np.zeros(0, np.int64), *lines]))


def _costs(site: Site, seen: Sequence[Seen], lds_bytes: int, target: str, chip: Chip) -> tuple[Array, Array, Array]:
    """Cycles, all lines in order, and how many of them each access has."""
    definition = site.instruction.definition
    assert definition is not None
    none = np.zeros(len(seen), np.int64)
    addresses = _addresses(site, seen)
    if addresses is None or site.memory is None:
        return none + 4, np.zeros(0, np.int64), none
    active = _active(seen)
    size = site.memory.bytes
    if definition.space is Space.LDS:
        cycles = sum(
            (bank_costs(a, active, size, lds_bytes, target, definition.access is Access.LOAD) for a in addresses), none
        )
        return cycles, np.zeros(0, np.int64), none
    if definition.space is Space.SCALAR:
        first = addresses[0][:, :1]
        found, counts = _lines(first, first >= 0, definition.memory_bytes, SCALAR_LINE_BYTES)
        return none, found, counts
    is_load = definition.access in (Access.LOAD, Access.LDS_DMA)
    if site.memory.resource is not None:
        addresses, active = _in_buffer(site, seen, addresses, active)
    found, counts = _lines(addresses[0], active, size, chip.l1_line_bytes.value if is_load else STORE_BYTES)
    return np.maximum(counts, 4), found, counts


def _active(seen: Sequence[Seen]) -> npt.NDArray[np.bool_]:
    masks = np.array([one.mask for one in seen], np.uint64)
    return (masks[:, None] >> np.arange(LANES, dtype=np.uint64) & np.uint64(1)).astype(np.bool_)


def _addresses(site: Site, seen: Sequence[Seen]) -> list[Words] | None:
    """Byte addresses (n, 64) of each address expression; None when one uses what is not evaluated here."""
    if site.memory is None:
        return None
    values = _Values(site, seen)
    found = [values.of(expression) for expression in site.memory.addresses]
    return [f for f in found if f is not None] if all(f is not None for f in found) else None


class _Values:
    """Expressions over many executions at once, (n, 64) or broadcastable uint64."""

    def __init__(self, site: Site, seen: Sequence[Seen]) -> None:
        self._site = site
        self._seen = seen
        self._named: dict[str, Words] = {}
        for place, (name, (unit, count)) in enumerate(zip(site.names, site.registers, strict=True)):
            words = np.array([one.values[place] for one in seen], np.uint64)
            if unit < VGPR0:
                words = words[:, :, None]
            low = words[:, 0]
            self._named[name] = low if count == 1 else low | words[:, 1] << np.uint64(32)

    def raw(self, name: str) -> Words | None:
        """A scalar operand's words, (n, count)."""
        if name not in self._site.names:
            return None
        place = self._site.names.index(name)
        return np.array([one.values[place] for one in self._seen], np.uint64)

    def of(self, e: Expr) -> Words | None:
        """The value of `e`; None for what addresses are not made from."""
        leaf = self._leaf(e)
        if leaf is not None:
            return leaf & _mask(e.bits)
        args = [self.of(a) for a in e.args]
        if not args or any(a is None for a in args):
            return None
        known = [a for a in args if a is not None]
        result = _applied(e, known)
        return None if result is None else result & _mask(e.bits)

    def _leaf(self, e: Expr) -> Words | None:
        match e.op:
            case Op.CONST:
                return np.array([[int(e.attr) if isinstance(e.attr, int) else 0]], np.uint64)
            case Op.IMM:
                return np.array([[self._site.modifiers.get(str(e.attr), 0) & (1 << 64) - 1]], np.uint64)
            case Op.LANE:
                return np.arange(LANES, dtype=np.uint64)[None, :]
            case Op.SPECIAL if e.attr == "m0":
                return np.array([[one.m0] for one in self._seen], np.uint64)
            case Op.SRC if str(e.attr) in self._named:
                return self._named[str(e.attr)]
            case Op.SRC if str(e.attr) in self._site.constants:
                return np.array([[self._site.constants[str(e.attr)] & (1 << 64) - 1]], np.uint64)
            case _:
                return None


def _mask(bits: int) -> np.uint64:
    return np.uint64((1 << min(bits, 64)) - 1)


def _applied(e: Expr, args: list[Words]) -> Words | None:
    width = e.args[0].bits
    match e.op:
        case Op.ADD:
            return args[0] + args[1]
        case Op.SUB:
            return args[0] - args[1]
        case Op.MUL:
            return args[0] * args[1]
        case Op.AND:
            return args[0] & args[1]
        case Op.OR:
            return args[0] | args[1]
        case Op.SHL:
            return args[0] << np.minimum(args[1], np.uint64(63))
        case Op.LSHR:
            return args[0] >> np.minimum(args[1], np.uint64(63))
        case Op.EXTRACT:
            return args[0] >> np.uint64(int(e.attr) if isinstance(e.attr, int) else 0)
        case Op.CONCAT:
            return args[0] << np.uint64(e.args[1].bits) | args[1]
        case Op.ZEXT:
            return args[0]
        case Op.SEXT:
            sign = np.uint64(1 << width - 1)
            return (args[0] ^ sign) - sign
        case _:
            return None


def _in_buffer(
    site: Site, seen: Sequence[Seen], addresses: list[Words], active: npt.NDArray[np.bool_]
) -> tuple[list[Words], npt.NDArray[np.bool_]]:
    """Addresses from a buffer's base on, and which lanes lie inside it."""
    assert site.memory is not None
    values = _Values(site, seen)
    words = values.raw(site.memory.resource or "")
    if words is None or words.shape[1] < 4:
        return addresses, active & False
    base = words[:, :1] | (words[:, 1:2] & np.uint64(0xFFFF)) << np.uint64(32)
    stride = words[:, 1:2] >> np.uint64(16) & np.uint64(_STRIDE_MASK)
    offset = np.broadcast_to(addresses[0], active.shape)
    records = words[:, 2:3]
    inside = offset < np.where(stride == 0, records, records * np.maximum(stride, np.uint64(1)))
    index = values.of(site.memory.index) if site.memory.index is not None else None
    if index is not None:
        inside = np.broadcast_to(index, active.shape) < records
        offset = offset + index * stride
    soffset = values.of(site.memory.soffset) if site.memory.soffset is not None else None
    if soffset is not None:
        offset = offset + soffset
    return [base + offset], active & inside


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
