import numpy as np
import pytest

from asmevo.verify.launch.data import FILLS, Fill, element_types, fill_values, fp8_values, special_values


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("name", ["fp8", "bf8"])
def test_every_8_bit_code_survives_decode_and_encode(name, target):
    element = element_types(target)[name]
    codes = np.arange(256, dtype=np.uint8)
    values = element.decode(codes)
    finite = np.isfinite(values)
    assert np.array_equal(element.encode(values)[finite], codes[finite])


@pytest.mark.parametrize(("bits", "ocp", "largest"), [(4, False, 240), (5, False, 57344), (4, True, 448), (5, True, 57344)])
def test_largest_8_bit_floats(bits, ocp, largest):
    values = fp8_values(bits, ocp)
    assert values[np.isfinite(values)].max() == largest


def test_fnuz_has_no_negative_zero():
    element = element_types("gfx942")["fp8"]
    assert element.encode(np.array([-0.0, -1e-9, np.nan])).tolist() == [0, 0, 0x80]


def test_8_bit_ties_go_to_even():
    element = element_types("gfx942")["fp8"]
    one = int(element.encode(np.array([1.0]))[0])
    step = element.decode(np.array([one + 1], np.uint8))[0] - 1.0
    assert element.encode(np.array([1.0 + step / 2, 1.0 + 1.5 * step])).tolist() == [one, one + 2]


def test_bf16_rounds_to_nearest_even():
    element = element_types("gfx942")["bf16"]
    values = np.array([1.0, 1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8, np.inf])
    assert element.decode(element.encode(values)).tolist() == [1.0, 1.0, 1.015625, np.inf]
    assert np.isnan(element.decode(element.encode(np.array([np.nan]))))[0]


@pytest.mark.parametrize("name", ["f64", "f32", "f16", "i64", "u64", "i32", "u32", "i16", "u16", "i8", "u8"])
def test_plain_types_take_their_size(name):
    element = element_types("gfx942")[name]
    data = element.encode(np.arange(5))
    assert data.size == 5 * element.size
    assert element.decode(data).tolist() == [0, 1, 2, 3, 4]


def test_fills_are_the_same_each_time_and_differ_by_seed():
    for kind in FILLS:
        fill = Fill(kind, seed=3, low=0, high=100, specials=(0.0, 9.0))
        assert np.array_equal(fill_values(fill, 50), fill_values(fill, 50))
    assert not np.array_equal(fill_values(Fill("normal", 1), 50), fill_values(Fill("normal", 2), 50))


def test_fill_parameters():
    integers = fill_values(Fill("integers", low=-2, high=3), 1000)
    assert (integers.min(), integers.max()) == (-2, 2)
    assert fill_values(Fill("arange", value=5, scale=2), 3).tolist() == [5, 7, 9]
    assert fill_values(Fill("constant", value=2.5), 2).tolist() == [2.5, 2.5]


@pytest.mark.parametrize(("name", "kind"), [("f64", np.float64), ("f32", np.float32), ("f16", np.float16)])
def test_special_values_are_the_edges_of_the_format(name, kind):
    element = element_types("gfx942")[name]
    info = np.finfo(kind)
    largest_denormal = float(info.tiny) - float(info.smallest_subnormal)
    edges = [0.0, float(info.smallest_subnormal), largest_denormal, float(info.tiny), float(info.max), np.inf]
    values = np.array(special_values(element))
    assert sorted(values[~np.isnan(values) & ~np.signbit(values)].tolist()) == edges
    assert sorted((-values[~np.isnan(values) & np.signbit(values)]).tolist()) == edges
    assert np.isnan(values).sum() == 1
    assert np.array_equal(element.decode(element.encode(values)).astype(np.float64), values, equal_nan=True)


@pytest.mark.parametrize(
    ("target", "name", "largest"),
    [
        ("gfx942", "fp8", 240),
        ("gfx950", "fp8", 448),
        ("gfx942", "bf8", 57344),
        ("gfx950", "bf8", 57344),
        ("gfx942", "bf16", 2.0**128 - 2.0**120),
    ],
)
def test_special_values_reach_the_largest_number(target, name, largest):
    values = np.array(special_values(element_types(target)[name]))
    assert values[np.isfinite(values)].max() == largest


def test_special_fill_replaces_its_share():
    specials = (7.0, np.nan)
    plain, mixed = (fill_values(Fill("special", 5, share=share, specials=specials), 4000) for share in (1e-9, 0.25))
    replaced = plain != mixed
    assert 0.2 < replaced.mean() < 0.3
    assert (np.isnan(mixed[replaced]) | (mixed[replaced] == 7)).all()
    assert set(np.isnan(mixed[replaced])) == {True, False}
