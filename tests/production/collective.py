"""All-reduce fused with RMS normalisation, as one rank sees it; the others' signals are there already."""

from __future__ import annotations

import numpy as np

from examples.references.arithmetic import F32, fma, halve, rsqrt
from examples.references.expected import between, exact
from tests.production.numbers import Array, bf16_cut
from tests.production.trial import Given, Wanted

RANKS, WIDTH = 8, 8192
EPSILON = F32(1e-5)
CHUNKS, LANES, PIECE = 4, 256, 8
"""A row is four chunks, of each a lane has eight neighbouring numbers."""


def _mean_square(row: Array) -> Array:
    """The mean square of rows (n, 8192) in the kernel's order; (n, 1).

    A lane adds by fused steps in two chains: numbers 0 and 4 of each chunk, then 1 and 5; and 2 and 6, then 3 and 7. Sixteen
    lanes add every sixteenth lane's sums, again in two chains, and halve.
    """
    mine = row.reshape(-1, CHUNKS, LANES, PIECE)
    chains: list[Array] = []
    for first in (0, 2):
        total = np.zeros((len(row), LANES), F32)
        for number in (first, first + 1):
            for chunk in range(CHUNKS):
                for place in (number, number + 4):
                    x = mine[:, chunk, :, place]
                    total = fma(x, x, total)
        chains.append(total)
    lanes = (chains[0] + chains[1]).reshape(-1, 16, 16)
    even, odd = lanes[:, 0], lanes[:, 1]
    for n in range(2, 16, 2):
        even, odd = even + lanes[:, n], odd + lanes[:, n + 1]
    return halve(even + odd)[:, None] * F32(2.0**-13)


def all_reduce_rms_norm(given: Given, rows: int) -> Wanted:
    """Adds eight ranks' shares of `rows` rows and a residual, and stores the sum and its normalised form for every rank.

    Inputs are bfloat16. Sums are float32, ranks in order, then the residual; results are cut to bfloat16.

    A rank waits for all eight to arrive and to depart, itself included: four waves count up its own signal, and each spins
    until all have. The emulator runs waves one after another, so the kernel runs as a ninth rank, with the ninth share of the
    rows: its own signals lie behind those that it waits for, and it clears what it waited for in the first rank's.
    """
    count = RANKS * rows
    share = slice(count, count + rows)
    whole = (count + rows, WIDTH)
    weight, bias = given("weight", WIDTH), given("bias", WIDTH)
    total = np.zeros((rows, WIDTH), F32)
    for name in (*(f"in{n}" for n in range(RANKS)), "residual"):
        total = total + given(name, *whole)[share]
    low, middle, high = (
        bf16_cut(total * rsqrt(_mean_square(total) + EPSILON, ulps) * weight + bias).ravel() for ulps in (-1, 0, 1)
    )
    signals = given("signals0", RANKS + 1, rows, 2).astype(np.uint32)
    padding = np.zeros(count * WIDTH, F32)
    wide = [np.concatenate([padding, x]) for x in (low, middle, high, bf16_cut(total).ravel())]
    expected = {f"out{n}": between(*wide[:3]) for n in range(RANKS)} | {f"sum{n}": exact(wide[3]) for n in range(RANKS)}
    counted = signals.copy()
    counted[RANKS, 0, 0], counted[RANKS, :, 1] = 1, 4
    cleared = counted * (np.arange(RANKS + 1) == RANKS)[:, None, None].astype(np.uint32)
    return Wanted(expected | {f"signals{n}": exact((counted if n else cleared).ravel()) for n in range(RANKS)})
