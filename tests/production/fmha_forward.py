"""Forward attention: fmha_v3_fwd, bfloat16 and FP8."""

from __future__ import annotations

import numpy as np

from examples.references.arithmetic import F32
from examples.references.matrix import BF16, FP8
from tests.production import flash
from tests.production.flash import LOG2_E
from tests.production.numbers import bf16_away, bf16_nearest, fp8
from tests.production.trial import NULL, Tensor, Trial, near, out

BF16_STEPS = flash.Steps(32, BF16, 2, 2, 4, bf16_nearest, bf16_nearest, 2.0**-7)
FP8_STEPS = flash.Steps(64, FP8, 2, 2, 8, fp8, bf16_away, 2.0**-3, 2.0**-10)


def forward(
    batch: int, heads: int, group: int, queries: int, keys: int, *, causal: bool = False, quantised: bool = False
) -> Trial:
    """fmha_v3_fwd: heads of 128, tensors (batch, tokens, heads, 128), bfloat16 or FP8; with the logarithms of the sums.

    `heads` query heads, `group` of them for a head of keys. A causal query sees the keys that end with it, the last all; a
    work-group of a causal kernel takes two tiles of 256 queries, the second with the keys from the last to the first. There
    the FP8 kernel applies the scales of Q and K once more, to a scale that has them already: a fault of it, followed here.
    """
    random = np.random.default_rng(7)
    width, kv_heads, tile = 128, heads // group, 256
    steps = FP8_STEPS if quantised else BF16_STEPS
    narrow = fp8 if quantised else bf16_nearest
    query, key, value = (
        narrow(random.standard_normal((batch, tokens, count, width)))
        for tokens, count in ((queries, heads), (keys, kv_heads), (keys, kv_heads))
    )
    scales = np.array([0.5, 1.25, 0.75], F32) if quantised else np.ones(3, F32)
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
    kind, item = ("fp8", 1) if quantised else ("bf16", 2)
    row, kv_row, out_row = heads * width * item, kv_heads * width * item, heads * width * 2
    slots = (
        out("out", result.shape, "bf16"), Tensor("query", query, kind), Tensor("key", key, kind), Tensor("value", value, kind),
        out("lse", logarithm.shape, "f32"), width**-0.5, queries, row, tile * row, width * item, queries * row, group,
        kv_row, width * item, keys * kv_row, 5 if heads % 8 == 0 or not causal else 3, 1, keys, width, width, heads,
        kv_row, width * item, keys * kv_row, out_row, width * 2, queries * out_row, NULL, NULL, queries * 4, NULL, NULL,
        *(Tensor(name, scales[n : n + 1], "f32") for n, name in enumerate(("scale_q", "scale_k", "scale_v")) if quantised),
        *([0] * 6 if quantised else ()),
    )  # fmt: skip
    tiles = -(-queries // tile)
    return Trial(
        (-(-tiles // 2) if causal else tiles, heads, batch),
        slots,
        {"out": near(result, room), "lse": near(logarithm, 2e-6)},
        512,
    )
