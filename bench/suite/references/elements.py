"""References of level 1's kernels on elements, rows and planes."""

from __future__ import annotations

import numpy as np

from bench.suite.references import common
from bench.suite.references.rounded import every, every_half, places, product, rounded
from examples.references.arithmetic import Array, as_float
from examples.references.expected import Expected, Values, exact

Results = dict[str, Expected]


def gelu(v: Values) -> Results:
    """Gelu in its tanh form."""
    return every("target", common.gelu(rounded(v["source"])))


def leaky_relu(v: Values) -> Results:
    """One product where an element is not above zero: bit for bit."""
    x, slope = v["source"], as_float(v["arg3"])
    return {"target": exact(np.where(x > 0, x, slope * x))}


def swish(v: Values) -> Results:
    """The product of x and sigmoid(x)."""
    return every("target", common.swish(rounded(v["source"])))


def tanh(v: Values) -> Results:
    """2 sigmoid(2 x) - 1."""
    return every("target", (rounded(v["source"]) * 2.0).sigmoid() * 2.0 - 1.0)


def _padded(x: Array, count: int) -> Array:
    return np.pad(x, (0, -x.size % count)).reshape(-1, count)


def mse_loss(v: Values) -> Results:
    """Sums of 4,096 squared differences."""
    apart = rounded(_padded(v["predicted"], 4096)) - _padded(v["wanted"], 4096)
    return every("partial", (apart * apart).sum(1))


def hinge_loss(v: Values) -> Results:
    """The mean of max(0, 1 - label * score) of each row."""
    columns = v["arg3"]
    margin = -(rounded(v["label"]) * v["score"]) + 1.0
    return every("loss", margin.clip(0, np.inf).reshape(-1, columns).sum(1) / float(columns))


def argmax(v: Values) -> Results:
    """The first of the largest."""
    return places("place", v["source"].reshape(-1, v["arg2"]).argmax(axis=1))


def cross_entropy(v: Values) -> Results:
    """log(sum(exp(x - max))) + max - x[class]."""
    rows = rounded(v["logits"].reshape(-1, v["arg3"]))
    peak = rows.max(1, keepdims=True)
    total = (rows - peak).exp().sum(1, keepdims=True)
    chosen = np.take_along_axis(rows.value, v["classes"].astype(np.int64)[:, None], axis=1)
    return every("loss", total.log() + peak - chosen)


def layer_norm(v: Values) -> Results:
    """(x - mean) / deviation * weight + bias."""
    rows = rounded(v["source"].reshape(-1, v["arg4"]))
    return every("target", common.normalised(rows, float(as_float(v["arg5"]))) * v["weight"] + v["bias"].astype(np.float64))


def rms_norm(v: Values) -> Results:
    """Each row over its root mean square, times weight, in float32, then float16."""
    rows = rounded(v["source"].reshape(-1, v["arg3"]))
    return every_half("target", common.root_mean_square(rows, float(as_float(v["arg4"]))) * v["weight"])


def group_norm(v: Values) -> Results:
    """Normalised over 8 channels' places, then by each channel's weight and bias."""
    plane, groups = v["arg4"], v["arg6"]
    rows = common.normalised(rounded(v["source"].reshape(-1, 8 * plane)), float(as_float(v["arg5"])))
    images = rows.reshape(-1, groups, 8, plane)
    gain, shift = (v[name].astype(np.float64).reshape(groups, 8, 1) for name in ("weight", "bias"))
    return every("target", images * gain + shift)


def softmax(v: Values) -> Results:
    """Softmax of each row."""
    return every("target", common.softmax(rounded(v["source"].reshape(-1, v["arg2"]))))


def depthwise_conv2d(v: Values) -> Results:
    """Each channel with its own 3x3 taps and a border of zeros."""
    height, width = v["arg3"], v["arg4"]
    taps = rounded(v["weight"].reshape(-1, 1, 1, 9))
    return every("target", (taps * common.windows(v["source"].reshape(-1, height, width), 3, border=1)).sum(3))


def matmul(v: Values) -> Results:
    """The float32 product."""
    rows, columns, depth = v["arg3"], v["arg4"], v["arg5"]
    a, b = v["a"].reshape(rows, depth), v["b"].reshape(depth, columns)
    return every("c", product(a, b))


def max_pool2d(v: Values) -> Results:
    """The largest of 3x3, every second place: bit for bit."""
    planes = v["source"].reshape(-1, v["arg2"], v["arg3"])
    return {"target": exact(common.windows(planes, 3, 2, 1, -np.inf).max(axis=3).astype(np.float32).ravel())}
