"""Kernels of which a block runs more or less often than the original's are ranked by how often it runs."""

from dataclasses import dataclass

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from asmevo.search.lineage import Lineage
from asmevo.search.optimise import Budget, optimise
from asmevo.search.profile import profile_kernel
from asmevo.search.proposal import Proposal
from asmevo.search.proposers.pipelines import PipelineProposer
from asmevo.search.recording import Asked, recorder_for
from asmevo.search.records import Status
from asmevo.verify.judge import Judge, Level
from asmevo.verify.launch.dispatches import load_launches
from support import EXAMPLES

SUITE = EXAMPLES.parent / "bench" / "suite"


@dataclass(frozen=True)
class Unrolling:
    """Proposes the unrolled kernel, and says this of how often its blocks run: None for what the pass says."""

    says: object = None
    name: str = "unrolling"
    is_dialogue: bool = False

    def propose(self, situation):
        profile = situation.profile
        manager = PassManager(
            parse_pipeline("unroll-prefetch"), executions=profile.executions, waves_per_simd=profile.waves_per_simd
        )
        result = manager.run(situation.parent)
        counts = profile.differing(result.kernel, result.executions) if self.says is None else self.says
        yield Proposal(self.name, "unrolled", result.kernel, counts=counts)


@pytest.fixture(scope="module")
def subject():
    code_object = load_file(SUITE / "kernels" / "argmax.co")
    kernel = recover(code_object)
    return code_object, kernel, load_launches(SUITE / "launches" / "argmax.toml", kernel)


@pytest.fixture(scope="module")
def profile(subject):
    return profile_kernel(*subject[1:])


def searched(subject, profile, proposers, attempts=1, **options):
    code_object, kernel, dispatches = subject
    judge = options.pop("judge", None) or Judge(Level.EMULATE, dispatches)
    options |= {"profile": profile, "proposers": proposers, "code_object": code_object}
    return optimise(kernel, dispatches, judge, budget=Budget(3000.0, attempts, 2), **options)


@pytest.fixture(scope="module")
def by_preset(subject, profile):
    return searched(subject, profile, (PipelineProposer(),))


def test_an_unrolled_kernel_counts_what_its_blocks_really_run(subject, profile, by_preset):
    _, _, dispatches = subject
    assert by_preset.counts
    fresh = profile_kernel(by_preset.kernel, dispatches)
    assert by_preset.after_cycles == pytest.approx(fresh.estimate.total_cycles)
    assert by_preset.speedup > 1.2
    assert {label: fresh.blocks[label] for label in by_preset.counts} == by_preset.counts
    assert all(profile.blocks[label] > count for label, count in by_preset.counts.items())


def test_no_search_ends_below_the_preset_however_short(subject, profile, by_preset):
    code_object, kernel, dispatches = subject
    judge = Judge(Level.EMULATE, dispatches)
    result = optimise(kernel, dispatches, judge, budget=Budget(0.0), profile=profile, code_object=code_object)
    assert [attempt.description for attempt in result.attempts] == ["O3"]
    assert result.after_cycles == by_preset.after_cycles


@pytest.mark.parametrize("share", [0.01, 0.9])
def test_emulation_has_the_last_word_on_a_forecast(subject, profile, by_preset, share):
    claimed = {label: max(int(share * profile.blocks[label]), 1) for label in by_preset.counts}
    result = searched(subject, profile, (Unrolling(claimed),))
    if result.accepted:
        assert result.counts == by_preset.counts
        fresh = profile_kernel(result.kernel, subject[2])
        assert result.after_cycles == pytest.approx(fresh.estimate.total_cycles)
    else:
        assert share == 0.9
        assert result.attempts[0].status is Status.NOT_FASTER


class Claim:
    """No number."""


@pytest.mark.parametrize("claim", [{"loop": -1}, {"loop": 10**400}, {"loop": True}, {"loop": Claim()}, {3: 4}, {}])
def test_what_is_no_forecast_is_not_believed(subject, profile, by_preset, claim):
    (label, *_) = by_preset.counts
    says = {label if key == "loop" else key: value for key, value in claim.items()}
    (attempt,) = searched(subject, profile, (Unrolling(says),)).attempts
    assert attempt.status is Status.NOT_FASTER
    assert attempt.cycles > by_preset.before_cycles


def test_counts_are_kept_and_taken_up_again(subject, profile, tmp_path):
    code_object, kernel, _ = subject
    asked = Asked(b"launch", 0, 2, None)
    cycles = profile.estimate.total_cycles

    def search(resume, attempts):
        with Lineage.opened(tmp_path, create=True) as lineage:
            recorder, before = recorder_for(lineage, code_object, kernel, cycles, asked, resume=resume)
            result = searched(subject, profile, (PipelineProposer(),), attempts, recorder=recorder, resume=before)
            return result, lineage.nodes(recorder.run.id)

    first, nodes = search(False, 1)
    assert [node.counts for node in nodes] == [first.counts] != [{}]
    again, _ = search(True, 4)
    assert again.attempts[:1] == first.attempts
    assert again.accepted[0].counts == first.counts
    other, nodes = search(False, 1)
    assert other.attempts[0].cycles == first.attempts[0].cycles
    assert [node.counts for node in nodes] == [first.counts]


def test_a_judge_that_does_not_run_anything_leaves_no_forecast_unchecked(subject, profile, by_preset):
    verdict = by_preset.verdict

    def judge(before, after):
        del before, after
        return verdict

    claimed = dict.fromkeys(by_preset.counts, 1)
    result = searched(subject, profile, (Unrolling(claimed),), judge=judge)
    assert result.counts == by_preset.counts
    assert result.after_cycles > by_preset.after_cycles * 0.9
