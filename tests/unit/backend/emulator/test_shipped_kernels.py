"""The shipped kernels give what their sources say, run clean in strict mode, and alike in both modes and any wave order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.backend.launch import Dispatch
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.launch.dispatches import load_launches
from tests.support import EXAMPLES

Arrays = dict[str, np.ndarray]


def arrays(dispatch: Dispatch) -> Arrays:
    kinds = {"f32": np.float32, "f16": np.float16, "u32": np.uint32, "u8": np.uint8}
    return {b.name: b.data.view(kinds.get(b.dtype, np.uint8)) for b in dispatch.buffers}


def matmul(d: Dispatch, a: Arrays) -> np.ndarray:
    rows, columns, depth = np.frombuffer(d.kernarg[24:36], np.int32)
    return a["a"].reshape(rows, depth).astype(float) @ a["b"].reshape(depth, columns).astype(float)


def softmax(d: Dispatch, a: Arrays) -> np.ndarray:
    x = a["source"].astype(float).reshape(d.grid[0], -1)
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def layer_norm(d: Dispatch, a: Arrays) -> np.ndarray:
    x = a["source"].astype(float).reshape(d.grid[0], -1)
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * a["weight"] + a["bias"]


def reduce_sum(d: Dispatch, a: Arrays) -> np.ndarray:
    padded = np.zeros(1024 * d.grid[0])
    padded[: a["data"].size] = a["data"]
    return padded.reshape(-1, 1024).sum(1)


def attention(d: Dispatch, a: Arrays) -> np.ndarray:
    q, k, v = (a[n].astype(float).reshape(d.grid[1], -1, 128) for n in ("query", "key", "value"))
    scores = q @ k.transpose(0, 2, 1) * 0.12751743 * np.log(2)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


CASES: dict[str, tuple[str, Callable[[Dispatch, Arrays], np.ndarray], float]] = {
    "vector_add": ("out", lambda d, a: a["x"] + a["y"], 0),
    "softmax": ("target", softmax, 1e-6),
    "layer_norm": ("target", layer_norm, 1e-5),
    "reduce_sum": ("partial", reduce_sum, 1e-4),
    "histogram": ("counts", lambda d, a: np.bincount(a["data"], minlength=256), 0),
    "matmul_fp16": ("c", matmul, 1e-4),
    "matmul_256x128": ("c", matmul, 1e-4),
    "attention_fwd": ("out", attention, 4e-3),
}


@pytest.mark.parametrize("name", CASES)
def test_a_shipped_kernel_computes_what_its_source_says(name: str):
    out, expected, tolerance = CASES[name]
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    for dispatch in load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel):
        strict, other = run(kernel, dispatch), run(kernel, dispatch, mode="fast", seed=5)
        assert strict.faults == other.faults == ()
        index = next(n for n, b in enumerate(dispatch.buffers) if b.name == out)
        assert (strict.buffers[index] == other.buffers[index]).all()
        if dispatch.name == "edges":  # float64 neither overflows nor flushes where the kernel does; the references follow it.
            continue
        got = strict.buffers[index].view(arrays(dispatch)[out].dtype).astype(float)
        np.testing.assert_allclose(got, expected(dispatch, arrays(dispatch)).reshape(-1), rtol=tolerance, atol=tolerance)
