"""Regions of several blocks: executed symbolically with a path condition for each way, and compared where they are left.

Owns which blocks form a region, the merging of states where ways meet, and the comparison at every exit. A region has one
entry, and inside it no cycle but those through the entry, which are cut there: a whole loop body is a region whose back edges
are exits to its own header. Equal entry states then give equal states at every exit, and so, by induction, for any number of
iterations. It must not decide what the two sides mean (see `execute`) or how terms are proved equal (see `compare`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.cfg import predecessors
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import EXEC, SCC, UNIT_COUNT, VCC, VGPR0, unit_name, units
from asmevo.verify.equivalence.compare import Difference
from asmevo.verify.equivalence.execute import Executor, Programs, UnmodelledError, is_vector, refusal
from asmevo.verify.equivalence.facts import NO_FACTS, Facts
from asmevo.verify.equivalence.machine import Machine
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.reached import new_loads
from asmevo.verify.equivalence.terms import Term

_MOST_BLOCKS = 32
_MOST_INSTRUCTIONS = 4096
_CONDITIONS = {
    "s_cbranch_scc0": (SCC, True),
    "s_cbranch_scc1": (SCC, False),
    "s_cbranch_vccz": (VCC, True),
    "s_cbranch_vccnz": (VCC, False),
    "s_cbranch_execz": (EXEC, True),
    "s_cbranch_execnz": (EXEC, False),
}
"""Mnemonic to the state that is tested, and whether the branch is taken when it is zero."""

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Region:
    """`blocks` in an order in which every way inside leads forward; the first is the entry."""

    blocks: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.blocks[:4]) + (f" and {len(self.blocks) - 4} more" if len(self.blocks) > 4 else "")


def region_around(kernel: Kernel, labels: Iterable[str], loops: Loops) -> Region | None:
    """Return the least region that holds all `labels`: from their nearest common dominator on. None when there is none.

    A loop around them is cut at its header when that is the dominator; a loop inside, not entered at the top, has no region.
    """
    wanted = set(labels)
    entry = _common_dominator(wanted, loops)
    if entry is None:
        return None
    successors = {block.label: block.successors for block in kernel.blocks}
    before = predecessors(kernel)
    reached = _closure({entry}, successors, None)
    inside = (_closure(wanted, before, entry) & reached) | {entry}
    order = _order(entry, inside, successors)
    if order is None or len(order) > _MOST_BLOCKS:
        return None
    if any(label in kernel.roots for label in order[1:]):
        return None
    if any(p not in inside for label in order[1:] for p in before[label]):
        return None
    if sum(len(kernel.block(label).instructions) for label in order) > _MOST_INSTRUCTIONS:
        return None
    return Region(tuple(order))


def _common_dominator(labels: set[str], loops: Loops) -> str | None:
    common: list[str] | None = None
    for label in sorted(labels):
        chain: list[str] = []
        at: str | None = label
        while at is not None:
            chain.append(at)
            at = loops.dominator.get(at)
        common = chain if common is None else [one for one in common if one in set(chain)]
    return common[0] if common else None


def _closure(start: set[str], edges: dict[str, tuple[str, ...]], stop: str | None) -> set[str]:
    """The labels reached from `start` on ways that do not go on from `stop`."""
    seen = set(start)
    work = list(start)
    while work:
        label = work.pop()
        if label == stop:
            continue
        for other in edges.get(label, ()):
            if other not in seen:
                seen.add(other)
                work.append(other)
    return seen


def _order(entry: str, inside: set[str], successors: dict[str, tuple[str, ...]]) -> list[str] | None:
    """A topological order of a region whose edges to its entry are cut; None when another cycle is left."""
    waiting = {label: 0 for label in inside}
    for label in inside:
        for other in dict.fromkeys(successors[label]):
            if other in inside and other != entry:
                waiting[other] += 1
    if waiting[entry]:
        return None
    order: list[str] = []
    ready = [entry]
    while ready:
        label = ready.pop()
        order.append(label)
        for other in dict.fromkeys(successors[label]):
            if other in inside and other != entry:
                waiting[other] -= 1
                if not waiting[other]:
                    ready.append(other)
    return order if len(order) == len(inside) else None


# Execution -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Arrival:
    condition: Term
    machine: Machine


def region_differences(
    kernels: tuple[Kernel, Kernel],
    region: Region,
    live_in: dict[str, int],
    programs: Programs,
    facts: Facts = NO_FACTS,
    *,
    vectors: bool = True,
    apart: int = 0,
) -> list[Difference]:
    """Return what differs where the region is left; `live_in` are the units needed at each block, by either kernel.

    `vectors` False leaves vector operations out, as VSKIP does. The units `apart` hold at entry what has nothing to do with
    what they hold on the other side. UnmodelledError for what cannot be executed.
    """
    normaliser = Normaliser()
    starts = [Machine(normaliser, facts, extents) for extents in facts.extents]
    for unit in units(apart):
        starts[1].units[unit] = normaliser.table.node("var", 1 if unit == SCC else 32, (), UNIT_COUNT + unit, unit >= VGPR0)
    sides = [_exits(kernel, region, start, programs, vectors) for kernel, start in zip(kernels, starts, strict=True)]
    found = new_loads(starts[0], starts[1])
    for edge in sides[0]:
        one, other = sides[0][edge], sides[1][edge]
        where = f"on leaving {edge[0]} for {edge[1]}" if edge[1] else f"at the end in {edge[0]}"
        if one.condition is not other.condition:
            found.append(Difference(f"the condition {where}", -1, one.condition, other.condition))
        guard = one.condition
        base = Machine(normaliser, facts)
        for unit in units(live_in.get(edge[1], 0) & _written(one.machine, other.machine)):
            a, b = (normaliser.ite(guard, m.unit(unit), base.unit(unit)) for m in (one.machine, other.machine))
            if a is not b:
                found.append(Difference(f"{unit_name(unit)} {where}", unit, a, b))
        for space, version in one.machine.memories.items():
            if version is not other.machine.memories[space]:
                found.append(Difference(f"{space} {where}", space, version, other.machine.memories[space]))
    return found


def _written(*machines: Machine) -> int:
    mask = 0
    for machine in machines:
        for unit in machine.units:
            mask |= 1 << unit
    return mask


def _exits(kernel: Kernel, region: Region, start: Machine, programs: Programs, vectors: bool) -> dict[Edge, _Arrival]:
    """The states with which a region is left, by edge; an end of the program is an edge to ""."""
    blocks = {label: kernel.block(label) for label in region.blocks}
    normaliser = start.normaliser
    entry = region.blocks[0]
    arriving: dict[str, list[_Arrival]] = {label: [] for label in region.blocks}
    arriving[entry] = [_Arrival(normaliser.const(1, 1), start)]
    exits: dict[Edge, _Arrival] = {}
    for label in region.blocks:
        at = _merged(arriving[label], normaliser)
        at.machine.path = at.condition
        block = blocks[label]
        body, last = _split(block)
        executor = Executor(at.machine, programs)
        for i in body:
            if not vectors and is_vector(i):
                continue
            why = refusal(i, programs)
            if why is not None:
                raise UnmodelledError(f"{i.mnemonic}: {why}")
            executor.run(i)
        for target, condition in _ways(block, last, at):
            way = _Arrival(condition, at.machine)
            if target in arriving and target != entry:
                arriving[target].append(way)
            else:
                exits[label, target] = way
    return exits


def _split(block: Block) -> tuple[Sequence[Instruction], Instruction | None]:
    last = block.instructions[-1] if block.instructions else None
    if last is not None and last.ends_block:
        return block.instructions[:-1], last
    return block.instructions, None


def _ways(block: Block, last: Instruction | None, at: _Arrival) -> list[tuple[str, Term]]:
    """The edges out of a block with the conditions under which they are taken."""
    normaliser = at.machine.normaliser
    targets = list(dict.fromkeys(block.successors))
    name = last.mnemonic if last is not None else ""
    tested = _CONDITIONS.get(name)
    if not targets and name == "s_endpgm":
        return [("", at.condition)]
    if len(targets) == 1 and (name in ("", "s_branch") or tested is not None):
        return [(targets[0], at.condition)]
    if tested is None or len(targets) != 2:
        raise UnmodelledError(f"{name or block.label}: which way is taken is not modelled")
    unit, on_zero = tested
    if unit == SCC:
        zero = normaliser.make("not", 1, (at.machine.unit(SCC),))
    else:
        zero = normaliser.make("eq", 1, (at.machine.pair(unit), normaliser.const(64, 0)))
    taken = zero if on_zero else normaliser.make("not", 1, (zero,))
    other = normaliser.make("not", 1, (taken,))
    return [
        (targets[0], normaliser.both(at.condition, taken)),
        (targets[1], normaliser.both(at.condition, other)),
    ]


def _merged(ways: list[_Arrival], normaliser: Normaliser) -> _Arrival:
    """One state for several ways in: on each unit and memory, that of the way whose condition holds."""
    first = ways[0]
    machine = first.machine.copy()
    condition = first.condition
    for way in ways[1:]:
        for unit in units(_written(machine, way.machine)):
            machine.units[unit] = normaliser.ite(way.condition, way.machine.unit(unit), machine.unit(unit))
        for space, version in machine.memories.items():
            other = way.machine.memories[space]
            if other is not version:
                machine.memories[space] = normaliser.table.node("merge", 0, (way.condition, other, version))
        condition = _either(normaliser, condition, way.condition)
    return _Arrival(condition, machine)


def _either(normaliser: Normaliser, one: Term, other: Term) -> Term:
    """The disjunction; both ways of a branch that meet again leave what led to the branch."""
    first, second = (set(term.args) if term.op == "and" else {term} for term in (one, other))
    ways = first ^ second
    if len(ways) == 2 and len(first) == len(second):
        a, b = ways
        if normaliser.make("not", 1, (a,)) is b:
            return normaliser.make("and", 1, (normaliser.const(1, 1), *sorted(first & second, key=lambda term: term.ident)))
    return normaliser.make("or", 1, (one, other))
