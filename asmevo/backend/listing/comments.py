"""What a listing says beside the code: where control comes from, loops, and which argument a load reads.

Owns remarks only: an assembler skips them, and nothing may be derived from them. They are conservative: where it is not certain
that a pointer is the kernarg pointer, no name is given.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

from asmevo.diagnostics import printable
from asmevo.frontend.lowering import frozen_reason
from asmevo.ir.abi import KernelArgument, KernelDescriptor, KernelMetadata
from asmevo.ir.analysis.control.loops import Loop, Loops
from asmevo.ir.analysis.dataflow.defuse import DefUse
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.cfg import predecessors
from asmevo.ir.instruction import Immediate, Instruction, Register
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.printer import print_instruction

_SHOWN = 6
_SCALAR_LOAD = "s_load_dword"
_KERNARG_BIT = 3
_USER_SGPRS_BEFORE = ((0, 4), (1, 2), (2, 2))
"""Bits of the descriptor's properties that put something before the kernarg pointer, and how many SGPRs each takes."""

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "lg": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}
_MOST_TRIPS = 1 << 16
_STEPS = {"s_add_u32": 1, "s_add_i32": 1, "s_addk_i32": 1, "s_sub_u32": -1, "s_sub_i32": -1}
_CONSTANTS = frozenset(("s_mov_b32", "s_movk_i32"))


def block_comments(kernel: Kernel, manager: AnalysisManager) -> dict[str, str]:
    """Label to what is to say of the block: its predecessors, its loop, why it is frozen; none for a plain fall-through."""
    loops = manager.get(Loops)
    headers = {loop.header: loop for loop in loops.loops}
    sources = predecessors(kernel)
    found: dict[str, str] = {}
    for block in kernel.blocks:
        parts: list[str] = []
        if block.label in kernel.roots:
            parts.append("waves start here")
        if block.label in headers:
            parts.append(_loop(kernel, headers[block.label], manager))
        if loops.depth[block.label] and block.label not in headers:
            parts.append(f"in a loop, depth {loops.depth[block.label]}")
        if came := sources[block.label]:
            parts.append(f"from {', '.join(came[:_SHOWN])}{f' and {len(came) - _SHOWN} more' if len(came) > _SHOWN else ''}")
        if reason := frozen_reason(kernel, block):
            parts.append(f"frozen: {reason}")
        found[block.label] = "; ".join(parts)
    return found


def _loop(kernel: Kernel, loop: Loop, manager: AnalysisManager) -> str:
    text = f"loop, depth {loop.depth}, {len(loop.blocks)} block{'s' if len(loop.blocks) > 1 else ''}"
    if len(loop.latches) != 1:
        return text
    latch = kernel.block(loop.latches[0])
    comparison = _comparison(latch)
    if comparison is None:
        return text
    branch = latch.instructions[-1].mnemonic
    text += f", again {'while' if branch.endswith('scc1') else 'unless'} {print_instruction(comparison)}"
    trips = _trips(kernel, loop, latch, comparison, manager)
    return text if trips is None else f"{text} ({trips} trips if it ends only there)"


def _comparison(latch: Block) -> Instruction | None:
    """The compare that a latch's conditional branch reads."""
    if not latch.instructions or latch.instructions[-1].mnemonic not in ("s_cbranch_scc0", "s_cbranch_scc1"):
        return None
    for instruction in reversed(latch.instructions[:-1]):
        if instruction.mnemonic.startswith("s_cmp"):
            return instruction
        if instruction.mnemonic.startswith("s_") and not instruction.mnemonic.startswith(("s_nop", "s_waitcnt", "s_mov")):
            return None
    return None


def _trips(kernel: Kernel, loop: Loop, latch: Block, comparison: Instruction, manager: AnalysisManager) -> int | None:
    """How often a counted loop runs: one constant start, one constant step in the latch, a constant bound; else None."""
    operands = comparison.operands
    if len(operands) != 2 or not isinstance(operands[0], Register) or not isinstance(operands[1], Immediate):
        return None
    unit = operands[0].range.unit
    defuse = manager.get(DefUse)
    steps = [
        (label, index)
        for label, index in defuse.definitions(latch.label, latch.instructions.index(comparison), unit)
        if label in loop.blocks
    ]
    starts = [site for site in defuse.definitions(loop.header, 0, unit) if site[0] not in loop.blocks]
    if len(steps) != 1 or len(starts) != 1 or not starts[0][0] or steps[0][0] != latch.label:
        return None
    start = _constant(kernel.block(starts[0][0]).instructions[starts[0][1]])
    step = _step(latch.instructions[steps[0][1]], unit)
    relation = _COMPARISONS.get(comparison.mnemonic.split("_")[2][:2])
    if start is None or not step or relation is None:
        return None
    is_signed = comparison.mnemonic.endswith("i32")
    bound = _number(operands[1].value, is_signed)
    wanted = latch.instructions[-1].mnemonic.endswith("scc1")
    value, trips = start, 0
    while trips < _MOST_TRIPS:
        value, trips = value + step & 0xFFFFFFFF, trips + 1
        if relation(_number(value, is_signed), bound) is not wanted:
            return trips
    return None


