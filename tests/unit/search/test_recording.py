"""A search that is cut off at any attempt and goes on from its lineage ends as if it had not been."""

import dataclasses

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.search.lineage import Lineage
from asmevo.search.optimise import Budget, optimise
from asmevo.search.recording import Asked, recorder_for
from asmevo.search.replay import verified_pairs
from asmevo.verify.launch.dispatches import load_launches
from asmevo.verify.verdict import Basis, Outcome, Verdict
from support import EXAMPLES

YES = Verdict(Outcome.PROVED, (Basis("stand-in", Outcome.PROVED, "says yes", ("nothing",)),))
ASKED = Asked(b"launch", 3, 2, None)


class Cut(Exception):
    """The process ends here."""


@pytest.fixture(scope="module")
def subject():
    code_object = load_file(EXAMPLES / "kernels" / "softmax.co")
    kernel = recover(code_object)
    return code_object, kernel, load_launches(EXAMPLES / "launches" / "softmax.toml", kernel)[:1]


def yes(before, after):
    del before, after
    return YES


def search(subject, folder, *, resume=False, stop_at=None, attempts=24, judge=yes, asked=ASKED):
    code_object, kernel, dispatches = subject

    def progress(number, before, best):
        del before, best
        if number == stop_at:
            raise Cut

    with Lineage.opened(folder, create=True) as lineage:
        recorder, before = recorder_for(lineage, code_object, kernel, 1000.0, asked, resume=resume)
        options = {"budget": Budget(300.0, attempts), "seed": ASKED.seed, "windows": ASKED.windows}
        options |= {"progress": progress, "recorder": recorder, "resume": before}
        return optimise(kernel, dispatches, judge, **options)


def test_what_was_done_is_in_the_lineage(subject, tmp_path):
    result = search(subject, tmp_path)
    with Lineage.opened(tmp_path) as lineage:
        (run,) = lineage.runs()
        assert [tried.status for tried in lineage.attempts(run.id)] == [a.status.value for a in result.attempts]
        nodes = lineage.nodes(run.id)
        assert [node.cycles for node in nodes] == [step.cycles for step in result.accepted]
        ids = [node.id for node in nodes]
        assert [node.parent for node in nodes] == [None if s.parent is None else ids[s.parent] for s in result.accepted]
        assert [node.cell for node in nodes] == [step.cell for step in result.accepted]
        assert lineage.orphans() == frozenset()
        pairs = list(verified_pairs(lineage))
    assert [pair["modelled_cycles"]["after"] for pair in pairs] == [step.cycles for step in result.accepted]
    assert all(pair["before"] != pair["after"] and pair["verdict"] == "proved" for pair in pairs)


@pytest.mark.parametrize("stop_at", [1, 3, 9, 14, 22])
def test_cut_off_and_resumed_it_ends_the_same(subject, tmp_path, stop_at):
    whole = search(subject, tmp_path / "whole")
    with pytest.raises(Cut):
        search(subject, tmp_path / "cut", stop_at=stop_at)
    again = search(subject, tmp_path / "cut", resume=True)
    assert again.after_cycles == whole.after_cycles
    assert again.kernel.blocks == whole.kernel.blocks
    assert [a.status for a in again.attempts] == [a.status for a in whole.attempts]


def test_nothing_to_resume(subject, tmp_path):
    with pytest.raises(DiagnosticError) as caught:
        search(subject, tmp_path, resume=True)
    assert caught.value.diagnostics[0].code == "E0805"


def test_an_ended_search_resumed_does_no_more(subject, tmp_path):
    first = search(subject, tmp_path)
    again = search(subject, tmp_path, resume=True)
    assert again.attempts == first.attempts
    assert [step.verdict for step in again.accepted] == [step.verdict for step in first.accepted]


def test_another_run_of_the_same_lineage_repeats_it_without_judging_anything_again(subject, tmp_path):
    first = search(subject, tmp_path)
    judged = []

    def judge(before, after):
        judged.append(after)
        return YES

    again = search(subject, tmp_path, judge=judge)
    assert judged == []
    assert again.attempts == first.attempts
    assert [(s.verdict, s.kernel.blocks) for s in again.accepted] == [(s.verdict, s.kernel.blocks) for s in first.accepted]
    other = search(subject, tmp_path, judge=judge, asked=dataclasses.replace(ASKED, judge={"seeds": 9}))
    assert judged, "judged otherwise, nothing is known"
    assert other.attempts == first.attempts
