"""Attention: the forward and backward kernels fmha_v3, paged attention (pa) and latent attention (mla)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from examples.references.matrix import BF16, FP8
from tests.production import flash
from tests.production.numbers import Array, bf16_away, bf16_nearest, fp8
from tests.production.trial import NULL, Tensor, Trial, near, out

F32 = np.float32
LOG2_E = float(np.log2(np.e))
BF16_STEPS = flash.Steps(32, BF16, bf16_nearest, bf16_nearest, 2.0**-7)
FP8_STEPS = flash.Steps(64, FP8, fp8, bf16_away, 2.0**-3, 2.0**-10)


@dataclass(frozen=True, slots=True)
class Attended:
    """Results for queries, float64: `out` (q, d); `size`, the same mean of |V|; `lse` (q,), the logarithm of the sum."""

    out: Array
    size: Array
    lse: Array


def attend(query: Array, key: Array, value: Array, scale: float, visible: Array | None = None) -> Attended:
    """softmax(Q K' scale) V in float64; shapes (q, d), (k, d), (k, dv), `visible` (q, k) or all."""
    score = scale * (query.astype(np.float64) @ key.astype(np.float64).T)
    if visible is not None:
        score = np.where(visible, score, -np.inf)
    peak = score.max(axis=1, keepdims=True)
    weight = np.exp(score - peak)
    total = weight.sum(axis=1, keepdims=True)
    mean = weight / total
    values = value.astype(np.float64)
    return Attended(mean @ values, mean @ np.abs(values), (peak + np.log(total))[:, 0])


def paged_plain(lengths: tuple[int, ...], kv_heads: int, group: int, dtype: str = "bf16") -> Trial:
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
        LOG2_E * width**-0.5, most, kv_heads, heads * width * 2, kv_heads * block * width * 2, block * width * 2, 0, group, NULL,
    )  # fmt: skip
    return Trial((kv_heads, batch, 1), slots, {"out": near(mean, 2.0**-8 * (np.abs(mean) + size), bf16_nearest)})


def forward(
    batch: int, heads: int, group: int, queries: int, keys: int, *, causal: bool = False, quantised: bool = False
) -> Trial:
    """fmha_v3_fwd: heads of 128, tensors (batch, tokens, heads, 128), bfloat16 or FP8; with the logarithms of the sums.

    `heads` query heads, `group` of them for a head of keys. A causal query sees the keys that end with it, the last all; a
    work-group of a causal kernel takes two tiles of 256 queries, the second with the keys from the last to the first. There
    the FP8 kernel applies the scales of Q and K once more, to a scale that has them already: a fault of the kernel, followed here.
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
    factors = (width**-0.5, float(scales[0] * scales[1]), float(scales[2]))
    visible = np.arange(keys) <= np.arange(queries)[:, None] + keys - queries if causal else np.ones((queries, keys), bool)
    result, room = np.zeros((batch, queries, heads, width), F32), np.zeros((batch, queries, heads, width))
    logarithm = np.zeros((batch, heads, queries))
    for b in range(batch):
        for h in range(heads):
            for start in range(0, queries, tile):
                rows = slice(start, start + tile)
                again = float(F32(factors[0]) * F32(factors[1])) if causal and start else factors[0]
                head = flash.forward(
                    query[b, rows, h], key[b, :, h // group], value[b, :, h // group], (again, *factors[1:]), steps, visible[rows],
                    last_first=causal and start > 0,
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
        (-(-tiles // 2) if causal else tiles, heads, batch), slots, {"out": near(result, room), "lse": near(logarithm, 2e-6)}, 512
    )


def latent(lengths: tuple[int, ...], group: int, following: int = 1, to: str = "f32") -> Trial:
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


def backward(batch: int, heads: int, group: int, queries: int, keys: int, width: int, *, causal: bool = False) -> Trial:
    """fmha_v3_bwd, bfloat16 with float32 atomics for dQ: from Q, K, V, dO, the logarithms of sums and the row sums of O dO.

    Tensors are (batch, tokens, heads, width). dQ is the float32 accumulator (batch, heads, queries, width), which starts at zero.
    A causal query sees the keys up to its own number.
    """
    random = np.random.default_rng(9)
    kv_heads, scale = heads // group, width**-0.5
    query, key, value, gradient = (
        bf16_nearest(random.standard_normal((batch, tokens, count, width)))
        for tokens, count in ((queries, heads), (keys, kv_heads), (keys, kv_heads), (queries, heads))
    )
    visible = np.arange(keys) <= np.arange(queries)[:, None] if causal else None
    logarithm, sums = (np.zeros((batch, heads, queries), F32) for _ in range(2))
    results = {"dq": np.zeros((batch, heads, queries, width))} | {n: np.zeros((batch, keys, heads, width)) for n in ("dk", "dv")}
    sizes = {name: np.zeros_like(values) for name, values in results.items()}
    for b in range(batch):
        for h in range(heads):
            q, k, v, o = (x[b, :, n].astype(np.float64) for x, n in zip((query, key, value, gradient), (h, h // group, h // group, h), strict=True))
            ahead = attend(q, k, v, scale, visible)
            logarithm[b, h], sums[b, h] = ahead.lse, (ahead.out * o).sum(axis=1)
            score = scale * (q @ k.T)
            weight = np.exp(score - logarithm[b, h][:, None].astype(np.float64))
            weight = weight if visible is None else np.where(visible, weight, 0.0)
            inner = o @ v.T - sums[b, h][:, None]
            change = weight * inner
            room = weight * (np.abs(o) @ np.abs(v.T) * 2.0**-16 + np.abs(inner))
            results["dv"][b, :, h], sizes["dv"][b, :, h] = weight.T @ o, weight.T @ np.abs(o)
            results["dq"][b, h], sizes["dq"][b, h] = scale * (change @ k), scale * (room @ np.abs(k))
            results["dk"][b, :, h], sizes["dk"][b, :, h] = scale * (change.T @ q), scale * (room.T @ np.abs(q))
    tile = 192
    row, kv_row, wide_row = heads * width * 2, kv_heads * width * 2, heads * width * 2
    slots = (
        Tensor("dq", results["dq"] * 0, "f32", "inout"), out("dk", results["dk"].shape, "bf16"), out("dv", results["dv"].shape, "bf16"),
        Tensor("query", query, "bf16"), Tensor("key", key, "bf16"), Tensor("value", value, "bf16"), Tensor("gradient", gradient, "bf16"),
        Tensor("lse", logarithm, "f32"), Tensor("sums", sums, "f32"), scale, LOG2_E, queries, tile * kv_row,
        width * 2, queries * row, row, group, width * 2, keys * kv_row, kv_row, wide_row, keys, width, width, heads,
        width * 2, keys * kv_row, kv_row, width * 2, queries * row, row, width * 2, keys * wide_row, width * 2, keys * wide_row, wide_row,
        queries * 4, NULL, NULL, NULL, NULL, queries, 0, 0,
    )  # fmt: skip
    bounds = {name: near(values, 2.0**-8 * (sizes[name] + np.abs(values)), np.asarray if name == "dq" else bf16_nearest) for name, values in results.items()}
    tiles = -(-keys // tile)
    return Trial((-(-tiles // 2) if causal else tiles, heads, batch), slots, bounds)
