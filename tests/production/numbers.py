"""Narrow numbers as the kernels round to them; float32 in, float32 out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from asmevo.verify.launch.data import element_types

Array = npt.NDArray[Any]
HALF_ULP_BF16 = 2.0**-8
"""Half an ULP of a bfloat16 at the low end of a binade, as a share of the value."""


def bf16_nearest(values: Array) -> Array:
    """The nearest bfloat16, ties to even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(values), np.float32(np.nan), rounded.view(np.float32))


def bf16_away(values: Array) -> Array:
    """The nearest bfloat16, ties away from zero."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)


def bf16_cut(values: Array) -> Array:
    """The bfloat16 toward zero."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def fp8(values: Array) -> Array:
    """The nearest FP8 (E4M3 FNUZ), ties to even, as float32; too large becomes the largest finite."""
    kind = element_types("gfx942")["fp8"]
    return kind.decode(kind.encode(np.asarray(values))).astype(np.float32).reshape(np.shape(values))
