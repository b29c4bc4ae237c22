"""Changes that make sense for any bytes: numbers at known places, flips, cuts, copies, splices.

A `Random` goes in everywhere, so that an input is a function of its seed and number.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

_NUMBERS = (
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    9,
    15,
    16,
    24,
    31,
    32,
    56,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    257,
    511,
    512,
    1023,
    1024,
    4095,
    4096,
    4097,
    0x7FFF,
    0x8000,
    0xFFFF,
    0xFF00,
    0xFFF1,
    0xFFF2,
    0x10000,
    1 << 20,
    1 << 24,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
    (1 << 64) - 8,
    (1 << 64) - 4096,
)
MAX_BYTES = 1 << 20


def number(rng: Random, old: int, size: int, near: Sequence[int] = ()) -> int:
    """Return a number of `size` bytes that a reader may trip over: a limit, one of `near`, near to the old one, or any."""
    choice = rng.random()
    if choice < 0.35:
        value = rng.choice(_NUMBERS)
    elif choice < 0.6:
        value = old + rng.choice((-4096, -256, -64, -8, -4, -1, 1, 4, 8, 64, 256, 4096))
    elif choice < 0.8 and near:
        value = rng.choice(near) + rng.choice((-8, -1, 0, 0, 0, 1, 8))
    elif choice < 0.9:
        value = old ^ (1 << rng.randrange(8 * size))
    else:
        value = rng.getrandbits(8 * size)
    return value & ((1 << 8 * size) - 1)


def set_number(rng: Random, data: bytearray, at: int, size: int, near: Sequence[int] = ()) -> None:
    """Change the little-endian number of `size` bytes at `at`; nothing happens where the data have been cut short."""
    if at + size <= len(data):
        old = int.from_bytes(data[at : at + size], "little")
        data[at : at + size] = number(rng, old, size, near).to_bytes(size, "little")


def change_bytes(rng: Random, data: bytearray, start: int = 0, stop: int | None = None) -> None:
    """Make one change that needs no knowledge of the format, between `start` and `stop`."""
    stop = len(data) if stop is None else min(stop, len(data))
    if start >= stop:
        return
    at = rng.randrange(start, stop)
    match rng.randrange(8):
        case 0 | 1 | 2:
            data[at] ^= 1 << rng.randrange(8)
        case 3:
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        case 4:
            set_number(rng, data, at, rng.choice((2, 4, 8)), (len(data), at))
        case 5:
            size = min(rng.choice((1, 4, 8, 64)), stop - at)
            source = rng.randrange(start, stop)
            data[at : at + size] = data[source : source + size].ljust(size, b"\0")
        case 6:
            size = min(rng.choice((1, 2, 4, 16, 64)), stop - at)
            data[at : at + size] = bytes(size)
        case _:
            size = min(rng.choice((1, 4, 8, 16)), stop - at)
            data[at : at + size] = rng.randbytes(size)


def change_length(rng: Random, data: bytearray) -> None:
    """Cut the end off, cut something out, put something in, or add to the end."""
    at = rng.randrange(len(data) + 1)
    match rng.randrange(5):
        case 0 | 1:
            del data[at:]
        case 2:
            del data[at : at + rng.choice((1, 4, 8, 64))]
        case 3:
            data[at:at] = rng.randbytes(rng.choice((1, 4, 8, 64)))
        case _:
            data += bytes(rng.choice((1, 7, 64, 4096)))
