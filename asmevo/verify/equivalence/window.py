"""The verdict on one straight-line window: both sides executed on one term table and their final states compared.

Owns the window as a unit: its cutting at what is not modelled, its two readings where VSKIP may be on, and the cache. PROVED:
every live-out unit and both memories end equal for every entry state, lane and EXEC (see `compare`).

Waits and wait states are no-ops here: the static checks prove them separately and must stand beside every verdict.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile

from asmevo.ir.effects import may_skip_vectors
from asmevo.ir.instruction import Instruction, Modifier, Operand, Symbolic
from asmevo.ir.registers import UNIT_COUNT, unit_name, units
from asmevo.verify.equivalence.budget import now
from asmevo.verify.equivalence.canonical import canonical_key
from asmevo.verify.equivalence.compare import Difference, decide, undecided
from asmevo.verify.equivalence.execute import Executor, Programs, UnmodelledError, is_vector, refusal
from asmevo.verify.equivalence.facts import NO_FACTS, Facts
from asmevo.verify.equivalence.machine import Machine
from asmevo.verify.equivalence.nearly import missing
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.plain import PlainTerms
from asmevo.verify.equivalence.proof_cache import ProofCache
from asmevo.verify.equivalence.reached import new_loads
from asmevo.verify.equivalence.replay import Replay
from asmevo.verify.equivalence.terms import MEMORY_OPS, cone
from asmevo.verify.verdict import Basis, Outcome, Verdict

ALL_UNITS = (1 << UNIT_COUNT) - 1
ASSUMPTIONS: tuple[str, ...] = (
    "waits and wait states are proved separately by the static checks",
    "between barriers, fences and coherent accesses no other agent changes the memory that is read",
    "accesses do not fault and stay inside the memory they are made to",
)
_INDEX_BIT = 27
_CACHE_SIZE = 4096

Text = tuple[str, tuple[Operand, ...], tuple[Modifier, ...]]


def text_of(i: Instruction) -> Text:
    """Return what makes two instructions the same, wherever they stand."""
    return (i.mnemonic, i.operands, i.modifiers)


@dataclass(frozen=True, slots=True)
class _Segment:
    before: tuple[Instruction, ...]
    after: tuple[Instruction, ...]
    live_out: int
    at_entry: bool
    """It begins where the window does, so that facts on the window's entry hold."""
    skippable: bool
    """Vector operations may be switched off here (s_setvskip): both readings must hold."""


@lru_cache(maxsize=8)
def semantics(target: str = "gfx942") -> Programs:
    """Programs from the one definition of each opcode's meaning; targets differ in their 8-bit floats."""
    from asmevo.ir.semantics import program_of, source_bits

    return Programs(lambda i: program_of(i, target), source_bits)


_CACHE: OrderedDict[Hashable, Verdict] = OrderedDict()


def prove_window(
    before: Sequence[Instruction],
    after: Sequence[Instruction],
    live_out: int,
    *,
    timeout_s: float = 5.0,
    vskip: bool = False,
    programs: Programs | None = None,
    facts: Facts = NO_FACTS,
    target: str = "gfx942",
    record: Callable[[str], None] | None = None,
    plain: bool = False,
    cache: ProofCache | None = None,
) -> Verdict:
    """Whether `after` may replace `before` where only the units of `live_out` and memory are needed afterwards.

    Holds for any entry state. `vskip`: VSKIP may be on at entry, so the windows must agree without their vector
    operations too. `programs` replaces the semantics (and turns the cache off). `timeout_s` bounds the whole check.
    `record` receives the certificate: each query that z3 found to have no model, as SMT-LIB2 text that another solver can check
    again; none where both sides are the same terms. `plain` leaves the terms as the semantics give them, so that no rewriting
    is trusted and the queries are more; it proves less. Both turn the cache off.
    `facts` are assumed of the entry state and named in the verdict.
    `cache` has the proofs of earlier runs, of windows that are the same but for the registers' numbers; the verdict says so.
    An instruction that is not modelled must stand in both windows in the same place among its like; it then splits them, and
    everything must be equal there. Otherwise the verdict is UNSUPPORTED and names it.
    """
    texts = (tuple(text_of(i) for i in before), tuple(text_of(i) for i in after))
    if texts[0] == texts[1]:
        return Verdict(Outcome.IDENTICAL, (Basis("text", Outcome.IDENTICAL, f"{len(before)} identical instructions"),))
    task = _Task(live_out, vskip, facts, target, programs or semantics(target), record, plain)
    if programs is not None or any(facts.extents) or record is not None or plain:
        return _prove(before, after, task, timeout_s)
    key = (*texts, live_out, vskip, facts.key, target)
    found = _CACHE.get(key)
    if found is None:
        found = _cached(before, after, task, timeout_s, cache)
        if found.outcome is not Outcome.UNKNOWN:  # a longer budget may decide it
            _CACHE[key] = found
            if len(_CACHE) > _CACHE_SIZE:
                _CACHE.popitem(last=False)
    return found


