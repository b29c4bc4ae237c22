"""The abstract values of registers: an integer form, known bits and an interval, all at once.

A value's form is the integer  const + sum(coefficient * symbol) + table[lane]:  symbols stand for what all lanes share (or are
marked divergent), the table for the part that depends on the lane number alone. Known bits and the interval hold for the
register's bits, unsigned, in every lane described. Owns the values and the arithmetic on their forms; what operations mean is
in `domain` and `abstract`, where values come from in `values`.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from asmevo.ir.semantics.expr import Op

LANES = 64
Table = npt.NDArray[np.int64]
_LARGE = 1 << 62
_KNOWN_TABLES = 1 << 12


class Kind(enum.Enum):
    """What a symbol stands for."""

    KERNARG = "kernarg"
    """A dword of the kernarg segment; `detail` is its byte offset."""
    KERNARG_BASE = "kernarg base"
    WORKGROUP = "workgroup id"
    WAVE = "wave"
    """The number of the wave in its work-group."""
    WORKITEM = "work-item id"
    ENTRY = "entry"
    """Another register's value where waves start; its `detail` is the unit."""
    SITE = "site"
    """The result of an instruction that has no form; new each time it runs. `detail`: a wave mask's Ballot."""
    PHI = "phi"
    """What a register holds at a block where paths meet; `detail` is its Place."""
    QUOTIENT = "quotient"
    """floor(form / 2^k)."""
    SIGN = "sign"
    """0 or -1: the sign of a value."""
    COUNTER = "loop counter"
    """How often a loop's back edge was taken since it was entered; `detail` is the header's label."""
    CONDITION = "condition"
    """A comparison, 0 or 1; `detail` is its Comparison."""


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """An integer that is not known. `low` and `high` bound it, None where nothing is known; `name` is how it is printed."""

    kind: Kind
    name: str
    low: int | None
    high: int | None
    divergent: bool = False
    trailing_zeros: int = 0
    detail: object = None


Terms = tuple[tuple[Symbol, int], ...]


class Value(NamedTuple):
    """One register value of `bits` bits. A named tuple, since these are made by the hundred thousand.

    `terms` is None when the value has no form; `divergent` says then whether lanes may differ. `exact`: the form is the
    unsigned value itself, not only equal to it modulo 2^bits. `zeros` and `ones` are the bits known, `low` and `high` the
    interval.
    """

    bits: int
    const: int
    terms: Terms | None
    table: Table | None
    exact: bool
    zeros: int
    ones: int
    low: int
    high: int
    divergent: bool

    @property
    def is_concrete(self) -> bool:
        """True when every lane's value is known."""
        return self.terms == ()

    @property
    def is_constant(self) -> bool:
        """True when the value is one known number."""
        return self.terms == () and self.table is None


