import numpy as np
import pytest

from asmevo.backend.launch import Buffer, RunResult, Tolerance
from asmevo.diagnostics import DiagnosticError
from asmevo.verify.differential import compare
from asmevo.verify.expected import differences
from asmevo.verify.launch.data import element_types
from asmevo.verify.tolerances import agreeing
from asmevo.verify.verdict import Outcome
from unit.backend.emulator.small_kernels import dispatch, kernel


def buffer(dtype, tolerance=None, count=8):
    return Buffer("y", np.zeros(count * element_types("gfx942")[dtype].size, np.uint8), True, dtype=dtype, tolerance=tolerance)


def agree(dtype, tolerance, expected, found):
    encode = element_types("gfx942")[dtype].encode
    a, b = (encode(np.array(values, np.float64)) for values in (expected, found))
    return agreeing(buffer(dtype, tolerance), "gfx942", a, b).tolist()


def test_exact_is_bits():
    assert agree("f32", None, [0.0, 1.0, np.nan], [-0.0, 1.0, np.nan]) == [False, True, True]


@pytest.mark.parametrize(
    ("dtype", "step"), [("f32", 2.0**-23), ("f16", 2.0**-10), ("bf16", 2.0**-7), ("fp8", 2.0**-3), ("f64", 2.0**-52)]
)
def test_ulps_count_numbers_in_between(dtype, step):
    assert agree(dtype, Tolerance(ulps=2), [1, 1, 1], [1 + 2 * step, 1 + 3 * step, -1]) == [True, False, False]


def test_ulps_reach_across_zero():
    tiny = float(np.finfo(np.float32).smallest_subnormal)
    assert agree("f32", Tolerance(ulps=2), [tiny, tiny, 0.0], [-tiny, -2 * tiny, -0.0]) == [True, False, True]
    huge = float(np.finfo(np.float64).max)
    assert agree("f64", Tolerance(ulps=1 << 62), [huge, -huge], [-huge, huge]) == [False, False]


def test_one_bound_that_holds_is_enough():
    tolerance = Tolerance(absolute=1e-3, relative=1e-2)
    assert agree("f32", tolerance, [0, 100, 100], [1e-4, 100.5, 102]) == [True, True, False]


def test_infinities_and_nan_are_themselves():
    tolerance = Tolerance(ulps=1 << 40, absolute=1e300, relative=1e9)
    inf, nan = np.inf, np.nan
    assert agree("f32", tolerance, [inf, inf, nan, nan, 1], [inf, -inf, nan, 1, inf]) == [True, False, True, False, False]
    largest = float(np.finfo(np.float32).max)
    assert agree("f32", Tolerance(ulps=1), [largest], [inf]) == [False]


def result_of(*data):
    return RunResult(data, tuple(np.ones(len(d), np.bool_) for d in data), {}, (), 1, False, 0)


def test_expected_results(tmp_path):
    launch = dispatch(buffer("f32", Tolerance(relative=0.1)))
    encode = element_types("gfx942")["f32"].encode
    found = result_of(encode(np.array([1, 2, 3, 4, 5, 6, 7, 8])))
    path = tmp_path / "e.npz"
    np.savez(path, y=np.array([1, 2, 3, 4.1, 5, 6, 7, 9.5], np.float32), other=np.zeros(3))
    (told,) = differences(path, "gfx942", launch, found)
    assert told.startswith("1 of 8 elements of y differ; element 7: expected 9.5 (0x")
    np.savez(path, y=np.arange(1, 9, dtype=np.float32))
    assert differences(path, "gfx942", launch, found) == []


@pytest.mark.parametrize("arrays", [{"z": np.zeros(3)}, {"y": np.zeros(3)}, {"y": np.array([{}], object)}])
def test_what_is_not_expected_there_is_refused(tmp_path, arrays):
    path = tmp_path / "e.npz"
    np.savez(path, **arrays)
    with pytest.raises(DiagnosticError, match="E0228"):
        differences(path, "gfx942", dispatch(buffer("f32")), result_of(np.zeros(32, np.uint8)))


@pytest.mark.parametrize("data", [None, b"", b"PK\x03\x04 no archive", b"\x93NUMPY"])
def test_a_file_that_is_none_is_refused(tmp_path, data):
    path = tmp_path / "e.npz"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DiagnosticError, match="E0228"):
        differences(path, "gfx942", dispatch(buffer("f32")), result_of(np.zeros(32, np.uint8)))


def outcome(tolerance, rule, off):
    made, launch = kernel("s_nop 0"), dispatch(buffer("f32", tolerance))
    encode = element_types("gfx942")["f32"].encode
    results = [result_of(encode(np.full(8, 1 + off * n, np.float64))) for n in range(2)]
    other = kernel("s_nop 1")
    return compare(made, other, [launch], seeds=[0], rule=rule, runner=lambda k, _d, _s: results[k is other])


def test_only_the_launch_rule_looks_at_tolerances():
    loose = Tolerance(ulps=1)
    assert outcome(loose, "exact", 2.0**-23).outcome is Outcome.REFUTED
    verdict = outcome(loose, "launch", 2.0**-23)
    assert verdict.outcome is Outcome.TESTED
    assert any("not compared bit for bit" in assumption for assumption in verdict.basis[0].assumptions)
    assert outcome(loose, "launch", 2.0**-20).outcome is Outcome.REFUTED
    strict = outcome(None, "launch", 0.0)
    assert strict.outcome is Outcome.TESTED
    assert not any("bit for bit" in assumption for assumption in strict.basis[0].assumptions)


def test_an_unknown_rule_is_refused():
    with pytest.raises(DiagnosticError, match="E0520"):
        outcome(None, "roughly", 0.0)
