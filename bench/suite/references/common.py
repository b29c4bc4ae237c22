"""Steps that several references share: activations, normalisation, convolution and windows of planes."""

from __future__ import annotations

import numpy as np

from bench.suite.references.rounded import Rounded, rounded
from examples.references.arithmetic import Array


def swish(x: Rounded) -> Rounded:
    """The product of x and sigmoid(x)."""
    return x * x.sigmoid()


def gelu(x: Rounded) -> Rounded:
    """The tanh form, as x * sigmoid of twice its inner polynomial, whose constants are float32."""
    inner = (x + x * x * x * _constant(0.044715)) * _constant(0.7978845608)
    return x * (inner * 2.0).sigmoid()


def tanh(x: Rounded) -> Rounded:
    """1 - 2 / (1 + exp(2 x)), and no worse than that in the other form, 2 sigmoid(2 x) - 1."""
    return -(rounded(2.0) / ((x * 2.0).exp() + 1.0)) + 1.0


def normalised(x: Rounded, epsilon: float) -> Rounded:
    """Each row less its mean, over its deviation."""
    count = float(x.value.shape[-1])
    apart = x - x.sum(-1, keepdims=True) / count
    return apart * ((apart * apart).sum(-1, keepdims=True) / count + epsilon).rsqrt()


def root_mean_square(x: Rounded, epsilon: float) -> Rounded:
    """Each row over the root of the mean of its squares."""
    return x * ((x * x).sum(-1, keepdims=True) / float(x.value.shape[-1]) + epsilon).rsqrt()


def softmax(x: Rounded) -> Rounded:
    """Softmax of each row; a rescaled running sum meets two more roundings a step."""
    weight = (x - x.max(-1, keepdims=True)).exp()
    total = weight.sum(-1, keepdims=True)
    return weight / Rounded(total.value, 3 * total.error)


def windows(planes: Array, size: int, step: int = 1, border: int = 0, fill: float = 0.0) -> Array:
    """Windows of (planes, height, width): shape (planes, rows, columns, size * size)."""
    wide = np.pad(planes.astype(np.float64), ((0, 0), (border, border), (border, border)), constant_values=fill)
    seen = np.lib.stride_tricks.sliding_window_view(wide, (size, size), axis=(1, 2))[:, ::step, ::step]
    return seen.reshape(*seen.shape[:3], size * size)


def convolved(source: Array, weight: Array, bias: Array) -> Rounded:
    """3x3 without border over all channels, plus a bias.

    (channels, h, w) by (outputs, channels, 9) to (outputs, h - 2, w - 2).
    """
    seen = windows(source, 3)
    terms = rounded(weight[:, :, None, None, :]) * seen[None]
    return terms.sum((1, 4)) + bias.astype(np.float64)[:, None, None]


def _constant(x: float) -> Rounded:
    """A float32 constant, or its neighbour."""
    return Rounded(np.asarray(x, np.float64), np.asarray(2.0**-24 * abs(x)))
