"""What a wave starts with: user SGPRs that nothing is put into hold nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asmevo.backend.emulator import run
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.launch.dispatches import load_launches
from support import EXAMPLES


@pytest.fixture(scope="module")
def softmax():
    code = recover(load_file(EXAMPLES / "kernels" / "softmax.co"))
    return code, load_launches(EXAMPLES / "launches" / "softmax.toml", code)


def test_arguments_may_be_preloaded_or_loaded(softmax):
    code, dispatches = softmax
    assert code.descriptor.preload_dwords > 0
    plain = replace(code, descriptor=replace(code.descriptor, preload_dwords=0))
    for what in dispatches:
        first, second = run(code, what), run(plain, what)
        assert first.faults == second.faults == ()
        assert second.wave_instructions > first.wave_instructions
        assert (first.buffers[1] == second.buffers[1]).all()


def test_arguments_that_were_not_preloaded_are_not_there(softmax):
    code, dispatches = softmax
    skipped = replace(code, roots=code.roots[-1:], descriptor=replace(code.descriptor, preload_dwords=0))
    (fault,) = run(skipped, dispatches[0]).faults
    assert fault.kind == "uninitialised-register"
    assert fault.register is not None
    assert fault.register.startswith("s")
