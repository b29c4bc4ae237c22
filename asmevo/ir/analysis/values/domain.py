"""Arithmetic on abstract values: one rule for each integer operation, on form, known bits and interval together.

Owns the rules and the symbols they make; equal symbols are made once, so that what cancels does cancel. It must not know
expressions' leaves, opcodes, registers or paths.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from asmevo.ir.analysis.values.value import (
    LANES,
    Comparison,
    Kind,
    Symbol,
    Table,
    Terms,
    Value,
    add_tables,
    add_terms,
    concrete,
    constant,
    describe_form,
    form_key,
    make,
    of_symbol,
    same,
    scale_terms,
    signed_remainder,
    span,
    too_large,
    trailing_zeros,
    unknown,
)
from asmevo.ir.semantics.expr import Op

_MAX_TERMS = 16


@dataclass(slots=True)
class Domain:
    """The operations on values, and the symbols that they have made: equal ones are made once."""

    symbols: dict[object, Symbol] = field(default_factory=dict[object, Symbol])

    def quotient(self, shift: int, const: int, terms: Terms, table: Table | None) -> tuple[int, Terms, Table | None]:
        """floor(form / 2^shift) as a form: exact parts are divided, the rest is a symbol unless it is known."""
        step = 1 << shift
        rest_const = const & (step - 1)
        whole_const = const >> shift
        whole: list[tuple[Symbol, int]] = []
        rest: list[tuple[Symbol, int]] = []
        for symbol, factor in terms:
            remainder = signed_remainder(factor, shift) if shift else 0
            if factor != remainder:
                whole.append((symbol, (factor - remainder) >> shift))
            if remainder:
                rest.append((symbol, remainder))
        if not rest:
            if table is None:
                return whole_const, tuple(whole), None
            return whole_const, tuple(whole), (table + np.int64(rest_const)) >> np.int64(min(shift, 63))
        if table is not None and shift < 62:
            whole_table, table = table >> np.int64(shift), table & np.int64(step - 1)
        else:
            whole_table = None
        remaining = tuple(rest)
        common = min(trailing_zeros(factor) for _, factor in remaining)
        if common and (table is None or shift < 62):
            # floor((2^c * x + y) / 2^s) = floor((x + floor(y / 2^c)) / 2^(s - c)), so that equal quotients look equal.
            shift -= common
            remaining = tuple((symbol, factor >> common) for symbol, factor in remaining)
            if table is not None:
                table, rest_const = (table + np.int64(rest_const)) >> np.int64(common), 0
            else:
                rest_const >>= common
        bounds = span(rest_const, remaining, table)
        if bounds is not None and bounds[0] >> shift == bounds[1] >> shift:
            return whole_const + (bounds[0] >> shift), tuple(whole), whole_table
        low = high = None
        if bounds is not None:
            low, high = bounds[0] >> shift, bounds[1] >> shift
        key = (Kind.QUOTIENT, shift, form_key(rest_const, remaining, table))
        symbol = self.symbols.get(key)
        if symbol is None:
            divergent = table is not None or any(s.divergent for s, _ in remaining)
            name = f"({describe_form(rest_const, remaining, table)}) >> {shift}"
            symbol = self.symbols[key] = Symbol(Kind.QUOTIENT, name, low, high, divergent)
        return whole_const, add_terms(tuple(whole), ((symbol, 1),)), whole_table

    def as_exact(self, value: Value) -> tuple[int, Terms, Table | None]:
        """The form of the value's unsigned integer: modular forms get the multiple of 2^bits that they lack."""
        assert value.terms is not None
        if value.exact:
            return value.const, value.terms, value.table
        const, terms, table = self.quotient(value.bits, value.const, value.terms, value.table)
        top = 1 << value.bits
        return (
            value.const - top * const,
            add_terms(value.terms, terms, -top),
            add_tables(value.table, table, -top) if value.bits < 62 else value.table,
        )

    def zext(self, a: Value, bits: int) -> Value:
        """`a` with zeros above."""
        if bits == a.bits:
            return a
        above = (1 << bits) - (1 << a.bits)
        if a.terms is None or (a.bits > 62 and a.table is not None):
            return unknown(bits, a.divergent, zeros=a.zeros | above, ones=a.ones, low=a.low, high=a.high)
        const, terms, table = self.as_exact(a)
        if len(terms) > _MAX_TERMS:
            return unknown(bits, a.divergent, zeros=a.zeros | above, ones=a.ones, low=a.low, high=a.high)
        return make(bits, const, terms, table, exact=True, zeros=a.zeros | above, ones=a.ones, low=a.low, high=a.high)

    def sext(self, a: Value, bits: int) -> Value:
        """`a` with its sign above."""
        if a.high < 1 << (a.bits - 1) or a.bits == bits:
            return self.zext(a, bits)
        if a.is_constant:
            return constant(
                bits, signed_remainder(a.const, a.bits) if a.const != 1 << (a.bits - 1) else a.const - (1 << a.bits)
            )
        if a.is_concrete and a.bits <= 62:
            top = np.int64(1 << (a.bits - 1))
            return concrete(bits, (table_of(a) ^ top) - top)
        if not a.terms:
            return unknown(bits, a.divergent)
        wide = self.zext(a, bits)
        if wide.terms is None:
            return unknown(bits, a.divergent)
        sign = self.sign(a)
        assert sign.terms is not None
        return make(bits, wide.const, add_terms(wide.terms, scale_terms(sign.terms, 1 << a.bits)), wide.table)

    def sign(self, a: Value) -> Value:
        """All ones where `a` is negative, else 0."""
        if a.high < 1 << (a.bits - 1):
            return constant(a.bits, 0)
        if a.is_concrete and a.bits <= 62:
            return concrete(a.bits, -(table_of(a) >> np.int64(a.bits - 1)))
        if not a.terms:
            return unknown(a.bits, a.divergent)
        key = (Kind.SIGN, a.bits, form_key(a.const, a.terms, a.table))
        symbol = self.symbols.get(key)
        if symbol is None:
            name = f"sign of {describe_form(a.const, a.terms, a.table)}"
            symbol = self.symbols[key] = Symbol(Kind.SIGN, name, -1, 0, a.divergent)
        return make(a.bits, 0, ((symbol, 1),))

    def extract(self, a: Value, low: int, bits: int) -> Value:
        """`bits` bits of `a` from bit `low`."""
        full = (1 << bits) - 1
        zeros, ones = a.zeros >> low & full, a.ones >> low & full
        fits = a.high >> low <= full
        bounds = (a.low >> low, a.high >> low) if fits else (0, full)
        if a.terms is None:
            return unknown(bits, a.divergent, zeros=zeros, ones=ones, low=bounds[0], high=bounds[1])
        if low == 0:
            const, terms, table = a.const, a.terms, a.table
            exact = a.exact and fits
        else:
            # Of a form that is right modulo 2^n the quotient is right modulo 2^(n - low), which is no narrower than the part.
            const, terms, table = self.quotient(low, a.const, a.terms, a.table)
            exact = a.exact and fits
        return make(bits, const, terms, table, exact=exact, zeros=zeros, ones=ones, low=bounds[0], high=bounds[1])

    def concat(self, high: Value, low: Value) -> Value:
        """`high` above `low`."""
        bits = high.bits + low.bits
        if high.is_constant and high.const == 0:
            return self.zext(low, bits)
        return self.add(self.shift_left(self.zext(high, bits), low.bits), self.zext(low, bits))

    def add(self, a: Value, b: Value, factor: int = 1) -> Value:
        """A + factor * b, factor 1 or -1."""
        bits, full = a.bits, (1 << a.bits) - 1
        if b.is_constant and b.const == 0:
            return a
        low, high = (a.low + b.low, a.high + b.high) if factor == 1 else (a.low - b.high, a.high - b.low)
        fits = low >= 0 and high <= full
        known = _low_known(a) & _low_known(b)
        value = (a.ones + factor * b.ones) & known
        zeros, ones = known & ~value, value
        if factor == 1 and a.zeros | b.zeros == full:
            zeros, ones = a.zeros & b.zeros, a.ones | b.ones
        if not fits:
            low, high = 0, full
        if a.terms is None or b.terms is None or too_large(a.table, 2) or too_large(b.table, 2):
            return unknown(bits, a.divergent or b.divergent, zeros=zeros, ones=ones, low=low, high=high)
        terms = add_terms(a.terms, b.terms, factor)
        if len(terms) > _MAX_TERMS:
            return unknown(bits, a.divergent or b.divergent, zeros=zeros, ones=ones, low=low, high=high)
        exact = a.exact and b.exact and fits
        table = add_tables(a.table, b.table, factor)
        return make(bits, a.const + factor * b.const, terms, table, exact=exact, zeros=zeros, ones=ones, low=low, high=high)

    def multiply(self, a: Value, b: Value) -> Value:
        """A * b modulo 2^bits."""
        if a.is_constant:
            a, b = b, a
        full = (1 << a.bits) - 1
        fits = a.high * b.high <= full
        low, high = (a.low * b.low, a.high * b.high) if fits else (0, full)
        if not b.is_constant:
            return unknown(a.bits, a.divergent or b.divergent, low=low, high=high)
        factor = b.const if fits else signed_remainder(b.const, b.bits)
        if a.terms is None or too_large(a.table, factor):
            return unknown(a.bits, a.divergent, low=low, high=high)
        table = None if a.table is None else a.table * np.int64(factor)
        return make(a.bits, a.const * factor, scale_terms(a.terms, factor), table, exact=a.exact and fits, low=low, high=high)

    def shift_left(self, a: Value, count: int) -> Value:
        """A * 2^count modulo 2^bits."""
        if count >= a.bits:
            return constant(a.bits, 0)
        full = (1 << a.bits) - 1
        zeros = (a.zeros << count | (1 << count) - 1) & full
        ones = a.ones << count & full
        fits = a.high << count <= full
        low, high = (a.low << count, a.high << count) if fits else (0, full)
        if a.terms is None or too_large(a.table, 1 << count):
            return unknown(a.bits, a.divergent, zeros=zeros, ones=ones, low=low, high=high)
        table = None if a.table is None else a.table << np.int64(count)
        terms = scale_terms(a.terms, 1 << count)
        return make(a.bits, a.const << count, terms, table, exact=a.exact and fits, zeros=zeros, ones=ones, low=low, high=high)

    def shift_right(self, a: Value, count: int) -> Value:
        """floor(a / 2^count)."""
        if count >= a.bits:
            return constant(a.bits, 0)
        return self.zext(self.extract(a, count, a.bits - count), a.bits)

    def and_(self, a: Value, b: Value) -> Value:
        """Bitwise and."""
        if a.is_constant:
            a, b = b, a
        zeros, ones = a.zeros | b.zeros, a.ones & b.ones
        full = (1 << a.bits) - 1
        if b.is_constant:
            mask = b.const
            if a.zeros | mask == full:
                return a
            if zeros == full:
                return constant(a.bits, 0)
            # Only runs of ones are parts of a number; bits known to be 0 may join two runs.
            first = (mask & ~a.zeros) & -(mask & ~a.zeros)
            top = (mask & ~a.zeros).bit_length()
            run = (1 << top) - first
            if run & ~mask & ~a.zeros == 0 and a.terms is not None:
                part = self.zext(self.extract(a, 0, top), a.bits) if top < a.bits else a
                low_bits = first.bit_length() - 1
                return self.shift_left(self.shift_right(part, low_bits), low_bits) if low_bits else part
        if same(a, b):
            return a
        high = min(a.high, b.high)
        return unknown(a.bits, a.divergent or b.divergent, zeros=zeros, ones=ones, high=high)

    def or_(self, a: Value, b: Value) -> Value:
        """Bitwise or."""
        full = (1 << a.bits) - 1
        if a.zeros | b.zeros == full:
            return self.add(a, b)
        if same(a, b):
            return a
        zeros, ones = a.zeros & b.zeros, a.ones | b.ones
        if zeros | ones == full:
            return constant(a.bits, ones)
        return unknown(a.bits, a.divergent or b.divergent, zeros=zeros, ones=ones, low=max(a.low, b.low))

    def xor(self, a: Value, b: Value) -> Value:
        """Bitwise exclusive or."""
        full = (1 << a.bits) - 1
        if a.zeros | b.zeros == full:
            return self.add(a, b)
        for x, y in ((a, b), (b, a)):
            if y.is_constant and y.const == full:
                return self.add(constant(a.bits, full), x, -1)
            if y.is_concrete and x.terms is not None:
                # Only low bits change: split them off where they are known.
                cut = y.high.bit_length()
                lower = self.extract(x, 0, cut) if 0 < cut < a.bits else None
                if lower is not None and lower.is_concrete:
                    changed = pointwise(np.bitwise_xor, self.zext(lower, a.bits), y)
                    return self.add(self.add(x, self.zext(lower, a.bits), -1), changed)
        if same(a, b):
            return constant(a.bits, 0)
        ones = a.ones & b.zeros | a.zeros & b.ones
        return unknown(a.bits, a.divergent or b.divergent, zeros=a.zeros & b.zeros | a.ones & b.ones, ones=ones)

    def compare(self, op: Op, a: Value, b: Value) -> Value:
        """EQ, ULT or SLT as one bit; a symbol that remembers both sides where the answer is not known."""
        if op is Op.SLT:
            middle = 1 << (a.bits - 1)
            if a.high < middle and b.high < middle:
                low = self.compare(Op.ULT, a, b)
                if low.is_constant:
                    return low
        elif a.high < b.low:
            return constant(1, op is Op.ULT)
        elif op is Op.ULT and a.low >= b.high:
            return constant(1, 0)
        elif op is Op.EQ and (a.low > b.high or a.zeros & b.ones or a.ones & b.zeros):
            return constant(1, 0)
        if same(a, b):
            return constant(1, op is Op.EQ)
        if a.terms is None or b.terms is None:
            return unknown(1, a.divergent or b.divergent)
        key = (op, a.bits, form_key(a.const, a.terms, a.table), form_key(b.const, b.terms, b.table))
        symbol = self.symbols.get(key)
        if symbol is None:
            text = f"{describe_form(a.const, a.terms, a.table)} {op.value} {describe_form(b.const, b.terms, b.table)}"
            divergent = a.divergent or b.divergent
            symbol = self.symbols[key] = Symbol(Kind.CONDITION, text, 0, 1, divergent, 0, Comparison(op, a, b))
        return of_symbol(symbol, 1)

    def choose(self, condition: Value, then: Value, other: Value) -> Value:
        """`then` where the condition bit is 1."""
        if condition.is_constant:
            return then if condition.const else other
        if same(then, other):
            return then
        if condition.is_concrete and then.is_concrete and other.is_concrete and then.bits <= 62:
            return concrete(then.bits, np.where(table_of(condition) != 0, table_of(then), table_of(other)))
        divergent = condition.divergent or then.divergent or other.divergent
        return unknown(
            then.bits,
            divergent,
            zeros=then.zeros & other.zeros,
            ones=then.ones & other.ones,
            low=min(then.low, other.low),
            high=max(then.high, other.high),
        )


def _low_known(value: Value) -> int:
    """The mask of the low bits that are all known."""
    open_bits = ~(value.zeros | value.ones) & ((1 << value.bits) - 1)
    return (open_bits & -open_bits) - 1 if open_bits else (1 << value.bits) - 1


def table_of(value: Value) -> Table:
    """The numbers of a concrete value by lane, shape (64,) int64."""
    if value.table is None:
        return np.full(LANES, value.const, np.int64)
    return value.table + np.int64(value.const) if value.const else value.table


def pointwise(operation: Callable[[Table, Table], Table], a: Value, b: Value) -> Value:
    """An operation on two concrete values, lane by lane."""
    return concrete(a.bits, operation(table_of(a), table_of(b)))
