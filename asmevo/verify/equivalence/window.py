"""The verdict on one straight-line window: both sides executed on one term table and their final states compared.

Owns the order of attack and what counts as which outcome. PROVED: every live-out unit and both memories end equal for every
entry state, lane and EXEC. REFUTED: a state was found in which interpreted operations alone make a live-out unit differ. A
difference that only the freedom of uninterpreted functions shows, and a timeout, are UNKNOWN.

Waits and wait states are no-ops here: the static checks prove them separately and must stand beside every verdict.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from asmevo.ir.effects import may_skip_vectors
from asmevo.ir.instruction import Instruction, Modifier, Operand, Symbolic
from asmevo.ir.isa.model import IssueClass
from asmevo.ir.registers import UNIT_COUNT, VGPR0, unit_name, units
from asmevo.verify.equivalence.evaluate import Evaluator
from asmevo.verify.equivalence.execute import Executor, Programs, UnmodelledError, refusal
from asmevo.verify.equivalence.floats import EXACT, confirm
from asmevo.verify.equivalence.machine import Machine
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.solver import Prover
from asmevo.verify.equivalence.terms import Term, cone, opaque
from asmevo.verify.verdict import Basis, Counterexample, Outcome, Verdict

ALL_UNITS = (1 << UNIT_COUNT) - 1
ASSUMPTIONS = (
    "waits and wait states are proved separately by the static checks",
    "between barriers, fences and coherent accesses no other agent changes the memory that is read",
    "accesses do not fault",
)
_STATES = 6
_INDEX_BIT = 27
_CACHE_SIZE = 4096
_VECTOR = frozenset({IssueClass.VALU, IssueClass.TRANS, IssueClass.MATRIX, IssueClass.LDS, IssueClass.VMEM, IssueClass.FLAT})

Text = tuple[str, tuple[Operand, ...], tuple[Modifier, ...]]


def text_of(i: Instruction) -> Text:
    """Return what makes two instructions the same, wherever they stand."""
    return (i.mnemonic, i.operands, i.modifiers)


@dataclass(frozen=True, slots=True)
class _Segment:
    before: tuple[Instruction, ...]
    after: tuple[Instruction, ...]
    live_out: int
    skippable: bool
    """Vector operations may be switched off here (s_setvskip): both readings must hold."""


@lru_cache(maxsize=1)
def semantics() -> Programs:
    """Programs from the one definition of each opcode's meaning."""
    from asmevo.ir.semantics import program_of, source_bits

    return Programs(program_of, source_bits)


_CACHE: OrderedDict[tuple[tuple[Text, ...], tuple[Text, ...], int, bool], Verdict] = OrderedDict()


def prove_window(
    before: Sequence[Instruction],
    after: Sequence[Instruction],
    live_out: int,
    *,
    timeout_s: float = 5.0,
    vskip: bool = False,
    programs: Programs | None = None,
) -> Verdict:
    """Whether `after` may replace `before` where only the units of `live_out` and memory are needed afterwards.

    Holds for any entry state. `vskip`: VSKIP may be on at entry, so the windows must agree without their vector
    operations too. `programs` replaces the semantics (and turns the cache off). `timeout_s` bounds the whole check.
    An instruction that is not modelled must stand in both windows in the same place among its like; it then splits them, and
    everything must be equal there. Otherwise the verdict is UNSUPPORTED and names it.
    """
    texts = (tuple(text_of(i) for i in before), tuple(text_of(i) for i in after))
    if texts[0] == texts[1]:
        return Verdict(Outcome.IDENTICAL, (Basis("text", Outcome.IDENTICAL, f"{len(before)} identical instructions"),))
    if programs is not None:
        return _prove(before, after, live_out, timeout_s, vskip, programs)
    key = (*texts, live_out, vskip)
    found = _CACHE.get(key)
    if found is None:
        found = _prove(before, after, live_out, timeout_s, vskip, semantics())
        if found.outcome is not Outcome.UNKNOWN:  # a longer budget may decide it
            _CACHE[key] = found
            if len(_CACHE) > _CACHE_SIZE:
                _CACHE.popitem(last=False)
    return found


def _prove(
    before: Sequence[Instruction],
    after: Sequence[Instruction],
    live_out: int,
    timeout_s: float,
    vskip: bool,
    programs: Programs,
) -> Verdict:
    deadline = time.monotonic() + timeout_s
    try:
        segments, split_by = _segments(before, after, live_out, vskip, programs)
        basis: list[Basis] = []
        for segment in segments:
            readings = [(segment.before, segment.after)]
            if segment.skippable:
                readings.append((_without_vectors(segment.before), _without_vectors(segment.after)))
            for one, other in readings:
                verdict = _compare(one, other, segment.live_out, deadline, programs)
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
    return tuple(i for i in window if i.definition is None or i.definition.issue not in _VECTOR)


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
            segments.append(_Segment(one, other, live_out if last else ALL_UNITS, skippable))
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


