"""What a trial refuses, on a shipped kernel; layouts and narrow numbers against the obvious way."""

from dataclasses import replace

import numpy as np
import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from examples.references.expected import exact
from tests.production.layouts import chain_order, shuffle_weight
from tests.production.numbers import bf16_away, bf16_cut, bf16_nearest, fp8
from tests.production.trial import NULL, Tensor, Trial, dispatch_of, judge, near, out
from tests.support import EXAMPLES

F32 = np.float32


@pytest.fixture(scope="module")
def kernel():
    return recover(load_file(EXAMPLES / "kernels" / "vector_add.co"))


def addition(count=1024, written=1024):
    x, y = np.arange(count, dtype=F32), np.full(count, F32(0.5))
    slots = (Tensor("x", x, "f32"), Tensor("y", y, "f32"), out("out", (count,), "f32"), written, NULL, NULL)
    return Trial((1, 1, 1), slots, {"out": exact(x + y)}, natural=True)


def test_right_results_are_accepted_and_measured(kernel):
    (judged,) = judge(kernel, addition(), "strict")
    assert (judged.buffer, judged.same_bits, judged.largest, judged.used) == ("out", 1.0, 0.0, 0.0)


def test_a_result_one_bit_off_is_refused(kernel):
    trial = addition()
    value = trial.expected["out"].value.copy()
    value[7] = np.nextafter(value[7], F32(np.inf))
    with pytest.raises(AssertionError, match=r"out: 1 of 1024 wrong, first \[7\]: 7.5"):
        judge(kernel, replace(trial, expected={"out": exact(value)}), "strict")


def test_a_result_that_is_not_written_is_refused(kernel):
    with pytest.raises(AssertionError, match=r"out\[1000\] was not written"):
        judge(kernel, addition(written=1000), "strict")


def test_an_output_without_a_reference_is_refused(kernel):
    with pytest.raises(AssertionError, match="no reference for out"):
        judge(kernel, replace(addition(), expected={}), "strict")
    assert judge(kernel, replace(addition(), expected={}, scratch=("out",)), "strict") == []


def test_a_fault_is_refused(kernel):
    with pytest.raises(AssertionError, match="out-of-bounds"):
        judge(kernel, replace(addition(count=512), expected={}), "strict")


def test_bounds_and_their_use(kernel):
    trial = addition()
    value = trial.expected["out"].value
    (judged,) = judge(kernel, replace(trial, expected={"out": near(value + 0.25, 0.5)}), "strict")
    assert (judged.same_bits, judged.largest, judged.used) == (0.0, 0.25, 0.5)
    with pytest.raises(AssertionError, match="1024 of 1024 wrong"):
        judge(kernel, replace(trial, expected={"out": near(value + 0.25, 0.125)}), "strict")


def test_an_order_that_is_free_is_made_the_expected_one(kernel):
    trial = addition()
    backward = exact(trial.expected["out"].value[::-1])
    canonical = {"out": lambda values: values[::-1]}
    (judged,) = judge(kernel, replace(trial, expected={"out": backward}, canonical=canonical), "strict")
    assert judged.same_bits == 1.0


def test_arguments_lie_in_slots_of_16_bytes(kernel):
    tensor = Tensor("t", np.zeros(4), "bf16", offset=2)
    dispatch = dispatch_of(kernel, Trial((1, 1, 1), (7, 1.5, NULL, tensor, -1, tensor), {}))
    words = np.frombuffer(dispatch.kernarg[:84], np.uint32)
    assert (words[0], words[4].view(F32), words[16]) == (7, F32(1.5), 0xFFFFFFFF)
    assert [(slot.offset, slot.buffer, slot.addend) for slot in dispatch.pointers] == [(48, 0, 2), (80, 0, 2)]
    assert [buffer.data.size for buffer in dispatch.buffers] == [8]


def test_weights_are_shuffled_by_tiles():
    weight = np.arange(32 * 64).reshape(32, 64)
    shuffled = shuffle_weight(weight, 1).reshape(2, 2, 2, 16, 16)
    for row, column in ((0, 0), (17, 5), (31, 63), (3, 40)):
        tile = shuffled[row // 16, column // 32, column % 32 // 16]
        assert tile[row % 16, column % 16] == weight[row, column]


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
