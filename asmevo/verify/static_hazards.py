"""Wait states, judged anew: do enough issue slots pass between each producer and consumer that a hazard rule names.

Owns a data-flow over the blocks whose state is, for each recent producer, the least number of slots since it issued. It reads
the fact table `ir.isa.hazards` by its own `verify.hazard_steps` and shares no code with the analysis that passes use.

Two counts are kept. The compiler's: one slot an instruction, N + 1 for `s_nop N`. The physical one: also the slots in which a
matrix instruction waits for the matrix unit, busy for the passes of the one before, in which packed float and dot instructions
wait behind it, and which a taken branch costs. An error is only what falls short, physically, of what the vendor and the
compiler both ask for; where one of them asks for more, falling short is a note.

Imprecise where it must be: paths are joined, not followed one by one; an instruction skipped by VSKIP is taken as issued; the
register that VGPR indexing selects is not known, and only the named one is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from asmevo.diagnostics import Severity
from asmevo.ir.finding import Finding
from asmevo.ir.isa.hazards import Relation, Rule, rules_for
from asmevo.ir.kernel import Block, Kernel
from asmevo.verify.hazard_steps import EVERYTHING, HazardStep, Kind, hazard_step

MISSING_STATES = "E0502"
TAKEN_BRANCH_SLOTS = 7
"""Slots that a taken branch costs beyond its own (LLVM SISchedule.td: 8 in all; AMD publishes no figure)."""


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
    steps: list[HazardStep] = []
    for block in kernel.blocks:
        compiled[block.label] = list(range(len(steps), len(steps) + len(block.instructions)))
        steps += [hazard_step(instruction, kernel.target) for instruction in block.instructions]
    entry = _solve(kernel, steps, compiled)
    findings: list[Finding] = []
    for block in kernel.blocks:
        if block.label in entry:
            findings += _report(block, compiled[block.label], steps, rules, dict(entry[block.label]))
    return findings


@dataclass(frozen=True, slots=True)
class NewHazardFindings:
    """What a kernel lacks that it did not before an edit, and how many errors it had already."""

    findings: tuple[Finding, ...]
    known_errors: int


def new_hazard_findings(before: Kernel, after: Kernel) -> NewHazardFindings:
    """The errors of `after` that `before` does not have, both being versions of one kernel; or has by fewer slots."""
    known = {
        (f.instruction.uid, _producer(f), f.rule): f.missing for f in check_hazards(before) if f.severity is Severity.ERROR
    }
    errors = [f for f in check_hazards(after) if f.severity is Severity.ERROR]
    fresh = [f for f in errors if f.missing > known.get((f.instruction.uid, _producer(f), f.rule), 0)]
    return NewHazardFindings(tuple(fresh), len(errors) - len(fresh))


def _producer(finding: Finding) -> int:
    return finding.producer.uid if finding.producer is not None else -1


def _solve(kernel: Kernel, steps: Sequence[HazardStep], compiled: dict[str, list[int]]) -> dict[str, _State]:
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


def _advance(state: _State, number: int, steps: Sequence[HazardStep]) -> None:
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


def _reached(producer: HazardStep, step: HazardStep, physical: int) -> int:
    """Return the physical slots between a producer and `step` when `step` can issue.

    Behind a matrix instruction of N passes the next one cannot issue before slot N, a packed one not before N + 2.
    """
    if not producer.passes or step.kind is Kind.OTHER:
        return physical
    return max(physical, producer.passes - 1 if step.kind is Kind.MATRIX else producer.passes + 1)


def _report(
    block: Block, numbers: Sequence[int], steps: Sequence[HazardStep], rules: Sequence[Rule], state: _State
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


def _judge(block: Block, producer: HazardStep, consumer: HazardStep, rules: Sequence[Rule], age: _Age) -> Finding | None:
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
        live = produced & ~age.overwritten if produced != EVERYTHING else produced
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
    return Finding(MISSING_STATES, message, block.label, second, first, severity, rule.name, need - have)


def _related(rule: Rule, producer: HazardStep, consumer: HazardStep, produced: int, consumed: int) -> bool:
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
