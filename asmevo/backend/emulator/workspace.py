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

_KEPT = 1 << 28
"""Bytes kept at most; what was given back first goes first."""
_WASTE = 4
"""How many times the size asked for an array may have."""
_free: dict[int, npt.NDArray[np.uint8]] = {}
"""By identity. Each operation on it is atomic, since an array may be given back from any thread, also inside `workspace`."""


class _Lease:
    """Memory that is given back once no array refers to it any more: NumPy keeps this as the arrays' base."""

    def __init__(self, memory: npt.NDArray[np.uint8]) -> None:
        self._memory = memory
        self.__array_interface__ = memory.__array_interface__

    def __del__(self) -> None:
        if len(self._memory) <= _KEPT:
            _free[id(self._memory)] = self._memory
        while sum(map(len, tuple(_free.values()))) > _KEPT:
            _free.pop(next(iter(tuple(_free)), 0), None)


def workspace(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of undefined content, shape (count,); its memory is used again when it and its views are gone."""
    size = max(1, count) * np.dtype(dtype).itemsize
    leased: npt.NDArray[np.uint8] = np.asarray(_Lease(_take(size)))
    return leased[:size].view(np.dtype(dtype))


def _take(size: int) -> npt.NDArray[np.uint8]:
    """The smallest array given back that has at least `size` bytes and not far more, or a new one."""
    for memory in sorted(tuple(_free.values()), key=len):
        if size <= len(memory) <= _WASTE * size:
            taken = _free.pop(id(memory), None)
            if taken is not None:
                return taken
    return np.empty(size, np.uint8)
