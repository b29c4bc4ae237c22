import json
import re

import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.backend.inputs import load_input
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.recover import recover
from asmevo.verify.infer.proposal import Hints, propose
from asmevo.verify.infer.report import proposal_data
from asmevo.verify.infer.text import as_toml, quoted
from asmevo.verify.launch.dispatches import parse_launches
from support import EXAMPLES

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

KERNELS = sorted(path.stem for path in (EXAMPLES / "kernels").glob("*.co"))

KNOWN = {
    "attention_fwd": {"arg0": "in f16", "arg1": "in f16", "arg2": "in f16", "arg3": "out f16"},
    "histogram": {"arg0": "in u8", "arg1": "inout u32"},
    "layer_norm": {"arg0": "in f32", "arg1": "in f32", "arg2": "in f32", "arg3": "out f32"},
    "matmul_256x128": {"arg0": "in f16", "arg1": "in f16", "arg2": "out f32"},
    "matmul_fp16": {"arg0": "in f16", "arg1": "in f16", "arg2": "out f32"},
    "reduce_sum": {"arg0": "in f32", "arg1": "out f32"},
    "softmax": {"arg0": "in f32", "arg1": "out f32"},
    "vector_add": {"arg0": "in f32", "arg1": "in f32", "arg2": "out f32"},
}
"""What the launch files of the shipped kernels say of the buffers that are used."""


def shipped(name):
    return recover(load_input(EXAMPLES / "kernels" / f"{name}.co"))


def test_every_shipped_kernel_is_known():
    assert sorted(KNOWN) == KERNELS


@pytest.mark.parametrize("name", KERNELS)
def test_the_proposed_launch_runs(name):
    kernel = shipped(name)
    found = propose(kernel, Hints(), 20)
    (dispatch,) = parse_launches(as_toml(found), "proposed", kernel)
    result = run(kernel, dispatch, seed=3)
    assert result.faults == ()
    assert found.runs
    assert any(written.any() for written in result.written)
    used = {b.name: f"{b.role} {b.dtype}" for b in found.buffers if b.use.is_touched}
    assert used == KNOWN[name]


def test_extents_are_what_the_launch_touches():
    kernel = shipped("layer_norm")
    found = propose(kernel, Hints(), 20)
    (dispatch,) = parse_launches(as_toml(found), "proposed", kernel)
    result = run(kernel, dispatch)
    for buffer, written in zip(found.buffers, result.written, strict=True):
        ends = np.flatnonzero(written)
        assert buffer.use.written == ((ends[0], ends[-1] + 1) if len(ends) else None)
    source, weight, _, target = found.buffers[:4]
    assert source.use.step == 16  # Each item has four columns.
    assert {g: span for g, span in source.use.groups.items()} == {(0, 0, 0): (0, 256), (1, 0, 0): (256, 512)}
    assert weight.use.groups[0, 0, 0] == weight.use.groups[1, 0, 0] == (0, 256)
    assert target.use.widths.keys() == {4}


def test_scalars_have_roles():
    found = propose(shipped("layer_norm"), Hints(), 20)
    roles = {scalar.name: scalar.effect.role for scalar in found.scalars}
    assert roles == {"arg4": "bound", "arg5": "value"}
    assert {scalar.name: scalar.slot.dtype for scalar in found.scalars} == {"arg4": "i32", "arg5": "f32"}
    matmul = {s.name: s.effect for s in propose(shipped("matmul_fp16"), Hints(), 20).scalars}
    assert matmul["arg4"].role == "stride"
    assert matmul["arg5"].role == "count"
    assert matmul["arg5"].instructions > 1.5


def test_hints_are_taken():
    found = propose(shipped("softmax"), Hints((128, 1, 1), 64, "as asked"), 20)
    assert found.geometry.workgroup == (128, 1, 1)
    assert found.geometry.dynamic_lds_bytes == 64
    assert "# as asked" in as_toml(found)


def test_the_data_is_json_with_the_text():
    found = propose(shipped("vector_add"), Hints(), 20)
    data = json.loads(json.dumps(proposal_data(found)))
    assert data["launch"] == as_toml(found)
    assert data["buffers"][2] | {"read": None, "written": [0, 256], "role": "out", "lane_step": 16} == data["buffers"][2]
    assert data["scalars"][0]["effect"]["role"] == "bound"


@pytest.mark.parametrize("name", ['a"b', "back\\slash", "line\nbreak", "\x1b[31m", "naïve", "\U0001f600", "]\n[[case]]\n"])
def test_names_of_any_text_stay_text(name):
    assert tomllib.loads(f"name = {quoted(name)}")["name"] == name
    assert re.fullmatch(r"[ -~]*", quoted(name))


def test_a_kernel_without_code_for_it_is_refused_or_reported():
    # No argument, nothing touched: a proposal is made, and nothing in it claims more than it knows.
    kernel = shipped("vector_add")
    found = propose(kernel, Hints((64, 1, 1)), 0.0)
    assert as_toml(found).startswith("# A launch of vector_add")
    with pytest.raises(DiagnosticError, match="E0223"):
        parse_launches(as_toml(found), "proposed", shipped("softmax"))
