"""Paged attention (pa): one query a sequence, keys and values in blocks of 16 tokens."""

from __future__ import annotations

import numpy as np

from tests.production.attended import attend
from tests.production.flash import LOG2_E
from tests.production.numbers import bf16_nearest
from tests.production.trial import NULL, Tensor, Trial, near, out


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
    results = []
    for sequence, length in enumerate(lengths):
        for head in range(heads):
            keys, values = (x[table[sequence], head // group].reshape(-1, width)[:length] for x in (key, value))
            results.append(attend(query[sequence, head][None], keys, values, width**-0.5))
    mean, size = (np.concatenate([x[0] for x in pair]) for pair in zip(*((r.out, r.size) for r in results), strict=True))
    slots = (
        out("out", (batch, heads, width), dtype), Tensor("query", query, dtype),
        Tensor("key", key.reshape(blocks, kv_heads, block, width // piece, piece).transpose(0, 1, 3, 2, 4), dtype),
        Tensor("value", value.reshape(blocks, kv_heads, block // piece, piece, width).transpose(0, 1, 2, 4, 3), dtype),
        Tensor("table", table, "i32"), Tensor("lengths", np.array(lengths), "i32"), NULL, NULL,
        float(LOG2_E) * width**-0.5, most, kv_heads, heads * width * 2, kv_heads * block * width * 2, block * width * 2, 0, group, NULL,
    )  # fmt: skip
    return Trial((kv_heads, batch, 1), slots, {"out": near(mean, 2.0**-8 * (np.abs(mean) + size), bf16_nearest)})
