"""Matrix products: gemm_a8w8 and i8gemm (int8), bf16gemm, fp8gemm_blockscale and flatmm (FP8)."""

from __future__ import annotations

import numpy as np

from examples.references.arithmetic import fma
from examples.references.expected import exact
from examples.references.matrix import BF16, FP8, multiply_add
from tests.production.layouts import chain_order, shuffle_weight
from tests.production.numbers import Array, bf16_away, bf16_cut, bf16_nearest, fp8
from tests.production.trial import NULL, Tensor, Trial, out

F32 = np.float32


def _int8_inputs(random: np.random.Generator, m: int, n: int, k: int) -> tuple[Array, Array, Array, Array, Array]:
    a, b = (random.integers(-128, 128, (rows, k)).astype(np.int8) for rows in (m, n))
    scale_a, scale_b = (random.uniform(0.001, 0.01, count).astype(F32) for count in (m, n))
    return a, b, scale_a, scale_b, random.standard_normal(n).astype(F32)


def int8_old(m: int, n: int, k: int) -> Trial:
    """The older int8 kernel, tiles of 128 by 128: the sum by the scales of A's rows, then of B's, plus a bias.

    Each step is rounded to float32, the last to bfloat16, ties away from zero.
    """
    random = np.random.default_rng(1)
    a, b, scale_a, scale_b, bias = _int8_inputs(random, m, n, k)
    total = (a.astype(np.int64) @ b.astype(np.int64).T).astype(F32)
    value = bf16_away(total * scale_a[:, None] * scale_b + bias)
    slots = (
        out("d", (m, n), "bf16"), Tensor("a", a, "i8"), Tensor("b", shuffle_weight(b, 1, rows=32), "i8"),
        Tensor("scale_a", scale_a, "f32"), Tensor("scale_b", scale_b, "f32"), Tensor("bias", bias, "f32"),
        m, n, k, k, k, 2 * n, 0,
    )  # fmt: skip
    return Trial((n // 128, -(-m // 128), 1), slots, {"d": exact(value.ravel())})


def int8(m: int, n: int, k: int, tile: tuple[int, int], splits: int = 1) -> Trial:
    """(A B') by the scales of B's rows, then of A's, plus a bias; int8 to bfloat16.

    The kernel's own steps: an exact sum, rounded to float32; a product; a fused step; cut to bfloat16. Splits of k are added
    by atomic bfloat16 additions, of which two commute. The first split has the bias.
    """
    random = np.random.default_rng(1)
    a, b, scale_a, scale_b, bias = _int8_inputs(random, m, n, k)
    total = np.zeros((m, n), F32)
    for split in range(splits):
        depth = slice(split * k // splits, (split + 1) * k // splits)
        whole = a[:, depth].astype(np.int64) @ b[:, depth].astype(np.int64).T
        part = fma(whole.astype(F32) * scale_b, scale_a[:, None], bias if split == 0 else np.zeros(n, F32))
        total = bf16_nearest(total + bf16_cut(part))
    slots = (
        Tensor("d", np.zeros((m, n)), "bf16", "inout" if splits > 1 else "out"), Tensor("a", a, "i8"),
        Tensor("b", shuffle_weight(b, 1), "i8"), Tensor("scale_a", scale_a, "f32"),
        Tensor("scale_b", scale_b, "f32"), Tensor("bias", bias, "f32"), m, n, k, k, k, 2 * n, splits,
    )  # fmt: skip
    return Trial((n // tile[1] * splits, -(-m // tile[0]), 1), slots, {"d": exact(total.ravel())})


def bf16(m: int, n: int, k: int, tile: tuple[int, int], shuffled: bool, splits: int = 1, to: str = "f32") -> Trial:
    """A B' + bias, bfloat16 to float32 or bfloat16. The bias is where the chain of MFMAs starts."""
    random = np.random.default_rng(2)
    a, b = (bf16_nearest(random.standard_normal((rows, k))) for rows in (m, n))
    bias = bf16_nearest(random.standard_normal(n))
    order = chain_order(k, 8, 4)
    start = np.broadcast_to(bias, (m, n))
    value = multiply_add(a[:, order], b[:, order].T, start, BF16)
    size = {"f32": 4, "bf16": 2}[to]
    slots = (
        out("d", (m, n), to), 0, Tensor("a", a, "bf16"), Tensor("b", shuffle_weight(b, 2) if shuffled else b, "bf16"),
        1.0, 0.0, n * size, 0, n * size, 0, 2 * k, 0, 2 * k, 0, m, n, k, splits, int(to == "bf16"),
        Tensor("bias", bias, "bf16"), 1, 0,
    )  # fmt: skip
    value = bf16_nearest(value) if to == "bf16" else value
    return Trial((-(-n // tile[1]), -(-m // tile[0]), splits), slots, {"d": exact(value.ravel())})


def _blockscale_inputs(seed: int, m: int, n: int, k: int) -> tuple[Array, Array, Array, Array]:
    """A, B, a scale for each 128 of k by row of A, and one for each 128 by 128 block of B by 128 of k."""
    random = np.random.default_rng(seed)
    a, b = (fp8(random.standard_normal((rows, k))) for rows in (m, n))
    scale_a, scale_b = (random.uniform(0.5, 1.5, (k // 128, count)).astype(F32) for count in (m, n // 128))
    return a, b, scale_a, scale_b


def blockscale_sum(a: Array, b: Array, scale_a: Array, scale_b: Array) -> Array:
    """A chain of MFMAs from zero for each 128 of k, added by a fused step with the rounded product of both scales."""
    order = chain_order(128, 16, 8)
    total = np.zeros((a.shape[0], b.shape[0]), F32)
    for block in range(a.shape[1] // 128):
        depth = 128 * block + order
        part = multiply_add(a[:, depth], b[:, depth].T, np.zeros_like(total), FP8)
        total = fma(scale_a[block][:, None] * np.repeat(scale_b[block], 128), part, total)
    return total


def fp8_blockscale(m: int, n: int, k: int, tile: tuple[int, int]) -> Trial:
    """A B' with a scale for each row of A by 128 of k, and each 128 by 128 block of B, plus a bias; FP8 to bfloat16.

    The bias is added last, and the sum cut to bfloat16.
    """
    a, b, scale_a, scale_b = _blockscale_inputs(3, m, n, k)
    bias = np.random.default_rng(4).standard_normal(n).astype(F32)
    total = blockscale_sum(a, b, scale_a, scale_b) + bias
    slots = (
        out("d", (m, n), "bf16"), Tensor("a", a, "fp8"), Tensor("b", shuffle_weight(b, 1), "fp8"),
        Tensor("scale_a", scale_a, "f32"), Tensor("scale_b", scale_b.T, "f32"), Tensor("bias", bias, "f32"),
        m, n, k, k, k, 2 * n, 1, m, n // 128, k // 128,
    )  # fmt: skip
    return Trial((n // tile[1], -(-m // tile[0]), 1), slots, {"d": exact(bf16_cut(total).ravel())})


def flatmm(m: int, n: int, k: int) -> Trial:
    """A B' with the scales of `fp8_blockscale`, in tiles of 128 by 256; FP8 to float16, to nearest even."""
    a, b, scale_a, scale_b = _blockscale_inputs(5, m, n, k)
    value = blockscale_sum(a, b, scale_a, scale_b).astype(np.float16)
    pointers = (
        Tensor("a", a, "fp8"), Tensor("b", shuffle_weight(b, 1), "fp8"), NULL,
        Tensor("scale_a", scale_a, "f32"), Tensor("scale_b", scale_b, "f32"), NULL, out("d", (m, n), "f16"),
        *([NULL] * 4),
    )  # fmt: skip
    return Trial((n // 256, -(-m // 128), 1), (*pointers, k, n, m, 0, 0, 0), {"d": exact(value.ravel())}, natural=True)
