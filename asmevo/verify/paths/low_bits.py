"""How many low bits of each scalar register are the same number whenever a block begins: loop steps, alignments, unroll parity.

Owns an optimistic data-flow over block summaries: every block is executed once on symbols, and a fixpoint over its results
finds what all paths agree on. Low bits of sums, differences and products need only low bits, whatever the rest is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from asmevo.ir.cfg import reachable
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import SCC
from asmevo.verify.equivalence.terms import Term, cone
from asmevo.verify.paths.scalar_steps import SCALARS, ScalarBlocks, fresh_machine

Known = tuple[int, int]
"""How many low bits are known, and those bits."""

_NOTHING: Known = (0, 0)
_VISITS = 64
LowBits = Mapping[int, Known]
"""Unit to its low bits; a unit that is missing has none."""


def low_bits(kernel: Kernel, blocks: ScalarBlocks) -> dict[str, dict[int, Known]]:
    """The low bits known at the entry of each reachable block, whatever a wave starts with.

    Bounded: when blocks were visited 64 times each on average, nothing is taken to be known.
    """
    summaries = {label: _summary(blocks, label) for label in reachable(kernel)}
    entry: dict[str, dict[int, Known]] = {root: {} for root in kernel.roots}
    work = list(kernel.roots)
    visits = 0
    while work:
        label = work.pop()
        visits += 1
        if visits > _VISITS * len(summaries):
            return {block: {} for block in summaries}
        state = entry[label]
        after = dict(state)
        known: dict[int, Known] = {}
        for unit, term in summaries[label].items():
            bits = _evaluate(term, state, known)
            if bits[0]:
                after[unit] = bits
            else:
                after.pop(unit, None)
        for following in blocks.block(label).successors:
            if following not in entry:
                entry[following] = dict(after)
            elif not _meet(entry[following], after):
                continue
            if following not in work:
                work.append(following)
    return entry


def _summary(blocks: ScalarBlocks, label: str) -> dict[int, Term]:
    """What each register that the block changes holds at its end."""
    machine = fresh_machine()
    blocks.run(machine, blocks.steps(label), 0)
    written = 0
    for step in blocks.steps(label):
        written |= step.writes & SCALARS
    return {unit: machine.unit(unit) for unit in machine.units if written >> unit & 1 and unit != SCC}


def _meet(target: dict[int, Known], other: Mapping[int, Known]) -> bool:
    changed = False
    for unit, mine in list(target.items()):
        met = _agreed(mine, other.get(unit, _NOTHING))
        if met != mine:
            changed = True
            if met[0]:
                target[unit] = met
            else:
                del target[unit]
    return changed


def _agreed(a: Known, b: Known) -> Known:
    count = min(a[0], b[0])
    difference = (a[1] ^ b[1]) & ((1 << count) - 1)
    if difference:
        count = (difference & -difference).bit_length() - 1
    return count, a[1] & ((1 << count) - 1)


def _evaluate(root: Term, state: LowBits, known: dict[int, Known]) -> Known:
    for term in cone((root,)):
        if term.ident not in known:
            count, bits = _one(term, state, [known[a.ident] for a in term.args])
            count = min(count, term.bits)
            known[term.ident] = count, bits & ((1 << count) - 1)
    return known[root.ident]


def _one(term: Term, state: LowBits, args: list[Known]) -> Known:
    attr = term.attr
    if term.op == "const":
        return term.bits, term.value
    if term.op == "var":
        return state.get(attr, _NOTHING) if isinstance(attr, int) else _NOTHING
    if term.op == "sum":
        constant, factors = cast("tuple[int, tuple[int, ...]]", attr)
        return _weighted(constant, factors, args)
    if term.op in ("and", "or", "xor", "mul"):
        return _lowest(term.op, args)
    if term.op == "not":
        return args[0][0], ~args[0][1]
    if term.op == "concat":
        (high, high_bits), (low, low_bits_) = args
        width = term.args[1].bits
        return (width + high, high_bits << width | low_bits_) if low == width else (low, low_bits_)
    if term.op == "extract" and attr == 0:
        return args[0]
    if term.op == "sext":
        return args[0]
    if term.op == "ite":
        return _agreed(args[1], args[2])
    return _NOTHING


def _weighted(constant: int, factors: tuple[int, ...], args: list[Known]) -> Known:
    """A sum of multiples: a factor's own trailing zeros are known bits of its product."""
    count, total = 64, constant
    for factor, (known, bits) in zip(factors, args, strict=True):
        zeros = (factor & -factor).bit_length() - 1
        count = min(count, known + zeros)
        total += factor * bits
    return count, total


def _lowest(op: str, args: list[Known]) -> Known:
    count = min(known for known, _ in args)
    value = args[0][1]
    for _, bits in args[1:]:
        value = value & bits if op == "and" else value | bits if op == "or" else value ^ bits if op == "xor" else value * bits
    return count, value
