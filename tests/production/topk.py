"""Selection: topksoftmax (a mixture's experts) and topk_per_row (the 2,048 largest of each row)."""

from __future__ import annotations

import numpy as np

from examples.references.expected import exact
from tests.production.numbers import Array, bf16_nearest
from tests.production.trial import NULL, Tensor, Trial, near, out

F32 = np.float32
LARGEST = 2048


def _logits(seed: int, rows: int, columns: int) -> Array:
    """Normal numbers, no two of a row alike."""
    random = np.random.default_rng(seed)
    values = np.unique(random.standard_normal(4 * columns).astype(F32))
    return np.stack([random.permutation(values)[:columns] for _ in range(rows)])


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


def decode(lengths: tuple[int, ...], columns: int, following: int = 1) -> Trial:
    """Each sequence has `following` rows; a row ends so many places before the sequence's end as rows of it follow."""
    rows = len(lengths) * following
    logits = _logits(1, rows, columns)
    ends = np.array([lengths[row // following] - following + row % following + 1 for row in range(rows)])
    wanted = _largest(logits, np.zeros(rows, int), ends).astype(np.int32)
    slots = (
        Tensor("logits", logits, "f32"), Tensor("lengths", np.array(lengths), "i32"), out("indices", (rows, LARGEST), "i32"),
        columns, 1, following,
    )  # fmt: skip
    return Trial(
        (rows, 1, 1), slots, {"indices": exact(wanted.ravel())}, 1024, natural=True, canonical={"indices": _sorted_rows}
    )


def prefill(starts: tuple[int, ...], ends: tuple[int, ...], columns: int) -> Trial:
    """Rows with starts of their own."""
    logits = _logits(2, len(starts), columns)
    wanted = _largest(logits, np.array(starts), np.array(ends)).astype(np.int32)
    slots = (
        out("workspace", (len(starts) * LARGEST * 2,), "u32"), Tensor("logits", logits, "f32"),
        Tensor("starts", np.array(starts), "i32"), Tensor("ends", np.array(ends), "i32"),
        out("indices", (len(starts), LARGEST), "i32"), NULL, columns, 1,
    )  # fmt: skip
    return Trial(
        (len(starts), 1, 1), slots, {"indices": exact(wanted.ravel())}, 1024, natural=True, scratch=("workspace",),
        canonical={"indices": _sorted_rows},
    )  # fmt: skip


def softmax(tokens: int, experts: int, k: int, rows: int, dtype: str = "f32", *, renormalise: bool = True) -> Trial:
    """topksoftmax: the k largest of a softmax over experts with their numbers, rescaled to sum to 1 if asked."""
    narrow = bf16_nearest if dtype == "bf16" else np.asarray
    logits = narrow(_logits(3, tokens, experts))
    weight = np.exp(logits - logits.max(axis=1, keepdims=True).astype(np.float64))
    weight /= weight.sum(axis=1, keepdims=True)
    index = np.argsort(-weight, axis=1, kind="stable")[:, :k]
    chosen = np.take_along_axis(weight, index, axis=1)
    if renormalise:
        chosen = chosen / chosen.sum(axis=1, keepdims=True)
    slots = (
        out("indices", (tokens, k), "i32"), out("weights", (tokens, k), "f32"), Tensor("logits", logits, dtype),
        tokens, experts, k, int(renormalise), k * 4,
    )  # fmt: skip
    expected = {"indices": exact(index.astype(np.int32).ravel()), "weights": near(chosen, 1e-6 * chosen)}
    return Trial((-(-tokens // rows), 1, 1), slots, expected)
