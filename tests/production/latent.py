"""Latent attention (mla): queries of many heads against one compressed cache."""

from __future__ import annotations

import numpy as np

from examples.references.arithmetic import F32
from examples.references.matrix import BF16
from tests.production import flash
from tests.production.numbers import bf16_away, bf16_nearest
from tests.production.trial import NULL, Tensor, Trial, near, out


def decode(lengths: tuple[int, ...], group: int, following: int = 1, tile: int = 64, to: str = "f32") -> Trial:
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
    steps = flash.Steps(
        tile, BF16, 4, tile // 4, 8 if tile == 64 else 4, bf16_away, bf16_away if to == "bf16" else np.asarray, 2.0**-7
    )
    results: list[flash.Head] = []
    for number in range(batch * following):
        sequence = number // following
        rows = cache[pages[starts[sequence] : starts[sequence + 1]]]
        visible = np.broadcast_to(np.arange(len(rows)) <= len(rows) - following + number % following, (group, len(rows)))
        factor = F32(width**-0.5) * flash.LOG2_E
        results.append(flash.forward(query[number], rows, rows[:, :value_width], factor, 1.0, steps, visible))
    result, room, logarithm = (np.stack(x) for x in zip(*((r.out, r.room, r.lse) for r in results), strict=True))
    heads = following * group
    slots = (
        out("partial", result.shape, to), out("lse", logarithm.shape, "f32"), Tensor("query", query, "bf16"),
        Tensor("cache", cache, "bf16"), Tensor("starts", starts, "i32"), Tensor("pages", pages, "i32"),
        Tensor("last", np.ones(batch), "i32"), width**-0.5, heads, 1, heads * width * 2, width * 2, 0,
        Tensor("query_starts", np.arange(batch + 1) * following, "i32"), Tensor("split_starts", np.arange(batch + 1), "i32"),
        NULL, NULL, NULL, int(to == "bf16"),
    )  # fmt: skip
    grid = (-(-heads // 128), batch, 1)
    if to == "bf16":  # The result is final, and its logarithms are not stored.
        return Trial(grid, slots, {"partial": near(result, room)}, scratch=("lse",))
    return Trial(grid, slots, {"partial": near(result, room), "lse": near(logarithm, 2e-6)})