def _cached(
    before: Sequence[Instruction], after: Sequence[Instruction], task: _Task, timeout_s: float, cache: ProofCache | None
) -> Verdict:
    name = None if cache is None else canonical_key(before, after, task.live_out, task.vskip, task.facts, task.target)
    if cache is None or name is None:
        return _prove(before, after, task, timeout_s)
    stored = cache.get(name)
    if stored is not None:
        return stored
    found = _prove(before, after, task, timeout_s)
    cache.put(name, found)
    return found


@dataclass(frozen=True, slots=True)
class _Task:
    """What one check is about, beside the windows."""

    live_out: int
    vskip: bool
    facts: Facts
    target: str
    programs: Programs
    record: Callable[[str], None] | None
    plain: bool


def _prove(before: Sequence[Instruction], after: Sequence[Instruction], task: _Task, timeout_s: float) -> Verdict:
    deadline = now() + timeout_s
    try:
        segments, split_by = _segments(before, after, task.live_out, task.vskip, task.programs)
        basis: list[Basis] = []
        for segment in segments:
            here = replace(task, live_out=segment.live_out, facts=task.facts if segment.at_entry else NO_FACTS)
            readings = [(segment.before, segment.after)]
            if segment.skippable:
                readings.append((_without_vectors(segment.before), _without_vectors(segment.after)))
            for one, other in readings:
                verdict = _compare(one, other, here, deadline)
                if verdict.outcome is Outcome.REFUTED and split_by is not None:
                    # The state at a split is not one that the window must reach, or keep.
                    raise UnmodelledError(f"{split_by}: nothing may differ there, but {verdict.reason}")
                if verdict.outcome is not Outcome.PROVED:
                    return verdict
                basis.extend(verdict.basis)
        return Verdict(Outcome.PROVED, tuple(basis))
    except UnmodelledError as error:
        return Verdict(Outcome.UNSUPPORTED, (Basis("z3", Outcome.UNSUPPORTED, str(error)),), reason=str(error))


