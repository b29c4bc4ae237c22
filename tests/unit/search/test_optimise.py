import itertools
from hashlib import sha256

import pytest

from asmevo.backend.writer import rebuild
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.search import standing
from asmevo.search.evidence import evidence
from asmevo.search.optimise import Budget, optimise
from asmevo.search.profile import profile_kernel
from asmevo.search.records import Status
from asmevo.verify.launch.dispatches import load_launches
from asmevo.verify.verdict import Basis, Counterexample, Outcome, Verdict
from support import EXAMPLES

YES = Verdict(Outcome.PROVED, (Basis("stand-in", Outcome.PROVED, "says yes"),))
NO = Verdict(
    Outcome.REFUTED,
    (Basis("stand-in", Outcome.REFUTED, "says no"),),
    counterexample=Counterexample("v0", "1", "2"),
    reason="says no",
)
MAYBE = Verdict(Outcome.UNKNOWN, reason="cannot tell")


@pytest.fixture(scope="module")
def softmax():
    code_object = load_file(EXAMPLES / "kernels" / "softmax.co")
    kernel = recover(code_object)
    return code_object, kernel, load_launches(EXAMPLES / "launches" / "softmax.toml", kernel)[:1]


def run(softmax, judge, attempts=8, **options):
    _, kernel, dispatches = softmax
    return optimise(kernel, dispatches, judge, budget=Budget(300.0, attempts), **options)


def test_accepted_candidates_get_faster_step_by_step(softmax):
    result = run(softmax, lambda before, after: YES)
    assert result.steps
    assert result.after_cycles == min(step.cycles for step in result.accepted) < result.before_cycles
    assert result.kernel is result.steps[-1].kernel
    assert result.steps[0].parent is None
    assert all(result.accepted[child.parent] is parent for parent, child in itertools.pairwise(result.steps))


@pytest.mark.parametrize(("verdict", "status"), [(NO, Status.REFUTED), (MAYBE, Status.UNDECIDED)])
def test_what_is_not_verified_is_never_accepted(softmax, verdict, status):
    result = run(softmax, lambda before, after: verdict)
    assert result.accepted == ()
    assert result.steps == ()
    assert result.kernel is softmax[1]
    assert result.after_cycles == result.before_cycles
    assert status in {attempt.status for attempt in result.attempts}


def test_judge_always_sees_the_original_as_before(softmax):
    seen = []
    run(softmax, lambda before, after: seen.append(before) or YES)
    assert seen
    assert all(before is softmax[1] for before in seen)


def test_same_seed_same_attempts(softmax):
    one, two = (run(softmax, lambda before, after: YES, seed=3) for _ in range(2))
    assert one.attempts == two.attempts
    assert one.kernel == two.kernel


def test_budget_of_attempts_is_kept(softmax):
    assert len(run(softmax, lambda before, after: NO, attempts=3).attempts) == 3


def test_interrupt_keeps_what_was_accepted(softmax):
    def judge(before, after):
        if judge.calls:
            raise KeyboardInterrupt
        judge.calls += 1
        return YES

    judge.calls = 0
    result = run(softmax, judge, attempts=50)
    assert result.interrupted
    assert len(result.accepted) == 1


def test_progress_is_told_after_each_attempt(softmax):
    told = []
    result = run(softmax, lambda before, after: YES, progress=lambda number, before, best: told.append((number, before, best)))
    assert [number for number, _, _ in told] == list(range(1, len(result.attempts) + 1))
    assert all(best <= before for _, before, best in told)


def test_a_faulting_original_is_refused(softmax, monkeypatch):
    from dataclasses import replace

    _, kernel, dispatches = softmax
    small = tuple(replace(b, data=b.data[:4]) for b in dispatches[0].buffers)
    with pytest.raises(DiagnosticError, match="E0504"):
        profile_kernel(kernel, [replace(dispatches[0], buffers=small)])


def test_evidence_names_k0_and_every_attempt(softmax):
    code_object, _, _ = softmax
    result = run(softmax, lambda before, after: YES)
    record = evidence(result, code_object, seed=0)
    assert len(record["k0_sha256"]) == 64
    assert record["object_sha256"] == sha256(rebuild(code_object, result.kernel)).hexdigest()
    assert record["cycles"]["kind"] == "modelled"
    assert [attempt["gate"] for attempt in record["attempts"]] == [attempt.gate.value for attempt in result.attempts]
    assert [s["verdict"] for s in record["steps"]] == ["proved"] * len(result.steps)
    assert record["edited_blocks"][0]["before"] != record["edited_blocks"][0]["after"]


def test_least_gain_is_positive():
    assert standing.MINIMUM_GAIN > 0
