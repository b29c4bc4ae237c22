"""Measured profiles choose where the search works."""

import pytest

from asmevo.backend.timing import estimate
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.profiles.counts import Counts, Method
from asmevo.frontend.profiles.matching import KernelProfile
from asmevo.frontend.recover import recover
from asmevo.search.measured import with_measured
from asmevo.search.windows import hot_windows
from support import EXAMPLES


@pytest.fixture(scope="module")
def kernel():
    return recover(load_file(EXAMPLES / "kernels" / "vector_add.co"))


def profile(method, **by_uid):
    counts = {int(uid[1:]): one for uid, one in by_uid.items()}
    return KernelProfile("p", method, counts, sum(counts.values(), Counts()), 0, 0, 0)


def test_the_window_that_lost_most_comes_first(kernel):
    estimated = estimate(kernel)
    modelled = hot_windows(kernel, estimated, 4)
    where = next(b for b in reversed(kernel.blocks) if any(i.mnemonic.startswith("v_add_f32") for i in b.instructions))
    slow = next(i for i in where.instructions if i.mnemonic.startswith("v_add_f32"))
    measured = profile(
        Method.STOCHASTIC, **{f"u{slow.uid}": Counts(samples=90, stalled=80, reasons={"waitcnt": 60, "barrier wait": 20})}
    )
    seen = with_measured(kernel, estimated, measured)
    first = hot_windows(kernel, seen, 4)[0]
    assert first.label == where.label
    assert slow in where.instructions[first.start : first.stop]
    assert first.label != modelled[0].label
    assert first.lost == pytest.approx(estimated.total_cycles)
    assert first.stalls == pytest.approx(
        {"waitcnt": 0.75 * estimated.total_cycles, "barrier wait": 0.25 * estimated.total_cycles}
    )
    assert seen.total_cycles == estimated.total_cycles


def test_each_method_has_its_measure_of_what_is_lost(kernel):
    estimated = estimate(kernel)
    uid = kernel.blocks[0].instructions[0].uid
    for method, counts in (
        (Method.HOST_TRAP, Counts(samples=4)),
        (Method.THREAD_TRACE, Counts(hits=2, latency_cycles=50, stall_cycles=20, idle_cycles=10)),
    ):
        seen = with_measured(kernel, estimated, profile(method, **{f"u{uid}": counts}))
        assert seen.stalls == {uid: {"measured": pytest.approx(estimated.total_cycles)}}


def test_nothing_lost_changes_nothing(kernel):
    estimated = estimate(kernel)
    assert with_measured(kernel, estimated, profile(Method.STOCHASTIC, u0=Counts(samples=5))) is estimated
