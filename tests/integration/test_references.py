"""Every shipped kernel, run strictly on the emulator, against its NumPy reference."""

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.launch_data import element_types
from asmevo.verify.launches import load_launches
from tests.support import EXAMPLES, SHIPPED

CORPUS = os.environ.get("ASMEVO_CORPUS")
PRODUCTION = {
    "aiter_odo": "fmha_v3_bwd/bwd_hd128_odo_fp16.co",
    "aiter_topksoftmax": "topksoftmax/topksoftmax_4x128x4.co",
}


def references():
    spec = importlib.util.spec_from_file_location("example_references", EXAMPLES / "references.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.REFERENCES


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


def check(kernel, dispatch, reference, float_scalar=None):
    values = inputs(kernel, dispatch)
    if float_scalar is not None:
        values[float_scalar] = np.array([values[float_scalar]], np.uint32).view(np.float32)[0]
    expected = reference.expected(values)
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
        if not (reference.relative or reference.absolute) or actual.dtype.kind in "iu" or dispatch.name == "whole numbers":
            assert np.array_equal(actual, wanted)
        else:
            np.testing.assert_allclose(actual.astype(np.float64), wanted, reference.relative, reference.absolute)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_kernel(name):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    dispatches = load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel)
    for dispatch in dispatches[:1] if name in ("attention_fwd", "matmul_256x128") else dispatches:
        check(kernel, dispatch, references()[name], {"layer_norm": "arg5", "attention_fwd": "arg5"}.get(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention_fwd", "matmul_256x128"])
def test_shipped_kernel_every_case(name):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    for dispatch in load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel)[1:]:
        check(kernel, dispatch, references()[name], {"attention_fwd": "arg5"}.get(name))


@pytest.mark.skipif(not CORPUS, reason="ASMEVO_CORPUS does not name AITER's hsa/gfx942 folder")
@pytest.mark.parametrize("name", PRODUCTION)
def test_production_kernel(name):
    kernel = recover(load_file(Path(CORPUS) / PRODUCTION[name]))
    for dispatch in load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel):
        unmodelled = [f.message for f in run(kernel, dispatch, seed=0).faults if f.kind == "unsupported"]
        if unmodelled:
            pytest.skip(f"not modelled: {unmodelled[0]}")
        check(kernel, dispatch, references()[name])
