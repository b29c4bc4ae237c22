import os
import signal
import time

import pytest

from asmevo.frontend.confined import ConfinedError, run_confined


def test_the_childs_bytes_come_back():
    assert run_confined(lambda: b"x" * (3 << 20), 5) == b"x" * (3 << 20)


def test_an_exception_a_crash_and_memory_are_told():
    def crash() -> bytes:
        os.kill(os.getpid(), signal.SIGSEGV)
        return b""

    for run in (lambda: bytes(1 // 0), crash, lambda: bytes(4 << 30)):
        with pytest.raises(ConfinedError):
            run_confined(run, 5)


def test_endless_work_is_stopped():
    def spin() -> bytes:
        while True:
            pass

    started = time.monotonic()
    with pytest.raises(ConfinedError):
        run_confined(spin, 1)
    assert time.monotonic() - started < 30


def test_no_file_opens(tmp_path):
    file = tmp_path / "secret"
    file.write_text("secret")
    with pytest.raises(ConfinedError):
        run_confined(file.read_bytes, 5)
