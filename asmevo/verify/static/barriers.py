"""Barriers that order nothing: a proof that dropping one lets no two waves of a work-group meet in memory.

Owns that claim alone. It is made for kernels in which every wave passes the same barriers in the same order. A barrier is
redundant when, of the accesses that may come before it and those that may come after it with no other barrier between, no two
conflict unless both are made by the same wave: a wave's own order is kept by its program and its waits, which are checked
elsewhere. The one wave is the first: EXEC there is a subset of the lanes whose work-item id is below the size of a wave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import networkx as nx

from asmevo.frontend.lowering import indirect_instructions
from asmevo.ir.cfg import build_cfg, predecessors, reachable
from asmevo.ir.effects import effects, may_skip_vectors
from asmevo.ir.instruction import Immediate, Instruction, Operand, Register
from asmevo.ir.isa.model import Access, IssueClass, OpcodeDef, Space
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import EXEC, VGPR0
from asmevo.verify.verdict import Basis, Outcome

if TYPE_CHECKING:
    Graph = nx.DiGraph[str]

METHOD = "static barriers"
_WAVE = 64
_EXIT = "\0exit"
_PACKED_IDS = 1
"""The value of ENABLE_VGPR_WORKITEM_ID from which v0 holds more than the x id. Source: AMDGPUUsage, compute_pgm_rsrc2."""
_BELOW = {"v_cmp_gt_": 0, "v_cmp_ge_": 1, "v_cmp_eq_": 1}
"""Comparisons `constant OP id` that bound the id, to what is added to the constant."""
_MIRRORED = {"v_cmp_lt_": "v_cmp_gt_", "v_cmp_le_": "v_cmp_ge_", "v_cmp_eq_": "v_cmp_eq_"}
_PRIVATE = frozenset({Space.SCRATCH})


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known before an instruction. `below`: low unit of a lane mask to a bound of its lanes' work-item ids."""

    below: dict[int, int] = field(default_factory=dict[int, int])
    constants: dict[int, int] = field(default_factory=dict[int, int])
    v0_is_id: bool = True


@dataclass(frozen=True, slots=True)
class _Touch:
    """One access: which memories it may touch, and whether only the first wave makes it."""

    instruction: Instruction
    spaces: frozenset[str]
    writes: bool
    first_wave_only: bool


def removed_barriers(before: Kernel, after: Kernel) -> frozenset[int] | None:
    """Return the uids of the barriers that `after` lacks; None when it has one that `before` lacks."""
    old, new = ({i.uid for i in kernel.instructions() if _is_barrier(i)} for kernel in (before, after))
    return frozenset(old - new) if new <= old else None


def without_barriers(kernel: Kernel, uids: frozenset[int]) -> Kernel:
    """Return the kernel without the instructions of these uids."""
    return replace(
        kernel,
        blocks=tuple(replace(b, instructions=tuple(i for i in b.instructions if i.uid not in uids)) for b in kernel.blocks),
    )


def check_removed_barriers(kernel: Kernel, uids: frozenset[int]) -> Basis:
    """Whether the barriers `uids` of `kernel` may all be dropped at once: PROVED, or UNKNOWN with what stands against it."""
    reason = _applies(kernel) or next(_conflicts(kernel, uids), None)
    if reason is not None:
        return Basis(METHOD, Outcome.UNKNOWN, reason)
    detail = f"{len(uids)} removed: between its neighbours no two waves touch the same memory, one of them writing"
    return Basis(METHOD, Outcome.PROVED, detail, ("a work-group has the size that the metadata says",))


def _is_barrier(instruction: Instruction) -> bool:
    return instruction.definition is not None and instruction.definition.issue is IssueClass.BARRIER


def _applies(kernel: Kernel) -> str | None:
    """Why the claim cannot be made of this kernel at all."""
    descriptor, metadata = kernel.descriptor, kernel.metadata
    size = metadata.required_workgroup_size if metadata is not None else None
    one_dimension = size is not None and size[1:] == (1, 1)
    packed = descriptor is not None and (descriptor.rsrc2 >> 11 & 3) > _PACKED_IDS
    if not one_dimension and not packed and _most_items(kernel) > _WAVE:
        return "v0 need not tell the waves of a work-group apart: its size is not fixed to one dimension"
    if may_skip_vectors(kernel.instructions()):
        return "vector instructions may be skipped (VSKIP)"
    if named := indirect_instructions(kernel.instructions()):
        return f"the kernel computes code addresses ({', '.join(named)})"
    reached = reachable(kernel)
    always = _passed_by_all(build_cfg(kernel).subgraph(reached), kernel.roots)
    for block in kernel.blocks:
        if block.label in reached:
            if block.frozen:
                return f"{block.label} is not understood"
            if any(map(_is_barrier, block.instructions)) and block.label not in always:
                return f"not every wave passes the barrier of {block.label} once"
    return None


