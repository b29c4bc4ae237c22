"""References of two production kernels, by what they compute: the order of their steps is not followed, bounds allow for it."""

from __future__ import annotations

import numpy as np

from .arithmetic import Array
from .expected import Expected, Values, between, exact


def _within(value: Array, relative: float, absolute: float = 0.0) -> Expected:
    slack = relative * np.abs(value) + absolute
    return between(value - slack, value.astype(np.float32), value + slack)


def aiter_topksoftmax(v: Values) -> dict[str, Expected]:
    """Softmax over 128 experts, the 4 largest with their indices, weights rescaled to sum to 1 if asked.

    The bound is for the 1 ULP steps of v_exp_f32 and v_rcp_f32 and for the order of a sum of 128.
    """
    logits = v["A"].astype(np.float64).reshape(-1, 128)
    weight = np.exp(logits - logits.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    index = np.argsort(-weight, axis=1, kind="stable")[:, :4]
    chosen = np.take_along_axis(weight, index, axis=1)
    if v["renormalize"]:
        chosen /= chosen.sum(axis=1, keepdims=True)
    return {"T": exact(index.astype(np.int32).ravel()), "W": _within(chosen.ravel(), 3e-6)}


def aiter_odo(v: Values) -> dict[str, Expected]:
    """Row sums of O times dO. The bound is for the order of a sum of 128 float32 products."""
    product = v["O"].astype(np.float64) * v["dO"].astype(np.float64)
    return {"D": _within(product.reshape(-1, 128).sum(axis=1), 1e-6, 1e-5)}
