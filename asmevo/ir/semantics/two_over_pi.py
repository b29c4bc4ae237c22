"""The bits of 2 / pi that v_trig_preop_f64 looks up. Owns their computation."""

from __future__ import annotations

from functools import lru_cache

BITS = 1201
"""How many of the fraction's bits the instruction knows."""
_GUARD = 64


def _inverse_tangent(divisor: int, unit: int) -> int:
    """`unit` times the inverse tangent of 1 / divisor, by its series."""
    power = total = unit // divisor
    n = 1
    while power:
        power //= -divisor * divisor
        n += 2
        total += power // n
    return total


@lru_cache(maxsize=1)
def two_over_pi() -> tuple[int, ...]:
    """The fraction of 2 / pi in words of 64 bits, uppermost first, zeros after its 1201 bits."""
    unit = 1 << (BITS + _GUARD)
    # Machin's formula: pi / 4 = 4 atan(1/5) - atan(1/239).
    pi = 4 * (4 * _inverse_tangent(5, unit) - _inverse_tangent(239, unit))
    bits = (2 * unit << BITS) // pi
    count = (BITS + 63) // 64
    bits <<= 64 * count - BITS
    return tuple(bits >> 64 * (count - 1 - n) & (1 << 64) - 1 for n in range(count))
