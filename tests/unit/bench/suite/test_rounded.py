"""Error bounds of the suite's references: they hold for float32 in any order, and are not loose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.suite.references.rounded import Rounded, places, product, rounded, where

F32 = np.float32
VALUES = st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=40)
STEPS = {
    "sum": (lambda x: x.sum(0), lambda x: np.add.reduce(x, dtype=F32)),
    "backward sum": (lambda x: x.sum(0), lambda x: np.cumsum(x[::-1], dtype=F32)[-1]),
    "square": (lambda x: x * x, lambda x: x * x),
    "polynomial": (lambda x: x * x * 0.5 - x + 1.0, lambda x: x * x * F32(0.5) - x + F32(1)),
    "exp": (lambda x: x.exp(), lambda x: np.exp2(x * F32(np.log2(np.e)))),
    "sigmoid": (lambda x: x.sigmoid(), lambda x: F32(1) / (F32(1) + np.exp2(-x * F32(np.log2(np.e))))),
    "logarithm": (lambda x: (x * x + 1.0).log(), lambda x: np.log2(x * x + F32(1)) * F32(np.log(2))),
    "root": (lambda x: (x * x + 0.5).rsqrt(), lambda x: F32(1) / np.sqrt(x * x + F32(0.5))),
    "clip": (lambda x: x.clip(-1, 2), lambda x: np.clip(x, F32(-1), F32(2))),
    "largest": (lambda x: (x * 3.0).max(0), lambda x: (x * F32(3)).max()),
    "quotient": (lambda x: x / (x * x + 1.0), lambda x: x / (x * x + F32(1))),
}


@pytest.mark.parametrize("step", STEPS)
@given(VALUES)
def test_float32_lies_within_the_bound(step, values):
    x = np.array(values, F32)
    bounded, single = STEPS[step]
    result, actual = bounded(rounded(x)), np.atleast_1d(single(x))
    assert result.expected().accepts(actual).all()


@pytest.mark.parametrize("step", STEPS)
def test_the_bound_is_close(step):
    x = np.linspace(-3, 3, 24, dtype=F32)
    result = STEPS[step][0](rounded(x))
    assert (result.error <= 1e-4 * (np.abs(result.value) + 1)).all()


def test_the_bound_refuses_what_is_wrong():
    expected = (rounded(np.array([1.0, 2.0])) * 3.0).expected()
    assert expected.accepts(np.array([3, 6], F32)).all()
    assert expected.accepts(np.array([3.00001, 5.9999], F32)).tolist() == [False, False]


def test_products_hold_in_either_order_of_depth():
    random = np.random.default_rng(3)
    a, b = random.standard_normal((5, 64)).astype(F32), random.standard_normal((64, 7)).astype(F32)
    expected = product(a, b).expected()
    for order in (slice(None), slice(None, None, -1)):
        total = np.zeros((5, 7), F32)
        for k in range(64)[order]:
            total = total + a[:, k, None] * b[None, k]
        assert expected.accepts(total.ravel()).all()
    assert not expected.accepts((total + F32(0.01)).ravel()).any()


def test_half_precision_adds_its_own_rounding():
    value = rounded(np.array([1.0, 1000.0]))
    expected = value.expected_half()
    assert expected.value.dtype == np.float16
    assert expected.accepts(np.array([1.0, 1000.5], np.float16)).tolist() == [True, False]
    assert (value.to_half().error > 0).all()


def test_where_takes_bounds_along():
    wide = Rounded(np.array([1.0, 1.0]), np.array([0.5, 0.5]))
    assert where(np.array([True, False]), wide, 2.0).error.tolist() == [0.5, 0.0]


def test_places_are_right_or_wrong():
    assert places("p", [3, 4])["p"].accepts(np.array([3, 5], np.uint32)).tolist() == [True, False]
