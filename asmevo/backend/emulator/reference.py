"""The readable interpreter of programs: NumPy arrays of 64 lanes, one node at a time. The native engine is tested against it.

It evaluates registers, masks and the addresses of memory operations; it performs no memory access and no control. Float rules
are in `reference_floats`, matrix operations in `reference_matrix`. It must not know opcodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from asmevo.backend.emulator import reference_floats
from asmevo.diagnostics import fail
from asmevo.ir.semantics.expr import Domain, Expr, Op, Program

LANES = 64
Lanes = npt.NDArray[Any]
Value = int | Lanes


def _kind(bits: int) -> type[Any]:
    """Values beyond 64 bits are arrays of Python integers."""
    return np.uint64 if bits <= 64 else object


def _lanes(value: Value, bits: int) -> Lanes:
    """`value` in every lane, modulo 2^bits."""
    mask = (1 << bits) - 1
    if isinstance(value, np.ndarray):
        return (value.astype(object) & mask).astype(_kind(bits))
    return np.full(LANES, value & mask, _kind(bits))


def _signed(values: Lanes, bits: int) -> Lanes:
    """The values as Python integers in two's complement."""
    wide = values.astype(object)
    return np.where(wide >> (bits - 1) == 1, wide - (1 << bits), wide)


_INTEGER: dict[Op, Callable[[int, int, int], int]] = {
    Op.ADD: lambda a, b, _: a + b,
    Op.SUB: lambda a, b, _: a - b,
    Op.MUL: lambda a, b, _: a * b,
    Op.UDIV: lambda a, b, _: a // b if b else -1,
    Op.UREM: lambda a, b, _: a % b if b else a,
    Op.AND: lambda a, b, _: a & b,
    Op.OR: lambda a, b, _: a | b,
    Op.XOR: lambda a, b, _: a ^ b,
    Op.SHL: lambda a, n, bits: a << n if n < bits else 0,
    Op.LSHR: lambda a, n, bits: a >> n if n < bits else 0,
    Op.ASHR: lambda a, n, bits: _two(a, bits) >> min(n, bits - 1),
    Op.EQ: lambda a, b, _: a == b,
    Op.ULT: lambda a, b, _: a < b,
    Op.SLT: lambda a, b, bits: _two(a, bits) < _two(b, bits),
}
_UNARY: dict[Op, Callable[[int, int], int]] = {
    Op.NOT: lambda a, _: ~a,
    Op.POPCOUNT: lambda a, _: bin(a).count("1"),
    Op.CLZ: lambda a, bits: bits - a.bit_length(),
    Op.CTZ: lambda a, bits: (a & -a).bit_length() - 1 if a else bits,
    Op.BITREV: lambda a, bits: int(format(a, f"0{bits}b")[::-1], 2),
}


def _bit(mask: int, lane: int) -> int:
    return mask >> lane & 1


