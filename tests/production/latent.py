"""Latent attention (mla): queries of many heads against one compressed cache."""

from __future__ import annotations

import numpy as np

from examples.references.arithmetic import F32
from examples.references.matrix import BF16
from tests.production import flash
from tests.production.numbers import bf16_away
from tests.production.trial import Given, Wanted, near


def decode(
    given: Given, batch: int, tokens: int, group: int, following: int = 1, tile: int = 64, *, final: bool = False
) -> Wanted:
    """mla decoding, bfloat16, on a paged cache of 576 numbers a token, of which the first 512 are also V.

    A sequence has `following` queries, the last tokens of it, each with `group` heads; a query sees the tokens up to its own.
    `final` results are bfloat16, and their logarithms are not stored.
    """
    width, value_width = 576, 512
    starts, pages = given("starts", batch + 1), given("pages", tokens)
    query, cache = given("query", batch * following, group, width), given("cache", tokens + 6, width)
    steps = flash.Steps(
        tile, BF16, 4, tile // 4, 8 if tile == 64 else 4, bf16_away, bf16_away if final else np.asarray, 2.0**-7
    )
    results: list[flash.Head] = []
    for number in range(batch * following):
        sequence = number // following
        rows = cache[pages[starts[sequence] : starts[sequence + 1]]]
        visible = np.broadcast_to(np.arange(len(rows)) <= len(rows) - following + number % following, (group, len(rows)))
        factor = F32(width**-0.5) * flash.LOG2_E
        results.append(flash.forward(query[number], rows, rows[:, :value_width], factor, 1.0, steps, visible))
    result, room, logarithm = (np.stack(x) for x in zip(*((r.out, r.room, r.lse) for r in results), strict=True))
    if final:
        return Wanted({"partial": near(result, room)}, scratch=("lse",))
    return Wanted({"partial": near(result, room), "lse": near(logarithm, 2e-6)})
