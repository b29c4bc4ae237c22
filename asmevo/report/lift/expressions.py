"""Semantic expressions as LLVM IR of one lane.

Owns what differs from the emulator's translation, which does the rest: leaves are SSA values instead of memory, float
operations are calls, other lanes are reached through declared functions.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from llvmlite import ir

from asmevo.backend.emulator import floats
from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.irkit import I32, Value, const
from asmevo.ir.semantics.expr import Expr, Op
from asmevo.report.lift.library import Library, reads_mode
from asmevo.report.lift.simplify import simplified

_LEAVES = frozenset({Op.SRC, Op.OLD, Op.IMM, Op.SPECIAL})


@dataclass(slots=True)
class LaneEmitter(Emitter):
    """Emits expressions for the lane `lane`; `leaf` gives the value of a SRC, OLD, IMM or SPECIAL node."""

    library: Library = field(kw_only=True)
    lane: Value = field(kw_only=True)
    exec_mask: Callable[[], Value] = field(kw_only=True)
    leaf: Callable[[Expr], Value] = field(kw_only=True)
    mode_bits: Callable[[], Value] = field(kw_only=True)

    def _emit(self, e: Expr) -> Value:
        b = self.f.b
        if e.op in _LEAVES:
            return self.leaf(e)
        if e.op is Op.LANE:
            return self.lane
        if e.op is Op.LANE_BIT:
            return b.call(self.library.lane_bit(), [self.emit(e.args[0]), self.lane])
        if e.op is Op.LANE_ACTIVE:
            return b.call(self.library.lane_bit(), [self.exec_mask(), self.emit(e.args[0])])
        if e.op is Op.GATHER:
            return self._gathered(self.leaf(Expr(Op.SRC, e.bits, (), e.attr)), self.emit(e.args[0]), e.bits)
        if e.op in floats.FLOAT_OPS:
            mode = [self._mode()] if reads_mode(e) else []
            return b.call(self.library.float_operation(e), [*(self.emit(a) for a in e.args), *mode])
        short = simplified(b, e, [self.emit(a) for a in e.args])
        if short is not None:
            return short
        # The rest is arithmetic on one value, as in the emulator.
        return Emitter._emit(self, e)  # pyright: ignore[reportPrivateUsage]

    def _mode(self) -> Value:
        mode = self.mode_bits()
        return self.f.b.and_(mode, const(32, ~self.ignored_mode)) if self.ignored_mode else mode

    def _gathered(self, value: Value, lane: Value, bits: int) -> Value:
        """What another lane passes as `value`, register by register."""
        b = self.f.b
        function = self.library.declared("asmevo.gather", I32, [I32, I32], convergent=True)
        if bits == 32:
            return b.call(function, [value, lane])
        parts = [b.call(function, [b.trunc(b.lshr(value, const(bits, low)), I32), lane]) for low in (0, 32)]
        low, high = (b.zext(part, ir.IntType(bits)) for part in parts)
        return b.or_(low, b.shl(high, const(bits, 32)))
