import os
import signal

import pytest

from asmevo.search.uninterrupted import uninterrupted


def test_an_interrupt_comes_behind_the_block():
    done = []

    def step():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        step()
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_of_the_block_is_told_as_it_is():
    with pytest.raises(ValueError, match="ours"), uninterrupted():
        raise ValueError("ours")
