"""How production kernels lay out weights and caches in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def unshuffled(shuffled: Array, element_bytes: int, rows: int = 16, depth: int = 16) -> Array:
    """Rows of a weight (..., n, k) that lies in tiles of `rows` by 2 `depth`.

    A tile holds 16 bytes of each row, then the next 16 bytes. `depth` counts elements; a tile's k is twice that, as AITER
    counts it.
    """
    piece, n, k = 16 // element_bytes, shuffled.shape[-2], shuffled.shape[-1]
    tiles = shuffled.reshape(-1, n // rows, k // (2 * depth), 2 * depth // piece, rows, piece)
    return np.ascontiguousarray(tiles.transpose(0, 1, 4, 2, 3, 5)).reshape(shuffled.shape)


def chain_order(depth: int, held: int, taken: int, groups: int = 4) -> Array:
    """The order in which a chain of MFMAs takes k, shape (depth,).

    Each of the `groups` groups of lanes loads `held` consecutive elements and gives every instruction `taken` of them.
    """
    return np.arange(depth).reshape(-1, groups, held // taken, taken).transpose(0, 2, 1, 3).ravel()
