import pytest

from asmevo.search.acceptance import Decision, Samples, decide


def times(median, spread=0.001):
    return Samples([median * (1 + spread * step) for step in (-1, -0.5, 0, 0.5, 1)])


def test_a_clear_gain_is_faster():
    found = decide(times(110), times(105), times(100))
    assert found.decision is Decision.FASTER
    assert found.speedup == pytest.approx(1.1)
    assert found.parent_speedup == pytest.approx(110 / 105)


def test_a_gain_within_the_noise_is_not():
    # 0.85 x 1.6 % of noise asks for more than 1 %.
    assert decide(times(100, 0.02), times(100, 0.02), times(99, 0.02)).decision is Decision.NOT_FASTER
    assert decide(times(100, 0.001), times(100, 0.001), times(99, 0.001)).decision is Decision.FASTER


def test_the_least_gain_holds_without_noise():
    assert decide(times(100, 0), times(100, 0), times(99.9, 0)).decision is Decision.NOT_FASTER
    assert decide(times(100, 0), times(100, 0), times(99.7, 0)).decision is Decision.FASTER


def test_too_much_noise_or_too_few_samples_say_nothing():
    assert decide(times(100), times(100), times(50, 0.1)).decision is Decision.NOISY
    assert decide(times(100), times(100), Samples([50.0] * 4)).decision is Decision.TOO_FEW


def test_a_floor_must_be_reached():
    assert decide(times(100), times(100), times(98), floor=1.05).decision is Decision.NOT_FASTER
