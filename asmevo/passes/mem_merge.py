"""mem-merge: two LDS reads from one address register as one instruction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from asmevo.ir.analysis.brackets import Use, event_of, register_use
from asmevo.ir.analysis.facts import EffectsTable
from asmevo.ir.analysis.values import Values
from asmevo.ir.analysis.waits import WaitState
from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction, Modifier, Register, WaitCounts
from asmevo.ir.isa.model import Access, IssueClass, Space
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import EXEC_MASK, M0, RegisterRange
from asmevo.passes.base import PassContext, PassResult
from asmevo.passes.commit import commit
from asmevo.passes.fillers import Fillers, is_filler
from asmevo.passes.operand_forms import encodable, made
from asmevo.passes.packing import best_of
from asmevo.passes.registry import register_pass
from asmevo.passes.wait_obligations import WaitObligations
from asmevo.passes.wait_states import end_of_body

_BYTES = {"ds_read_b32": 4, "ds_read_b64": 8}
_REACH = 48
"""How far apart the two reads may stand."""
_FIELD = 256
"""Offsets that a two-address instruction can name, in units of its data, or of 64 times its data."""


@register_pass
@dataclass(frozen=True, slots=True)
class MemMerge:
    """Join LDS reads of two places named by one address register, in blocks where that costs less.

    Rewrite:  ds_read_b32 v4, v1; ds_read_b32 v5, v1 offset:64 --> ds_read2_b32 v[4:5], v1 offset1:16
    Legality: the same address register, EXEC and M0 at both; offsets that the two fields can name; destinations that follow each
        other from an even register on; no LDS write and no barrier between. At one of the two places both may be read and
        nobody has yet needed, or overwritten, what comes. Reads of 64 bits only where the value analysis proves the address
        aligned: what an unaligned one does is not specified. Waits and wait states are made anew.
        Writes are never joined: in which order lanes write one place is then another.
    Preserves: memory, control flow, every register, the order of all else.
    Targets: gfx90a, gfx942, gfx950.
    Source: LLVM SILoadStoreOptimizer.cpp; AMD CDNA3 ISA guide, chapter 11.
    """

    name: ClassVar[str] = "mem-merge"

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Joins all pairs of a block or none, whichever is faster once scheduled."""
        table, waits = ctx.analysis(EffectsTable), ctx.analysis(WaitState)
        trials: dict[str, tuple[Instruction, ...]] = {}
        counts: dict[str, int] = {}
        next_uid = 1 + max((i.uid for i in kernel.instructions()), default=0)
        for block in kernel.blocks:
            if block.frozen or table.by_block[block.label] != table.printed[block.label]:
                continue
            pairs = _pairs_in(block, ctx)
            body: tuple[Instruction, ...] | None = None
            # What is pending at the block's end is counted by waits behind it: without those pairs it may do.
            for chosen_pairs in (pairs, [pair for pair in pairs if not _is_pending(block, pair, waits)]):
                fillers = Fillers([i for i in block.instructions[: end_of_body(block)] if is_filler(i)], next_uid)
                if chosen_pairs and body is None:
                    pairs, body = chosen_pairs, _joined(block, chosen_pairs, waits, fillers)
            if body is not None:
                trials[block.label], counts[block.label] = body, len(pairs)
                next_uid = max(next_uid, 1 + max(i.uid for i in body))
            elif pairs:
                ctx.remark(f"{block.label}: {len(pairs)} pairs stay, since waits behind the block count them", missed=True)
        chosen = best_of(ctx, [trials]) if trials else {}
        left = commit(ctx, chosen)
        for label in trials:
            if label in chosen and label not in left:
                ctx.stat("pairs joined", counts[label])
            else:
                ctx.remark(f"{label}: {counts[label]} pairs of reads cost no more as they are", missed=True)
        return ctx.finish()


class _Pair(NamedTuple):
    first: int
    second: int
    place: int
    joined: Instruction


def _pairs_in(block: Block, ctx: PassContext) -> list[_Pair]:
    """Pairs of reads, each in one at most, in order of the first."""
    pairs: list[_Pair] = []
    used: set[int] = set()
    for first, one in enumerate(block.instructions):
        if first in used or one.mnemonic not in _BYTES:
            continue
        for second in range(first + 1, min(first + _REACH, len(block.instructions))):
            other = block.instructions[second]
            joined = _as_one(one, other) if second not in used and other.mnemonic == one.mnemonic else None
            place = None if joined is None else _place(block, first, second)
            if joined is not None and place is not None:
                if _is_aligned(block, first, ctx):
                    used |= {first, second}
                    pairs.append(_Pair(first, second, place, joined))
                break
            if _stops(one, other):
                break
    return pairs


def _is_aligned(block: Block, index: int, ctx: PassContext) -> bool:
    """Whether the address of a read is surely a multiple of its size; dwords are read whatever their address."""
    size = _BYTES[block.instructions[index].mnemonic]
    if size == 4:
        return True
    values = ctx.analysis(Values)
    if block.label not in values.entries:
        return False
    state, unit = values.before(block.label, index), _address(block.instructions[index]).unit
    return not state.partial >> unit & 1 and values.reader.unit(state, unit).zeros & (size - 1) == size - 1


