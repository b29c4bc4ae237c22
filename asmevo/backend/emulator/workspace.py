"""Large arrays of undefined content, whose memory the next run uses again.

Owns their reuse: fresh memory costs a page fault every 4 KiB, as much as some tens of instructions. It must not know what they
hold.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

KEPT = 1 << 28
"""Bytes kept at most; what was given back first goes first."""
_WASTE = 4
"""How many times the size asked for an array may have."""


class Pool:
    """Arrays given back, by identity. Each step is atomic: one may be given back from any thread, also inside `take`."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._free: dict[int, npt.NDArray[np.uint8]] = {}

    @property
    def kept_bytes(self) -> int:
        """Bytes of all arrays given back."""
        return sum(map(len, tuple(self._free.values())))

    def take(self, size: int) -> npt.NDArray[np.uint8]:
        """The smallest array given back that has at least `size` bytes and not far more, or a new one."""
        for memory in sorted(tuple(self._free.values()), key=len):
            if size <= len(memory) <= _WASTE * size:
                taken = self._free.pop(id(memory), None)
                if taken is not None:
                    return taken
        return np.empty(size, np.uint8)

    def give(self, memory: npt.NDArray[np.uint8]) -> None:
        """Keeps an array that nobody uses, in place of older ones where there are too many."""
        self._free[id(memory)] = memory
        while self.kept_bytes > self._kept:
            self._free.pop(next(iter(tuple(self._free)), 0), None)


_pool = Pool()


class _Lease:
    """Memory that is given back once no array refers to it any more: NumPy keeps this as the arrays' base.

    It holds the pool, since it may be the last to go when the interpreter ends.
    """

    def __init__(self, memory: npt.NDArray[np.uint8], pool: Pool) -> None:
        self._memory = memory
        self._pool = pool
        self.__array_interface__ = memory.__array_interface__

    def __del__(self) -> None:
        self._pool.give(self._memory)


def workspace(count: int, dtype: npt.DTypeLike, pool: Pool = _pool) -> npt.NDArray[Any]:
    """An array of undefined content, shape (count,); its memory is used again when it and its views are gone."""
    size = max(1, count) * np.dtype(dtype).itemsize
    leased: npt.NDArray[np.uint8] = np.asarray(_Lease(pool.take(size), pool))
    return leased[:size].view(np.dtype(dtype))
