"""Wait states, judged anew: do enough issue slots pass between each producer and consumer that a hazard rule names.

Owns a data-flow over the blocks whose state is, for each recent producer, the least number of slots since it issued. It reads
the fact table `ir.isa.hazards` and shares no code with the analysis that passes use; `_part` is its own reading of that table.

Two counts are kept. The compiler's: one slot an instruction, N + 1 for `s_nop N`. The physical one: also the slots in which a
matrix instruction waits for the matrix unit, busy for the passes of the one before, in which packed float and dot instructions
wait behind it, and which a taken branch costs. An error is only what falls short, physically, of what the vendor and the
compiler both ask for; where one of them asks for more, falling short is a note.

Imprecise where it must be: paths are joined, not followed one by one; an instruction skipped by VSKIP is taken as issued; the
register that VGPR indexing selects is not known, and only the named one is checked.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from asmevo.diagnostics import Severity
from asmevo.ir.effects import effects
from asmevo.ir.finding import Finding
from asmevo.ir.instruction import Immediate, Instruction, Register, Symbolic
from asmevo.ir.isa.hazards import Op, Part, Relation, Rule, operations, rules_for
from asmevo.ir.isa.model import Flag, IssueClass, OpcodeDef, Role
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import EXEC_MASK, EXECZ, FLAT_SCRATCH, M0, TTMP, VCC_MASK, VCCZ, VECTOR_MASK

MISSING_STATES = "E0502"
TAKEN_BRANCH_SLOTS = 7
"""Slots that a taken branch costs beyond its own (LLVM SISchedule.td: 8 in all; AMD publishes no figure)."""

_EVERYTHING = -1
_SCALARS = ((1 << FLAT_SCRATCH) - 1) | VCC_MASK | (((1 << 16) - 1) << TTMP)
_HWREG = re.compile(r"hwreg\(\s*(\w+)\s*(?:,\s*(\d+)\s*,\s*(\d+)\s*)?\)", re.IGNORECASE)
_HWREG_NAMES = (
    "HW_REG_MODE", "HW_REG_STATUS", "HW_REG_TRAPSTS", "HW_REG_HW_ID", "HW_REG_GPR_ALLOC", "HW_REG_LDS_ALLOC", "HW_REG_IB_STS",
    "HW_REG_SH_MEM_BASES", "HW_REG_XCC_ID",
)  # fmt: skip
_VSKIP_BIT = 28
_MODE_NAMES = ("HW_REG_MODE", "1")
_TRAPSTS_NAMES = ("HW_REG_TRAPSTS", "3")


class _Kind(enum.Enum):
    """What waits behind a matrix instruction, and how long."""

    MATRIX = "matrix"
    PACKED = "packed float or dot"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class _Step:
    """An instruction as the data-flow sees it.

    `produces` and `consumes` map rule numbers to unit sets; `produced` and `consumed` are their rule numbers as bit sets.
    `lifetime` is the most slots that any of its rules asks for, `slots` how many it takes, `passes` how long the matrix unit;
    `overwrites` are the scalars that the SALU surely overwrites.
    """

    instruction: Instruction
    produced: int
    produces: Mapping[int, int]
    consumed: int
    consumes: Mapping[int, int]
    lifetime: int
    slots: int
    passes: int
    kind: _Kind
    overwrites: int


class _Age(NamedTuple):
    """Least slots since a producer issued, by either count, and the scalar units surely overwritten since.

    A scalar that the SALU overwrites is the SALU's, whose results are interlocked.
    """

    compiler: int
    physical: int
    overwritten: int


_State = dict[int, _Age]
"""Producers still within reach, by step number."""


def check_hazards(kernel: Kernel) -> list[Finding]:
    """Check every path from every root: E0502 in layout order, errors and notes."""
    rules = rules_for(kernel.target)
    compiled: dict[str, list[int]] = {}
    steps: list[_Step] = []
    for block in kernel.blocks:
        compiled[block.label] = list(range(len(steps), len(steps) + len(block.instructions)))
        steps += [_step(instruction, kernel.target) for instruction in block.instructions]
    entry = _solve(kernel, steps, compiled)
    findings: list[Finding] = []
    for block in kernel.blocks:
        if block.label in entry:
            findings += _report(block, compiled[block.label], steps, rules, dict(entry[block.label]))
    return findings


def _solve(kernel: Kernel, steps: Sequence[_Step], compiled: dict[str, list[int]]) -> dict[str, _State]:
    blocks = {block.label: block for block in kernel.blocks}
    entry: dict[str, _State] = {root: {} for root in kernel.roots}
    work = list(kernel.roots)
    while work:
        label = work.pop()
        state = dict(entry[label])
        for number in compiled[label]:
            _advance(state, number, steps)
        for following, taken in _edges(blocks[label]):
            arriving = (
                {n: age._replace(physical=age.physical + TAKEN_BRANCH_SLOTS) for n, age in state.items()} if taken else state
            )
            if following not in entry:
                entry[following] = dict(arriving)
            elif not _join(entry[following], arriving):
                continue
            if following not in work:
                work.append(following)
    return entry


def _edges(block: Block) -> Iterable[tuple[str, bool]]:
    """Return the successors and whether a taken branch leads there; a block's branch target stands first."""
    last = block.instructions[-1].definition if block.instructions else None
    branches = last is not None and last.is_branch
    return [(label, branches and number == 0) for number, label in enumerate(block.successors)]


