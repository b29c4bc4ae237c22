"""Wait states, judged anew: do enough issue slots pass between each producer and consumer that a hazard rule names.

Owns a data-flow over the blocks whose state is, for each recent producer, the least number of slots since it issued. It reads
the fact table `ir.isa.hazards` by its own `verify.static.hazard_steps` and shares no code with the analysis that passes use.

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

from asmevo.diagnostics import Severity
from asmevo.ir.finding import Finding
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.hazards import Relation, Rule, rules_for
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.memo import by_identity
from asmevo.verify.static.hazard_reach import Age, Reach, State
from asmevo.verify.static.hazard_steps import NOT_REGISTERS, HazardStep, hazard_step, unnamed_rules

MISSING_STATES = "E0502"
TAKEN_BRANCH_SLOTS = 7
"""Slots that a taken branch costs beyond its own (LLVM SISchedule.td: 8 in all; AMD publishes no figure)."""


@dataclass(frozen=True, slots=True)
class _Code:
    """A kernel's instructions by number, what they are to the rules, and where each block's stand."""

    instructions: list[Instruction]
    steps: list[HazardStep]
    places: dict[str, range]
    rules: Sequence[Rule]
    unnamed: int

    @classmethod
    def of(cls, kernel: Kernel) -> _Code:
        instructions: list[Instruction] = []
        places: dict[str, range] = {}
        for block in kernel.blocks:
            places[block.label] = range(len(instructions), len(instructions) + len(block.instructions))
            instructions += block.instructions
        steps = [hazard_step(instruction, kernel.target) for instruction in instructions]
        return cls(instructions, steps, places, rules_for(kernel.target), unnamed_rules(kernel.target))


def check_hazards(kernel: Kernel) -> list[Finding]:
    """Check every path from every root: E0502 in layout order, errors and notes."""
    code = _Code.of(kernel)
    entry = _solve(kernel, code)
    findings: list[Finding] = []
    for block in kernel.blocks:
        if block.label in entry:
            findings += _report(block, code, entry[block.label])
    return findings


@dataclass(frozen=True, slots=True)
class NewHazardFindings:
    """What a kernel lacks that it did not before an edit, and how many errors it had already."""

    findings: tuple[Finding, ...]
    known_errors: int


def new_hazard_findings(before: Kernel, after: Kernel) -> NewHazardFindings:
    """The errors of `after` that `before` does not have, both being versions of one kernel; or has by fewer slots."""
    known = _known_errors(before)
    errors = [f for f in check_hazards(after) if f.severity is Severity.ERROR]
    fresh = [f for f in errors if f.missing > known.get((f.instruction.uid, _producer(f), f.rule), 0)]
    return NewHazardFindings(tuple(fresh), len(errors) - len(fresh))


@by_identity
def _known_errors(before: Kernel) -> dict[tuple[int, int, str], int]:
    """The slots missing by instruction, producer and rule, of an original that a search asks about again and again."""
    return {(f.instruction.uid, _producer(f), f.rule): f.missing for f in check_hazards(before) if f.severity is Severity.ERROR}


def _producer(finding: Finding) -> int:
    return finding.producer.uid if finding.producer is not None else -1


def _solve(kernel: Kernel, code: _Code) -> dict[str, State]:
    blocks = {block.label: block for block in kernel.blocks}
    # A step takes a slot at least, so that of a long block only the end decides what is within reach behind it.
    farthest = max((step.lifetime for step in code.steps), default=0)
    constant: dict[str, State] = {}
    entry: dict[str, State] = {root: {} for root in kernel.roots}
    work = list(kernel.roots)
    while work:
        label = work.pop()
        place = code.places[label]
        state = constant.get(label)
        if state is None:
            is_long = len(place) >= farthest
            state = _leaving({} if is_long else entry[label], place[-farthest:] if is_long else place, code)
            if is_long:
                constant[label] = state
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


def _leaving(state: State, place: range, code: _Code) -> State:
    reach = Reach(state, code.steps, code.unnamed)
    for number in place:
        step = code.steps[number]
        reach.wait(step)
        reach.issue(number, step)
    return reach.state()


def _edges(block: Block) -> Iterable[tuple[str, bool]]:
    """Return the successors and whether a taken branch leads there; a block's branch target stands first."""
    last = block.instructions[-1].definition if block.instructions else None
    branches = last is not None and last.is_branch
    return [(label, branches and number == 0) for number, label in enumerate(block.successors)]


