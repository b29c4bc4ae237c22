"""Selection: topksoftmax (a mixture's experts) and topk_per_row (the 2,048 largest of each row)."""

from __future__ import annotations

import numpy as np

from examples.references.expected import exact
from tests.production.numbers import Array
from tests.production.trial import Given, Wanted, near

LARGEST = 2048


def _largest(logits: Array, starts: Array, ends: Array) -> Array:
    """Of each row the places of its largest numbers, from its start, sorted; -1 where it has fewer. Shape (rows, 2048)."""
    result = np.full((len(logits), LARGEST), -1)
    for row, values in enumerate(logits):
        inside = values[starts[row] : ends[row]]
        chosen = np.sort(np.argsort(-inside)[:LARGEST])
        result[row, LARGEST - len(chosen) :] = chosen
    return result


def _sorted_rows(indices: Array) -> Array:
    return np.sort(indices.reshape(-1, LARGEST), axis=1).ravel()


def _selected(wanted: Array, scratch: tuple[str, ...] = ()) -> Wanted:
    return Wanted({"indices": exact(wanted.astype(np.int32).ravel())}, {"indices": _sorted_rows}, scratch)


def decode(given: Given, rows: int, columns: int, following: int = 1) -> Wanted:
    """Each sequence has `following` rows; a row ends so many places before the sequence's end as rows of it follow."""
    lengths = given("lengths", rows // following)
    ends = np.array([lengths[row // following] - following + row % following + 1 for row in range(rows)])
    return _selected(_largest(given("logits", rows, columns), np.zeros(rows, int), ends))


def prefill(given: Given, rows: int, columns: int) -> Wanted:
    """Rows with starts of their own."""
    return _selected(_largest(given("logits", rows, columns), given("starts", rows), given("ends", rows)), ("workspace",))


def softmax(given: Given, tokens: int, experts: int, k: int, *, renormalise: bool = True) -> Wanted:
    """topksoftmax: the k largest of a softmax over experts with their numbers, rescaled to sum to 1 if asked."""
    logits = given("logits", tokens, experts)
    weight = np.exp(logits - logits.max(axis=1, keepdims=True).astype(np.float64))
    weight /= weight.sum(axis=1, keepdims=True)
    index = np.argsort(-weight, axis=1, kind="stable")[:, :k]
    chosen = np.take_along_axis(weight, index, axis=1)
    if renormalise:
        chosen = chosen / chosen.sum(axis=1, keepdims=True)
    return Wanted({"indices": exact(index.astype(np.int32).ravel()), "weights": near(chosen, 1e-6 * chosen)})
