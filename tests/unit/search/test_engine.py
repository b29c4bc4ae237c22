"""The loop: repeatable whatever runs it, nothing judged twice, dialogues told, broken proposers left."""

from dataclasses import dataclass, replace

import pytest

from asmevo.diagnostics import fail
from asmevo.ir.printer import print_instruction
from asmevo.search.optimise import in_processes
from asmevo.search.proposal import Cost, Proposal, WindowText
from asmevo.search.proposers.registry import shipped_proposers
from asmevo.search.records import Status
from searches import told, with_executor


@pytest.fixture(scope="module")
def result():
    return with_executor(None)


def test_two_workers_do_what_none_does(result):
    assert len(result.attempts) == 30
    assert result.accepted
    assert told(with_executor(in_processes(2))) == told(result)


def test_no_kernel_and_no_object_is_judged_twice(result):
    judged = [a for a in result.attempts if a.gate.value in ("static", "solver", "emulation")]
    assert judged
    for digests in ([a.proposal for a in judged], [a.artifact for a in judged]):
        assert len(set(digests)) == len(digests)


def test_every_attempt_names_its_gate_and_its_place_in_the_search(result):
    generations = [attempt.generation for attempt in result.attempts]
    assert generations == sorted(generations)
    assert {attempt.island for attempt in result.attempts} == {0, 1, 2, 3}
    assert all(a.proposal for a in result.attempts if a.status is not Status.PROPOSER_FAILED)


@dataclass(frozen=True)
class Broken:
    """Says what it cannot do, or breaks."""

    name: str = "broken"
    is_dialogue: bool = False
    how: str = "tells"

    def propose(self, situation):
        yield Proposal(self.name, "nothing", situation.parent)
        if self.how == "tells":
            fail("E0807", "cannot go on")
        raise KeyError("gone")


@pytest.mark.parametrize("is_dialogue", [False, True])
@pytest.mark.parametrize(("how", "reason"), [("tells", "cannot go on"), ("breaks", "KeyError: 'gone'")])
def test_a_proposer_that_cannot_go_on_is_an_attempt_with_a_reason(how, reason, is_dialogue):
    result = with_executor(None, attempts=6, proposers=(Broken(how=how, is_dialogue=is_dialogue),))
    assert {a.status for a in result.attempts} == {Status.NO_CHANGE, Status.PROPOSER_FAILED}
    assert {a.reason for a in result.attempts if a.status is Status.PROPOSER_FAILED} == {reason}


@dataclass(frozen=True)
class Talker:
    """Is told how each of its proposals ended."""

    heard: list
    name: str = "talker"
    is_dialogue: bool = True

    def propose(self, situation):
        window = situation.window
        members = situation.parent.block(window.label).instructions[window.start : window.stop]
        lines = [f"#{i.uid} {print_instruction(i)}" for i in members]
        texts = ["\n".join(lines), "v_nonsense v1", "\n".join(lines[:-1])]
        for text in texts:
            change = WindowText(window.label, window.start, window.stop, text)
            attempt = yield Proposal(self.name, "said", change, str(window), Cost(tokens_in=10, money=0.5))
            self.heard.append((situation.remaining.money, attempt.status, attempt.cost.tokens_in))


def test_a_dialogue_is_told_how_it_ended_and_its_cost_is_counted():
    talker = Talker([])
    result = with_executor(None, attempts=6, proposers=(talker,))
    assert [status for _, status, _ in talker.heard[:2]] == [Status.NO_CHANGE, Status.MALFORMED]
    assert talker.heard[2][1] not in (Status.ACCEPTED, Status.NO_CHANGE, Status.MALFORMED)
    assert all(tokens == 10 for _, _, tokens in talker.heard)
    assert sum(a.cost.money for a in result.attempts) == 3.0


def test_shipped_proposers_have_names_of_their_own_and_equal_situations_get_equal_proposals():
    proposers = shipped_proposers()
    assert len({p.name for p in proposers}) == len(proposers)
    assert not any(p.is_dialogue for p in proposers)
    assert replace(proposers[1]) == proposers[1]