def _two(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


@dataclass(slots=True)
class Evaluator:
    """Evaluates expressions in one wave's state.

    `sources` and `old` are operands by name: an array (64,) of a vector operand, an int of a scalar or constant one. `specials`
    are scc, exec, vcc, m0, mode and pc; a missing one is 0, a missing exec all ones. `modifiers` are the integer modifiers.
    """

    sources: Mapping[str, Value]
    specials: Mapping[str, int]
    modifiers: Mapping[str, int]
    old: Mapping[str, Value]
    memo: dict[Expr, Lanes] = field(default_factory=dict[Expr, Lanes])
    ignored_mode: int = 0

    @property
    def exec_mask(self) -> int:
        """EXEC."""
        return self.specials.get("exec", (1 << LANES) - 1)

    @property
    def mode(self) -> int:
        """MODE as float operations see it."""
        return self.specials.get("mode", 0) & ~self.ignored_mode

    def active(self) -> Lanes:
        """EXEC's bits by lane."""
        return np.array([bool(self.exec_mask >> n & 1) for n in range(LANES)])

    def value(self, e: Expr) -> Lanes:
        """The value of `e` in every lane, active or not; unsigned, of dtype uint64, or object beyond 64 bits."""
        found = self.memo.get(e)
        if found is None:
            found = self.memo[e] = _lanes(self._compute(e), e.bits)
        return found

    def _compute(self, e: Expr) -> Value:
        leaf = self._leaf(e)
        if leaf is not None:
            return leaf
        args = [self.value(a) for a in e.args]
        width = e.args[0].bits
        if e.op in _INTEGER:
            operation = _INTEGER[e.op]
            return _each(operation, *args, np.full(LANES, width))
        if e.op in _UNARY:
            unary = _UNARY[e.op]
            return _each(unary, *args, np.full(LANES, width))
        match e.op:
            case Op.LANE_BIT:
                return _each(_bit, args[0], np.arange(LANES))
            case Op.LANE_ACTIVE:
                return _each(_bit, np.full(LANES, self.exec_mask, object), args[0] & np.uint64(63))
            case Op.GATHER:
                values = _lanes(self._named(self.sources, e), e.bits)
                return values[(args[0] & np.uint64(63)).astype(np.int64)]
            case Op.EXTRACT:
                low = int(e.attr) if isinstance(e.attr, int) else 0
                return args[0].astype(object) >> low
            case Op.CONCAT:
                low = e.args[1].bits
                return args[0].astype(object) << low | args[1].astype(object)
            case Op.ZEXT:
                return args[0]
            case Op.SEXT:
                return _signed(args[0], width)
            case Op.ITE:
                return np.where(args[0].astype(np.bool_), args[1], args[2])
            case _:
                return reference_floats.evaluate(e, args, self.mode)

    def _leaf(self, e: Expr) -> Value | None:
        match e.op:
            case Op.CONST:
                return int(e.attr) if isinstance(e.attr, int) else 0
            case Op.SRC:
                return self._named(self.sources, e)
            case Op.OLD:
                return self._named(self.old, e)
            case Op.IMM:
                return self.modifiers.get(str(e.attr), 0)
            case Op.SPECIAL:
                return self.exec_mask if e.attr == "exec" else self.specials.get(str(e.attr), 0)
            case Op.LANE:
                return np.arange(LANES)
            case _:
                return None

    def _named(self, values: Mapping[str, Value], e: Expr) -> Value:
        name = str(e.attr)
        if name not in values:
            fail("E0508", f"the reference interpreter was not given operand '{name}'")
        return values[name]


def _each(operation: Callable[..., int], *args: Lanes) -> Lanes:
    """A function of integers applied lane by lane."""
    result = np.empty(LANES, object)
    for n in range(LANES):
        result[n] = int(operation(*(int(a[n]) for a in args)))
    return result


def evaluate(
    program: Program,
    sources: Mapping[str, Value],
    specials: Mapping[str, int] | None = None,
    imms: Mapping[str, int] | None = None,
    old: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """The values of a program's targets after the instruction.

    A vector target gives an array (64,) of uint64, lanes that do not write keep `old` (0 if not given); a mask or scalar target
    gives an int. All values are computed before any write. E0508 for control and intrinsic programs.
    """
    if program.domain not in (Domain.SCALAR, Domain.LANE):
        fail("E0508", f"the reference interpreter evaluates no {program.domain.value} program")
    before = old or {}
    e = Evaluator(sources, specials or {}, imms or {}, before, ignored_mode=program.ignored_mode)
    results: dict[str, Value] = {}
    for write in program.writes:
        value = e.value(write.value)
        enabled = np.ones(LANES, np.bool_) if write.enable is None else e.value(write.enable).astype(np.bool_)
        if program.domain is Domain.SCALAR:
            kept = before.get(write.target, 0)
            results[write.target] = int(value[0]) if enabled[0] else kept
            continue
        enabled = enabled & e.active()
        if write.value.bits == 1:
            results[write.target] = sum(1 << n for n in range(LANES) if enabled[n] and value[n])
        else:
            results[write.target] = np.where(enabled, value, _lanes(before.get(write.target, 0), write.value.bits))
    return results


def addresses(
    program: Program,
    sources: Mapping[str, Value],
    specials: Mapping[str, int] | None = None,
    imms: Mapping[str, int] | None = None,
) -> tuple[Lanes, ...]:
    """Each address of a memory program, by lane; empty without a memory effect."""
    if program.memory is None:
        return ()
    e = Evaluator(sources, specials or {}, imms or {}, {})
    return tuple(e.value(address) for address in program.memory.addresses)