def _most_items(kernel: Kernel) -> int:
    size = kernel.metadata.max_flat_workgroup_size if kernel.metadata is not None else None
    return _WAVE * 16 if size is None else size


def _passed_by_all(graph: Graph, roots: Sequence[str]) -> set[str]:
    """Return the blocks that every path from a root to an end runs through exactly once."""
    components = cast("Iterator[set[str]]", nx.strongly_connected_components(graph))
    cyclic = {label for part in components for label in part if len(part) > 1 or graph.has_edge(label, label)}
    backwards: Graph = nx.DiGraph()
    backwards.add_nodes_from([_EXIT, *graph])
    backwards.add_edges_from((target, source) for source, target in graph.edges)
    backwards.add_edges_from((_EXIT, label) for label in graph if not graph.out_degree(label))
    # networkx's stubs do not type this function.
    dominators = cast("dict[str, str]", nx.immediate_dominators(backwards, _EXIT))  # pyright: ignore[reportUnknownMemberType]
    passed = set(graph) - cyclic
    for root in roots:
        passed &= _chain(root, dominators)
    return passed


def _chain(label: str, dominators: dict[str, str]) -> set[str]:
    """Return the blocks that every path from this one to an end runs through."""
    chain: set[str] = set()
    while label in dominators and label != _EXIT:
        chain.add(label)
        label = dominators[label]
    return chain


def _conflicts(kernel: Kernel, uids: frozenset[int]) -> Iterator[str]:
    touches = _touches(kernel)
    before_of = predecessors(kernel)
    successors = {block.label: block.successors for block in kernel.blocks}
    runs = {block.label: _runs(block.instructions, uids) for block in kernel.blocks}
    for block in kernel.blocks:
        for index, instruction in enumerate(block.instructions):
            if instruction.uid not in uids:
                continue
            earlier = list(_until_barrier(block.instructions[:index][::-1], uids))
            if not earlier or not _stops(earlier[-1], uids):
                earlier += _around(block.label, before_of, runs, backwards=True)
            later = list(_until_barrier(block.instructions[index + 1 :], uids))
            if not later or not _stops(later[-1], uids):
                later += _around(block.label, successors, runs, backwards=False)
            yield from _meetings([touches[i.uid] for i in earlier if i.uid in touches], later, touches)


def _meetings(earlier: list[_Touch], later: list[Instruction], touches: dict[int, _Touch]) -> Iterator[str]:
    for other in (touches[i.uid] for i in later if i.uid in touches):
        for one in earlier:
            if one.first_wave_only and other.first_wave_only:
                continue
            if (one.writes or other.writes) and one.spaces & other.spaces:
                shown = f"{one.instruction.mnemonic} (instruction {one.instruction.uid})"
                yield f"{shown} and {other.instruction.mnemonic} ({other.instruction.uid}) may meet in two waves"


def _stops(instruction: Instruction, uids: frozenset[int]) -> bool:
    return _is_barrier(instruction) and instruction.uid not in uids


def _until_barrier(instructions: tuple[Instruction, ...], uids: frozenset[int]) -> Iterator[Instruction]:
    for instruction in instructions:
        yield instruction
        if _stops(instruction, uids):
            return


def _runs(instructions: tuple[Instruction, ...], uids: frozenset[int]) -> tuple[list[Instruction], list[Instruction], bool]:
    """Return what a block does up to its first barrier, what it does from its last one, and whether it has none."""
    first = list(_until_barrier(instructions, uids))
    last = list(_until_barrier(instructions[::-1], uids))
    return first, last, not first or not _stops(first[-1], uids)


def _around(
    label: str,
    edges: dict[str, tuple[str, ...]],
    runs: dict[str, tuple[list[Instruction], list[Instruction], bool]],
    *,
    backwards: bool,
) -> list[Instruction]:
    """Return what other blocks do between a block and the next barrier, along `edges`."""
    found: list[Instruction] = []
    seen: set[str] = set()
    work = list(edges[label])
    while work:
        at = work.pop()
        if at in seen:
            continue
        seen.add(at)
        first, last, is_open = runs[at]
        found += last if backwards else first
        if is_open:
            work += edges[at]
    return found


def _touches(kernel: Kernel) -> dict[int, _Touch]:
    """Return the access of each instruction that makes one, by uid."""
    found: dict[int, _Touch] = {}
    for label, facts in _facts_at_blocks(kernel).items():
        for instruction in kernel.block(label).instructions:
            definition = instruction.definition
            if definition is not None and (spaces := _spaces(definition)):
                is_vector = definition.space is not Space.SCALAR
                first = is_vector and facts.below.get(EXEC, _WAVE + 1) <= _WAVE
                found[instruction.uid] = _Touch(instruction, spaces, definition.access is not Access.LOAD, first)
            facts = _after(facts, instruction)
    return found


