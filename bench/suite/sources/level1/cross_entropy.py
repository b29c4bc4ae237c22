"""Triton: cross entropy of each row of logits with the row's class, float32, up to 2,048 classes."""

import triton
import triton.language as tl


@triton.jit
def cross_entropy(logits, classes, loss, columns, WIDTH: tl.constexpr):
    """One program a row: the logarithm of the sum of exponentials, minus the logit of the class."""
    row = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    inside = column < columns
    value = tl.load(logits + row * columns + column, mask=inside, other=float("-inf"))
    peak = tl.max(value, axis=0)
    total = tl.sum(tl.exp(value - peak), axis=0)
    chosen = tl.load(logits + row * columns + tl.load(classes + row))
    tl.store(loss + row, tl.log(total) + peak - chosen)


KERNEL = cross_entropy
SIGNATURE = {"logits": "*fp32", "classes": "*i32", "loss": "*fp32", "columns": "i32"}
CONSTANTS = {"WIDTH": 2048}
ALIGNED = ("logits", "classes", "loss")
OPTIONS = {"num_warps": 4}
