"""Memory that runs use again: what is given out is nobody else's, and what results hold is not taken back."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from asmevo.backend.emulator import run, workspace
from asmevo.backend.emulator.workspace import workspace as take

from .small_kernels import POINTERS, dispatch, kernel, output, words


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "_free", {})


def test_memory_comes_back_when_the_last_view_is_gone():
    array = take(1000, np.uint32)
    place = array.ctypes.data
    view = array[10:20].view(np.uint8)
    del array
    assert take(1000, np.uint32).ctypes.data != place
    del view
    again = [take(1000, np.uint32) for _ in range(2)]
    assert place in {a.ctypes.data for a in again}
    assert again[0].ctypes.data != again[1].ctypes.data


def test_much_larger_memory_is_not_given_for_a_small_array():
    large = take(1 << 20, np.uint8)
    place = large.ctypes.data
    del large
    assert take(100, np.uint8).ctypes.data != place


def test_no_more_than_so_many_bytes_are_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(workspace, "_KEPT", 1000)
    for size in (400, 500, 600, 2000):
        take(size, np.uint8)
    assert sum(len(memory) for memory in workspace._free.values()) <= 1000  # pyright: ignore[reportPrivateUsage]


def test_threads_never_share_memory():
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(300):
            array = take(64, np.uint8)
            array[:] = number
            if (array != number).any():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_result_stays_when_others_run():
    code = kernel(POINTERS + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]")
    results = [run(code, dispatch(words("in", np.arange(64) + 1000 * n), output("out", 64))) for n in range(5)]
    for n, result in enumerate(results):
        assert (result.buffers[1].view(np.uint32) == np.arange(64) + 1000 * n).all()
        assert result.written[1].all()
