"""Matrix products: gemm_a8w8 and i8gemm (int8), bf16gemm, fp8gemm_blockscale and flatmm (FP8)."""

from __future__ import annotations

import numpy as np

from examples.references.arithmetic import fma
from examples.references.expected import exact
from examples.references.matrix import BF16, multiply_add
from tests.production.layouts import chain_order, shuffle_weight
from tests.production.numbers import Array, bf16_away, bf16_cut, bf16_nearest, fp8
from tests.production.trial import Tensor, Trial, near, out

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
        Tensor("scale_a", scale_a, "f32"), Tensor("scale_b", scale_b, "f32"), Tensor("bias", bias, "f32"), m, n, k, k, k, 2 * n, 0,
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
