"""Latent attention (mla): queries of many heads against one compressed cache."""

from __future__ import annotations

import numpy as np

from tests.production.attended import attend
from tests.production.numbers import bf16_nearest
from tests.production.trial import NULL, Tensor, Trial, near, out


def decode(lengths: tuple[int, ...], group: int, following: int = 1, to: str = "f32") -> Trial:
    """mla decoding, bfloat16, on a paged cache of 576 numbers a token, of which the first 512 are also V.

    A sequence has `following` queries, the last tokens of it, each with `group` heads; a query sees the tokens up to its own.
    """
    random = np.random.default_rng(8)
    width, value_width, batch = 576, 512, len(lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    tokens = int(starts[-1])
    pages = random.permutation(tokens + 5)[:tokens]
    query = bf16_nearest(random.standard_normal((batch * following, group, width)))
    cache = bf16_nearest(random.standard_normal((tokens + 6, width)))
    results = []
    for number in range(batch * following):
        sequence = number // following
        rows = cache[pages[starts[sequence] : starts[sequence + 1]]][: lengths[sequence] - following + number % following + 1]
        results.append(attend(query[number], rows, rows[:, :value_width], width**-0.5))
    mean, size, logarithm = (np.stack(x) for x in zip(*((r.out, r.size, r.lse) for r in results), strict=True))
    heads = following * group
    slots = (
        out("partial", mean.shape, to), out("lse", logarithm.shape, "f32"), Tensor("query", query, "bf16"),
        Tensor("cache", cache, "bf16"), Tensor("starts", starts, "i32"), Tensor("pages", pages, "i32"),
        Tensor("last", np.ones(batch), "i32"), width**-0.5, heads, 1, heads * width * 2, width * 2, 0,
        Tensor("query_starts", np.arange(batch + 1) * following, "i32"), Tensor("split_starts", np.arange(batch + 1), "i32"),
        NULL, NULL, NULL, int(to == "bf16"),
    )  # fmt: skip
    grid = (-(-heads // 128), batch, 1)
    if to == "bf16":  # The result is final, and its logarithms are not stored.
        return Trial(grid, slots, {"partial": near(mean, 2.0**-8 * (size + np.abs(mean)), bf16_nearest)}, scratch=("lse",))
    return Trial(grid, slots, {"partial": near(mean, 2.0**-8 * size), "lse": near(logarithm, 2e-6)})