def _number(value: int, is_signed: bool) -> int:
    return value - (1 << 32) if is_signed and value >> 31 else value


def _constant(instruction: Instruction) -> int | None:
    last = instruction.operands[-1] if instruction.operands else None
    if instruction.mnemonic not in _CONSTANTS or not isinstance(last, Immediate):
        return None
    return last.value & 0xFFFFFFFF


def _step(instruction: Instruction, unit: int) -> int | None:
    sign = _STEPS.get(instruction.mnemonic)
    last = instruction.operands[-1] if instruction.operands else None
    if sign is None or not isinstance(last, Immediate):
        return None
    registers = [operand for operand in instruction.operands if isinstance(operand, Register)]
    return sign * _number(last.value, True) if all(r.range.unit == unit and r.range.count == 1 for r in registers) else None


def argument_comments(kernel: Kernel, manager: AnalysisManager) -> dict[int, str]:
    """Uid of each scalar load through the kernarg pointer, to the arguments it reads."""
    if kernel.descriptor is None or kernel.metadata is None:
        return {}
    pointer = kernarg_pointer(kernel.descriptor)
    if pointer is None:
        return {}
    found: dict[int, str] = {}
    for block in kernel.blocks:
        for index, instruction in enumerate(block.instructions):
            reach = _load(instruction, pointer)
            if reach is None or not _is_untouched(manager.get(DefUse), block.label, index, pointer):
                continue
            names = list(_named(kernel.metadata, reach))
            found[instruction.uid] = f"kernarg: {', '.join(names)}" if names else f"kernarg +{reach.start}"
    return found


def kernarg_pointer(descriptor: KernelDescriptor) -> int | None:
    """The first SGPR of the kernarg pointer; None when the kernel gets none."""
    if not descriptor.properties >> _KERNARG_BIT & 1:
        return None
    return sum(count for bit, count in _USER_SGPRS_BEFORE if descriptor.properties >> bit & 1)


def preloaded(kernel: Kernel) -> Iterator[str]:
    """A line for each argument that the hardware loads into SGPRs before the first instruction."""
    descriptor, metadata = kernel.descriptor, kernel.metadata
    if descriptor is None or metadata is None or not descriptor.preload_dwords:
        return
    first = descriptor.user_sgpr_count - descriptor.preload_dwords
    start = descriptor.preload_offset_dwords * 4
    reach = range(start, start + descriptor.preload_dwords * 4)
    for number, argument in enumerate(metadata.arguments):
        if _overlaps(argument, reach):
            low = first + (max(argument.offset, reach.start) - start) // 4
            high = first + (min(argument.offset + argument.size, reach.stop) - start + 3) // 4 - 1
            registers = f"s{low}" if low == high else f"s[{low}:{high}]"
            yield f"{registers} preloaded: {_argument(number, argument, reach)}"


def _load(instruction: Instruction, pointer: int) -> range | None:
    """The bytes of the kernarg segment that a scalar load through `pointer` reads; None when it is no such load."""
    operands = instruction.operands
    if not instruction.mnemonic.startswith(_SCALAR_LOAD) or len(operands) != 3:
        return None
    target, base, offset = operands
    if not isinstance(target, Register) or not isinstance(base, Register) or not isinstance(offset, Immediate):
        return None
    if base.range.unit != pointer or base.range.count != 2:
        return None
    return range(offset.value, offset.value + 4 * target.range.count)


def _is_untouched(defuse: DefUse, label: str, index: int, pointer: int) -> bool:
    at_entry = frozenset((("", -1),))
    return all(defuse.definitions(label, index, unit) == at_entry for unit in (pointer, pointer + 1))


def _overlaps(argument: KernelArgument, reach: range) -> bool:
    return argument.offset < reach.stop and reach.start < argument.offset + argument.size


def _named(metadata: KernelMetadata, reach: range) -> Iterator[str]:
    """The arguments that lie in these bytes of the kernarg segment."""
    for number, argument in enumerate(metadata.arguments):
        if _overlaps(argument, reach):
            yield _argument(number, argument, reach)


def _argument(number: int, argument: KernelArgument, reach: range) -> str:
    name = printable(argument.name) or f"argument {number}, {printable(argument.value_kind)}"
    is_whole = reach.start <= argument.offset and argument.offset + argument.size <= reach.stop
    return f"{name} (+{argument.offset}{'' if is_whole else ', a part'})"
