"""Float32 arithmetic with a bound on its error: each value is computed in float64 and carries how far a float32 result may lie.

This is running error analysis: every operation adds its own rounding to what its operands may be off by, so the bound at the
end holds for any order of sums, with or without fused multiply-add, and for steps whose bits are not published. Nothing else in
the suite states a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.references.arithmetic import Array
from examples.references.expected import Expected, between, exact

UNIT = 2.0**-24
"""Relative error of one rounding to nearest float32."""
FLUSHED = 2.0**-126
"""Absolute error of a step that flushes denormals."""
STEP = 2 * UNIT
"""Relative error of v_exp_f32, v_rsq_f32, v_log_f32 and v_rcp_f32: 1 ULP."""


@dataclass(frozen=True, slots=True, eq=False)
class Rounded:
    """`value`, float64, of a computation without rounding, and `error`, the most that a float32 result may be away from it."""

    value: Array
    error: Array

    @property
    def size(self) -> Array:
        """The largest magnitude that the float32 result may have."""
        return np.abs(self.value) + self.error

    def __add__(self, other: Operand) -> Rounded:
        b = rounded(other)
        return _after(self.value + b.value, self.error + b.error)

    def __sub__(self, other: Operand) -> Rounded:
        b = rounded(other)
        return _after(self.value - b.value, self.error + b.error)

    def __mul__(self, other: Operand) -> Rounded:
        b = rounded(other)
        return _after(self.value * b.value, self.size * b.error + self.error * np.abs(b.value))

    def __truediv__(self, other: Operand) -> Rounded:
        """A quotient, rounded exactly or by a reciprocal of 1 ULP and a product."""
        b = rounded(other)
        value = self.value / b.value
        return _after(value, (self.error + np.abs(value) * b.error) / (np.abs(b.value) - b.error), 3 * UNIT)

    def __neg__(self) -> Rounded:
        return Rounded(-self.value, self.error)

    def __getitem__(self, index: Any) -> Rounded:
        return Rounded(self.value[index], self.error[index])

    def reshape(self, *shape: int) -> Rounded:
        """The same numbers in another shape."""
        return Rounded(self.value.reshape(*shape), self.error.reshape(*shape))

    def sum(self, axis: int | tuple[int, ...], keepdims: bool = False) -> Rounded:
        """A sum in any order: each term meets fewer roundings than there are terms. A zero may have either sign."""
        value = self.value.sum(axis=axis, keepdims=keepdims)
        terms = self.value.size // max(value.size, 1)
        error, size = (x.sum(axis=axis, keepdims=keepdims) for x in (self.error, self.size))
        return Rounded(value, error + terms * UNIT / (1 - terms * UNIT) * size + FLUSHED)

    def max(self, axis: int, keepdims: bool = False) -> Rounded:
        """The largest; as far off as the one most off."""
        return Rounded(self.value.max(axis=axis, keepdims=keepdims), self.error.max(axis=axis, keepdims=keepdims))

    def clip(self, low: float, high: float) -> Rounded:
        """Held between two numbers, which brings nothing further apart."""
        return Rounded(np.clip(self.value, low, high), self.error)

    def exp(self) -> Rounded:
        """v_exp_f32 of the product with log2(e), whose rounding and whose constant's rounding matter as the power is large."""
        value = np.exp(self.value)
        return _after(value, value * np.expm1(self.error + 3 * UNIT * np.abs(self.value)), 2 * STEP)

    def log(self) -> Rounded:
        """Natural logarithm: v_log_f32, whose base is 2, and a product."""
        return _after(np.log(self.value), self.error / (self.value - self.error) + UNIT, 2 * STEP)

    def rsqrt(self) -> Rounded:
        """v_rsq_f32."""
        value = 1 / np.sqrt(self.value)
        return _after(value, 0.5 * value * self.error / (self.value - self.error), STEP)

    def sigmoid(self) -> Rounded:
        """1 / (1 + exp(-x))."""
        return rounded(1.0) / ((-self).exp() + 1.0)

    def to_half(self) -> Rounded:
        """Rounded to float16 on the way."""
        return Rounded(self.value, self.error + 0.5 * np.spacing(self.size.astype(np.float16)).astype(np.float64))

    def expected(self) -> Expected:
        """A float32 buffer of these."""
        return between(
            (self.value - self.error).ravel(), self.value.astype(np.float32).ravel(), (self.value + self.error).ravel()
        )

    def expected_half(self) -> Expected:
        """A float16 buffer of these: the result is rounded once more."""
        wide = self.to_half()
        value = self.value.astype(np.float16)
        return between((wide.value - wide.error).ravel(), value.ravel(), (wide.value + wide.error).ravel())


Operand = Rounded | Array | float


def rounded(x: Operand) -> Rounded:
    """A number that is exact as given, or what has a bound already."""
    if isinstance(x, Rounded):
        return x
    value = np.asarray(x, np.float64)
    return Rounded(value, np.zeros_like(value))


def where(chosen: Array, a: Rounded, b: Operand) -> Rounded:
    """`a` where chosen, else `b`."""
    other = rounded(b)
    return Rounded(np.where(chosen, a.value, other.value), np.where(chosen, a.error, other.error))


def product(a: Operand, b: Operand) -> Rounded:
    """The matrix product of (m, k) and (k, n), in any order; matrix cores round each step, or cut it off."""
    left, right = rounded(a), rounded(b)
    value = left.value @ right.value
    size = left.size @ right.size
    carried = left.error @ right.size + np.abs(left.value) @ right.error
    return Rounded(value, carried + 2 * (left.value.shape[-1] + 1) * UNIT * size)


def every(name: str, result: Rounded) -> dict[str, Expected]:
    """One float32 result buffer."""
    return {name: result.expected()}


def every_half(name: str, result: Rounded) -> dict[str, Expected]:
    """One float16 result buffer."""
    return {name: result.expected_half()}


def places(name: str, found: Sequence[int] | Array) -> dict[str, Expected]:
    """One buffer of places, which are right or wrong."""
    return {name: exact(np.asarray(found, np.uint32))}


def _after(value: Array, carried: Array, own: float = UNIT) -> Rounded:
    """A result whose own rounding is at most `own` of it, or a flushed denormal."""
    return Rounded(value, carried + own * (np.abs(value) + carried) + FLUSHED)
