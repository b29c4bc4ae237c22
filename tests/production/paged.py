"""Paged attention (pa): one query a sequence, keys and values in blocks of 16 tokens, as they are, in FP8 or in int8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from examples.references.arithmetic import F32, exp2, fma
from examples.references.matrix import BF16, FP8, multiply_add
from tests.production import flash
from tests.production.layouts import chain_order
from tests.production.numbers import Array, bf16_away, fp8
from tests.production.trial import Given, Wanted, near

STEPS = flash.Steps(256, BF16, 4, 4, 8, bf16_away, bf16_away, 2.0**-7)
WIDTH, BLOCK = 128, 16
FACTOR = flash.LOG2_E / F32(WIDTH) ** F32(0.5)


@dataclass(frozen=True, slots=True)
class Cache:
    """Keys and values (blocks, kv heads, 16, 128) of a paged cache, and each sequence's blocks and tokens."""

    key: Array
    value: Array
    table: Array
    lengths: Array


def _cache(given: Given, sequences: int, blocks: int, kv_heads: int, most: int, item: int) -> Cache:
    """The cache that a launch holds, of `item` bytes a number: in pieces of 16 bytes along the head and along tokens."""
    piece = 16 // item
    key = given("key", blocks, kv_heads, WIDTH // piece, BLOCK, piece).transpose(0, 1, 3, 2, 4)
    value = given("value", blocks, kv_heads, BLOCK // piece, WIDTH, piece).transpose(0, 1, 2, 4, 3)
    whole = (blocks, kv_heads, BLOCK, WIDTH)
    return Cache(key.reshape(whole), value.reshape(whole), given("table", sequences, most), given("lengths", sequences))


def plain(given: Given, sequences: int, most: int, kv_heads: int, group: int) -> Wanted:
    """Keys and values in bfloat16; `most` blocks a sequence, and three more than that in the cache."""
    cache = _cache(given, sequences, sequences * most + 3, kv_heads, most, 2)
    query = given("query", sequences, kv_heads * group, WIDTH)
    result, room = np.zeros(query.shape, F32), np.zeros(query.shape)
    for sequence, length in enumerate(cache.lengths):
        for head in range(kv_heads):
            mine = slice(head * group, (head + 1) * group)
            keys, values = (x[cache.table[sequence], head].reshape(-1, WIDTH)[:length] for x in (cache.key, cache.value))
            done = flash.forward(query[sequence, mine], keys, values, FACTOR, 1.0, STEPS, np.ones((group, length), bool))
            result[sequence, mine], room[sequence, mine] = done.out, done.room
    return Wanted({"out": near(result, room)})


def _fp8_product(a: Array, b: Array) -> Array:
    """A B as a chain of MFMAs from zero forms it: each group of lanes loads 16 bytes and gives every instruction 8."""
    order = chain_order(a.shape[1], 16, 8)
    return multiply_add(a[:, order], b[order], np.zeros((len(a), b.shape[1]), F32), FP8)


def _int8_product(a: Array, b: Array) -> Array:
    return (a.astype(np.int64) @ b.astype(np.int64)).astype(F32)


@dataclass(frozen=True, slots=True)
class Narrow:
    """A narrow format: its largest number, rounding and product, and how far a number may be from its neighbour.

    That is the larger of `share` of the number and `least`.
    """

    largest: float
    rounded: Callable[[Array], Array]
    product: Callable[[Array, Array], Array]
    share: float
    least: float

    def of(self, rows: Array) -> tuple[Array, Array]:
        """Each row's numbers, scaled so that its largest becomes `largest`, and the factors that undo it: (n, m) and (n, 1)."""
        scale = F32(1) / np.maximum(np.abs(rows).max(axis=1, keepdims=True), F32(1e-6)) * F32(self.largest)
        return self.rounded(rows * scale), F32(1) / scale


FP8_TOKENS = Narrow(240, fp8, _fp8_product, 2.0**-3, 2.0**-10)
INT8_TOKENS = Narrow(127, np.trunc, _int8_product, 0.0, 1.0)


def _head(query: Array, key: Array, value: Array, scales: tuple[Array, Array], narrow: Narrow) -> tuple[Array, Array]:
    """Queries of one key head (q, 128) over narrow keys and values (k, 128), with a scale for each key and each value.

    Returns results, and how far a chip's may lie from them. The query becomes narrow, and so do the weights of each tile of 256
    keys, which have the values' scales in them by then. The sum of weights is in an order of its own.
    """
    length, count = len(key), -(-len(key) // STEPS.tile) * STEPS.tile
    key, value, key_scale, value_scale = (
        np.concatenate([x, np.zeros((count - len(x), *x.shape[1:]), F32)]) for x in (key, value, *scales)
    )
    narrow_query, back = narrow.of(query)
    peak, sums = np.full((len(query), 1), flash.LOWEST, F32), np.zeros((len(query), 1), F32)
    total, size = np.zeros(query.shape, F32), np.zeros(query.shape)
    for start in range(0, count, STEPS.tile):
        keys = slice(start, start + STEPS.tile)
        product = narrow.product(narrow_query, key[keys].T)
        score = np.where(np.arange(start, start + STEPS.tile) < length, product * back * key_scale[keys], F32(-np.inf))
        top = np.maximum(peak, score.max(axis=1, keepdims=True))
        decay = exp2((peak - top) * FACTOR) if start else np.ones_like(top)
        with np.errstate(invalid="ignore"):
            weight = exp2(fma(score, FACTOR, -(top * FACTOR)))
        sums = weight.sum(axis=1, keepdims=True, dtype=F32) + decay * sums
        weight, weight_back = narrow.of(weight * value_scale[keys])
        total = total * decay + narrow.product(weight, value[keys]) * weight_back
        moved = np.where(weight > 0, np.maximum(weight * narrow.share, narrow.least), 0.0)
        size = size * decay + moved @ np.abs(value[keys]).astype(np.float64) * weight_back
        peak = top
    result = bf16_away(total * (F32(1) / sums))
    return result, size / sums + 2.0**-7 * np.abs(result)


def scaled(given: Given, sequences: int, most: int, kv_heads: int, group: int, narrow: Narrow) -> Wanted:
    """Keys and values in a narrow format, with a scale for each token and head."""
    blocks = sequences * most + 3
    cache = _cache(given, sequences, blocks, kv_heads, most, 1)
    query = given("query", sequences, kv_heads * group, WIDTH)
    scales = [given(name, blocks, kv_heads, BLOCK) for name in ("key_scale", "value_scale")]
    result, room = np.zeros(query.shape, F32), np.zeros(query.shape)
    for sequence, length in enumerate(cache.lengths):
        for head in range(kv_heads):
            mine, pages = slice(head * group, (head + 1) * group), cache.table[sequence]
            keys, values = (x[pages, head].reshape(-1, WIDTH)[:length].astype(F32) for x in (cache.key, cache.value))
            key_scale, value_scale = (x[pages, head].ravel()[:length] for x in scales)
            done = _head(query[sequence, mine], keys, values, (key_scale, value_scale), narrow)
            result[sequence, mine], room[sequence, mine] = done
    return Wanted({"out": near(result, room)})
