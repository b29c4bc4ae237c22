"""References of the serving kernels."""

from __future__ import annotations

import numpy as np

from bench.suite.references.rounded import Rounded, every_half, product, rounded, where
from examples.references.arithmetic import Array
from examples.references.expected import Expected, Values

Results = dict[str, Expected]


def gemm_a8w8_blockscale(v: Values) -> Results:
    """Each 128 of depth as one product, scaled by A's row and B's 128 rows, and added up."""
    rows, columns, depth = v["arg5"], v["arg6"], v["arg7"]
    a, b = v["a"].reshape(rows, depth), v["b"].reshape(columns, depth)
    a_scale, b_scale = v["a_scale"].reshape(rows, -1), v["b_scale"].reshape(-1, depth // 128)
    total = rounded(np.zeros((rows, columns)))
    for block in range(depth // 128):
        part = slice(block * 128, block * 128 + 128)
        # The columns' scales are those of their 128.
        scale = rounded(a_scale[:, block, None]) * np.repeat(b_scale[:, block], 128)[None, :columns].astype(np.float64)
        total = total + product(a[:, part], b[:, part].T) * scale
    return every_half("c", total)


def fused_moe(v: Values) -> Results:
    """By slot: its token times its tile's expert, scaled by its routing weight."""
    slots, columns, depth, top_k = (v[f"arg{n}"] for n in range(6, 10))
    tokens, weights = v["tokens"].reshape(-1, depth), v["weights"].reshape(-1, columns, depth)
    value, error = np.zeros((slots, columns)), np.zeros((slots, columns))
    for place, slot in enumerate(v["sorted_ids"].astype(np.int64)):
        if slot < slots:
            expert = int(v["tile_experts"][place // 32])
            row = product(tokens[slot // top_k][None], weights[expert].T) * float(v["routing"][slot])
            value[slot], error[slot] = row.value[0], row.error[0]
    return every_half("out", Rounded(value, error))


def moe_lora(v: Values) -> Results:
    """By tile of 32 tokens: what was there plus scale * (x down') up', the middle rounded to float16."""
    rows, columns, depth = (v[f"arg{n}"] for n in range(6, 9))
    tokens, before = v["tokens"].reshape(rows, depth), v["out"].astype(np.float64).reshape(rows, columns)
    down, up = v["down"].reshape(-1, 16, depth), v["up"].reshape(-1, columns, 16)
    adapters = np.repeat(v["adapters"].astype(np.int64), 32)[:rows]
    result = rounded(before)
    for adapter in range(down.shape[0]):
        change = product(product(tokens, down[adapter].T).to_half(), up[adapter].T) * float(v["scales"][adapter])
        result = where((adapters == adapter)[:, None], change + before, result)
    return every_half("out", result)


def _nibbles(words: Array, columns: int) -> Array:
    """The eight numbers of each word in AWQ's order; shape (rows, columns)."""
    column = np.arange(8)
    shift = ((column // 2 + column % 2 * 4) * 4).astype(np.uint32)
    return (words.astype(np.int64).astype(np.uint32)[:, None] >> shift & np.uint32(15)).reshape(-1, columns)


def awq_gemm(v: Values) -> Results:
    """A times (number - zero) * scale, each weight rounded to float16."""
    rows, columns, depth = v["arg5"], v["arg6"], v["arg7"]
    weight = _nibbles(v["packed"], columns).astype(np.float16)
    zero, scale = (np.repeat(x, 128, axis=0) for x in (_nibbles(v["zeros"], columns), v["scales"].reshape(-1, columns)))
    plain = (weight - zero.astype(np.float16)) * scale.astype(np.float16)
    return every_half("c", product(v["a"].reshape(rows, depth), plain))