def _compare(
    before: tuple[Instruction, ...], after: tuple[Instruction, ...], live_out: int, deadline: float, programs: Programs
) -> Verdict:
    normaliser = Normaliser()
    machines = (Machine(normaliser), Machine(normaliser))
    for machine, window in zip(machines, (before, after), strict=True):
        executor = Executor(machine, programs)
        for i in window:
            executor.run(i)
    differing = _differences(machines, live_out)
    size = f"{len(before)} and {len(after)} instructions"
    if not differing:
        return _proved("terms", f"{size}: every live-out unit and both memories are the same term")
    states = [Evaluator(seed) for seed in range(_STATES)]
    for place, a, b in differing:
        verdict = _refute(place, a, b, states)
        if verdict is not None:
            return verdict

    def differs(a: Term, b: Term) -> bool:
        return any(state.difference(a, b) is not None for state in states)

    prover = Prover(deadline, differs)
    for place, a, b in differing:
        if not prover.equal(a, b):
            why = "the time budget ran out" if prover.timed_out else "neither proved nor refuted"
            return _unknown(f"{place}: {why}")
    return _proved("z3", f"{size}: {len(differing)} values proved equal by {prover.queries} queries")


def _proved(method: str, detail: str) -> Verdict:
    return Verdict(Outcome.PROVED, (Basis(method, Outcome.PROVED, detail, ASSUMPTIONS),))


def _unknown(reason: str) -> Verdict:
    return Verdict(Outcome.UNKNOWN, (Basis("z3", Outcome.UNKNOWN, reason, ASSUMPTIONS),), reason=reason)


def _differences(machines: tuple[Machine, Machine], live_out: int) -> list[tuple[str, Term, Term]]:
    """Places whose final terms are not one object: written live-out units, then memories."""
    one, other = machines
    written = {*one.units, *other.units}
    found: list[tuple[str, Term, Term]] = []
    for unit in units(live_out & _mask(written)):
        a, b = one.unit(unit), other.unit(unit)
        if a is not b:
            found.append((unit_name(unit), a, b))
    for space, version in one.memories.items():
        if version is not other.memories[space]:
            found.append((space, version, other.memories[space]))
    return found


def _mask(numbers: set[int]) -> int:
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def _refute(place: str, a: Term, b: Term, states: Sequence[Evaluator]) -> Verdict | None:
    """Return REFUTED or UNKNOWN when some state tells the terms apart; None when none does."""
    for state in states:
        lane = state.difference(a, b)
        if lane is None:
            continue
        others = _not_inputs(a, b)
        if others is not None and not others:
            return _refuted(place, a, b, state, lane)
        if others is not None and others <= EXACT.keys():
            found = confirm(a, b, range(_STATES))
            if found is not None:
                return _refuted(place, a, b, *found)
        return _unknown(f"{place}: differs where operations that are not interpreted may differ")
    return None


def _refuted(place: str, a: Term, b: Term, state: Evaluator, lane: int) -> Verdict:
    x, y = (value[lane % len(value)] for value in (state.value(a), state.value(b)))
    where = f"{place} lane {lane}" if a.varying or b.varying else place
    entry = ", ".join(f"{name}={value:#x}" for name, value in _inputs(a, b, state, lane))
    counterexample = Counterexample(where, f"{x:#x}", f"{y:#x}", f"for the entry state {entry}")
    reason = f"{where} is {x:#x} before and {y:#x} after the edit"
    return Verdict(Outcome.REFUTED, (Basis("z3", Outcome.REFUTED, reason, ASSUMPTIONS),), counterexample, reason)


def _not_inputs(a: Term, b: Term) -> set[str] | None:
    """Return the uninterpreted operations under the terms, loads from the entry memory aside; None if those are no inputs.

    The terms must rest on the same loads, and loads from one address by different instructions may overlap: those are not free.
    """
    left, right = set(opaque((a,))), set(opaque((b,)))
    loads = {t for t in left if _is_entry_load(t)}
    if loads != {t for t in right if _is_entry_load(t)}:
        return None
    forms = {(t.args, cast("tuple[Hashable, int]", t.attr)[0]) for t in loads}
    if len(forms) != len({args for args, _ in forms}):
        return None
    return {t.op for t in (left | right) - loads if t.op != "memory"}


def _is_entry_load(term: Term) -> bool:
    return term.op == "load" and all(a.op == "memory" or a.bits for a in term.args)


def _inputs(a: Term, b: Term, state: Evaluator, lane: int) -> list[tuple[str, int]]:
    """Entry values that the terms depend on, in `lane`."""
    out: list[tuple[str, int]] = []
    for term in cone((a, b)):
        if term.op == "var":
            value = state.value(term)
            name = unit_name(term.attr) if isinstance(term.attr, int) else str(term.attr)
            shown = f"{name}[{lane}]" if isinstance(term.attr, int) and term.attr >= VGPR0 else name
            out.append((shown, value[lane % len(value)]))
    return out[:16]
