from __future__ import annotations

import random
import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from asmevo.verify.diff.sequences import matched

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=40)


def test_equal_sequences_match_in_full() -> None:
    assert matched("abcabc", "abcabc") == [(i, i) for i in range(6)]


def test_nothing_in_common() -> None:
    assert matched("abc", "xyz") == []
    assert matched("", "abc") == []


def test_an_insertion_and_a_removal() -> None:
    assert matched("abcdef", "abXcdf") == [(0, 0), (1, 1), (2, 3), (3, 4), (5, 5)]


def test_repeated_elements_around_an_anchor() -> None:
    assert len(matched("aaXaa", "aXaaa")) == 4


@given(WORDS, WORDS)
def test_pairs_are_equal_and_ascending(old: list[str], new: list[str]) -> None:
    pairs = matched(old, new)
    assert all(old[i] == new[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


@given(WORDS, WORDS)
def test_the_longest_match_is_found(old: list[str], new: list[str]) -> None:
    lengths = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, one in enumerate(old):
        for j, other in enumerate(new):
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if one == other else max(lengths[i][j + 1], lengths[i + 1][j])
    assert len(matched(old, new)) == lengths[-1][-1]


@given(WORDS)
def test_a_subsequence_of_distinct_words_is_found_whole(words: list[str]) -> None:
    old = [f"{word}{n}" for n, word in enumerate(words)]
    new = [word for n, word in enumerate(old) if n % 3]
    assert len(matched(old, new)) == len(new)


def test_long_sequences_without_anchors_end_soon() -> None:
    rng = random.Random(0)
    started = time.process_time()
    matched([rng.randrange(2) for _ in range(8000)], [rng.randrange(2) for _ in range(8000)])
    matched(list("ab" * 20_000), list("ba" * 20_001))
    matched(list(range(50_000)), list(range(50_000))[::-1])
    assert time.process_time() - started < 10
