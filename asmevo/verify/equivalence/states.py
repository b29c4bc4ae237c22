"""Entry states on which a window can run: random registers, with those that make addresses set so that accesses hit memory.

Owns the choice of values. A state is one of many that a window's claim speaks of; nothing here says that a kernel reaches it.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np
import numpy.typing as npt

from asmevo.ir.registers import EXEC, M0, MODE, SCC, UNIT_COUNT, VGPR0, units
from asmevo.verify.equivalence.concrete import HIGH_WORD, LANES, LDS_BYTES, MEMORY_BYTES, WaveState
from asmevo.verify.equivalence.facts import NO_FACTS, Facts
from asmevo.verify.equivalence.machine import AddressUse
from asmevo.verify.equivalence.terms import Term

_SPANS = (1024, 256, 4096, 32, 2048, 16384, 512, 64)
"""Ranges of address registers, by number: what a window multiplies them with, and what it adds, is not known."""
_CORNERS = np.array((0, 1, 2, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFF, 0xFFFF0000, 0x3C003C00, 0x7F), np.uint32)
_ENTRY_MODE = 0x3F0
"""Round to nearest even, all denormals, DX10_CLAMP, IEEE: a state that any kernel may be entered with."""
_DESCRIPTOR_WORD = 0x00020000
_FULL = 0xFFFFFFFF
_ALIGNED = 16
_IMAGES = 16
"""How many different contents of memory there are."""
_TAGGED, _SOME = 2, 3
"""In which of four, of those with pointers, their upper 16 bits are any, and half of the pointers are none."""
_TOGETHER = 8
"""How many states are drawn at once: the first look at a difference takes so many."""
_COUNTING, _MEETING, _CARRYING, _STRIDING = 4, 5, 6, 7
"""Which states have small numbers only, lanes that meet (both of sixteen), addresses that carry, buffers with a stride."""
_ANY_SIZE, _COMPUTING = 12, 13
"""Which of sixteen states have numbers of any size, and work-item numbers (each fourth) where addresses are computed."""
_ALSO_MEETING = 8
_UNMASKED, _MULTIPLES, _PULLED = 9, 10, 11
"""Which of sixteen have bits set that an address masks away, numbers that divide each other, and addresses back in range."""
_FAR = MEMORY_BYTES // 2
_COUNT = 64
_ITEMS = 256
_SELECTORS = 0x07070707
"""Bytes that select one of eight; of other scalars, those that a permutation selects constants with are most."""
_ABOVE = 0x100
"""How far below the upper half's next value such addresses are; the buffer begins further down (`backend.emulator.layout`)."""
_STRIDE = 16
_EVERY_VECTOR = (1 << UNIT_COUNT) - (1 << VGPR0)

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class _Block:
    """What is drawn for several states at once, one row each, before anything is known or wanted of them."""

    scalars: Words
    vectors: Words
    masks: Words
    small: Words


