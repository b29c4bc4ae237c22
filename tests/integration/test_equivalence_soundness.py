"""The proof against windows of real kernels: legal edits are proved, and no mutant that the emulator tells apart."""

import pytest

from tools.equivalence.soundness import run


def test_a_seeded_slice_holds() -> None:
    report = run(windows=8, edits=4, mutants=6, states=60, seed=17, budget_s=600.0, corpus=False)
    assert report.windows == 8
    assert report.errors == []
    assert report.unproved == []
    outcomes = {name for tally in report.mutants.values() for name in tally.outcomes}
    assert "refuted" in outcomes


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_more_windows_hold(seed: int) -> None:
    report = run(windows=40, edits=7, mutants=20, states=1000, seed=seed, budget_s=3600.0, corpus=True)
    assert report.errors == []
    assert len(report.unproved) <= report.windows * 7 // 100
