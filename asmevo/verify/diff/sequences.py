"""Which elements of two sequences are the same, in order.

Owns the matching alone. Equal ends are taken first. What is left is matched by its longest common subsequence while it is small
enough; larger stretches are cut at elements that occur once on both sides (a patience diff).

Source: Hyyrö, "Bit-parallel LCS-length computation revisited" (2004).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise

_EXACT_LIMIT = 1 << 26
"""Elements of one side times those of the other: the bits that an exact match keeps."""


def matched(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of indices of equal elements, ascending in both.

    The longest such list unless both sides differ over thousands of elements; a stretch beyond the limit without any element
    that occurs once on both sides is matched at its equal ends only.
    """
    numbers: dict[Hashable, int] = {}
    left = [numbers.setdefault(item, len(numbers)) for item in old]
    right = [numbers.setdefault(item, len(numbers)) for item in new]
    pairs: list[tuple[int, int]] = []
    pending = [(0, len(left), 0, len(right))]
    while pending:
        start, stop, new_start, new_stop = pending.pop()
        while start < stop and new_start < new_stop and left[start] == right[new_start]:
            pairs.append((start, new_start))
            start, new_start = start + 1, new_start + 1
        while start < stop and new_start < new_stop and left[stop - 1] == right[new_stop - 1]:
            stop, new_stop = stop - 1, new_stop - 1
            pairs.append((stop, new_stop))
        if (stop - start) * (new_stop - new_start) <= _EXACT_LIMIT:
            common = _longest_common(left[start:stop], right[new_start:new_stop])
            pairs += [(start + i, new_start + j) for i, j in common]
        elif anchors := _anchors(left, right, (start, stop), (new_start, new_stop)):
            pairs += anchors
            edges = [(start - 1, new_start - 1), *anchors, (stop, new_stop)]
            pending += [(a + 1, c, b + 1, d) for (a, b), (c, d) in pairwise(edges)]
    return sorted(pairs)


def _longest_common(left: Sequence[int], right: Sequence[int]) -> list[tuple[int, int]]:
    """The longest common subsequence. Complexity: the product of the lengths, in bits."""
    places: dict[int, int] = {}
    for i, item in enumerate(left):
        places[item] = places.get(item, 0) | 1 << i
    every = (1 << len(left)) - 1
    # Bit i of row j is 0 where the subsequence of left[:i + 1] and right[:j + 1] is longer than that of left[:i].
    row, rows = every, [every]
    for item in right:
        same = row & places.get(item, 0)
        row = (row + same | row - same) & every
        rows.append(row)
    found: list[tuple[int, int]] = []
    i, j = len(left), len(right)
    while i and j:
        if rows[j] >> i - 1 & 1:
            i -= 1
        elif rows[j - 1] >> i - 1 & 1:
            i, j = i - 1, j - 1
            found.append((i, j))
        else:
            j -= 1
    return found[::-1]


def _anchors(left: Sequence[int], right: Sequence[int], old: tuple[int, int], new: tuple[int, int]) -> list[tuple[int, int]]:
    """The longest ascending run of elements that occur once on each side."""
    counts, new_counts = Counter(left[slice(*old)]), Counter(right[slice(*new)])
    place = {right[j]: j for j in range(*new) if new_counts[right[j]] == 1}
    candidates = [(i, place[left[i]]) for i in range(*old) if counts[left[i]] == 1 and left[i] in place]
    tails: list[int] = []
    chains: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(candidates):
        at = bisect_left(tails, j)
        before.append(chains[at - 1] if at else -1)
        tails[at : at + 1] = [j]
        chains[at : at + 1] = [index]
    run: list[tuple[int, int]] = []
    index = chains[-1] if chains else -1
    while index >= 0:
        run.append(candidates[index])
        index = before[index]
    return run[::-1]
