"""Which bytes an access may touch, as far as that is known: enough to tell that two accesses touch different ones.

Owns extents and the low zero bits of address terms. An extent covers all lanes of the wave, since another lane may hit the same
byte. Where extents come from is for `facts`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import cast

from asmevo.verify.equivalence.terms import Term


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes [low, high) of each interval, from `base`: what is added to them, the same in all lanes. None: not known.

    `argument` is the kernel argument whose memory it is, where that may be used.
    """

    base: Hashable
    intervals: tuple[tuple[int, int], ...]
    argument: Hashable = None


def are_apart(one: Extent, other: Extent) -> bool:
    """Whether two extents surely share no byte."""
    if one.argument is not None and other.argument is not None and one.argument != other.argument:
        return True
    if one.base is None or one.base != other.base:
        return False
    merged = sorted([(*interval, 0) for interval in one.intervals] + [(*interval, 1) for interval in other.intervals])
    reach = [-(1 << 80), -(1 << 80)]
    for low, high, side in merged:
        if low < reach[1 - side]:
            return False
        reach[side] = max(reach[side], high)
    return True


def residues_apart(one: Term, size: int, other: Term, other_size: int) -> bool:
    """Whether two addresses, each in any lane, never share a byte because of what is left modulo a power of two."""
    (rest, constant), (other_rest, other_constant) = _residue(one), _residue(other)
    modulus = 1 << min(rest, other_rest, one.bits)
    if one.bits != other.bits or size > modulus or other_size > modulus:
        return False
    distance = (constant - other_constant) % modulus
    return other_size <= distance <= modulus - size


def _residue(address: Term) -> tuple[int, int]:
    """How many low bits are those of a constant, and the constant."""
    if address.op == "const":
        return address.bits, address.value
    if address.op == "sum":
        constant, factors = cast("tuple[int, tuple[int, ...]]", address.attr)
        zeros = (trailing_zeros(a) + (f & -f).bit_length() - 1 for a, f in zip(address.args, factors, strict=True))
        return min(*zeros, address.bits), constant
    return trailing_zeros(address), 0


def trailing_zeros(term: Term) -> int:
    """How many low bits of a term are surely 0."""
    op = term.op
    if op == "const":
        return (term.value & -term.value).bit_length() - 1 if term.value else term.bits
    if op == "sum":
        constant, factors = cast("tuple[int, tuple[int, ...]]", term.attr)
        zeros = [trailing_zeros(a) + (f & -f).bit_length() - 1 for a, f in zip(term.args, factors, strict=True)]
        if constant:
            zeros.append((constant & -constant).bit_length() - 1)
        return min(*zeros, term.bits) if zeros else term.bits
    if op == "concat":
        high, low = term.args
        zeros = trailing_zeros(low)
        return zeros if zeros < low.bits else low.bits + trailing_zeros(high)
    if op in ("or", "xor"):
        return min(trailing_zeros(a) for a in term.args)
    if op == "and":
        return max(trailing_zeros(a) for a in term.args)
    if op == "ite":
        return min(trailing_zeros(a) for a in term.args[1:])
    if op == "extract" and isinstance(term.attr, int):
        return max(0, min(trailing_zeros(term.args[0]) - term.attr, term.bits))
    return 0
