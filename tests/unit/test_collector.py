"""The collector rests while work goes on, and runs again after it, whatever happens."""

import gc

import pytest

from asmevo.collector import collector_paused


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