@dataclass(frozen=True, slots=True)
class Place:
    """A register where paths meet: the block's label and the unit."""

    label: str
    unit: int


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The two sides that a condition compares by EQ, ULT or SLT."""

    operation: Op
    first: Value
    second: Value


@dataclass(frozen=True, slots=True, eq=False)
class Ballot:
    """What a wave mask was made of: `bit` in the lanes of `lanes` (EXEC as it was), 0 in all others."""

    bit: Value
    lanes: Value
    full: bool


def constant(bits: int, number: int) -> Value:
    """The value that is `number` modulo 2^bits in every lane."""
    full = (1 << bits) - 1
    number &= full
    return Value(bits, number, (), None, True, full ^ number, number, number, number, False)


def unknown(bits: int, divergent: bool, *, zeros: int = 0, ones: int = 0, low: int = 0, high: int | None = None) -> Value:
    """A value without form; the constant where all its bits are known."""
    full = (1 << bits) - 1
    high = full if high is None else min(high, full)
    zeros |= full ^ ((1 << high.bit_length()) - 1)
    if zeros | ones == full:
        return constant(bits, ones)
    return Value(bits, 0, None, None, False, zeros, ones, max(low, ones), min(high, full & ~zeros), divergent)


def of_symbol(symbol: Symbol, bits: int) -> Value:
    """The value whose form is one symbol."""
    full = (1 << bits) - 1
    if symbol.low is None or symbol.high is None or symbol.low < 0 or symbol.high > full:
        return Value(bits, 0, ((symbol, 1),), None, False, 0, 0, 0, full, symbol.divergent)
    zeros = full ^ ((1 << symbol.high.bit_length()) - 1) | (1 << symbol.trailing_zeros) - 1
    return Value(bits, 0, ((symbol, 1),), None, True, zeros & full, 0, symbol.low, symbol.high, symbol.divergent)


class TableFacts(NamedTuple):
    """What is asked of a table again and again: its least and greatest number, the OR and the AND of all."""

    low: int
    high: int
    some: int
    every: int


def facts_of(table: Table) -> TableFacts:
    """The facts of a table, which must not change afterwards."""
    # Tables are passed on from value to value: their identities are a key that costs nothing.
    known = _table_facts()
    found = known.get(id(table))
    if found is None:
        numbers: list[int] = table.tolist()
        some, every = int(np.bitwise_or.reduce(table)), int(np.bitwise_and.reduce(table))
        if len(known) >= _KNOWN_TABLES:
            known.clear()
        found = known[id(table)] = TableFacts(min(numbers), max(numbers), some, every), table
    return found[0]


@cache
def _table_facts() -> dict[int, tuple[TableFacts, Table]]:
    return {}


def signed_remainder(number: int, bits: int) -> int:
    """`number` modulo 2^bits, in (-2^(bits-1), 2^(bits-1)]."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number > 1 << (bits - 1) else number


def _signed_table(table: Table, bits: int) -> Table:
    if bits >= 63:
        return table
    facts, middle = facts_of(table), 1 << (bits - 1)
    if -middle < facts.low and facts.high <= middle:
        return table
    half = np.int64(middle)
    reduced = table & np.int64((1 << bits) - 1)
    return np.where(reduced > half, reduced - np.int64(1 << bits), reduced)


def span(const: int, terms: Terms, table: Table | None) -> tuple[int, int] | None:
    """The least and greatest integer that a form can be; None when a symbol has no bounds."""
    low = high = const
    for symbol, factor in terms:
        least, most = symbol.low, symbol.high
        if least is None or most is None:
            return None
        if factor < 0:
            least, most = most, least
        low += factor * least
        high += factor * most
    if table is not None:
        facts = facts_of(table)
        low, high = low + facts.low, high + facts.high
    return low, high


def trailing_zeros(number: int) -> int:
    """How many low bits of a number are 0; 64 for 0."""
    return (number & -number).bit_length() - 1 if number else 64


def make(
    bits: int,
    const: int,
    terms: Terms,
    table: Table | None = None,
    *,
    exact: bool = False,
    zeros: int = 0,
    ones: int = 0,
    low: int = 0,
    high: int | None = None,
) -> Value:
    """The value of a form, with what is known besides; fills in what the form itself tells."""
    full = (1 << bits) - 1
    if table is not None:
        facts = facts_of(table)
        if facts.low == facts.high:
            const, table = const + facts.low, None
    if not terms and table is None:
        return constant(bits, const)
    if not exact:
        const = signed_remainder(const, bits)
        middle = 1 << (bits - 1)
        for _, factor in terms:
            if not (factor and -middle < factor <= middle):
                terms = tuple((s, r) for s, f in terms if (r := signed_remainder(f, bits)))
                break
        table = None if table is None else _signed_table(table, bits)
    if not terms:
        if table is None:
            return constant(bits, const)
        return unknown(bits, True) if abs(const) >= _LARGE else concrete(bits, table + np.int64(const))
    high = full if high is None else min(high, full)
    bounds = span(const, terms, table)
    if bounds is not None and bounds[0] >= 0 and bounds[1] <= full:
        exact = True
        if bounds[0] > low:
            low = bounds[0]
        if bounds[1] < high:
            high = bounds[1]
    # Bits below the lowest that any part can change: those are the constant's.
    moving = 0 if table is None else facts_of(table).some
    divergent = table is not None
    for symbol, factor in terms:
        moving |= factor << symbol.trailing_zeros
        divergent = divergent or symbol.divergent
    known = ((moving & -moving) - 1) & full if moving else full
    if known:
        ones |= const & known
        zeros |= ~const & known
    zeros |= full ^ ((1 << high.bit_length()) - 1)
    if zeros | ones == full:
        return constant(bits, ones)
    if low == high:
        return constant(bits, low)
    if ones > low:
        low = ones
    if full & ~zeros < high:
        high = full & ~zeros
    return Value(bits, const, terms, table, exact, zeros, ones, low, high, divergent)


