"""Every shipped kernel, run strictly on the emulator, against its NumPy reference."""

import os
from pathlib import Path

import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.launch.dispatches import load_launches
from examples.references import REFERENCES
from tests.reference_checks import check, inputs
from tests.support import EXAMPLES, SHIPPED

CORPUS = os.environ.get("ASMEVO_CORPUS")
PRODUCTION = {
    "aiter_odo": "fmha_v3_bwd/bwd_hd128_odo_fp16.co",
    "aiter_topksoftmax": "topksoftmax/topksoftmax_4x128x4.co",
}
ROUNDED_ALIKE = 0.999
"""The least share of results that must have the very bits of exactly rounded steps. The emulator rounds every step so, too; its
double precision exponential need not be NumPy's to the last bit."""


def loaded(name):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    return kernel, load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_kernel(name):
    kernel, dispatches = loaded(name)
    for dispatch in dispatches:
        check(kernel, dispatch, REFERENCES[name], ROUNDED_ALIKE)


@pytest.mark.parametrize("name", [name for name in SHIPPED if name != "histogram"])
def test_edges_leave_results_that_tell_something(name):
    kernel, dispatches = loaded(name)
    (dispatch,) = [dispatch for dispatch in dispatches if dispatch.name == "edges"]
    with np.errstate(all="ignore"):
        (expected,) = REFERENCES[name](inputs(kernel, dispatch)).values()
    assert np.isnan(expected.value).any()
    assert np.isfinite(expected.value).mean() > 0.5


@pytest.mark.skipif(not CORPUS, reason="ASMEVO_CORPUS does not name AITER's hsa/gfx942 folder")
@pytest.mark.parametrize("name", PRODUCTION)
def test_production_kernel(name):
    kernel = recover(load_file(Path(CORPUS) / PRODUCTION[name]))
    for dispatch in load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel):
        unmodelled = [f.message for f in run(kernel, dispatch, seed=0).faults if f.kind == "unsupported"]
        if unmodelled:
            pytest.skip(f"not modelled: {unmodelled[0]}")
        check(kernel, dispatch, REFERENCES[name], 0.0)