def _join(target: _State, state: _State) -> bool:
    changed = False
    for number, age in state.items():
        known = target.get(number)
        least = age if known is None else _least(known, age)
        if least != known:
            target[number] = least
            changed = True
    return changed


def _least(one: _Age, other: _Age) -> _Age:
    return _Age(min(one.compiler, other.compiler), min(one.physical, other.physical), one.overwritten & other.overwritten)


def _advance(state: _State, number: int, steps: Sequence[_Step]) -> None:
    """Issue one step: what came before grows older, and it becomes a producer at distance 0."""
    step = steps[number]
    for other, age in list(state.items()):
        compiler = age.compiler + step.slots
        physical = _reached(steps[other], step, age.physical) + step.slots
        if min(compiler, physical) >= steps[other].lifetime:
            del state[other]
        else:
            state[other] = _Age(compiler, physical, age.overwritten | step.overwrites)
    if step.lifetime:
        state[number] = _Age(0, 0, 0)


def _reached(producer: _Step, step: _Step, physical: int) -> int:
    """Return the physical slots between a producer and `step` when `step` can issue.

    Behind a matrix instruction of N passes the next one cannot issue before slot N, a packed one not before N + 2.
    """
    if not producer.passes or step.kind is _Kind.OTHER:
        return physical
    return max(physical, producer.passes - 1 if step.kind is _Kind.MATRIX else producer.passes + 1)


def _report(
    block: Block, numbers: Sequence[int], steps: Sequence[_Step], rules: Sequence[Rule], state: _State
) -> Iterable[Finding]:
    for number in numbers:
        step = steps[number]
        if step.consumed:
            for other, age in state.items():
                producer = steps[other]
                if producer.produced & step.consumed:
                    reached = age._replace(physical=_reached(producer, step, age.physical))
                    finding = _judge(block, producer, step, rules, reached)
                    if finding:
                        yield finding
        _advance(state, number, steps)


def _judge(block: Block, producer: _Step, consumer: _Step, rules: Sequence[Rule], age: _Age) -> Finding | None:
    """Return the worst shortfall of one pair: errors before notes, then the most slots missing; None when there is none."""
    worst: tuple[bool, int, Rule, int, int] | None = None
    both = producer.produced & consumer.consumed
    while both:
        number = (both & -both).bit_length() - 1
        both &= both - 1
        rule = rules[number]
        documented, llvm = rule.documented.at(producer.passes), rule.llvm.at(producer.passes)
        if age.compiler >= max(documented, llvm):
            continue
        produced, consumed = producer.produces[number], consumer.consumes[number]
        if not _related(rule, producer, consumer, produced, consumed):
            continue
        agreed = min(documented, llvm)
        live = produced & ~age.overwritten if produced != _EVERYTHING else produced
        is_error = age.physical < agreed and _related(rule, producer, consumer, live, consumed)
        need, have = (agreed, age.physical) if is_error else (max(documented, llvm), age.compiler)
        if worst is None or (is_error, need - have) > worst[:2]:
            worst = (is_error, need - have, rule, need, have)
    if worst is None:
        return None
    is_error, _, rule, need, have = worst
    first, second = producer.instruction, consumer.instruction
    message = (
        f"{second.mnemonic} needs {need} wait states after {first.mnemonic} (instruction {first.uid}) and has {have}: "
        f"rule {rule.name} ({rule.source})"
    )
    severity = Severity.ERROR if is_error else Severity.NOTE
    return Finding(MISSING_STATES, message, block.label, second, first, severity)


