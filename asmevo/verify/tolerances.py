"""Whether results agree within a buffer's tolerance, element by element.

Owns the distances. Whether a tolerance may count at all is the caller's decision: replacing a kernel asks for equal bits.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from asmevo.backend.launch import Buffer, Bytes
from asmevo.verify.launch.data import element_types

Flags = npt.NDArray[np.bool_]


def agreeing(buffer: Buffer, target: str, expected: Bytes, found: Bytes) -> Flags:
    """For each element whether two contents of a buffer agree: equal bits, or within its tolerance; shape (elements,).

    Within a tolerance every NaN is one, zeros are equal, and an infinity agrees with itself only. Bytes behind the last whole
    element are an element of their own.
    """
    element = element_types(target).get(buffer.dtype)
    size = element.size if element else 1
    whole = len(expected) // size * size
    same = (expected[:whole] == found[:whole]).reshape(-1, size).all(axis=1)
    tolerance = buffer.tolerance
    if tolerance is not None and element is not None and element.is_float:
        a, b = (element.decode(data[:whole]).astype(np.float64) for data in (expected, found))
        same |= np.isnan(a) & np.isnan(b)
        finite = np.isfinite(a) & np.isfinite(b)
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(a - b)
            if tolerance.absolute is not None:
                same |= finite & (apart <= tolerance.absolute)
            if tolerance.relative is not None:
                same |= finite & (apart <= tolerance.relative * np.abs(a))
        if tolerance.ulps is not None:
            low, high = (_ordered(data[:whole], size) for data in (expected, found))
            low, high = np.minimum(low, high), np.maximum(low, high)
            # The distance of two numbers of opposite signs needs all 64 bits.
            same |= finite & (high.view(np.uint64) - low.view(np.uint64) <= np.uint64(tolerance.ulps))
    rest = [bool((expected[whole:] == found[whole:]).all())] if whole < len(expected) else []
    return np.concatenate([same, np.array(rest, np.bool_)])


def _ordered(data: Bytes, size: int) -> npt.NDArray[np.int64]:
    """Numbers that count up with the finite values of a sign-magnitude format; two of them differ by less than 2^64."""
    bits = np.frombuffer(data.tobytes(), f"<u{size}").astype(np.uint64)
    sign = np.uint64(1 << (8 * size - 1))
    magnitude = (bits & (sign - np.uint64(1))).astype(np.int64)
    return np.where(bits & sign != 0, -magnitude, magnitude)
