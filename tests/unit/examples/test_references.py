"""The references' own arithmetic: against exact fractions, against the emulator's matrix arithmetic, and what bounds refuse."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.backend.emulator.reference_matrix import Operands, multiply
from asmevo.ir.semantics.matrix import plain_operation
from asmevo.verify.launch.data import element_types
from examples.references.arithmetic import exp2, fma, halve, pair, rsqrt, workgroup_sum
from examples.references.expected import between, exact
from examples.references.matrix import BF16, F16, FP8, multiply_add

F32 = np.float32
FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


def array(*values):
    return np.array(values, F32)


def nearest(value: Fraction) -> np.float32:
    """The float32 nearest to a fraction, ties to even, by search between its neighbours."""
    start = F32(float(value))
    beside = [np.nextafter(start, F32(-np.inf)), start, np.nextafter(start, F32(np.inf))]
    key = [(abs(Fraction(float(x)) - value), int(np.asarray(x).view(np.uint32)) & 1) for x in beside]
    return beside[min(range(3), key=lambda i: key[i])]


@given(FINITE, FINITE, FINITE)
def test_fma_rounds_once(a, b, c):
    a, b, c = F32(a), F32(b), F32(c)
    value = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if abs(value) < Fraction(float(np.finfo(F32).max)):
        assert fma(array(a), array(b), array(c))[0] == nearest(value)


def test_fma_where_rounding_twice_is_wrong():
    # 1 + 2^-24 + 2^-60 lies just above the middle between 1 and its successor: float64 rounds to the middle, then down to 1.
    a, b = array(1774001 * 2.0**-60), array(38737)
    assert (a.astype(np.float64) * b + 1).astype(F32)[0] == 1
    assert fma(a, b, array(1))[0] == np.nextafter(F32(1), F32(2))
    assert fma(-a, b, array(-1))[0] == np.nextafter(F32(-1), F32(-2))


def test_fma_of_infinities_and_nan():
    with np.errstate(invalid="ignore"):
        result = fma(array(np.inf, np.inf, 1, 0), array(1, 1, np.nan, np.inf), array(1, -np.inf, 1, 1))
    assert result[0] == np.inf
    assert np.isnan(result[1:]).all()


def test_steps_of_an_ulp_flush_denormals_and_move_to_neighbours():
    assert exp2(array(-126, -127, 0, np.inf, -np.inf)).tolist() == [2.0**-126, 0, 1, np.inf, 0]
    assert exp2(array(0), 1)[0] == 1 + F32(2.0**-23)
    assert exp2(array(0, -200), -1).tolist() == [1 - 2.0**-24, 0]
    with np.errstate(divide="ignore"):
        assert rsqrt(array(4, 2.0**-140)).tolist() == [0.5, np.inf]


def test_sums_follow_their_trees():
    x = array(1, 2.0**-24, 2.0**-24, 2.0**-24)
    assert halve(x) == F32(1) + F32(2.0**-23)
    assert pair(x) == F32(1) + F32(2.0**-23)
    assert pair(array(2.0**-24, 1, 2.0**-24, 0)) == 1
    whole = np.arange(2 * 1024, dtype=F32).reshape(2, 4, 256)
    assert np.array_equal(workgroup_sum(whole)[:, 0], whole.sum(axis=(1, 2)))


def narrow(kind, codes):
    """The numbers of a format's codes, as float64."""
    element = element_types("gfx942")[kind]
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return element.decode(codes.astype(f"<u{element.size}").view(np.uint8)).astype(np.float64).reshape(codes.shape)


@pytest.mark.parametrize(("kind", "depth", "factors"), [("f16", 16, F16), ("bf16", 16, BF16), ("fp8_fp8", 32, FP8)])
@pytest.mark.parametrize("spread", [0, 12, "special"])
def test_matrix_rule_agrees_with_the_emulators(kind, depth, factors, spread):
    operation = plain_operation(f"v_mfma_f32_16x16x{depth}_{kind}")
    shape = operation.shape
    element = element_types("gfx942")[kind.split("_")[0]]
    bits, random = 8 * element.size, np.random.default_rng(7)

    def codes(*size):
        if spread == "special":
            return random.integers(0, 1 << bits, size)
        values = random.standard_normal(size) * 2.0 ** random.uniform(-spread, spread, size)
        return np.frombuffer(element.encode(values).tobytes(), f"<u{element.size}").astype(np.int64).reshape(size)

    a, b = codes(16, depth), codes(depth, 16)
    c = (random.standard_normal((16, 16)) * 2.0 ** random.uniform(-9, 9, (16, 16))).astype(F32)
    registers = [np.zeros((2, 64), np.uint32), np.zeros((2, 64), np.uint32), np.zeros((4, 64), np.uint32)]
    for i in range(16):
        for k in range(depth):
            for side, (lane, place), value in ((0, shape.place_a(0, i, k), a[i, k]), (1, shape.place_b(0, k, i), b[k, i])):
                word, inside = divmod(place * bits, 32)
                registers[side][word, lane] |= np.uint32(int(value) << inside)
    places = [(lane, place, shape.place_d(lane, place)[1:]) for lane in range(64) for place in range(4)]
    for lane, place, where in places:
        registers[2][place, lane] = c[where].view(np.uint32)
    product = multiply(operation, Operands(*registers))
    name = kind.split("_")[0]
    result = multiply_add(narrow(name, a), narrow(name, b), c, factors)
    for lane, place, where in places:
        got = product[place, lane]
        assert got == result[where].view(np.uint32) or (np.isnan(got.view(F32)) and np.isnan(result[where]))


def test_exact_results_refuse_an_ulp_and_the_other_zero():
    value = array(1, 0, np.nan, 2)
    assert exact(value).accepts(value).all()
    assert exact(value).accepts(array(np.nextafter(F32(1), F32(2)), -0.0, 1, np.nan)).tolist() == [False] * 4
    assert exact(np.array([3], np.uint32)).accepts(np.array([4], np.uint32)).tolist() == [False]
    assert exact(value).same_bits(array(1, -0.0, np.nan, 3)) == 0.5


def test_bounds_refuse_what_lies_outside():
    expected = between(array(1.5, 2), array(1, 2), array(0.5, 2))
    assert expected.accepts(array(0.5, 2)).tolist() == [True, True]
    assert expected.accepts(array(0.49, 2.1)).tolist() == [False, False]
    assert expected.accepts(array(np.nan, np.nan)).tolist() == [False, False]
