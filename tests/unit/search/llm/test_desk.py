from dataclasses import replace

import pytest

from asmevo.search.evaluation import Evaluation
from asmevo.search.llm.desk import Desk
from asmevo.search.records import Gate, Status
from llm_models import evaluator, softmax

YES = Evaluation(Status.ACCEPTED, Gate.EMULATION)
NO = Evaluation(Status.REFUTED, Gate.SOLVER, "v0 differs")


def desk(judged=NO, may_edit=True, **options):
    kernel, profile, _ = softmax()
    return Desk(kernel, profile, evaluator(), lambda candidate: judged, 4, may_edit, **options)


def without_nops(one):
    """A faster sketch: the wait states are left out."""
    uids = [i.uid for i in one.session.view.instructions if i.mnemonic != "s_nop"]
    return one.call("propose_edit", {"text": "\n".join(f"#{uid}" for uid in uids), "why": "no nops"})


def test_the_window_that_loses_most_is_chosen_first():
    told = desk().call("list_windows", {}).data
    lost = [sum(window["lost"].values()) for window in told["windows"]]
    assert told["chosen"] == 0
    assert lost == sorted(lost, reverse=True)


def test_what_the_gates_refuse_changes_nothing():
    one = desk()
    before = one.parent
    assert without_nops(one).data["is_faster"]
    answer = one.call("run_gates", {"edit": "e1"})
    assert (answer.data["status"], answer.data["reason"]) == ("refuted", "v0 differs")
    assert one.parent is before
    assert one.call("list_failures", {}).data["of"] == 1


def test_what_is_accepted_is_worked_on_next_and_told():
    seen = []
    one = desk(YES, accepted=seen.append)
    cycles = one.call("list_windows", {}).data["kernel_cycles"]
    without_nops(one)
    assert one.call("run_gates", {"edit": "e1"}).data["status"] == "accepted"
    assert seen == [one.parent]
    assert one.call("list_windows", {}).data["kernel_cycles"] < cycles
    # Sketches were of the kernel before.
    assert one.call("run_gates", {"edit": "e1"}).data["error"] == "E0951"


def test_what_is_not_faster_is_not_judged():
    def never(candidate):
        raise AssertionError

    one = desk()
    one.judge = never
    uids = [i.uid for i in one.session.view.instructions]
    one.call("propose_edit", {"text": "s_nop 7\n" + "\n".join(f"#{uid}" for uid in uids), "why": "?"})
    answer = one.call("run_gates", {"edit": "e1"}).data
    assert (answer["status"], answer["last_gate"]) == ("not-faster", "model")


def test_attempts_at_a_window_are_remembered_when_it_is_chosen_again():
    one = desk()
    without_nops(one)
    one.call("run_gates", {"edit": "e1"})
    one.call("choose_window", {"number": 0})
    assert one.call("list_failures", {}).data["attempts"][0]["what"] == "no nops"


@pytest.mark.parametrize("arguments", [{}, {"number": -1}, {"number": "0"}, {"number": 999}, {"number": 0, "x": 1}])
def test_windows_that_are_none_are_refused(arguments):
    assert desk().call("choose_window", arguments).is_error


def test_readers_cannot_propose():
    one = desk(may_edit=False)
    assert without_nops(one).data["error"] == "unknown-tool"
    assert one.call("run_gates", {"edit": "e1"}).data["error"] == "unknown-tool"


def test_a_kernel_of_which_nothing_runs_has_no_window():
    kernel, profile, _ = softmax()
    empty = replace(kernel, blocks=())
    one = Desk(empty, replace(profile, executions={}), replace_evaluator(empty), lambda candidate: NO, 4, True)
    assert one.call("list_windows", {}).data["windows"] == []
    assert one.call("read_window", {}).data["error"] == "no-window"


def replace_evaluator(kernel):
    made = evaluator()
    made.original, made.profile = kernel, replace(made.profile, executions={})
    return made