class EntryStates:
    """The states of one pair of windows, by number; they agree with `facts`.

    `uses` are the addresses of both windows. `needed` are the units whose values matter; other vector registers are 0.
    """

    def __init__(self, uses: Iterable[AddressUse], facts: Facts = NO_FACTS, needed: int = _EVERY_VECTOR) -> None:
        self._facts = facts
        uses = list(uses)
        found = _pinned(uses)
        pins = found.values
        self._lows = [unit for unit in found.lows if unit < VGPR0 and pins.get(unit, 0) is None]
        self._strides = found.strides
        self._distances = _distances(uses)
        self._far = _far(uses)
        self._masked = found.masked
        self._fixed = [(unit, value) for unit, value in pins.items() if value is not None]
        small = sorted(unit for unit, value in pins.items() if value is None)
        self._small_scalars = np.array([unit for unit in small if unit < VGPR0], np.intp)
        self._small_rows = np.array([unit - VGPR0 for unit in small if unit >= VGPR0], np.intp)
        pinned = sum(1 << unit for unit in pins)
        self._rows = np.array([unit - VGPR0 for unit in units((needed | pinned) & _EVERY_VECTOR)], np.intp)
        self._drawn: tuple[int, _Block] | None = None

    def state(self, number: int, wanted: Mapping[int, tuple[int, ...]] | None = None, pointers: bool = False) -> WaveState:
        """Return state `number`.

        `wanted` gives units values, one or 64 each, where no address needs another one. `pointers`: memory holds small numbers
        that are, two by two, addresses into it, for windows that load what they address with.
        """
        block, k = self._block(number // _TOGETHER), number % _TOGETHER
        scalar = block.scalars[k].copy()
        vector = np.zeros((UNIT_COUNT - VGPR0, LANES), np.uint32)
        vector[self._rows] = block.vectors[k]
        scalar[EXEC : EXEC + 2] = block.masks[k] if number % 3 == 2 else _FULL
        scalar[M0] = scalar[M0] % 64 * _ALIGNED
        for unit, value in (wanted or {}).items():
            if unit >= VGPR0:
                vector[unit - VGPR0] = np.array(value, np.uint64).astype(np.uint32)
            else:
                scalar[unit] = value[0] & _FULL
        scalars = len(self._small_scalars)
        lanes = block.small[k, scalars:].reshape(-1, LANES)
        shared = block.small[k, :scalars]
        if number % 16 == _COMPUTING:
            shared = 0
            lanes = lanes // np.uint32(_ALIGNED) % np.uint32(_ITEMS) * np.uint32(4)
        elif number % 16 in (_MEETING, _ALSO_MEETING):
            shared, lanes = self._meeting(shared, number), self._meeting(lanes, number)
        scalar[self._small_scalars] = shared
        vector[self._small_rows] = lanes
        carries = number % 8 == _CARRYING and bool(self._lows)
        if carries:
            scalar[self._lows] = scalar[self._lows] % np.uint32(_ABOVE) + np.uint32(_FULL + 1 - _ABOVE)
        for unit, pinned in self._fixed:
            value = pinned
            if carries and value == HIGH_WORD:
                value -= 1
            if number % 8 == _STRIDING and unit in self._strides:
                value = value | _STRIDE << 16 if value == HIGH_WORD else value // _STRIDE
            if unit >= VGPR0:
                vector[unit - VGPR0] = value
            else:
                scalar[unit] = value
        if number % 16 == _UNMASKED:
            for unit, mask in self._masked.items():
                if unit >= VGPR0:
                    vector[unit - VGPR0] |= block.scalars[k, :LANES] & np.uint32(_FULL & ~mask)
                else:
                    scalar[unit] |= block.scalars[k, unit] & np.uint32(_FULL & ~mask)
        elif number % 16 == _PULLED:
            for unit, offsets in self._far.items():
                offset = np.uint32(offsets[number // 16 % len(offsets)])
                if unit >= VGPR0:
                    vector[unit - VGPR0] -= offset
                else:
                    scalar[unit : unit + 1] -= offset
        for unit, (zeros, ones) in self._facts.known.items():
            if unit >= VGPR0:
                vector[unit - VGPR0] = vector[unit - VGPR0] & np.uint32(_FULL & ~zeros) | np.uint32(ones)
            else:
                scalar[unit] = self._facts.apply(unit, int(scalar[unit]))
        scalar[MODE] = _ENTRY_MODE
        scalar[SCC] &= 1
        return WaveState(scalar, vector, *_contents(number // _TOGETHER % _IMAGES, pointers), self._rows)

    def _meeting(self, small: Words, number: int) -> Words:
        """Numbers that are 0 or as far apart as two accesses are: what one of them touches, the other may touch too."""
        if not self._distances:
            return small
        distance = self._distances[number // 8 % len(self._distances)]
        return small // np.uint32(_ALIGNED) % np.uint32(2) * np.uint32(distance)

    def _block(self, index: int) -> _Block:
        """Draw the states from `index` * _TOGETHER on; the last block is kept."""
        if self._drawn is None or self._drawn[0] != index:
            rng = np.random.default_rng(index)
            rows, small = len(self._rows), len(self._small_scalars) + LANES * len(self._small_rows)
            scalars, vectors = _words(rng, _TOGETHER, 256), _words(rng, _TOGETHER, rows * LANES)
            masks, most = _words(rng, _TOGETHER, 2), _words(rng, _TOGETHER, small)
            for k in range(_TOGETHER):
                number = index * _TOGETHER + k
                scalars[k], vectors[k] = _shaped(scalars[k], number), _shaped(vectors[k], number, 1)
                if number % 8 == _MEETING:
                    scalars[k] &= np.uint32(_SELECTORS)
                most[k] = most[k] % np.uint32(max(_SPANS[number % len(_SPANS)] // _ALIGNED, 1)) * np.uint32(_ALIGNED)
            self._drawn = index, _Block(scalars, vectors.reshape(_TOGETHER, rows, LANES), masks, most)
        return self._drawn[1]


@lru_cache(maxsize=2 * _IMAGES)
def _contents(number: int, pointers: bool) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return what is in memory and in LDS at entry; not to be changed."""
    rng = np.random.default_rng((number, 1))
    kind = number if number % 4 == 3 else 2
    words, local = (_shaped(_words(rng, 1, size // 4)[0], kind) for size in (MEMORY_BYTES, LDS_BYTES))
    if pointers:
        words[0::2] = words[0::2] % np.uint32(64) * np.uint32(_ALIGNED)
        upper = words[1::2]
        if number % 4 == _TAGGED:
            upper = upper & np.uint32(0xFFFF0000) | np.uint32(HIGH_WORD)
        elif number % 4 == _SOME:
            upper = np.where(upper % 2 == 0, np.uint32(HIGH_WORD), upper)
        else:
            upper = np.uint32(HIGH_WORD)
        words[1::2] = upper
    memory, lds = words.view(np.uint8), local.view(np.uint8)
    memory.flags.writeable = lds.flags.writeable = False
    return memory, lds


def _words(rng: np.random.Generator, count: int, size: int) -> Words:
    return rng.integers(0, _FULL, (count, size), np.uint32, endpoint=True)


def _shaped(words: Words, number: int, shift: int = 0) -> Words:
    """Random words as a state has them: of any size, small, corners and floats below 1.0 among them, or such floats only.

    `shift` changes which of the last three.
    """
    if number % 16 == _COUNTING:
        return words % np.uint32(_COUNT)
    if number % 16 == _MULTIPLES:
        return (words % np.uint32(8) + np.uint32(1)) << (words >> np.uint32(8)) % np.uint32(16)
    if number % 16 == _ANY_SIZE:
        return words >> (words % np.uint32(32))
    # Exponents below 1.0, in both halves too, and no byte that is a NaN of some 8-bit format.
    floats: Words = np.bitwise_or(words & np.uint32(0x87F7837F), np.uint32(0x38013801))
    kind = (number + shift) % 3
    if kind == 2:
        return floats
    choice = words >> np.uint32(5) & np.uint32(3)
    shaped = np.where(choice == 0, floats, words)
    if kind == 1:
        corners = _CORNERS[(words >> np.uint32(7) & np.uint32(0xFF)) % np.uint32(len(_CORNERS))]
        return np.where(choice == 1, corners, shaped)
    return shaped


# Addresses -----------------------------------------------------------------------------------------------------------------


def _distances(uses: Sequence[AddressUse]) -> list[int]:
    """How far the constant parts of addresses lie apart, of accesses that follow each other, the likeliest first.

    Those are the ones that stand in another order in the other window, then those that follow each other in one window only.
    """
    # The last address of a load to LDS is where it writes.
    addresses = [use.addresses for use in uses if use.addresses]
    pairs = Counter(
        (a.ident, b.ident) for one, other in itertools.pairwise(addresses) for a in one for b in other if a.bits == b.bits
    )
    offsets = {address.ident: _offset(address) for found in addresses for address in found}
    most = LDS_BYTES - max(offsets.values(), default=0) - _ALIGNED
    ranked = sorted(pairs, key=lambda pair: ((pair[1], pair[0]) not in pairs, pairs[pair] % 2 == 0, pair))
    apart = (abs(offsets[a] - offsets[b]) for a, b in ranked)
    return list(dict.fromkeys(d for d in apart if 0 < d < most and d % 4 == 0))


def _far(uses: Sequence[AddressUse]) -> dict[int, list[int]]:
    """The constants, by the first register that they are added to, which put a small number out of the buffer's range."""
    found: dict[int, set[int]] = {}
    for use in uses:
        for address in use.addresses:
            summed = _summed(_inner(address))
            if summed and _offset(address) >= _FAR:
                found.setdefault(summed[0], set()).add(_offset(address))
    return {unit: sorted(constants) for unit, constants in found.items()}


def _summed(address: Term) -> list[int]:
    """The 32-bit entry registers of a sum that are added as they are."""
    if address.op != "sum" or address.bits != 32:
        return []
    _, factors = cast("tuple[int, tuple[int, ...]]", address.attr)
    terms = zip(address.args, factors, strict=True)
    return [t.attr for t, factor in terms if factor == 1 and t.op == "var" and isinstance(t.attr, int)]


def _inner(address: Term) -> Term:
    """The term whose low bits an address is."""
    while address.op in ("and", "zext") or (address.op == "extract" and address.attr == 0):
        address = next((arg for arg in address.args if not arg.is_const), address.args[0])
    return address


def _offset(address: Term) -> int:
    address = _inner(address)
    if address.op == "const":
        return address.value
    if address.op != "sum":
        return 0
    constant, _ = cast("tuple[int, tuple[int, ...]]", address.attr)
    return constant


def _pinned(uses: Sequence[AddressUse]) -> _Pins:
    """What address registers must hold, by unit; None is any small aligned number."""
    pins = _Pins()
    for use in uses:
        for word, value in zip(use.resource, (None, HIGH_WORD, MEMORY_BYTES // 2, _DESCRIPTOR_WORD), strict=False):
            if value is None:
                pins.small(word)
                pins.low(word)
            else:
                known = set(pins.values)
                pins.point(word, value)
                if value != _DESCRIPTOR_WORD:
                    pins.strides |= pins.values.keys() - known
    for use in uses:
        for address in use.addresses:
            if address.bits == 64:
                pins.base(address, HIGH_WORD)
    for use in uses:
        for address in use.addresses:
            pins.small(address)
    return pins


class _Pins:
    """`lows` are the lower halves of addresses, `strides` registers that hold a buffer's stride or size.

    `masked` are the bits that a mask leaves of registers.
    """

    def __init__(self) -> None:
        self.values: dict[int, int | None] = {}
        self.lows: set[int] = set()
        self.strides: set[int] = set()
        self.masked: dict[int, int] = {}
        self._based: set[int] = set()
        self._small: set[int] = set()

    def small(self, term: Term) -> None:
        """Make every register under `term` that is still free a small, aligned number."""
        stack = [term]
        while stack:
            part = stack.pop()
            if part.ident in self._small:
                continue
            self._small.add(part.ident)
            if part.op == "lane_bit":
                continue  # of a lane mask, all bits
            stack.extend(part.args)
            if part.op == "and":
                self.mask(part)
            if part.op == "var" and isinstance(part.attr, int) and part.bits == 32:
                if not EXEC <= part.attr <= EXEC + 1 and part.attr != MODE:
                    self.values.setdefault(part.attr, None)

    def mask(self, term: Term) -> None:
        """Note which bits of its registers a mask leaves."""
        for left in [arg.value for arg in term.args if arg.is_const]:
            for arg in term.args:
                if arg.op == "var" and isinstance(arg.attr, int) and arg.bits == 32:
                    self.masked[arg.attr] = self.masked.get(arg.attr, 0) | left

    def point(self, term: Term, value: int) -> None:
        """Make a 32-bit term `value` where one of its registers can."""
        if term.op == "var" and isinstance(term.attr, int):
            self.values.setdefault(term.attr, value)
        elif term.op == "ite":
            self.point(term.args[1], value)
            self.point(term.args[2], value)
        elif term.op == "sum":
            rest = value
            for arg in term.args:
                if arg.op in ("var", "ite", "extract"):
                    self.point(arg, rest)
                    rest = 0
        elif term.op in ("and", "or"):
            for arg in term.args:
                self.point(arg, value)
        elif term.op == "concat":
            # A field of a register below zeros.
            self.point(term.args[1], value)
        elif term.op == "extract" and term.attr == 0:
            self.point(term.args[0], value)
        elif term.op == "extract" and term.attr == 32:
            self.base(term.args[0], value)

    def low(self, term: Term) -> None:
        """Take the first register of a term as the lower half of an address."""
        if term.op == "var" and isinstance(term.attr, int):
            self.lows.add(term.attr)
        elif term.op in ("sum", "and") and term.args:
            self.low(term.args[0])

    def base(self, term: Term, high: int) -> None:
        """Make the upper half of a 64-bit address `high`."""
        if term.ident in self._based:
            return
        self._based.add(term.ident)
        if term.op == "concat":
            self.point(term.args[0], high)
            self.low(term.args[1])
        elif term.op == "ite":
            self.base(term.args[1], high)
            self.base(term.args[2], high)
        elif term.op == "sum":
            for arg in term.args:
                if arg.op in ("sum", "ite") or (arg.op == "concat" and arg.args[0].op != "const"):
                    self.base(arg, high)
                    high = 0
