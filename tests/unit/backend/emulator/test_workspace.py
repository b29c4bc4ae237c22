"""Memory that runs use again: what is given out is nobody else's, and what results hold is not taken back."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.backend.emulator.workspace import Pool, workspace

from .small_kernels import POINTERS, dispatch, kernel, output, words


@pytest.fixture
def pool() -> Pool:
    return Pool(kept=1 << 21)


def test_memory_comes_back_when_the_last_view_is_gone(pool: Pool):
    array = workspace(1000, np.uint32, pool)
    place = array.ctypes.data
    view = array[10:20].view(np.uint8)
    del array
    assert workspace(1000, np.uint32, pool).ctypes.data != place
    del view
    again = [workspace(1000, np.uint32, pool) for _ in range(2)]
    assert place in {a.ctypes.data for a in again}
    assert again[0].ctypes.data != again[1].ctypes.data


def test_much_larger_memory_is_not_given_for_a_small_array(pool: Pool):
    large = workspace(1 << 20, np.uint8, pool)
    place = large.ctypes.data
    del large
    assert workspace(100, np.uint8, pool).ctypes.data != place


def test_no_more_than_so_many_bytes_are_kept():
    pool = Pool(kept=1000)
    for size in (400, 500, 600, 2000):
        workspace(size, np.uint8, pool)
        assert pool.kept_bytes <= 1000


def test_threads_never_share_memory(pool: Pool):
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(300):
            array = workspace(64, np.uint8, pool)
            array[:] = number
            if (array != number).any():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_array_that_outlives_everything_says_nothing_at_the_end():
    program = "import builtins; from asmevo.backend.emulator.workspace import workspace; builtins.kept = workspace(9, 'u4')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_result_stays_when_others_run():
    code = kernel(POINTERS + "global_load_dword v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[6:7]")
    results = [run(code, dispatch(words("in", np.arange(64) + 1000 * n), output("out", 64))) for n in range(5)]
    for n, result in enumerate(results):
        assert (result.buffers[1].view(np.uint32) == np.arange(64) + 1000 * n).all()
        assert result.written[1].all()
