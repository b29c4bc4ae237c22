"""Each shipped proposer: the same candidates for the same situation, and what it takes from it."""

import dataclasses
import itertools

import pytest

from asmevo.backend.timing import estimate
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.line import parse_line
from asmevo.frontend.parser import parse_source
from asmevo.frontend.recover import recover
from asmevo.ir.printer import print_kernel
from asmevo.ir.rewriter import Rewriter
from asmevo.search.digests import kernel_digest
from asmevo.search.profile import Profile
from asmevo.search.proposal import Situation, WindowText
from asmevo.search.proposers.composing import ComposingProposer, composed
from asmevo.search.proposers.learned import LearnedProposer
from asmevo.search.proposers.registry import shipped_proposers
from asmevo.search.proposers.stochastic import RenamingProposer
from asmevo.search.rules import learned
from asmevo.search.windows import hot_windows
from support import EXAMPLES


@pytest.fixture(scope="module")
def situation():
    return situation_of("softmax")


def situation_of(name, blocks=2):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    executions = {i.uid: 8 for i in kernel.instructions()}
    estimated = estimate(kernel, executions)
    profile = Profile(executions, 1, 4, estimated, {block.label: 8 for block in kernel.blocks})
    return Situation(kernel, kernel, estimated.total_cycles, profile, hot_windows(kernel, estimated, blocks), 11, limit=2)


def told(proposer, situation):
    proposals = [proposal for proposal, _ in zip(proposer.propose(situation), range(2), strict=False)]
    return [
        (p.proposer, p.description, p.where, p.change if isinstance(p.change, WindowText) else print_kernel(p.change))
        for p in proposals
    ]


@pytest.mark.parametrize("proposer", shipped_proposers(), ids=lambda proposer: proposer.name)
def test_equal_situations_get_equal_proposals(proposer, situation):
    assert told(proposer, situation) == told(proposer, dataclasses.replace(situation))


@pytest.mark.parametrize("name", ["pipeline", "reorder", "stochastic", "tuned-pipeline"])
def test_there_is_something_to_propose(name, situation):
    (proposer,) = [p for p in shipped_proposers() if p.name == name]
    assert told(proposer, situation)


@pytest.mark.parametrize("name", ["pipeline", "reorder", "stochastic", "rename-reorder", "tuned-pipeline"])
def test_what_changes_nothing_or_was_just_proposed_is_no_proposal(name):
    """Nothing is to be gained any more: passes and walks mostly lead back to the parent."""
    whole = situation_of("reduce_sum", 1)
    (proposer,) = [p for p in shipped_proposers() if p.name == name]
    for seed in (8, 9):
        situation = dataclasses.replace(whole, seed=seed, limit=6)
        digests = [kernel_digest(p.change) for p in itertools.islice(proposer.propose(situation), 6)]
        assert kernel_digest(situation.parent) not in digests
        assert name not in ("pipeline", "tuned-pipeline") or len(set(digests)) == len(digests)


def test_values_are_renamed_where_registers_are_free():
    situation = situation_of("matmul_fp16", 8)
    roomy = [window for window in situation.windows if window.label == "L_067c"]
    ((_, description, _, _),) = told(RenamingProposer(), dataclasses.replace(situation, windows=tuple(roomy)))
    assert "values renamed" in description


def test_windows_come_by_what_is_lost_in_them(situation):
    lost = [window.lost for window in situation.windows]
    assert lost == sorted(lost, reverse=True)
    assert lost[0] > 0


ORIGINAL = """
a:
  v_mov_b32_e32 v1, v2
  v_mov_b32_e32 v3, v4
  v_mov_b32_e32 v5, v6
  v_mov_b32_e32 v7, v8
b:
  s_nop 0
  s_nop 1
  s_endpgm
"""


def kernel(**changes):
    text = ORIGINAL
    for before, after in changes.values():
        text = text.replace(before, after)
    return parse_source(text)


def test_edits_in_different_places_go_together():
    original = kernel()
    parent = kernel(one=("v1, v2", "v1, v20"))
    elite = kernel(one=("v7, v8", "v7, v80"), two=("s_nop 1", "s_nop 3"))
    made, places = composed(original, parent, elite)
    assert places == ["a", "b"]
    assert print_kernel(made) == print_kernel(
        kernel(one=("v1, v2", "v1, v20"), two=("v7, v8", "v7, v80"), three=("s_nop 1", "s_nop 3"))
    )
    turned, _ = composed(original, elite, parent)
    assert print_kernel(turned) == print_kernel(made)


def test_edits_of_one_place_do_not():
    original = kernel()
    assert composed(original, kernel(one=("v1, v2", "v1, v20")), kernel(one=("v1, v2", "v1, v21")))[1] == []
    assert composed(original, kernel(), original)[1] == []


def test_composing_offers_each_elite_of_use(situation):
    assert list(ComposingProposer().propose(dataclasses.replace(situation, elites=(situation.parent,)))) == []


def test_learned_rewrites_are_applied_where_they_match(situation):
    window = situation.windows[0]
    rewriter = Rewriter(situation.parent)
    rewriter.insert(window.label, window.start + 3, [parse_line("s_nop 7")])
    rules = learned(situation.parent, rewriter.kernel)
    assert len(rules) == 1
    proposals = list(LearnedProposer().propose(dataclasses.replace(situation, rules=rules)))
    assert any(proposal.change.text.splitlines()[3] == "s_nop 7" for proposal in proposals)
    assert all("s_nop 7" in proposal.change.text.splitlines() for proposal in proposals)