def _stops(one: Instruction, other: Instruction) -> bool:
    """Whether nothing behind `other` can be joined with `one`."""
    definition, effect = other.definition, effects(other)
    if definition is None or definition.issue is IssueClass.BARRIER or effect.writes & (EXEC_MASK | 1 << M0):
        return True
    if effect.writes & _address(one).mask:
        return True
    is_lds = definition.space in (Space.LDS, Space.FLAT) or bool(other.modifier("lds"))
    return is_lds and definition.access is not Access.LOAD


def _address(i: Instruction) -> RegisterRange:
    operand = i.operands[1]
    assert isinstance(operand, Register)
    return operand.range


def _as_one(one: Instruction, other: Instruction) -> Instruction | None:
    """The instruction that does both accesses, in the place of `one`; None where there is none."""
    if any(m.name != "offset" for i in (one, other) for m in i.modifiers) or _address(one) != _address(other):
        return None
    size = _BYTES[one.mnemonic]
    low, high = sorted((one, other), key=_offset)
    if _offset(high) - _offset(low) < size:
        return None
    fields = _fields(_offset(low), _offset(high), size)
    if fields is None:
        return None
    stride, offsets = fields
    targets = [_target(low), _target(high)]
    if targets[1].unit < targets[0].unit:
        targets.reverse()
        offsets = offsets[::-1]
    start, count = targets[0].unit, targets[0].count
    if start + count != targets[1].unit or _address(one).mask & targets[0].mask:
        return None
    modifiers = tuple(Modifier(f"offset{n}", value) for n, value in enumerate(offsets) if value)
    operands = Register(RegisterRange(start, 2 * count)), one.operands[1]
    joined = made(f"ds_read2{stride}_b{8 * size}", operands, one, modifiers)
    return joined if encodable(joined) else None


def _target(i: Instruction) -> RegisterRange:
    operand = i.operands[0]
    assert isinstance(operand, Register)
    return operand.range


def _offset(i: Instruction) -> int:
    found = i.modifier("offset", 0)
    assert isinstance(found, int)
    return found


def _fields(low: int, high: int, size: int) -> tuple[str, tuple[int, int]] | None:
    for stride, unit in (("", size), ("st64", 64 * size)):
        if low % unit == 0 and high % unit == 0 and high // unit < _FIELD:
            return stride, (low // unit, high // unit)
    return None


def _place(block: Block, first: int, second: int) -> int | None:
    """Where of the two places both can be done at once; None where what stands between forbids it."""
    one, other = effects(block.instructions[first]), effects(block.instructions[second])
    reads = writes = 0
    for i in block.instructions[first + 1 : second]:
        effect = effects(i)
        reads |= effect.reads
        writes |= effect.writes
    if one.writes & (other.reads | other.writes) or other.writes & one.reads:
        return None
    if not (other.reads & writes or other.writes & (reads | writes)):
        return first
    return None if one.reads & writes or one.writes & (reads | writes) else second


def _joined(block: Block, pairs: list[_Pair], waits: WaitState, fillers: Fillers) -> tuple[Instruction, ...] | None:
    """The block with all pairs joined and waits made anew; None where one would be needed at its end where none stands."""
    inside = block.instructions[: end_of_body(block)]
    owed = WaitObligations.of(waits.before(block.label, 0), inside)
    node_of = {n: place for place, n in enumerate(n for n, i in enumerate(inside) if not is_filler(i))}
    nodes = [i for i in inside if not is_filler(i)]
    events, uses = list(owed.events), list(owed.uses)
    dropped: set[int] = set()
    for pair in pairs:
        here, gone = node_of[pair.place], node_of[pair.first + pair.second - pair.place]
        joined = replace(pair.joined, uid=nodes[here].uid)
        effect = effects(joined)
        own = register_use(joined, effect)
        nodes[here], events[here] = joined, event_of(joined, effect)
        uses[here] = _union(own, uses[here], uses[gone])
        dropped.add(gone)
    owed = replace(owed, events=tuple(events), uses=tuple(uses))
    woven = list(owed.woven([n for n in range(len(nodes)) if n not in dropped]))
    if woven and isinstance(woven[-1], WaitCounts) and inside[-1].mnemonic != "s_waitcnt":
        return None
    body = [fillers.wait(item) if isinstance(item, WaitCounts) else nodes[item] for item in woven]
    return (*body, *block.instructions[len(inside) :])


def _is_pending(block: Block, pair: _Pair, waits: WaitState) -> bool:
    """Whether what a pair reads may still be on its way where the block ends."""
    leaving = waits.before(block.label, end_of_body(block))
    return bool(leaving.lgkmcnt.mask & effects(pair.joined).writes)


def _union(*uses: Use) -> Use:
    vmcnt = lgkmcnt = 0
    for use in uses:
        vmcnt |= use.vmcnt
        lgkmcnt |= use.lgkmcnt
    return Use(vmcnt, lgkmcnt)


