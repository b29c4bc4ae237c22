"""The verdict on two final states of one term table: the order of attack, and what counts as which outcome.

PROVED: every place that differs as a term was shown equal for every entry state and lane. REFUTED: a run of both windows in
the emulator ended different. Anything else is UNKNOWN: a difference that only the freedom of uninterpreted functions shows, one
that no run confirmed, and a timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from asmevo.verify.equivalence.budget import now
from asmevo.verify.equivalence.divergence import Divergence, Faulting
from asmevo.verify.equivalence.evaluate import Evaluator
from asmevo.verify.equivalence.replay import Replay
from asmevo.verify.equivalence.solver import Prover
from asmevo.verify.equivalence.terms import Term, cone
from asmevo.verify.verdict import Basis, Counterexample, Outcome, Verdict

_STATES = 6
_FIRST = (1, 3, 0, 2, 4, 5, 6, 7)
"""States for a first look, by number: those first whose floats are no NaN, and corner values."""
_LATER = range(8, 136)
_MOST_MODELS = 4
_KEPT = 0.1
"""The part of a check's time that the solver does not get."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A place whose final terms are not one object. `unit` is a register unit, or the name of a memory."""

    place: str
    unit: int | str
    before: Term
    after: Term


def decide(
    differing: Sequence[Difference],
    size: str,
    deadline: float,
    assumptions: tuple[str, ...],
    replay: Callable[[], Replay] | None = None,
    record: Callable[[str], None] | None = None,
) -> Verdict:
    """Return the verdict on all that differs.

    `replay` None: nothing can be run, so that nothing is refuted. `record` receives the queries of a proof (see `Prover`).
    """
    if not differing:
        return _proved("terms", f"{size}: every live-out unit and both memories are the same term", assumptions)
    if replay is not None:
        # Most differences show on any state, and a run costs less than the evaluation of terms.
        found = _run(differing, (), _FIRST, deadline, replay)
        if found is not None:
            return _refuted(found, assumptions)
    states = [Evaluator(seed) for seed in range(_STATES)]
    for difference in differing:
        for state in states:
            if state.difference(difference.before, difference.after) is not None:
                wanted = [_entry_units(differing, state)]
                return _refuted_or_undecided(differing, difference, wanted, deadline, assumptions, replay)

    # What is kept of the time is enough for runs when the solver used all of its own.
    until = deadline - _KEPT * (deadline - now())
    prover = Prover(until, lambda term: tuple(state.signature(term) for state in states), record)
    for difference in differing:
        if not prover.equal(difference.before, difference.after):
            models = [{unit: (value,) for unit, value in model.items()} for model in prover.models[-_MOST_MODELS:]]
            verdict = _refuted_or_undecided(differing, difference, models, deadline, assumptions, replay)
            if prover.timed_out and verdict.outcome is Outcome.UNKNOWN:
                return undecided(f"{difference.place}: the budget of time or memory ran out", assumptions)
            return verdict
    return _proved("z3", f"{size}: {len(differing)} values proved equal by {prover.queries} queries", assumptions)


def _entry_units(differing: Sequence[Difference], state: Evaluator) -> Mapping[int, tuple[int, ...]]:
    roots = [term for d in differing for term in (d.before, d.after)]
    return {t.attr: state.value(t) for t in cone(roots) if t.op == "var" and isinstance(t.attr, int)}


def _refuted_or_undecided(
    differing: Sequence[Difference],
    first: Difference,
    wanted: Sequence[Mapping[int, tuple[int, ...]]],
    deadline: float,
    assumptions: tuple[str, ...],
    replay: Callable[[], Replay] | None,
) -> Verdict:
    attempts = (*range(len(wanted)), *_LATER)
    found = None if replay is None else _run(differing, wanted, attempts, deadline, replay)
    if found is not None:
        return _refuted(found, assumptions)
    why = "" if replay is None else f", and {replay().summary}"
    return undecided(f"{first.place}: not proved{why}", assumptions)


def _run(
    differing: Sequence[Difference],
    wanted: Sequence[Mapping[int, tuple[int, ...]]],
    attempts: Iterable[int],
    deadline: float,
    replay: Callable[[], Replay],
) -> Divergence | Faulting | None:
    pairs = {d.unit: (d.before, d.after) for d in differing}
    if now() >= deadline:
        return None
    return replay().find(pairs.get, wanted, attempts, lambda: now() < deadline)


def _refuted(found: Divergence | Faulting, assumptions: tuple[str, ...]) -> Verdict:
    before, after = found.texts
    counterexample = Counterexample(found.where, before, after, str(found))
    reason = f"{found.where} is {before} before and {after} after the edit"
    return Verdict(Outcome.REFUTED, (Basis("emulator", Outcome.REFUTED, reason, assumptions),), counterexample, reason)


def _proved(method: str, detail: str, assumptions: tuple[str, ...]) -> Verdict:
    return Verdict(Outcome.PROVED, (Basis(method, Outcome.PROVED, detail, assumptions),))


def undecided(reason: str, assumptions: tuple[str, ...]) -> Verdict:
    """Return the verdict UNKNOWN for a reason."""
    return Verdict(Outcome.UNKNOWN, (Basis("z3", Outcome.UNKNOWN, reason, assumptions),), reason=reason)
