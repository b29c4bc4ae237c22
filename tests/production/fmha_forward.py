"""Forward attention: fmha_v3_fwd, bfloat16 and FP8."""

from __future__ import annotations

import numpy as np

from examples.references.arithmetic import F32
from examples.references.matrix import BF16, FP8
from tests.production import flash
from tests.production.flash import LOG2_E
from tests.production.numbers import bf16_away, bf16_nearest, fp8
from tests.production.trial import Given, Wanted, near

BF16_STEPS = flash.Steps(32, BF16, 2, 2, 4, bf16_nearest, bf16_nearest, 2.0**-7)
FP8_STEPS = flash.Steps(64, FP8, 2, 2, 8, fp8, bf16_away, 2.0**-3, 2.0**-10)


def forward(
    given: Given, batch: int, heads: int, group: int, queries: int, keys: int, *, causal: bool = False, quantised: bool = False
) -> Wanted:
    """fmha_v3_fwd: heads of 128, tensors (batch, tokens, heads, 128), bfloat16 or FP8; with the logarithms of the sums.

    `heads` query heads, `group` of them for a head of keys. A causal query sees the keys that end with it, the last all; a
    work-group of a causal kernel takes two tiles of 256 queries, the second with the keys from the last to the first. There
    the FP8 kernel applies the scales of Q and K once more, to a scale that has them already: a fault of it, followed here.
    """
    width, kv_heads, tile = 128, heads // group, 256
    steps = FP8_STEPS if quantised else BF16_STEPS
    query = given("query", batch, queries, heads, width)
    key, value = (given(name, batch, keys, kv_heads, width) for name in ("key", "value"))
    scales = [given(name)[()] for name in ("scale_q", "scale_k", "scale_v")] if quantised else [F32(1)] * 3
    scale = F32(width**-0.5)
    visible = np.arange(keys) <= np.arange(queries)[:, None] + keys - queries if causal else np.ones((queries, keys), bool)
    result, room = np.zeros((batch, queries, heads, width), F32), np.zeros((batch, queries, heads, width))
    logarithm = np.zeros((batch, heads, queries))
    for b in range(batch):
        for h in range(heads):
            for start in range(0, queries, tile):
                rows = slice(start, start + tile)
                second = causal and start > 0
                factor = LOG2_E * (scale * (scales[0] * scales[1]) if second else scale) * (scales[0] * scales[1])
                head = flash.forward(
                    query[b, rows, h], key[b, :, h // group], value[b, :, h // group], factor, scales[2], steps, visible[rows],
                    last_first=second,
                )  # fmt: skip
                result[b, rows, h], room[b, rows, h], logarithm[b, h, rows] = head.out, head.room, head.lse
    return Wanted({"out": near(result, room), "lse": near(logarithm, 2e-6)})
