"""Paged attention (pa): one query a sequence, keys and values in blocks of 16 tokens."""

from __future__ import annotations

import numpy as np

from examples.references.arithmetic import F32
from examples.references.matrix import BF16
from tests.production import flash
from tests.production.flash import LOG2_E
from tests.production.numbers import bf16_away, bf16_nearest
from tests.production.trial import NULL, Tensor, Trial, near, out

STEPS = flash.Steps(256, BF16, 4, bf16_away, bf16_away, 2.0**-7)


def plain(lengths: tuple[int, ...], kv_heads: int, group: int, dtype: str = "bf16") -> Trial:
    """Paged attention of one query a sequence over caches of blocks of 16 tokens, without quantisation; heads of 128."""
    random = np.random.default_rng(6)
    width, block, piece = 128, 16, 8
    batch, heads = len(lengths), kv_heads * group
    most = max(-(-length // block) for length in lengths)
    blocks = batch * most + 3
    table = random.permutation(blocks)[: batch * most].reshape(batch, most)
    query = bf16_nearest(random.standard_normal((batch, heads, width)))
    key, value = (bf16_nearest(random.standard_normal((blocks, kv_heads, block, width))) for _ in range(2))
    factor = LOG2_E / F32(width) ** F32(0.5)
    result, room = np.zeros(query.shape, F32), np.zeros(query.shape)
    for sequence, length in enumerate(lengths):
        for head in range(kv_heads):
            mine = slice(head * group, (head + 1) * group)
            keys, values = (x[table[sequence], head].reshape(-1, width)[:length] for x in (key, value))
            done = flash.forward(query[sequence, mine], keys, values, factor, F32(1), STEPS, np.ones((group, length), bool))
            result[sequence, mine], room[sequence, mine] = done.out, done.room
    slots = (
        out("out", (batch, heads, width), dtype), Tensor("query", query, dtype),
        Tensor("key", key.reshape(blocks, kv_heads, block, width // piece, piece).transpose(0, 1, 3, 2, 4), dtype),
        Tensor("value", value.reshape(blocks, kv_heads, block // piece, piece, width).transpose(0, 1, 2, 4, 3), dtype),
        Tensor("table", table, "i32"), Tensor("lengths", np.array(lengths), "i32"), NULL, NULL,
        float(factor), most, kv_heads, heads * width * 2, kv_heads * block * width * 2, block * width * 2,
        0, group, NULL,
    )  # fmt: skip
    return Trial((kv_heads, batch, 1), slots, {"out": near(result, room)})
