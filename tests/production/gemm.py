"""Matrix products: gemm_a8w8 and i8gemm (int8), bf16gemm, fp8gemm_blockscale and flatmm (FP8)."""

from __future__ import annotations

import numpy as np

from examples.references.arithmetic import fma
from examples.references.expected import exact
from examples.references.matrix import BF16, FP8, multiply_add
from tests.production.layouts import chain_order, unshuffled
from tests.production.numbers import Array, bf16_away, bf16_cut, bf16_nearest
from tests.production.trial import Given, Wanted

F32 = np.float32


def int8_old(given: Given, m: int, n: int, k: int) -> Wanted:
    """The older int8 kernel, tiles of 128 by 128: the sum by the scales of A's rows, then of B's, plus a bias.

    Each step is rounded to float32, the last to bfloat16, ties away from zero.
    """
    a, b = given("a", m, k), unshuffled(given("b", n, k), 1, rows=32)
    total = (a @ b.T).astype(F32)
    value = bf16_away(total * given("scale_a", m, 1) * given("scale_b", n) + given("bias", n))
    return Wanted({"d": exact(value.ravel())})


def int8(given: Given, m: int, n: int, k: int, splits: int = 1) -> Wanted:
    """(A B') by the scales of B's rows, then of A's, plus a bias; int8 to bfloat16.

    The kernel's own steps: an exact sum, rounded to float32; a product; a fused step; cut to bfloat16. Splits of k are added
    by atomic bfloat16 additions, of which two commute. The first split has the bias.
    """
    a, b = given("a", m, k), unshuffled(given("b", n, k), 1)
    scale_a, scale_b, bias = given("scale_a", m, 1), given("scale_b", n), given("bias", n)
    total = np.zeros((m, n), F32)
    for split in range(splits):
        depth = slice(split * k // splits, (split + 1) * k // splits)
        whole = a[:, depth] @ b[:, depth].T
        part = fma(whole.astype(F32) * scale_b, scale_a, bias if split == 0 else np.zeros(n, F32))
        total = bf16_nearest(total + bf16_cut(part))
    return Wanted({"d": exact(total.ravel())})


def bf16(given: Given, m: int, n: int, k: int, *, shuffled: bool, narrow: bool = False) -> Wanted:
    """A B' + bias, bfloat16 to float32, or with `narrow` to bfloat16, ties away from zero.

    The bias is where the chain of MFMAs starts.
    """
    a, b = given("a", m, k), given("b", n, k)
    b = unshuffled(b, 2) if shuffled else b
    order = chain_order(k, 8, 4)
    start = np.broadcast_to(given("bias", n), (m, n))
    value = multiply_add(a[:, order], b[:, order].T, start, BF16)
    value = bf16_away(value) if narrow else value
    return Wanted({"d": exact(value.ravel())})


def blockscale_sum(a: Array, b: Array, scale_a: Array, scale_b: Array) -> Array:
    """A chain of MFMAs from zero for each 128 of k, added by a fused step with the rounded product of both scales.

    A's scales (k / 128, m) are for each 128 of k of a row, B's (k / 128, n / 128) for blocks of 128 by 128.
    """
    order = chain_order(128, 16, 8)
    total = np.zeros((a.shape[0], b.shape[0]), F32)
    for block in range(a.shape[1] // 128):
        depth = 128 * block + order
        part = multiply_add(a[:, depth], b[:, depth].T, np.zeros_like(total), FP8)
        total = fma(scale_a[block][:, None] * np.repeat(scale_b[block], 128), part, total)
    return total


def fp8_blockscale(given: Given, m: int, n: int, k: int) -> Wanted:
    """A B' with the scales of `blockscale_sum`, plus a bias; FP8 to bfloat16. The bias is added last, and the sum cut."""
    a, b = given("a", m, k), unshuffled(given("b", n, k), 1)
    scale_b = given("scale_b", n // 128, k // 128).T
    total = blockscale_sum(a, b, given("scale_a", k // 128, m), scale_b) + given("bias", n)
    return Wanted({"d": exact(bf16_cut(total).ravel())})


def flatmm(given: Given, m: int, n: int, k: int) -> Wanted:
    """A B' with the scales of `blockscale_sum`, in tiles of 128 by 256; FP8 to float16, to nearest even."""
    a, b = given("a", m, k), unshuffled(given("b", n, k), 1)
    value = blockscale_sum(a, b, given("scale_a", k // 128, m), given("scale_b", k // 128, n // 128))
    return Wanted({"d": exact(value.astype(np.float16).ravel())})
