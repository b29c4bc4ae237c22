"""Every shipped kernel, run strictly on the emulator, against its NumPy reference."""

import os
from pathlib import Path

import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.launch_data import element_types
from asmevo.verify.launches import load_launches
from examples.references import REFERENCES
from tests.support import EXAMPLES, SHIPPED

CORPUS = os.environ.get("ASMEVO_CORPUS")
PRODUCTION = {
    "aiter_odo": "fmha_v3_bwd/bwd_hd128_odo_fp16.co",
    "aiter_topksoftmax": "topksoftmax/topksoftmax_4x128x4.co",
}
ROUNDED_ALIKE = 0.999
"""The least share of results that must have the very bits of exactly rounded steps. The emulator rounds every step so, too; its
double precision exponential need not be NumPy's to the last bit."""


def inputs(kernel, dispatch):
    """Buffers by name as numbers; scalars by metadata name, and by position."""
    types = element_types(kernel.target)
    values = {buffer.name: types[buffer.dtype].decode(buffer.data) for buffer in dispatch.buffers}
    visible = [argument for argument in kernel.metadata.arguments if not argument.value_kind.startswith("hidden_")]
    for number, argument in enumerate(visible):
        if argument.size == 4 and argument.value_kind == "by_value":
            raw = dispatch.kernarg[argument.offset : argument.offset + 4]
            values[f"arg{number}"] = values[argument.name or f"arg{number}"] = int.from_bytes(raw, "little")
    return values


def check(kernel, dispatch, reference, rounded_alike):
    """Every result lies in its bounds, and at least the share `rounded_alike` has the reference's bits."""
    with np.errstate(all="ignore"):
        expected = reference(inputs(kernel, dispatch))
    result = run(kernel, dispatch, mode="strict", seed=0)
    assert result.faults == ()
    types = element_types(kernel.target)
    for buffer, data, written in zip(dispatch.buffers, result.buffers, result.written, strict=True):
        if buffer.name not in expected:
            assert not written.any()
            continue
        actual, wanted = types[buffer.dtype].decode(data), expected[buffer.name]
        if buffer.defined is False:
            assert written.all()
        wrong = np.flatnonzero(~wanted.accepts(actual))
        assert not wrong.size, f"{dispatch.name}, {buffer.name}[{wrong[0]}]: {actual[wrong[0]]}, not {wanted.value[wrong[0]]}"
        assert wanted.same_bits(actual) >= rounded_alike


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
