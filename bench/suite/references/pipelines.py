"""References of level 2's pipelines."""

from __future__ import annotations

import numpy as np

from bench.suite.references import common
from bench.suite.references.rounded import Rounded, every, every_half, product, rounded, where
from examples.references.arithmetic import Array, as_float
from examples.references.expected import Expected, Values

Results = dict[str, Expected]


def _planes(v: Values, first: int) -> tuple[Array, Array, Array]:
    """Source, weight and bias of a convolution whose channels, height and width are the arguments from `first` on."""
    channels, height, width = (v[f"arg{first + n}"] for n in range(3))
    return v["source"].reshape(channels, height, width), v["weight"].reshape(-1, channels, 9), v["bias"]


def conv2d_bias_relu(v: Values) -> Results:
    """Convolution and relu."""
    return every("target", common.convolved(*_planes(v, 4)).clip(0, np.inf))


def conv2d_hardswish_scale(v: Values) -> Results:
    """Hard swish, x * clamp(x + 3, 0, 6) / 6, and scale."""
    x = common.convolved(*_planes(v, 4))
    return every("target", x * (x + 3.0).clip(0, 6) / 6.0 * float(as_float(v["arg7"])))


def conv2d_avgpool_sigmoid_sum(v: Values) -> Results:
    """The sum over each plane of sigmoid of the mean of 2x2."""
    x = common.convolved(*_planes(v, 4))
    rows, columns = (n // 2 for n in x.value.shape[1:])
    pooled = x[:, : rows * 2, : columns * 2].reshape(-1, rows, 2, columns, 2).sum((2, 4)) * 0.25
    return every("sums", pooled.sigmoid().sum((1, 2)))


def gemm_bias_relu(v: Values) -> Results:
    """The float32 product, bias and relu."""
    rows, columns, depth = v["arg4"], v["arg5"], v["arg6"]
    total = product(v["a"].reshape(rows, depth), v["b"].reshape(depth, columns))
    return every("c", (total + v["bias"].astype(np.float64)).clip(0, np.inf))


def gemm_mfma_bias_tanh(v: Values) -> Results:
    """The product with B transposed, bias and tanh."""
    columns, depth = v["arg4"], v["arg5"]
    total = product(v["a"].reshape(-1, depth), v["b"].reshape(columns, depth).T)
    return every("c", common.tanh(total + v["bias"].astype(np.float64)))


def batchnorm_relu_maxpool(v: Values) -> Results:
    """A scale and an offset by channel, then the largest of 2x2 and zero."""
    height, width = v["arg6"], v["arg7"]
    mean, variance, gain, shift = (rounded(v[name].reshape(-1, 1, 1)) for name in ("mean", "variance", "gain", "shift"))
    scale = gain * (variance + float(as_float(v["arg8"]))).rsqrt()
    x = rounded(v["source"].reshape(-1, height, width)) * scale + (shift - mean * scale)
    rows, columns = height // 2, width // 2
    blocks = x[:, : rows * 2, : columns * 2].reshape(-1, rows, 2, columns, 2)
    return every("target", blocks.max(4).max(2).clip(0, np.inf))


def groupnorm_hardtanh_mean(v: Values) -> Results:
    """Normalised groups by each channel's gain and shift, held in -1 to 1, and their means."""
    channels, plane = v["arg5"], v["arg6"]
    x = common.normalised(rounded(v["source"].reshape(-1, channels * plane)), float(as_float(v["arg7"])))
    gain, shift = (v[name].astype(np.float64).reshape(-1, channels, 1) for name in ("gain", "shift"))
    held = (x.reshape(-1, channels, plane) * gain + shift).clip(-1, 1)
    return every("target", held) | every("means", held.sum((1, 2)) / float(channels * plane))


def _matmul(v: Values, first: int) -> Rounded:
    """A B, whose rows, columns and depth are the arguments from `first` on."""
    rows, columns, depth = (v[f"arg{first + n}"] for n in range(3))
    return product(v["a"].reshape(rows, depth), v["b"].reshape(depth, columns))


def _tiles(x: Rounded, width: int) -> Rounded:
    """Columns cut into tiles: shape (rows, tiles, width)."""
    return x.reshape(x.value.shape[0], -1, width)


def matmul_swish_sum_groupnorm(v: Values) -> Results:
    """Groups of 64 columns of swish(A B) + bias, normalised."""
    x = _tiles(common.swish(_matmul(v, 6)) + v["bias"].astype(np.float64), 64)
    gain, shift = (v[name].astype(np.float64).reshape(1, -1, 64) for name in ("gain", "shift"))
    return every("c", common.normalised(x, float(as_float(v["arg9"]))) * gain + shift)


def matmul_bias_gelu(v: Values) -> Results:
    """gelu(A B + bias)."""
    return every_half("c", common.gelu(_matmul(v, 4) + v["bias"].astype(np.float64)))


def matmul_scale_residual_clamp(v: Values) -> Results:
    """clamp(A B * scale + residual, -2, 2)."""
    x = _matmul(v, 4)
    beside = v["residual"].astype(np.float64).reshape(x.value.shape)
    return every_half("c", (x * float(as_float(v["arg7"])) + beside).clip(-2, 2))


def matmul_maxpool_sum_scale(v: Values) -> Results:
    """By 32 columns: the sum of the larger of two neighbours, scaled."""
    x = _tiles(_matmul(v, 3), 32)
    pairs = x.reshape(x.value.shape[0], -1, 16, 2).max(3)
    return every("c", pairs.sum(2) * float(as_float(v["arg6"])))


def matmul_scale_softmax(v: Values) -> Results:
    """By 64 columns: softmax of A B * scale."""
    return every("c", common.softmax(_tiles(_matmul(v, 3) * float(as_float(v["arg6"])), 64)))


def matmul_bias_relu_rowsum(v: Values) -> Results:
    """By 32 columns: the sum of relu(A B + bias)."""
    return every("c", _tiles((_matmul(v, 4) + v["bias"].astype(np.float64)).clip(0, np.inf), 32).sum(2))


def rmsnorm_swiglu(v: Values) -> Results:
    """Swish of the first half of a normalised row times the second."""
    half = v["arg3"]
    x = common.root_mean_square(rounded(v["source"].reshape(-1, 2 * half)), float(as_float(v["arg4"]))) * v["weight"]
    return every_half("target", common.swish(x[:, :half]) * x[:, half:])


def bias_scale_mask_softmax(v: Values) -> Results:
    """Row r: softmax over columns 0 to r + offset of scores * scale + bias, zero beyond."""
    columns, offset = v["arg3"], v["arg5"]
    x = rounded(v["scores"].reshape(-1, columns)) * float(as_float(v["arg4"])) + v["bias"].astype(np.float64)
    seen = np.arange(columns)[None, :] <= np.arange(x.value.shape[0])[:, None] + offset
    lowest = where(seen, x, -1e3)
    weight = where(seen, (lowest - lowest.max(1, keepdims=True)).exp(), 0.0)
    return every("target", weight / weight.sum(1, keepdims=True))
