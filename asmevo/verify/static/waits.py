"""Waits, judged anew: a register that a pending memory operation will write must be left alone until a wait covers it.

Owns a data-flow over the blocks whose state is, for each operation that may still be pending, how many younger operations of
the same in-order queue were surely issued after it (`wait_steps` says why that count decides), and what becomes of a pair found
so: a pair that meets only on paths whose branches contradict each other is none.

Imprecise where it must be: a vector memory instruction skipped by VSKIP is taken as issued; VGPR indexing may select any VGPR,
which is a warning only, and is taken to end with its block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from asmevo.diagnostics import Severity
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.finding import Finding
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.memo import by_identity
from asmevo.ir.registers import RegisterRange, unit_name, units
from asmevo.verify.paths.feasibility import PathFeasibility
from asmevo.verify.static.wait_paths import Answer, Pair, Path, WaitPaths
from asmevo.verify.static.wait_steps import Event, Queue, State, Step, advance, compile_steps, conflict

MISSING_WAIT, UNPUBLISHED = "E0501", "E0503"
"""A register used too early; LDS traffic still pending at a barrier."""

_SHOWN_BLOCKS = 8


@dataclass(frozen=True, slots=True)
class NewWaitFindings:
    """What a kernel lacks that it did not before an edit, and how many errors it had already."""

    findings: tuple[Finding, ...]
    known_errors: int


def check_waits(kernel: Kernel, analyses: AnalysisManager | None = None) -> list[Finding]:
    """Check every path from every root; in layout order. `analyses` are the kernel's, where some are known already.

    E0501 (error): a register is read or overwritten while a load, scalar load or atomic may still write it. Where the two stand
    in different blocks the message names a path; a pair is left out when each of its paths is impossible, and a warning when
    that was not decided within bounds. It is a warning, too, when VGPR indexing may select the register, and for a flat
    operation waited for by vmcnt alone, which is enough unless its address lies in LDS. E0503: an LDS store (warning), a load
    to LDS or an LDS read (note) may be pending at s_barrier. Those notes are no advice: a pipeline leaves the loads of later
    stages pending, and which stage is read is not known here.
    """
    checked = _Checked(kernel)
    doubtful = [_pair(f) for f in checked.findings if _is_missing_wait(f) and checked.crosses(f)]
    if not doubtful:
        return checked.findings
    answers = checked.paths().decide(doubtful, PathFeasibility(kernel, analyses))
    found: list[Finding] = []
    for finding in checked.findings:
        answer = answers.get(_pair(finding)) if _is_missing_wait(finding) else None
        if answer is None:
            found.append(finding)
        elif answer[0] is not Answer.IMPOSSIBLE:
            found.append(_on_path(finding, *answer))
    return found


def new_wait_findings(before: Kernel, after: Kernel) -> NewWaitFindings:
    """What `after` lacks and `before` does not, both being versions of one kernel; each is an error.

    Nothing is left out as impossible here, and notes and warnings count: what was complete at a barrier must still be complete
    there, though no register says so. A pair that `before` has too is new when it meets on a path on which it did not.
    """
    old, new = _checked_before(before), _Checked(after)
    known = {_identity(finding) for finding in old.findings}
    elsewhere = new.meet_elsewhere([f for f in new.findings if f.code == MISSING_WAIT and _identity(f) in known], old)
    fresh: list[Finding] = []
    errors = 0
    for finding in new.findings:
        if _identity(finding) not in known or (finding.code == MISSING_WAIT and _pair(finding) in elsewhere):
            fresh.append(replace(finding, severity=Severity.ERROR))
        else:
            errors += finding.severity is Severity.ERROR
    return NewWaitFindings(tuple(fresh), errors)


class _Checked:
    """One kernel's findings by the data-flow alone, with what it takes to look into them."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._events, self._steps = compile_steps(kernel.blocks)
        self.findings = list(_report(kernel, self._events, self._steps, _solve(kernel, self._events, self._steps)))

    @cached_property
    def _places(self) -> dict[int, tuple[str, int]]:
        return {i.uid: (block.label, at) for block in self._kernel.blocks for at, i in enumerate(block.instructions)}

    @cached_property
    def _is_named(self) -> bool:
        return len(self._places) == sum(len(block.instructions) for block in self._kernel.blocks)

    def paths(self) -> WaitPaths:
        """A walk through the kernel, with its bounds not yet used up."""
        return WaitPaths(self._kernel, self._events, self._steps)

    def crosses(self, finding: Finding) -> bool:
        """Whether no straight line leads from the operation to the instruction; False where instructions share a uid."""
        if not self._is_named:
            return False
        uid, producer = _pair(finding)
        (label, at), (other, behind) = self._places[producer], self._places[uid]
        return label != other or at >= behind

    def meet_elsewhere(self, findings: Sequence[Finding], old: _Checked) -> set[Pair]:
        """The pairs, of those that both kernels have, that meet here on a path on which they do not meet in `old`."""
        pairs = [_pair(finding) for finding in findings]
        if not (self._is_named and old._is_named):
            return set(pairs)
        mine, theirs = self.paths().all(pairs), old.paths().all(pairs)
        return {pair for pair in pairs if not _within(mine[pair], theirs[pair])}


