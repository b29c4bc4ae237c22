"""The abstract contents of all registers at one point, and how they are read.

Owns the representation: 64-bit results stay whole over two registers, and what has no form becomes a symbol only when
read. It must not know programs or paths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from asmevo.ir.analysis.values.domain import Domain
from asmevo.ir.analysis.values.entry import Entry
from asmevo.ir.analysis.values.value import Ballot, Kind, Place, Symbol, Value, of_symbol, unknown
from asmevo.ir.registers import EXEC, EXECZ, SCC, VCCZ, VGPR0, unit_name

DEFAULT = -1
"""The key of what a register without an entry of its own holds."""


class Origin(NamedTuple):
    """A register content without form, not yet read: the result of an instruction, or what meets at a block (index -1)."""

    label: str
    at: int
    divergent: bool


class Half(NamedTuple):
    """One register of a 64-bit value: part 0 or 1."""

    value: Value
    part: int


Content = Value | Origin | Half


@dataclass(slots=True)
class State:
    """Contents by unit. `partial`: VGPRs written while EXEC may have been narrower than at entry."""

    contents: dict[int, Content]
    partial: int = 0

    def copy(self) -> State:
        """A state that may be changed without changing this one."""
        return State(dict(self.contents), self.partial)


@dataclass(slots=True)
class Reader:
    """Turns contents into values; the same content always into the same symbol."""

    domain: Domain
    entry: Entry
    _made: dict[tuple[Origin | None, int], Value] = field(default_factory=dict[tuple[Origin | None, int], Value])
    _results: dict[tuple[str, int, int], Symbol] = field(default_factory=dict[tuple[str, int, int], Symbol])
    _halves: dict[tuple[int, int], tuple[Value, Value]] = field(default_factory=dict[tuple[int, int], tuple[Value, Value]])
    """By a whole value's identity and the part: the whole, which keeps the identity its own, and the half."""
    _pairs: dict[tuple[int, int, int], tuple[Content | None, Content | None, Value]] = field(
        default_factory=dict[tuple[int, int, int], "tuple[Content | None, Content | None, Value]"]
    )
    """Likewise by unit and the identities of two contents."""

    def start(self) -> State:
        """The state where waves start."""
        contents: dict[int, Content] = dict(self.entry.singles)
        for unit, value in self.entry.pairs.items():
            contents[unit], contents[unit + 1] = Half(value, 0), Half(value, 1)
        return State(contents)

    def unit(self, state: State, unit: int) -> Value:
        """The 32 bits of one register (SCC: 1 bit)."""
        content = state.contents.get(unit)
        if content is None:
            content = state.contents.get(DEFAULT)
        if unit in (VCCZ, EXECZ):
            return unknown(32, False, high=1)
        return self.of(content, unit)

    def of(self, content: Content | None, unit: int) -> Value:
        """The value of a content; None is the value at entry."""
        if isinstance(content, Value):
            return content
        if isinstance(content, Half):
            key = id(content.value), content.part
            half = self._halves.get(key)
            if half is None:
                half = self._halves[key] = (content.value, self.domain.extract(content.value, 32 * content.part, 32))
            return half[1]
        found = self._made.get((content, unit))
        if found is None:
            found = self._made[content, unit] = self._make(content, unit)
        return found

    def _make(self, content: Origin | None, unit: int) -> Value:
        bits = 1 if unit == SCC else 32
        vector = unit >= VGPR0
        name = unit_name(unit)
        if content is None:
            symbol = Symbol(Kind.ENTRY, f"{name} at entry", 0, (1 << bits) - 1, vector, 0, unit)
        elif content.at < 0:
            name = f"{name} at {content.label}"
            symbol = Symbol(Kind.PHI, name, 0, (1 << bits) - 1, content.divergent and vector, 0, Place(content.label, unit))
        else:
            name = f"{name} of {content.label}+{content.at}"
            divergent = content.divergent and vector
            symbol = Symbol(Kind.SITE, name, 0, (1 << bits) - 1, divergent)
        return of_symbol(symbol, bits)

    def result(self, label: str, index: int, unit: int, value: Value) -> Symbol:
        """The symbol of an instruction's result that has no form, with the bounds of `value`."""
        symbol = self._results.get((label, index, unit))
        if symbol is None:
            name = f"{unit_name(unit)} of {label}+{index}"
            divergent = value.divergent and unit >= VGPR0
            symbol = Symbol(Kind.SITE, name, value.low, value.high, divergent)
            self._results[label, index, unit] = symbol
        return symbol

    def mask(self, label: str, index: int, unit: int, ballot: Ballot) -> Symbol:
        """The symbol of a wave mask that a vector instruction makes."""
        symbol = self._results.get((label, index, unit))
        if symbol is None:
            symbol = Symbol(Kind.SITE, f"mask of {label}+{index}", 0, (1 << 64) - 1, False, 0, ballot)
            self._results[label, index, unit] = symbol
        return symbol

    def pair(self, state: State, unit: int) -> Value:
        """The 64 bits of two registers."""
        contents = state.contents
        low, high = contents.get(unit), contents.get(unit + 1)
        if isinstance(low, Half) and isinstance(high, Half) and low.value is high.value and (low.part, high.part) == (0, 1):
            return low.value
        low = contents.get(DEFAULT) if low is None else low
        high = contents.get(DEFAULT) if high is None else high
        key = unit, id(low), id(high)
        found = self._pairs.get(key)
        if found is None:
            value = self.domain.concat(self.unit(state, unit + 1), self.unit(state, unit))
            found = self._pairs[key] = (low, high, value)
        return found[2]

    def exec_is_full(self, state: State) -> bool:
        """True when EXEC surely has every lane that the launch fills."""
        value = self.pair(state, EXEC)
        return value.terms == ((self.entry.exec_symbol, 1),) or (value.is_constant and value.const == (1 << 64) - 1)