def _related(rule: Rule, producer: _Step, consumer: _Step, produced: int, consumed: int) -> bool:
    if not produced & consumed:
        return False
    identical = produced == consumed and producer.passes == consumer.passes
    if rule.relation is Relation.IDENTICAL:
        return identical
    if rule.relation is Relation.OVERLAP_ONLY:
        return not identical
    first, second = producer.instruction.definition, consumer.instruction.definition
    same = first is not None and second is not None and first.mnemonic == second.mnemonic
    if rule.relation is Relation.SAME_OPCODE:
        return same
    return not same if rule.relation is Relation.OTHER_OPCODE else True


@lru_cache(maxsize=1024)
def _applicable(
    found: frozenset[Op], passes: int, target: str
) -> tuple[tuple[tuple[int, Part, int], ...], tuple[tuple[int, Part, bool], ...]]:
    """Return the rules that a class of instructions may fall under: as producer with the most states, and as consumer."""
    producing: list[tuple[int, Part, int]] = []
    consuming: list[tuple[int, Part, bool]] = []
    for number, rule in enumerate(rules_for(target)):
        most = max(rule.documented.at(passes), rule.llvm.at(passes))
        if rule.producer in found and most > 0:
            producing.append((number, rule.produced, most))
        if rule.consumer in found:
            consuming.append((number, rule.consumed, rule.consumer is Op.DPP and rule.consumed is Part.READS))
    return tuple(producing), tuple(consuming)


def _step(i: Instruction, target: str) -> _Step:
    definition = i.definition
    if definition is None:
        return _Step(i, 0, {}, 0, {}, 0, 1, 0, _Kind.OTHER, 0)
    modifiers = {modifier.name: modifier.value for modifier in i.modifiers}
    found = operations(definition, i.mnemonic, modifiers)
    passes = definition.passes if definition.issue is IssueClass.MATRIX else 0
    produces: dict[int, int] = {}
    consumes: dict[int, int] = {}
    lifetime = produced = consumed = 0
    units: dict[Part, int] = {}
    producing, consuming = _applicable(found, passes, target)
    for number, part, most in producing:
        if part not in units:
            units[part] = _part(i, definition, part)
        if units[part]:
            produces[number] = units[part]
            produced |= 1 << number
            lifetime = max(lifetime, most)
    for number, part, is_dpp in consuming:
        if part not in units:
            units[part] = _part(i, definition, part)
        # Only the first source of DPP passes through the lane permutation.
        mask = _registers(i, definition).get("src0", 0) & VECTOR_MASK if is_dpp else units[part]
        if mask:
            consumes[number] = mask
            consumed |= 1 << number
    slots = 1
    if definition.mnemonic == "s_nop" and isinstance(i.operands[0], Immediate):
        slots = (i.operands[0].value & 15) + 1
    overwrites = effects(i).kills & ~VECTOR_MASK if definition.issue is IssueClass.SALU else 0
    return _Step(i, produced, produces, consumed, consumes, lifetime, slots, passes, _kind(definition), overwrites)


def _kind(definition: OpcodeDef) -> _Kind:
    if definition.issue is IssueClass.MATRIX:
        return _Kind.MATRIX
    return _Kind.PACKED if definition.flags & {Flag.PACKED_F32, Flag.DOT} else _Kind.OTHER


def _registers(i: Instruction, definition: OpcodeDef) -> dict[str, int]:
    return {
        spec.name: operand.range.mask
        for spec, operand in zip(definition.operands, i.operands, strict=True)
        if isinstance(operand, Register)
    }


