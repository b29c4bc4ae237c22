"""The reference interpreter's float and matrix arithmetic against NumPy and exact sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.backend.emulator.reference_floats import FORMATS, convert, exact, rounded
from asmevo.backend.emulator.reference_matrix import Operands, fused_step, multiply
from asmevo.ir.semantics.matrix import plain_operation


@given(st.integers(0, 0x7F7FFFFF))
@settings(max_examples=100, deadline=None)
def test_f32_to_f16_rounds_as_numpy(pattern: int) -> None:
    value = np.array([pattern], np.uint32).view(np.float32)
    with np.errstate(over="ignore"):
        expected = int(value.astype(np.float16).view(np.uint16)[0])
    assert convert(pattern, FORMATS["f32"], FORMATS["f16"]) == expected


@given(st.integers(0, 0x7F7FFFFF))
@settings(max_examples=50, deadline=None)
def test_exact_and_rounded_are_inverse(pattern: int) -> None:
    assert rounded(exact(pattern, FORMATS["f32"]), FORMATS["f32"]) == pattern


@pytest.mark.parametrize(("name", "kind"), [("v_mfma_f32_16x16x16_f16", np.float16), ("v_mfma_f32_4x4x1_16b_f32", np.float32)])
def test_matrix_product_of_small_integers_is_exact(name: str, kind: type) -> None:
    operation = plain_operation(name)
    assert operation is not None
    shape = operation.shape
    random = np.random.default_rng(1)
    a = random.integers(-4, 5, (shape.blocks, shape.m, shape.k)).astype(kind)
    b = random.integers(-4, 5, (shape.blocks, shape.k, shape.n)).astype(kind)
    words = shape.per_lane * shape.element_bits // 32
    left, right = (np.zeros((64, shape.per_lane), kind) for _ in range(2))
    for block in range(shape.blocks):
        for k in range(shape.k):
            for i in range(shape.m):
                left[shape.place_a(block, i, k)] = a[block, i, k]
                right[shape.place_b(block, k, i)] = b[block, k, i]
    registers = [np.ascontiguousarray(side.view(np.uint32).reshape(64, words).T) for side in (left, right)]
    result = multiply(operation, Operands(registers[0], registers[1], 0x3F800000)).view(np.float32)
    expected = a.astype(np.float64) @ b.astype(np.float64) + 1
    for lane in range(64):
        for r in range(shape.results_per_lane):
            assert result[r, lane] == expected[shape.place_d(lane, r)]


def test_fused_step_truncates_products_below_24_bits() -> None:
    f32 = FORMATS["f32"]
    one, tiny = exact(0x3F800000, f32), exact(0x3F800000, f32) / 2**25
    assert fused_step([(one, 0), (tiny, -25)], 0, split=False) == 0x3F800000
    assert fused_step([(one, 0), (-tiny, -25)], 0, split=False) == 0x3F800000
    assert fused_step([(one, 0), (one, 0)], 0x3F800000, split=False) == 0x40400000
