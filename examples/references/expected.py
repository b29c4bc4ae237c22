"""What a reference says: the result with every step rounded exactly, and between what a chip's result may lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arithmetic import Array

Values = Mapping[str, Any]
"""Input buffers by name as flat arrays, and the launch's 4-byte scalars by position ("arg3") as whole numbers."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A flat buffer: `value`, and the bounds `low` and `high`, which are equal to it where every step is published.

    NaN stands for any NaN.
    """

    value: Array
    low: Array
    high: Array

    def accepts(self, actual: Array) -> Array:
        """Where a result is right; shape (n,) bool. Between equal bounds that means the same bits."""
        nan = np.isnan(actual) if actual.dtype.kind == "f" else np.zeros(actual.shape, bool)
        same = _bits(actual) == _bits(self.value)
        inside = (self.low < self.high) & (self.low <= actual) & (actual <= self.high)
        unknown = np.isnan(self.value) if self.value.dtype.kind == "f" else nan
        return np.where(unknown, nan, same | inside)

    def same_bits(self, actual: Array) -> float:
        """The share of results that are those of exactly rounded steps, 0 to 1."""
        both_nan = (actual != actual) & (self.value != self.value)
        return float(np.mean((_bits(actual) == _bits(self.value)) | both_nan))


def _bits(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def exact(value: Array) -> Expected:
    """A result whose every step is published: bit for bit."""
    return Expected(value, value, value)


def between(one: Array, value: Array, other: Array) -> Expected:
    """A result with bounds that need not be in order."""
    return Expected(value, np.fmin(one, other), np.fmax(one, other))