def _part(i: Instruction, definition: OpcodeDef, part: Part) -> int:
    """The units of a part; all ones for the whole instruction, bits of their own for hardware registers."""
    if part is Part.ALL:
        return _EVERYTHING
    if part in (Part.HWREG, Part.TRAPSTS, Part.VSKIP):
        return _hardware_register(i, part)
    if part in (Part.SRC_C, Part.SRC_AB, Part.DATA, Part.DATA_WITHOUT_SOFFSET, Part.LANE_SELECT):
        return _named(i, definition, part)
    if part in _WRITTEN:
        return effects(i).writes & _WRITTEN[part]
    return _sources(i, definition, part)


_WRITTEN = {
    Part.WRITES: VECTOR_MASK,
    Part.SCALAR_WRITES: _SCALARS,
    Part.EXEC_WRITES: EXEC_MASK,
    Part.M0_WRITES: 1 << M0,
    Part.VCC_OR_EXEC_WRITES: VCC_MASK | EXEC_MASK,
}


def _sources(i: Instruction, definition: OpcodeDef, part: Part) -> int:
    """Source operands, told apart into plain ones and the lane mask or carry; implicit VCC is a mask."""
    plain = mask = 0
    last = len(definition.operands) - 1
    for number, (operand, spec) in enumerate(zip(i.operands, definition.operands, strict=True)):
        if not isinstance(operand, Register) or spec.role is Role.WRITE:
            continue
        if number == last and Flag.CARRY_IN in definition.flags:
            mask |= operand.range.mask
        else:
            plain |= operand.range.mask
    mask |= definition.implicit_reads & VCC_MASK
    if part is Part.READS:
        return plain & VECTOR_MASK
    if part is Part.SCALAR_READS:
        return (plain | mask) & _SCALARS
    if part is Part.EXEC_CONSTANT:
        return plain & EXEC_MASK
    if part is Part.CONSTANTS:
        return plain & _SCALARS & ~VCC_MASK
    if part is Part.VCC_CONSTANT:
        return plain & VCC_MASK
    if part is Part.MASK:
        return mask & _SCALARS
    flags = (VCC_MASK if plain >> VCCZ & 1 else 0) | (EXEC_MASK if plain >> EXECZ & 1 else 0)
    return flags


_STORE_DATA = frozenset({"vdata", "data", "data0", "data1", "vsrc", "src"})


def _named(i: Instruction, definition: OpcodeDef, part: Part) -> int:
    units = _registers(i, definition)
    if part is Part.SRC_C:
        return units.get("vdst" if Flag.SMFMAC in definition.flags else "src2", 0) & VECTOR_MASK
    if part is Part.SRC_AB:
        return (units.get("src0", 0) | units.get("src1", 0) | units.get("idx", 0)) & VECTOR_MASK
    if part is Part.LANE_SELECT:
        return units.get("src1", 0) & _SCALARS
    if part is Part.DATA_WITHOUT_SOFFSET and "soffset" in units:
        return 0
    data = 0
    for name in _STORE_DATA & units.keys():
        data |= units[name]
    return data & VECTOR_MASK


@lru_cache(maxsize=256)
def _hwreg(text: str) -> tuple[str, int, int]:
    found = _HWREG.match(text)
    if found is None:
        return "", 0, 32
    return found[1].upper(), int(found[2] or 0), int(found[3] or 32)


def _hardware_register(i: Instruction, part: Part) -> int:
    if i.mnemonic == "s_setvskip":
        return 1 if part is Part.VSKIP else 0
    for operand in i.operands:
        if isinstance(operand, Symbolic) and operand.text.lower().startswith("hwreg"):
            name, offset, size = _hwreg(operand.text)
            if part is Part.TRAPSTS:
                return 1 if name in _TRAPSTS_NAMES else 0
            if part is Part.VSKIP:
                return 1 if name in _MODE_NAMES and offset <= _VSKIP_BIT < offset + size else 0
            return 1 << _HWREG_NAMES.index(name) if name in _HWREG_NAMES else _EVERYTHING
    return 0