def _without_vectors(window: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    return tuple(i for i in window if not is_vector(i))


# Splitting -----------------------------------------------------------------------------------------------------------------


def _segments(
    before: Sequence[Instruction], after: Sequence[Instruction], live_out: int, skippable: bool, programs: Programs
) -> tuple[list[_Segment], str | None]:
    """Return the windows cut at the instructions that are not modelled, those with an edit, and what cut first."""
    parts, splitters = _cut(before, programs)
    other_parts, other_splitters = _cut(after, programs)
    if [text_of(i) for i, _ in splitters] != [text_of(i) for i, _ in other_splitters]:
        i, why = (splitters or other_splitters)[0]
        raise UnmodelledError(f"{i.mnemonic}: {why}, and the edit changes its place or adds or drops one")
    segments: list[_Segment] = []
    indexed = False
    for position, (one, other) in enumerate(zip(parts, other_parts, strict=True)):
        last = position == len(splitters)
        if [text_of(i) for i in one] != [text_of(i) for i in other]:
            if indexed:
                raise UnmodelledError("s_set_gpr_idx_on: register numbers in the edited part are relative")
            segments.append(_Segment(one, other, live_out if last else ALL_UNITS, position == 0, skippable))
        if not last:
            i = splitters[position][0]
            skippable |= may_skip_vectors((i,))
            indexed = indexing_after(i, indexed)
    return segments, f"{splitters[0][0].mnemonic}: {splitters[0][1]}" if splitters else None


def indexing_after(i: Instruction, indexed: bool) -> bool:
    """Whether VGPR numbers may be relative after `i`, given whether they may be before it."""
    if i.mnemonic == "s_set_gpr_idx_off":
        return False
    if i.mnemonic.startswith("s_setreg"):
        return indexed or any(_reaches_index_bit(o.text) for o in i.operands if isinstance(o, Symbolic))
    return indexed or i.mnemonic in ("s_set_gpr_idx_on", "s_set_gpr_idx_mode") or i.definition is None


def _reaches_index_bit(hwreg: str) -> bool:
    """Whether a hwreg(name, offset, size) covers the indexing bit of MODE; True where it cannot be read."""
    fields = [field.strip().upper() for field in hwreg.removeprefix("hwreg(").removesuffix(")").split(",")]
    if fields[0] not in ("HW_REG_MODE", "1"):
        return not fields[0].startswith("HW_REG_")
    if len(fields) != 3 or not (fields[1].isdigit() and fields[2].isdigit()):
        return True
    return int(fields[1]) <= _INDEX_BIT < int(fields[1]) + int(fields[2])


def _cut(
    window: Sequence[Instruction], programs: Programs
) -> tuple[list[tuple[Instruction, ...]], list[tuple[Instruction, str]]]:
    parts: list[tuple[Instruction, ...]] = []
    splitters: list[tuple[Instruction, str]] = []
    current: list[Instruction] = []
    for i in window:
        why = refusal(i, programs)
        if why is None:
            current.append(i)
        else:
            parts.append(tuple(current))
            splitters.append((i, why))
            current = []
    parts.append(tuple(current))
    return parts, splitters


# Comparing -----------------------------------------------------------------------------------------------------------------


def _compare(before: tuple[Instruction, ...], after: tuple[Instruction, ...], task: _Task, deadline: float) -> Verdict:
    facts = task.facts
    machines = _executed((before, after), task, PlainTerms() if task.plain else Normaliser())

    @lru_cache(maxsize=1)
    def replay() -> Replay:
        uses = (*machines[0].uses, *machines[1].uses)
        return Replay((before, after), task.live_out, uses, task.programs, facts, task.target)

    size = f"{len(before)} and {len(after)} instructions"
    found = [*differences(machines, task.live_out), *new_loads(*machines)]
    assumptions = (*ASSUMPTIONS, *facts.assumptions)
    # A run does not keep apart what the analyses say is apart.
    runnable = not any(facts.extents) or not any(t.op in MEMORY_OPS for d in found for t in cone((d.before, d.after)))
    verdict = decide(found, size, deadline, assumptions, replay if runnable else None, task.record)
    if verdict.outcome is not Outcome.UNKNOWN or task.plain or now() >= deadline:
        return verdict

    def equal(one: Sequence[Instruction], other: Sequence[Instruction], normaliser: Normaliser) -> bool:
        return not differences(_executed((tuple(one), tuple(other)), task, normaliser), task.live_out)

    why = missing(before, after, equal)
    return verdict if why is None else undecided(f"{found[0].place}: {why}", assumptions)


def _executed(
    windows: tuple[tuple[Instruction, ...], tuple[Instruction, ...]], task: _Task, normaliser: Normaliser
) -> tuple[Machine, Machine]:
    """Both sides' states at the end of their windows. What they begin with in common is executed once."""
    facts = task.facts
    one = Machine(normaliser, facts, facts.extents[0])
    start = 0
    if not any(facts.extents):
        first, second = windows
        alike = (a is b or text_of(a) == text_of(b) for a, b in zip(first, second, strict=False))
        start = sum(1 for _ in takewhile(bool, alike))
        _execute(windows[0][:start], one, task.programs)
    other = one.copy() if start else Machine(normaliser, facts, facts.extents[1])
    other.loads = list(other.loads)
    for machine, window in zip((one, other), windows, strict=True):
        _execute(window[start:], machine, task.programs)
    return one, other


def _execute(window: Sequence[Instruction], machine: Machine, programs: Programs) -> None:
    executor = Executor(machine, programs)
    for i in window:
        executor.run(i)


def differences(machines: tuple[Machine, Machine], live_out: int) -> list[Difference]:
    """Places whose final terms are not one object: written live-out units, then memories."""
    one, other = machines
    written = {*one.units, *other.units}
    found: list[Difference] = []
    for unit in units(live_out & _mask(written)):
        a, b = one.unit(unit), other.unit(unit)
        if a is not b:
            found.append(Difference(unit_name(unit), unit, a, b))
    for space, version in one.memories.items():
        if version is not other.memories[space]:
            found.append(Difference(space, space, version, other.memories[space]))
    return found


def _mask(numbers: set[int]) -> int:
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask
