"""What the shipped kernels compute, in NumPy, step by step as the compiled code does it.

One function a kernel: from a dispatch's buffers and scalars to the expected outputs by buffer name. Integers, plain float
arithmetic, quotients and matrix instructions must agree bit for bit. Only v_exp_f32 and v_rsq_f32, whose bits are not
published, leave a chip freedom: 1 ULP each; the functions say how many such steps there are and give the bounds that follow.
"""

from __future__ import annotations

from collections.abc import Callable

from .expected import Expected, Values
from .matrices import attention, matmul
from .production import aiter_odo, aiter_topksoftmax
from .rows import histogram, layer_norm, reduce_sum, softmax, vector_add

Reference = Callable[[Values], dict[str, Expected]]

REFERENCES: dict[str, Reference] = {
    "attention_fwd": attention,
    "histogram": histogram,
    "layer_norm": layer_norm,
    "matmul_256x128": matmul,
    "matmul_fp16": matmul,
    "reduce_sum": reduce_sum,
    "softmax": softmax,
    "vector_add": vector_add,
    "aiter_odo": aiter_odo,
    "aiter_topksoftmax": aiter_topksoftmax,
}
"""By kernel; the last two are objects of AITER, which are not shipped."""

__all__ = ["REFERENCES", "Expected", "Reference", "Values"]