def _join(target: State, state: State) -> bool:
    changed = False
    for number, age in state.items():
        known = target.get(number)
        least = age if known is None else _least(known, age)
        if least != known:
            target[number] = least
            changed = True
    return changed


def _least(one: Age, other: Age) -> Age:
    return Age(min(one.compiler, other.compiler), min(one.physical, other.physical), one.overwritten & other.overwritten)


def _report(block: Block, code: _Code, state: State) -> Iterable[Finding]:
    reach = Reach(state, code.steps, code.unnamed)
    for number in code.places[block.label]:
        step = code.steps[number]
        reach.wait(step)
        if step.consumed:
            for other, producer, age in reach.met(step):
                shortfall = _judge(producer, step, code.rules, age)
                if shortfall is not None:
                    yield _finding(block, code.instructions[other], code.instructions[number], shortfall)
        reach.issue(number, step)


@dataclass(frozen=True, slots=True)
class _Shortfall:
    """What one pair lacks of a rule: the slots needed and had."""

    is_error: bool
    rule: Rule
    need: int
    have: int


def _judge(producer: HazardStep, consumer: HazardStep, rules: Sequence[Rule], age: Age) -> _Shortfall | None:
    """Return the worst shortfall of one pair: errors before notes, then the most slots missing; None when there is none."""
    worst: _Shortfall | None = None
    both = producer.produced & consumer.consumed
    while both:
        number = (both & -both).bit_length() - 1
        both &= both - 1
        produced, consumed = producer.produces[number], consumer.consumes[number]
        if not produced & consumed:
            continue
        rule = rules[number]
        documented, llvm = rule.documented.at(producer.passes), rule.llvm.at(producer.passes)
        if age.compiler >= max(documented, llvm) or not _related(rule, producer, consumer, produced, consumed):
            continue
        agreed = min(documented, llvm)
        # What a rule follows besides registers, a hardware register say, no scalar result overwrites.
        live = produced if rule.produced in NOT_REGISTERS else produced & ~age.overwritten
        is_error = age.physical < agreed and _related(rule, producer, consumer, live, consumed)
        need, have = (agreed, age.physical) if is_error else (max(documented, llvm), age.compiler)
        if worst is None or (is_error, need - have) > (worst.is_error, worst.need - worst.have):
            worst = _Shortfall(is_error, rule, need, have)
    return worst


def _finding(block: Block, first: Instruction, second: Instruction, lacks: _Shortfall) -> Finding:
    rule = lacks.rule
    message = (
        f"{second.mnemonic} needs {lacks.need} wait states after {first.mnemonic} (instruction {first.uid}) and has "
        f"{lacks.have}: rule {rule.name} ({rule.source})"
    )
    severity = Severity.ERROR if lacks.is_error else Severity.NOTE
    return Finding(MISSING_STATES, message, block.label, second, first, severity, rule.name, lacks.need - lacks.have)


def _related(rule: Rule, producer: HazardStep, consumer: HazardStep, produced: int, consumed: int) -> bool:
    if not produced & consumed:
        return False
    identical = produced == consumed and producer.passes == consumer.passes
    if rule.relation is Relation.IDENTICAL:
        return identical
    if rule.relation is Relation.OVERLAP_ONLY:
        return not identical
    same = producer.mnemonic == consumer.mnemonic
    if rule.relation is Relation.SAME_OPCODE:
        return same
    return not same if rule.relation is Relation.OTHER_OPCODE else True
