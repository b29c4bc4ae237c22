"""What the shipped kernels compute, in NumPy, and how closely each must agree.

One function a kernel: from a dispatch's buffers and scalars to the expected outputs by buffer name. Integer results and plain
float32 arithmetic follow the kernel's own order of operations and must agree bit for bit; where a kernel uses instructions
whose bits are not published, or sums in an order of the matrix cores, the tolerance says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Values = Mapping[str, Any]
"""Input buffers by name as flat arrays, and the launch's scalars by position ("arg3")."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What is expected, and how far a result may lie from it: `relative` times the value's own size plus `absolute`.

    Both 0: bit for bit. `reason` says what the tolerance stands for.
    """

    expected: Callable[[Values], dict[str, Array]]
    relative: float = 0.0
    absolute: float = 0.0
    reason: str = ""


def vector_add(v: Values) -> dict[str, Array]:
    """One rounded addition an element: exact."""
    return {"out": v["x"] + v["y"]}


def softmax(v: Values) -> dict[str, Array]:
    """Weights exp(x - max) over their sum, with the kernel's own rounded steps before the exponential.

    exp(a) is 2 to the power of a times log2(e), and that product is rounded to float32: an error of the algorithm, which a
    reference in float64 would count as one of the emulator.
    """
    rows = v["source"].astype(np.float32).reshape(-1, v["arg2"])
    power = ((rows - rows.max(axis=1, keepdims=True)) * np.float32(np.log2(np.e))).astype(np.float64)
    weight = np.exp2(power).astype(np.float32).astype(np.float64)
    return {"target": (weight / weight.sum(axis=1, keepdims=True)).ravel()}


def layer_norm(v: Values) -> dict[str, Array]:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias."""
    rows = v["source"].astype(np.float64).reshape(-1, v["arg4"])
    centred = rows - rows.mean(axis=1, keepdims=True)
    scale = 1.0 / np.sqrt((centred**2).mean(axis=1, keepdims=True) + np.float64(v["arg5"]))
    return {"target": (centred * scale * v["weight"].astype(np.float64) + v["bias"]).ravel()}


def matmul(v: Values) -> dict[str, Array]:
    """The product of float16 matrices."""
    rows, columns, depth = v["arg3"], v["arg4"], v["arg5"]
    a = v["a"].astype(np.float64).reshape(rows, depth)
    b = v["b"].astype(np.float64).reshape(depth, columns)
    return {"c": (a @ b).ravel()}


def attention(v: Values) -> dict[str, Array]:
    """softmax(Q K' * scale) V of each head, the scale given times log2(e)."""
    shape = (-1, v["arg4"], 128)
    query, key, value = (v[name].astype(np.float64).reshape(shape) for name in ("query", "key", "value"))
    score = query @ key.transpose(0, 2, 1) * np.float64(v["arg5"])
    weight = np.exp2(score - score.max(axis=2, keepdims=True))
    return {"out": (weight / weight.sum(axis=2, keepdims=True) @ value).ravel()}


def histogram(v: Values) -> dict[str, Array]:
    """Counts of byte values: exact."""
    return {"counts": np.bincount(v["data"], minlength=256).astype(np.uint32)}


def reduce_sum(v: Values) -> dict[str, Array]:
    """Partial sums in the kernel's order: four strided elements an item, then a tree over 256 items: exact."""
    padded = np.zeros(-(-v["data"].size // 1024) * 1024, np.float32)
    padded[: v["data"].size] = v["data"]
    parts = padded.reshape(-1, 4, 256)
    total = np.zeros((parts.shape[0], 256), np.float32)
    for k in range(4):
        total = total + parts[:, k]
    width = 128
    while width:
        total = total[:, :width] + total[:, width : 2 * width]
        width //= 2
    return {"partial": total[:, 0]}


def aiter_topksoftmax(v: Values) -> dict[str, Array]:
    """Softmax over 128 experts, the 4 largest with their indices, weights rescaled to sum to 1 if asked (AITER's kernel)."""
    logits = v["A"].astype(np.float64).reshape(-1, 128)
    weight = np.exp(logits - logits.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    index = np.argsort(-weight, axis=1, kind="stable")[:, :4]
    chosen = np.take_along_axis(weight, index, axis=1)
    if v["renormalize"]:
        chosen /= chosen.sum(axis=1, keepdims=True)
    return {"T": index.astype(np.int32).ravel(), "W": chosen.ravel()}


def aiter_odo(v: Values) -> dict[str, Array]:
    """Row sums of O times dO (AITER's kernel)."""
    product = v["O"].astype(np.float64) * v["dO"].astype(np.float64)
    return {"D": product.reshape(-1, 128).sum(axis=1)}


_MATRIX_SUM = "the matrix cores' order of summation and 24-bit alignment of products"
_EXP = "v_exp_f32 and v_rcp_f32 are 1 ULP instructions; sums of up to 1,024 terms round at each step"

REFERENCES: dict[str, Reference] = {
    "vector_add": Reference(vector_add),
    "softmax": Reference(softmax, relative=2.4e-7, reason="two steps of 1 ULP: the sum's order and the division"),
    "layer_norm": Reference(layer_norm, relative=1e-5, absolute=2e-6, reason="v_rsq_f32 is a 1 ULP instruction; order of sums"),
    "matmul_fp16": Reference(matmul, relative=1e-6, absolute=1e-5, reason=_MATRIX_SUM),
    "matmul_256x128": Reference(matmul, relative=1e-6, absolute=1e-5, reason=_MATRIX_SUM),
    "attention_fwd": Reference(attention, relative=1e-3, absolute=5e-4, reason="weights and results are rounded to float16"),
    "histogram": Reference(histogram),
    "reduce_sum": Reference(reduce_sum),
    "aiter_odo": Reference(aiter_odo, relative=1e-6, absolute=1e-5, reason="order of a sum of 128 float32 products"),
    "aiter_topksoftmax": Reference(aiter_topksoftmax, relative=3e-6, reason=_EXP),
}