def _spaces(definition: OpcodeDef) -> frozenset[str]:
    if definition.access is Access.FENCE:
        return frozenset({"lds", "global"})
    if definition.space is None or definition.space in _PRIVATE:
        return frozenset()
    if definition.space is Space.FLAT or definition.access is Access.LDS_DMA:
        return frozenset({"lds", "global"})
    return frozenset({"lds" if definition.space is Space.LDS else "global"})


def _facts_at_blocks(kernel: Kernel) -> dict[str, _Facts]:
    known: dict[str, _Facts] = dict.fromkeys(kernel.roots, _Facts({EXEC: _most_items(kernel)}))
    work = list(kernel.roots)
    while work:
        block = kernel.block(work.pop())
        facts = known[block.label]
        for instruction in block.instructions:
            facts = _after(facts, instruction)
        for successor in block.successors:
            old = known.get(successor)
            new = facts if old is None else _join(old, facts)
            if new != old:
                known[successor] = new
                work.append(successor)
    return known


def _join(one: _Facts, other: _Facts) -> _Facts:
    return _Facts(
        # A bound that grows is given up at once: around a loop it would grow step by step.
        {unit: bound for unit, bound in one.below.items() if other.below.get(unit, bound + 1) <= bound},
        {unit: value for unit, value in one.constants.items() if other.constants.get(unit) == value},
        one.v0_is_id and other.v0_is_id,
    )


def _after(facts: _Facts, instruction: Instruction) -> _Facts:
    written = effects(instruction).writes
    if not written:
        return facts
    below = {unit: bound for unit, bound in facts.below.items() if not written >> unit & 3}
    constants = {unit: value for unit, value in facts.constants.items() if not written >> unit & 1}
    below.update(_new_bounds(facts, instruction))
    constants.update(_new_constants(instruction))
    return _Facts(below, constants, facts.v0_is_id and not written >> VGPR0 & 1)


def _new_constants(instruction: Instruction) -> dict[int, int]:
    if instruction.mnemonic not in ("s_mov_b32", "s_movk_i32"):
        return {}
    target, source = instruction.operands
    if not isinstance(target, Register) or not isinstance(source, Immediate):
        return {}
    value = source.value
    if instruction.mnemonic == "s_movk_i32":
        value = ((value & 0xFFFF) ^ 0x8000) - 0x8000
    return {target.range.unit: value & 0xFFFFFFFF}


def _new_bounds(facts: _Facts, instruction: Instruction) -> dict[int, int]:
    """Return the lane masks that the instruction writes and whose lanes' ids are bounded."""
    definition, operands = instruction.definition, instruction.operands
    if definition is None or not operands or not isinstance(operands[0], Register):
        return {}
    unit, name = operands[0].range.unit, definition.mnemonic
    execution = facts.below.get(EXEC)
    if name.startswith("v_cmp_") and not instruction.modifiers:
        return _kept(unit, _least(_compared(facts, name, operands[1], operands[2]), execution))
    sources = [facts.below.get(o.range.unit) if isinstance(o, Register) else None for o in operands[1:]]
    if name == "s_and_saveexec_b64":
        return _kept(EXEC, _least(sources[0], execution)) | _kept(unit, execution)
    if name == "s_and_b64":
        return _kept(unit, _least(*sources))
    if name in ("s_mov_b64", "s_andn2_b64"):
        return _kept(unit, sources[0])
    if name == "s_or_b64" and None not in sources:
        return _kept(unit, max(bound for bound in sources if bound is not None))
    return {}


def _kept(unit: int, bound: int | None) -> dict[int, int]:
    return {} if bound is None else {unit: bound}


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


def _compared(facts: _Facts, name: str, first: Operand, second: Operand) -> int | None:
    """Return the bound of the ids for which a comparison of the work-item id with a constant holds."""
    if not facts.v0_is_id or not name.endswith(("_u32", "_i32")):
        return None
    kind = name[:-3]
    if _is_id(first):
        first, second, kind = second, first, _MIRRORED.get(kind, "")
    if not _is_id(second) or kind not in _BELOW:
        return None
    constant = facts.constants.get(first.range.unit) if isinstance(first, Register) else None
    if isinstance(first, Immediate) and not (first.is_float or first.negate or first.absolute):
        constant = first.value & 0xFFFFFFFF
    # A negative constant of a signed comparison is a large one here: no bound, and none is needed.
    return None if constant is None else constant + _BELOW[kind]


def _is_id(operand: Operand) -> bool:
    return isinstance(operand, Register) and operand.range.mask == 1 << VGPR0 and not (operand.negate or operand.absolute)
