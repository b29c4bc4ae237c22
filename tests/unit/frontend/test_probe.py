from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from asmevo.frontend.probe import crash_place


def test_a_run_that_comes_through_has_no_place(capfd: pytest.CaptureFixture[str]) -> None:
    def run(report: Callable[[int], None]) -> None:
        report(5)
        raise RuntimeError("happens in the caller again")

    assert crash_place(run) is None
    assert capfd.readouterr().err == ""


def test_a_killed_run_tells_what_it_last_reported(capfd: pytest.CaptureFixture[str]) -> None:
    def run(report: Callable[[int], None]) -> None:
        report(3)
        report(1 << 40)
        os.kill(os.getpid(), signal.SIGSEGV)

    assert crash_place(run) == 1 << 40
    assert capfd.readouterr().err == ""