def concrete(bits: int, table: Table) -> Value:
    """The value that is `table[lane]` modulo 2^bits, shape (64,) int64."""
    full = (1 << bits) - 1
    facts = facts_of(table)
    if bits >= 63:
        if facts.low < 0 or bits > 64:
            return unknown(bits, True)
    elif facts.low < 0 or facts.high > full:
        table = table & np.int64(full)
        facts = facts_of(table)
    if facts.low == facts.high:
        return constant(bits, facts.low)
    return Value(bits, 0, (), table, True, full & ~facts.some, facts.every, facts.low, facts.high, True)


def add_terms(first: Terms, second: Terms, factor: int = 1) -> Terms:
    """First + factor * second, like symbols collected, in the order met."""
    if not second:
        return first
    if not first and factor == 1:
        return second
    sums = dict(first)
    for symbol, f in second:
        total = sums.get(symbol, 0) + factor * f
        if total:
            sums[symbol] = total
        else:
            sums.pop(symbol, None)
    return tuple(sums.items())


def scale_terms(terms: Terms, factor: int) -> Terms:
    """Factor * terms."""
    return tuple((symbol, f * factor) for symbol, f in terms) if factor != 1 else terms


def add_tables(first: Table | None, second: Table | None, factor: int = 1) -> Table | None:
    """First + factor * second, None being zeros."""
    if second is None:
        return first
    scaled = second if factor == 1 else second * np.int64(factor)
    return scaled if first is None else first + scaled


def too_large(table: Table | None, factor: int) -> bool:
    """True when a table times `factor` may leave 64 bits."""
    if table is None:
        return False
    facts = facts_of(table)
    return max(-facts.low, facts.high) * abs(factor) >= _LARGE


def same(first: Value, second: Value) -> bool:
    """True when both are surely equal: the same form."""
    if first is second:
        return True
    if first.terms is None or second.terms is None or first.const != second.const or first.bits != second.bits:
        return False
    if first.terms != second.terms and dict(first.terms) != dict(second.terms):
        return False
    if first.exact != second.exact and first.terms:
        return False
    if first.table is None or second.table is None:
        return first.table is second.table
    return bool(np.array_equal(first.table, second.table))


def form_key(const: int, terms: Terms, table: Table | None) -> object:
    """A key equal for equal forms."""
    return const, frozenset(terms), None if table is None else table.tobytes()


def describe_form(const: int, terms: Iterable[tuple[Symbol, int]], table: Table | None) -> str:
    """The form as text: `kernarg[0x8] + 4*wave + 16*lane + 32`."""
    parts: list[str] = []
    for symbol, factor in terms:
        name = symbol.name if symbol.kind in _ATOMS else f"({symbol.name})"
        parts.append(name if factor == 1 else f"-{name}" if factor == -1 else f"{factor}*{name}")
    if table is not None:
        step, first = int(table[1] - table[0]), int(table[0])
        const += first
        regular = np.array_equal(table, np.arange(LANES, dtype=np.int64) * step + first)
        parts.append((f"{step}*lane" if step != 1 else "lane") if regular else "f(lane)")
    if const or not parts:
        parts.append(str(const))
    return " + ".join(parts).replace("+ -", "- ")


_ATOMS = frozenset(
    {Kind.KERNARG, Kind.KERNARG_BASE, Kind.WORKGROUP, Kind.WAVE, Kind.WORKITEM, Kind.ENTRY, Kind.SITE, Kind.PHI, Kind.COUNTER}
)
