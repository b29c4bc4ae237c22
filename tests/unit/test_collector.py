"""The collector rests while work goes on, and runs again after it, whatever happens."""

import gc

import pytest

from asmevo.collector import collector_off, collector_paused


def test_it_runs_again_after_a_failure() -> None:
    def work() -> None:
        with collector_paused():
            assert not gc.isenabled()
            raise ValueError("meant")

    with pytest.raises(ValueError, match="meant"):
        work()
    assert gc.isenabled()


def test_one_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_off_lasts_until_the_pause_around_it_ends() -> None:
    with collector_paused():
        collector_off()
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
