"""Entry states on which a window can run: random registers, with those that make addresses set so that accesses hit memory.

Owns the choice of values. A state is one of many that a window's claim speaks of; nothing here says that a kernel reaches it.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from asmevo.ir.registers import EXEC, M0, MODE, SCC, VGPR0
from asmevo.verify.equivalence.concrete import HIGH_WORD, LANES, LDS_BYTES, MEMORY_BYTES, WaveState
from asmevo.verify.equivalence.facts import NO_FACTS, Facts
from asmevo.verify.equivalence.machine import AddressUse
from asmevo.verify.equivalence.terms import Term, cone

_SPANS = (1024, 256, 4096, 64, 16)
"""Ranges of address registers, by attempt: what a window multiplies them with is not known."""
_CORNERS = (0, 1, 2, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFF, 0xFFFF0000, 0x3C003C00, 0x7F)
_ENTRY_MODE = 0x3F0
"""Round to nearest even, all denormals, DX10_CLAMP, IEEE: a state that any kernel may be entered with."""
_DESCRIPTOR_WORD = 0x00020000
_FULL = 0xFFFFFFFF
_ALIGNED = 16

Pinned = dict[int, int | npt.NDArray[np.uint32]]


def entry_state(
    uses: Iterable[AddressUse],
    attempt: int,
    facts: Facts = NO_FACTS,
    wanted: Mapping[int, tuple[int, ...]] | None = None,
    pointers: bool = False,
) -> WaveState:
    """Return the state of `attempt`, which agrees with `facts`.

    `wanted` gives units values, one or 64 each, where no address needs another one. `pointers`: memory holds small numbers that
    are, two by two, addresses into it, for windows that load what they address with.
    """
    rng = np.random.default_rng(attempt)
    scalar = _values(rng, (256,), attempt)
    vector = _values(rng, (512, LANES), attempt + 1)
    mask = rng.integers(0, _FULL, 2, np.uint32, endpoint=True) if attempt % 3 == 2 else np.full(2, _FULL, np.uint32)
    scalar[EXEC : EXEC + 2] = mask
    scalar[M0] = _ALIGNED * int(rng.integers(0, 64))
    for unit, value in (wanted or {}).items():
        if unit >= VGPR0:
            vector[unit - VGPR0] = np.array(value, np.uint64).astype(np.uint32)
        else:
            scalar[unit] = value[0] & _FULL
    for unit, value in _pinned(uses, rng, _SPANS[attempt % len(_SPANS)]).items():
        if unit >= VGPR0:
            vector[unit - VGPR0] = value
        elif isinstance(value, int):
            scalar[unit] = value
        else:
            scalar[unit] = int(value[0])
    for unit, (zeros, ones) in facts.known.items():
        if unit >= VGPR0:
            vector[unit - VGPR0] = vector[unit - VGPR0] & np.uint32(_FULL & ~zeros) | np.uint32(ones)
        else:
            scalar[unit] = facts.apply(unit, int(scalar[unit]))
    scalar[MODE] = _ENTRY_MODE
    scalar[SCC] &= 1
    words = _values(rng, (MEMORY_BYTES // 4,), 2)
    if pointers:
        words[0::2] = words[0::2] % np.uint32(64) * np.uint32(_ALIGNED)
        words[1::2] = HIGH_WORD
    memory = words.view(np.uint8)
    lds = _values(rng, (LDS_BYTES // 4,), 2).view(np.uint8)
    return WaveState(scalar, vector, memory, lds)


def _values(rng: np.random.Generator, shape: tuple[int, ...], kind: int) -> npt.NDArray[np.uint32]:
    """Random words; corners and floats below 1.0 among them; or such floats only, which are no NaN in any format."""
    words: npt.NDArray[np.uint32] = rng.integers(0, _FULL, shape, np.uint32, endpoint=True)
    # Exponents below 1.0, in both halves too, and no byte that is a NaN of some 8-bit format.
    floats: npt.NDArray[np.uint32] = np.bitwise_or(words & np.uint32(0x87F7837F), np.uint32(0x38013801))
    if kind % 3 == 2:
        return floats
    choice = (words >> np.uint32(5)) % np.uint32(4)
    if kind % 3 == 1:
        corners = rng.choice(np.array(_CORNERS, np.uint32), shape)
        return np.where(choice == 0, corners, np.where(choice == 1, floats, words))
    return np.where(choice == 0, floats, words)


# Addresses -----------------------------------------------------------------------------------------------------------------


def _pinned(uses: Iterable[AddressUse], rng: np.random.Generator, span: int) -> Pinned:
    """What address registers hold, by unit."""
    pins = _Pins(rng, span)
    uses = list(uses)
    for use in uses:
        for word, value in zip(use.resource, (None, HIGH_WORD, MEMORY_BYTES // 2, _DESCRIPTOR_WORD), strict=False):
            if value is None:
                pins.small(word)
            else:
                pins.point(word, value)
    for use in uses:
        for address in use.addresses:
            if address.bits == 64:
                pins.base(address, HIGH_WORD)
    for use in uses:
        for address in use.addresses:
            pins.small(address)
    return pins.values


class _Pins:
    def __init__(self, rng: np.random.Generator, span: int) -> None:
        self.values: Pinned = {}
        self._rng = rng
        self._span = span
        self._seen: set[int] = set()

    def small(self, term: Term) -> None:
        """Make every register under `term` that is still free a small, aligned number."""
        for part in cone((term,)):
            if part.op == "var" and isinstance(part.attr, int) and part.bits == 32 and not EXEC <= part.attr <= EXEC + 1:
                if part.attr not in self.values and part.attr != MODE:
                    count = LANES if part.varying else 1
                    drawn = self._rng.integers(0, max(self._span // _ALIGNED, 1), count, np.uint32) * np.uint32(_ALIGNED)
                    self.values[part.attr] = drawn

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
        elif term.op == "and":
            for arg in term.args:
                self.point(arg, value)
        elif term.op == "concat":
            # A field of a register below zeros.
            self.point(term.args[1], value)
        elif term.op == "extract" and term.attr == 0:
            self.point(term.args[0], value)
        elif term.op == "extract" and term.attr == 32:
            self.base(term.args[0], value)

    def base(self, term: Term, high: int) -> None:
        """Make the upper half of a 64-bit address `high`."""
        if term.ident in self._seen:
            return
        self._seen.add(term.ident)
        if term.op == "concat":
            self.point(term.args[0], high)
        elif term.op == "ite":
            self.base(term.args[1], high)
            self.base(term.args[2], high)
        elif term.op == "sum":
            for arg in term.args:
                if arg.op in ("sum", "ite") or (arg.op == "concat" and arg.args[0].op != "const"):
                    self.base(arg, high)
                    high = 0
