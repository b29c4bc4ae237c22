"""Paged attention (pa): one query a sequence, keys and values in blocks of 16 tokens, as they are, in FP8 or in int8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from examples.references.arithmetic import F32, exp2, fma
from examples.references.matrix import BF16, FP8, multiply_add
from tests.production import flash
from tests.production.layouts import chain_order
from tests.production.numbers import Array, bf16_away, bf16_nearest, fp8
from tests.production.trial import NULL, Slot, Tensor, Trial, near, out

STEPS = flash.Steps(256, BF16, 4, 4, 8, bf16_away, bf16_away, 2.0**-7)
WIDTH, BLOCK = 128, 16
FACTOR = flash.LOG2_E / F32(WIDTH) ** F32(0.5)


def _slots(
    query: Array, key: Array, value: Array, scales: tuple[Tensor, ...], table: Array, lengths: tuple[int, ...], kind: str
) -> tuple[Slot, ...]:
    """The arguments; key and value (blocks, kv heads, 16, 128) lie in pieces of 16 bytes along the head and along tokens."""
    (blocks, kv_heads), item = key.shape[:2], 2 if kind == "bf16" else 1
    piece, head = 16 // item, BLOCK * WIDTH * item
    return (
        out("out", query.shape, "bf16"), Tensor("query", query, "bf16"),
        Tensor("key", key.reshape(blocks, kv_heads, BLOCK, -1, piece).transpose(0, 1, 3, 2, 4), kind),
        Tensor("value", value.reshape(blocks, kv_heads, -1, piece, WIDTH).transpose(0, 1, 2, 4, 3), kind),
        Tensor("table", table, "i32"), Tensor("lengths", np.array(lengths), "i32"), *(scales or (NULL, NULL)),
        float(FACTOR), table.shape[1], kv_heads, query.shape[1] * WIDTH * 2, kv_heads * head, head,
        0, query.shape[1] // kv_heads, NULL,
    )  # fmt: skip


def _table(random: np.random.Generator, lengths: tuple[int, ...]) -> tuple[Array, int]:
    """Random pages of each sequence, and how many pages there are."""
    most = max(-(-length // BLOCK) for length in lengths)
    blocks = len(lengths) * most + 3
    return random.permutation(blocks)[: len(lengths) * most].reshape(-1, most), blocks


def plain(lengths: tuple[int, ...], kv_heads: int, group: int) -> Trial:
    """Keys and values in bfloat16."""
    random = np.random.default_rng(6)
    table, blocks = _table(random, lengths)
    query = bf16_nearest(random.standard_normal((len(lengths), kv_heads * group, WIDTH)))
    key, value = (bf16_nearest(random.standard_normal((blocks, kv_heads, BLOCK, WIDTH))) for _ in range(2))
    result, room = np.zeros(query.shape, F32), np.zeros(query.shape)
    for sequence, length in enumerate(lengths):
        for head in range(kv_heads):
            mine = slice(head * group, (head + 1) * group)
            keys, values = (x[table[sequence], head].reshape(-1, WIDTH)[:length] for x in (key, value))
            done = flash.forward(query[sequence, mine], keys, values, FACTOR, 1.0, STEPS, np.ones((group, length), bool))
            result[sequence, mine], room[sequence, mine] = done.out, done.room
    slots = _slots(query, key, value, (), table, lengths, "bf16")
    return Trial((kv_heads, len(lengths), 1), slots, {"out": near(result, room)})


def _fp8_product(a: Array, b: Array) -> Array:
    """A B as a chain of MFMAs from zero forms it: each group of lanes loads 16 bytes and gives every instruction 8."""
    order = chain_order(a.shape[1], 16, 8)
    return multiply_add(a[:, order], b[order], np.zeros((len(a), b.shape[1]), F32), FP8)


def _int8_product(a: Array, b: Array) -> Array:
    return (a.astype(np.int64) @ b.astype(np.int64)).astype(F32)


@dataclass(frozen=True, slots=True)
class Narrow:
    """A narrow format: its name, largest number, rounding and product, and how far a number may be from its neighbour.

    That is the larger of `share` of the number and `least`.
    """

    kind: str
    largest: float
    rounded: Callable[[Array], Array]
    product: Callable[[Array, Array], Array]
    share: float
    least: float

    def of(self, rows: Array) -> tuple[Array, Array]:
        """Each row's numbers, scaled so that its largest becomes `largest`, and the factors that undo it: (n, m) and (n, 1)."""
        scale = F32(1) / np.maximum(np.abs(rows).max(axis=1, keepdims=True), F32(1e-6)) * F32(self.largest)
        return self.rounded(rows * scale), F32(1) / scale


FP8_TOKENS = Narrow("fp8", 240, fp8, _fp8_product, 2.0**-3, 2.0**-10)
INT8_TOKENS = Narrow("i8", 127, np.trunc, _int8_product, 0.0, 1.0)


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


def scaled(lengths: tuple[int, ...], kv_heads: int, group: int, narrow: Narrow) -> Trial:
    """Keys and values in a narrow format, with a scale for each token and head."""
    random = np.random.default_rng(14)
    table, blocks = _table(random, lengths)
    query = bf16_nearest(random.standard_normal((len(lengths), kv_heads * group, WIDTH)))
    shape = (blocks, kv_heads, BLOCK, WIDTH)
    key, value = (narrow.rounded(np.clip(40 * random.standard_normal(shape), -127, 127)).astype(F32) for _ in range(2))
    scales = [random.uniform(0.01, 0.03, shape[:3]).astype(F32) for _ in range(2)]
    result, room = np.zeros(query.shape, F32), np.zeros(query.shape)
    for sequence, length in enumerate(lengths):
        for head in range(kv_heads):
            mine = slice(head * group, (head + 1) * group)
            keys, values = (x[table[sequence], head].reshape(-1, WIDTH)[:length] for x in (key, value))
            key_scale, value_scale = (x[table[sequence], head].ravel()[:length] for x in scales)
            done = _head(query[sequence, mine], keys, values, (key_scale, value_scale), narrow)
            result[sequence, mine], room[sequence, mine] = done
    tensors = Tensor("key_scale", scales[0], "f32"), Tensor("value_scale", scales[1], "f32")
    slots = _slots(query, key, value, tensors, table, lengths, narrow.kind)
    return Trial((kv_heads, len(lengths), 1), slots, {"out": near(result, room)})
