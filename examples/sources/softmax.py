"""Triton: softmax of each row of a float32 matrix, up to 1,024 columns."""

import triton
import triton.language as tl


@triton.jit
def softmax(source, target, columns, stride, WIDTH: tl.constexpr):
    """One program a row: subtract the maximum, exponentiate, divide by the sum."""
    row = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    inside = column < columns
    logits = tl.load(source + row * stride + column, mask=inside, other=float("-inf"))
    weight = tl.exp(logits - tl.max(logits, axis=0))
    tl.store(target + row * stride + column, weight / tl.sum(weight, axis=0), mask=inside)


KERNEL = softmax
SIGNATURE = {"source": "*fp32", "target": "*fp32", "columns": "i32", "stride": "i32"}
CONSTANTS = {"WIDTH": 1024}
ALIGNED = ("source", "target")
OPTIONS = {"num_warps": 4}