_checked_before = by_identity(_Checked)
"""A search asks about one original again and again."""


def _within(mine: frozenset[Path] | None, theirs: frozenset[Path] | None) -> bool:
    # With too many paths to list on both sides nothing tells the two kernels apart here.
    return mine <= theirs if mine is not None and theirs is not None else mine is theirs


def _is_missing_wait(finding: Finding) -> bool:
    return finding.code == MISSING_WAIT and finding.severity is Severity.ERROR


def _pair(finding: Finding) -> Pair:
    return finding.instruction.uid, finding.producer.uid if finding.producer else -1


def _identity(finding: Finding) -> tuple[str, int, int]:
    return finding.code, *_pair(finding)


def _on_path(finding: Finding, answer: Answer, path: Path) -> Finding:
    shown = path if len(path) <= _SHOWN_BLOCKS else (*path[: _SHOWN_BLOCKS // 2], "...", *path[-_SHOWN_BLOCKS // 2 :])
    if answer is Answer.POSSIBLE:
        return replace(finding, message=f"{finding.message}, on the path {' -> '.join(shown)}")
    message = f"{finding.message}, unless every path there is impossible, which was not decided within bounds"
    return replace(finding, message=message, severity=Severity.WARNING)


def _solve(kernel: Kernel, events: Sequence[Event], steps: dict[str, list[Step]]) -> dict[str, State]:
    """The state at the entry of each reachable block: what may be pending over any path, with its least count."""
    active = {label: [step for step in block if step.queues or step.waits] for label, block in steps.items()}
    successors = {block.label: block.successors for block in kernel.blocks}
    entry: dict[str, State] = {root: {} for root in kernel.roots}
    work = list(kernel.roots)
    while work:
        label = work.pop()
        state = dict(entry[label])
        for step in active[label]:
            advance(state, step, events)
        for following in successors[label]:
            if following not in entry:
                entry[following] = dict(state)
            elif not _join(entry[following], state):
                continue
            if following not in work:
                work.append(following)
    return entry


def _join(target: State, state: State) -> bool:
    changed = False
    for number, count in state.items():
        if number not in target or target[number] > count:
            target[number] = count
            changed = True
    return changed


def _report(
    kernel: Kernel, events: Sequence[Event], steps: dict[str, list[Step]], entry: dict[str, State]
) -> Iterable[Finding]:
    for block in kernel.blocks:
        if block.label not in entry:
            continue
        state = dict(entry[block.label])
        protected = _protected(state, events)
        doubted: set[int] = set()
        for step in steps[block.label]:
            if (step.reads | step.writes | step.indexed) & protected:
                for number in [n for n in state if conflict(events[n], step)]:
                    if conflict(events[number], step) & step.indexed:
                        # Only perhaps: a later instruction may yet touch the register for certain.
                        if number not in doubted:
                            yield _missing(block, step, events[number], state[number])
                        doubted.add(number)
                        continue
                    yield _missing(block, step, events[number], state[number])
                    del state[number]
            if step.instruction.mnemonic == "s_barrier":
                yield from _at_barrier(block, step.instruction, state, events)
            if step.queues or step.waits:
                advance(state, step, events)
                protected = _protected(state, events)


def _protected(state: State, events: Sequence[Event]) -> int:
    mask = 0
    for number in state:
        mask |= events[number].units
    return mask


def _missing(block: Block, step: Step, event: Event, younger: int) -> Finding:
    touched = conflict(event, step)
    verb = "reads" if touched & step.reads else "writes" if touched & step.writes else "may touch by VGPR indexing"
    need = min(younger, event.queue.most - 1) if event.queue.in_order else 0
    message = (
        f"{step.instruction.mnemonic} {verb} {_names(touched)} while {event.producer.mnemonic} "
        f"(instruction {event.producer.uid}) may be pending: s_waitcnt {event.queue.counter.value}({need}) is missing"
    )
    is_certain = event.queue is not Queue.FLAT_LDS and not touched & step.indexed
    severity = Severity.ERROR if is_certain else Severity.WARNING
    return Finding(MISSING_WAIT, message, block.label, step.instruction, event.producer, severity)


def _at_barrier(block: Block, barrier: Instruction, state: State, events: Sequence[Event]) -> Iterable[Finding]:
    for number in state:
        event = events[number]
        if event.barrier:
            message = (
                f"{event.barrier} {event.producer.mnemonic} (instruction {event.producer.uid}) may be pending at s_barrier"
            )
            severity = Severity.WARNING if event.barrier == "LDS store" else Severity.NOTE
            yield Finding(UNPUBLISHED, message, block.label, barrier, event.producer, severity, event.barrier)


def _names(mask: int) -> str:
    """Unit sets as text: v[0:3], s5."""
    found = list(units(mask))
    first, last = found[0], found[-1]
    if last - first + 1 == len(found) and len(found) > 1:
        return str(RegisterRange(first, len(found)))
    return ", ".join(unit_name(unit) for unit in found[:4]) + (", ..." if len(found) > 4 else "")
