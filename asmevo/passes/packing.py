"""Packed F32 instructions and the pairs of plain ones that do the same, and where by the model each is better.

Owns the translation in both directions and the choice by block. Denormals, rounding and NaNs are the same in both forms: each
half is the plain operation on its own registers. Source: AMD CDNA3 ISA guide, 6.6 and the VOP3P opcode descriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from asmevo.backend.timing.model import Estimate, estimate
from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction, Modifier, Operand, Register
from asmevo.ir.isa.model import IssueClass
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import EXEC_MASK, MODE, RegisterRange
from asmevo.passes.base import PassContext
from asmevo.passes.list_schedule import ListSchedule
from asmevo.passes.operand_forms import encodable, made, register, shortened
from asmevo.passes.wait_states import with_bodies

_PLAIN = {"v_pk_mul_f32": "v_mul_f32_e64", "v_pk_add_f32": "v_add_f32_e64", "v_pk_fma_f32": "v_fma_f32"}
_PACKED = {
    "v_mul_f32": "v_pk_mul_f32",
    "v_add_f32": "v_pk_add_f32",
    "v_sub_f32": "v_pk_add_f32",
    "v_subrev_f32": "v_pk_add_f32",
    "v_fma_f32": "v_pk_fma_f32",
    "v_fmac_f32": "v_pk_fma_f32",
}
_MODIFIERS = frozenset({"op_sel", "op_sel_hi", "neg_lo", "neg_hi"})
_REACH = 64
"""How far apart the two plain instructions may stand."""


def unpacked(i: Instruction) -> tuple[Instruction, Instruction] | None:
    """The two plain instructions in the place of a packed one, which keeps its uid; None where there are none such."""
    mnemonic = _PLAIN.get(i.mnemonic)
    if mnemonic is None or not all(isinstance(o, Register) for o in i.operands):
        return None
    if any(m.name not in _MODIFIERS for m in i.modifiers):
        return None
    target, *sources = [o for o in i.operands if isinstance(o, Register)]
    halves: list[Instruction] = []
    for half, (select, negate) in enumerate((("op_sel", "neg_lo"), ("op_sel_hi", "neg_hi"))):
        chosen, signs = _flags(i, select, len(sources), half), _flags(i, negate, len(sources), 0)
        operands = [
            Register(RegisterRange(source.range.unit + which), negate=bool(sign))
            for source, which, sign in zip(sources, chosen, signs, strict=True)
        ]
        one = made(mnemonic, (register(target.range.unit + half), *operands), i)
        halves.append(shortened(_accumulating(one)) or shortened(one) or one)
    low, high = halves
    if not effects(high).reads & effects(low).writes:
        order = low, replace(high, uid=-1)
    elif not effects(low).reads & effects(high).writes:
        order = high, replace(low, uid=-1)
    else:
        return None
    return order if all(map(encodable, order)) else None


def _accumulating(i: Instruction) -> Instruction:
    """A v_fma_f32 that adds to its destination as v_fmac_f32; anything else as it is."""
    if i.mnemonic != "v_fma_f32" or i.operands[0] != i.operands[3]:
        return i
    return made("v_fmac_f32_e64", i.operands[:3], i)


def _flags(i: Instruction, name: str, count: int, default: int) -> tuple[int, ...]:
    found = i.modifier(name, (default,) * count)
    assert isinstance(found, tuple)
    return found


class Pair(NamedTuple):
    """Two plain instructions at `first` and `second` of a block, and the packed one that may stand at `place`, one of them."""

    first: int
    second: int
    place: int
    packed: Instruction


def pairs_of(block: Block, readable: Callable[[int], int]) -> Iterator[Pair]:
    """Pairs that may all become one at once, each instruction in one at most, in order of the first.

    `readable` gives the registers that hold a value before an instruction of the block: of a pair that a packed instruction
    names, half may go unused, but it is read. Of two pairs that overlap both stand at their first place, or both at their
    second: then whatever changes order was looked at, since one instruction passed the other where it stood.
    """
    used: set[int] = set()
    kept: list[Pair] = []
    for first, one in enumerate(block.instructions):
        if first in used or _half(one) is None:
            continue
        kept = [pair for pair in kept if pair.second > first]
        found = _pair_with(block, first, used, readable)
        if found is not None and all((pair.place == pair.first) == (found.place == found.first) for pair in kept):
            used |= {found.first, found.second}
            kept.append(found)
            yield found


def _pair_with(block: Block, first: int, used: Set[int], readable: Callable[[int], int]) -> Pair | None:
    one = block.instructions[first]
    for second in range(first + 1, min(first + _REACH, len(block.instructions))):
        other = block.instructions[second]
        if effects(other).writes & (EXEC_MASK | 1 << MODE):
            return None
        packed = _joined(one, other) if second not in used else None
        place = None if packed is None else _meeting(block, first, second)
        if packed is not None and place is not None:
            unused = effects(packed).reads & ~(effects(one).reads | effects(other).reads)
            return None if unused & ~readable(place) else Pair(first, second, place, packed)
        if effects(other).writes & effects(one).writes:
            return None
    return None


class _Half(NamedTuple):
    mnemonic: str
    target: int
    sources: tuple[Register, ...]


def _half(i: Instruction) -> _Half | None:
    """A plain instruction as one half of a packed one; None where it cannot be."""
    base = i.mnemonic.removesuffix("_e32").removesuffix("_e64")
    packed = _PACKED.get(base)
    if packed is None or i.modifiers:
        return None
    operands = [o for o in i.operands if isinstance(o, Register) and not o.absolute]
    if len(operands) != len(i.operands):
        return None
    target, *sources = operands
    if base == "v_fmac_f32":
        sources.append(target)
    if base in ("v_sub_f32", "v_subrev_f32"):
        minus = 1 if base == "v_sub_f32" else 0
        sources[minus] = replace(sources[minus], negate=not sources[minus].negate)
    return _Half(packed, target.range.unit, tuple(sources))


def _joined(one: Instruction, other: Instruction) -> Instruction | None:
    """The packed instruction that does both, standing for `one`; None where registers do not pair."""
    a, b = _half(one), _half(other)
    if a is None or b is None or a.mnemonic != b.mnemonic or a.target ^ b.target != 1:
        return None
    low, high = (a, b) if a.target < b.target else (b, a)
    if any(x.range.unit >> 1 != y.range.unit >> 1 for x, y in zip(low.sources, high.sources, strict=True)):
        return None
    operands: tuple[Operand, ...] = (register(low.target, 2), *(register(x.range.unit & ~1, 2) for x in low.sources))
    selects = (
        ("op_sel", tuple(x.range.unit & 1 for x in low.sources), 0),
        ("op_sel_hi", tuple(x.range.unit & 1 for x in high.sources), 1),
        ("neg_lo", tuple(int(x.negate) for x in low.sources), 0),
        ("neg_hi", tuple(int(x.negate) for x in high.sources), 0),
    )
    modifiers = tuple(Modifier(name, flags) for name, flags, usual in selects if any(flag != usual for flag in flags))
    packed = made(low.mnemonic, operands, one, modifiers)
    return packed if encodable(packed) else None


def _meeting(block: Block, first: int, second: int) -> int | None:
    """Where of the two places both may be done at once; None where what stands between forbids it."""
    one, other = effects(block.instructions[first]), effects(block.instructions[second])
    if other.reads & one.writes:
        return None
    between = [effects(i) for i in block.instructions[first + 1 : second]]
    reads = writes = 0
    for effect in between:
        reads |= effect.reads
        writes |= effect.writes
    # Behind a wait a source may be there that is not yet there before it.
    waits = any(i.definition is None or i.definition.issue is IssueClass.WAIT for i in block.instructions[first + 1 : second])
    if not (waits or other.reads & writes or other.writes & (reads | writes)):
        return first
    return None if one.reads & writes or one.writes & (reads | writes) else second


def has_matrix(block: Block) -> bool:
    """Whether the block has a matrix instruction."""
    return any(i.definition is not None and i.definition.issue is IssueClass.MATRIX for i in block.instructions)


Bodies = Mapping[str, tuple[Instruction, ...]]


def best_of(ctx: PassContext, trials: Sequence[Bodies]) -> dict[str, tuple[Instruction, ...]]:
    """For each block the contents in `trials` that take the fewest modelled cycles once scheduled; none where its own do.

    Order and packing depend on each other, so all are scheduled before they are compared; what is returned is not.
    """
    kernel = ctx.rewriter.kernel
    labels = {label for trial in trials for label in trial}
    # Only what is compared is scheduled.
    still = replace(kernel, blocks=tuple(b if b.label in labels else replace(b, frozen=True) for b in kernel.blocks))
    start = _scheduled(ctx, still)
    best = {label: cost.cycles * (1 - _LEAST_GAIN) for label, cost in start.per_block.items()}
    found: dict[str, tuple[Instruction, ...]] = {}
    for trial in trials:
        costs = _scheduled(ctx, with_bodies(still, trial)).per_block
        for label, body in trial.items():
            if label in best and label in costs and costs[label].cycles < best[label]:
                best[label], found[label] = costs[label].cycles, body
    # Blocks were compared one by one: together they must gain too.
    together = _scheduled(ctx, with_bodies(still, found)).total_cycles if found else start.total_cycles
    return found if together < start.total_cycles else {}


_LEAST_GAIN = 0.002
"""Of a block's cycles: what is less may be the schedule's luck."""


def _scheduled(ctx: PassContext, kernel: Kernel) -> Estimate:
    inner = PassContext(ctx.pass_name, kernel, ctx.executions, ctx.waves_per_simd)
    result = ListSchedule().run(kernel, inner).kernel
    return estimate(result, dict(ctx.executions) or None, waves_per_simd=ctx.waves_per_simd)
