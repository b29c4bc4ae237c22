"""Every kernel of the benchmark suite, run strictly on the emulator, against its NumPy reference."""

import numpy as np
import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.launch.dispatches import load_launches
from bench.suite.entries import KERNELS, LAUNCHES, entries
from bench.suite.references import reference
from tests.reference_checks import check, inputs

NARROW = 0.01
"""The most that bounds may lie apart, as a share of the largest result."""


def loaded(name):
    kernel = recover(load_file(KERNELS / f"{name}.co"))
    return kernel, load_launches(LAUNCHES / f"{name}.toml", kernel)


@pytest.mark.parametrize("name", entries())
def test_kernel_computes_what_its_reference_says(name):
    kernel, dispatches = loaded(name)
    for dispatch in dispatches:
        check(kernel, dispatch, reference(name), 0.0)


@pytest.mark.parametrize("name", entries())
def test_bounds_are_narrow(name):
    kernel, dispatches = loaded(name)
    for dispatch in dispatches:
        for expected in reference(name)(inputs(kernel, dispatch)).values():
            size = np.abs(expected.value.astype(np.float64)).max()
            apart = expected.high.astype(np.float64) - expected.low.astype(np.float64)
            assert (apart <= NARROW * size).all()
            assert np.isfinite(expected.value).all()
