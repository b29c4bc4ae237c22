"""What a trial refuses, on a shipped kernel; its launch files; layouts and narrow numbers against the obvious way."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from asmevo.backend.launch import Dispatch
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.verify.launch.dispatches import parse_launches
from asmevo.verify.launch.file import read_launch_file
from examples.references.expected import exact
from tests.production.cases import CASES
from tests.production.layouts import chain_order, unshuffled
from tests.production.moe import shares
from tests.production.numbers import bf16_away, bf16_cut, bf16_nearest, fp8
from tests.production.trial import LAUNCHES, Given, Wanted, judge, near
from tests.support import EXAMPLES

F32 = np.float32


@pytest.fixture(scope="module")
def kernel():
    return recover(load_file(EXAMPLES / "kernels" / "vector_add.co"))


ADDITION = """
version = 1
grid = [1]
workgroup = [256]
rest = "zero"
args = [
  {{ name = "x", buffer = [{count}], dtype = "f32", fill = "arange" }},
  {{ name = "y", buffer = [{count}], dtype = "f32", fill = "constant", value = 0.5 }},
  {{ name = "out", buffer = [{count}], dtype = "f32", role = "out" }},
  {{ scalar = {written}, dtype = "i32" }},
]
"""


@dataclass(frozen=True)
class Trial:
    dispatch: Dispatch
    wanted: Wanted

    def judged(self, kernel):
        return judge(kernel, self.dispatch, self.wanted, "strict")

    def expecting(self, **changes):
        return replace(self, wanted=replace(self.wanted, **changes))


def addition(kernel, count=1024, written=1024):
    (dispatch,) = parse_launches(ADDITION.format(count=count, written=written), "addition.toml", kernel)
    given = Given(dispatch, kernel.target)
    return Trial(dispatch, Wanted({"out": exact(given("x", count) + given("y", count))}))


def test_right_results_are_accepted_and_measured(kernel):
    (judged,) = addition(kernel).judged(kernel)
    assert (judged.buffer, judged.same_bits, judged.largest, judged.used) == ("out", 1.0, 0.0, 0.0)


def test_a_result_one_bit_off_is_refused(kernel):
    trial = addition(kernel)
    value = trial.wanted.expected["out"].value.copy()
    value[7] = np.nextafter(value[7], F32(np.inf))
    with pytest.raises(AssertionError, match=r"out: 1 of 1024 wrong, first \[7\]: 7.5"):
        trial.expecting(expected={"out": exact(value)}).judged(kernel)


def test_a_result_that_is_not_written_is_refused(kernel):
    with pytest.raises(AssertionError, match=r"out\[1000\] was not written"):
        addition(kernel, written=1000).judged(kernel)


def test_an_output_without_a_reference_is_refused(kernel):
    trial = addition(kernel).expecting(expected={})
    with pytest.raises(AssertionError, match="no reference for out"):
        trial.judged(kernel)
    assert trial.expecting(scratch=("out",)).judged(kernel) == []


def test_a_fault_is_refused(kernel):
    with pytest.raises(AssertionError, match="out-of-bounds"):
        addition(kernel, count=512).judged(kernel)


def test_bounds_and_their_use(kernel):
    trial = addition(kernel)
    value = trial.wanted.expected["out"].value
    (judged,) = trial.expecting(expected={"out": near(value + 0.25, 0.5)}).judged(kernel)
    assert (judged.same_bits, judged.largest, judged.used) == (0.0, 0.25, 0.5)
    with pytest.raises(AssertionError, match="1024 of 1024 wrong"):
        trial.expecting(expected={"out": near(value + 0.25, 0.125)}).judged(kernel)


def test_an_order_that_is_free_is_made_the_expected_one(kernel):
    trial = addition(kernel)
    backward = exact(trial.wanted.expected["out"].value[::-1])
    changed = trial.expecting(expected={"out": backward}, canonical={"out": lambda values: values[::-1]})
    (judged,) = changed.judged(kernel)
    assert judged.same_bits == 1.0


def test_references_get_the_numbers_of_a_launch(kernel):
    text = ADDITION.format(count=4, written=4).replace('"f32", fill = "arange"', '"bf16", fill = "list", data = [1.001, -2]')
    (dispatch,) = parse_launches(text, "addition.toml", kernel)
    given = Given(dispatch, kernel.target)
    assert given("x", 2, 2).tolist() == [[1, -2], [1, -2]]
    assert given("x", 4).dtype == F32


def test_every_case_has_a_launch_and_every_launch_a_case():
    files = {path: read_launch_file(path).tree for path in LAUNCHES.glob("*.toml")}
    launches = {(path, case.name) for path, tree in files.items() for case in tree.case or [tree]}
    assert {(case.launch_file, case.shape) for case in CASES} == launches
    assert len({case.family for case in CASES}) >= 9


def test_weights_are_taken_out_of_their_tiles():
    lying = np.arange(32 * 64).reshape(2, 2, 2, 16, 16)
    weight = unshuffled(lying.reshape(32, 64), 1)
    for row, column in ((0, 0), (17, 5), (31, 63), (3, 40)):
        assert weight[row, column] == lying[row // 16, column // 32, column % 32 // 16, row % 16, column % 16]


def test_experts_get_their_tokens_from_blocks_of_entries():
    tables = {
        "block_experts": np.array([1, 0]),
        "sorted_tokens": np.array([[1 << 24 | 4, 2] + [2 << 24 | 5] * 30, [3] + [2 << 24 | 5] * 31]),
        "sorted_weights": np.array([[0.25, 0.5] + [0.0] * 30, [0.75] + [0.0] * 31]),
    }
    none, two = shares(lambda name, *shape: tables[name].reshape(shape), 5, 2)
    assert (two.tokens.tolist(), two.weights.tolist()) == ([4, 2], [[0.25], [0.5]])
    assert (none.tokens.tolist(), none.weights.tolist()) == ([3], [[0.75]])


def test_chains_take_a_part_of_what_each_group_of_lanes_holds():
    assert chain_order(32, 8, 4).tolist() == [*range(0, 4), *range(8, 12), *range(16, 20), *range(24, 28),
                                              *range(4, 8), *range(12, 16), *range(20, 24), *range(28, 32)]  # fmt: skip
    assert chain_order(8, 4, 2, 2).tolist() == [0, 1, 4, 5, 2, 3, 6, 7]


def test_narrow_numbers():
    tie, above, nan = F32(1 + 2.0**-8), np.nextafter(F32(1 + 2.0**-8), F32(2)), F32(np.nan)
    step = 1 + 2.0**-7
    assert bf16_nearest(np.array([tie, above, -tie], F32)).tolist() == [1, step, -1]
    assert np.isnan(bf16_nearest(np.array([nan]))[0])
    assert bf16_away(np.array([tie, -tie], F32)).tolist() == [step, -step]
    assert bf16_cut(np.array([above, -above], F32)).tolist() == [1, -1]
    assert fp8(np.array([[1.0625, 500], [-0.3, 0]])).tolist() == [[1, 240], [-0.3125, 0]]
