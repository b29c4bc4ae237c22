"""The functions that lifted code calls: defined where the table defines them, declared where another program must.

Owns names and signatures. Float operations are defined in the module, by the code that the emulator runs; memory, other lanes
and instructions without a program are declared.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from asmevo.backend.emulator import floats
from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.irkit import I1, I32, I64, Function, Value, const
from asmevo.ir.semantics.expr import Expr, Op

LIBRARY_NAMES = frozenset({"sin", "cos", "ldexp"})
"""Functions of the C library that float operations use."""
RESERVED_PREFIXES = ("asmevo.", "amdgcn.", "llvm.", "kernel.")


def reads_mode(e: Expr) -> bool:
    """Whether MODE may change a float operation's result; an integer made an f32 or f64 is never denormal."""
    return not (e.op is Op.ITOF and isinstance(e.attr, tuple) and e.attr[1] in ("f32", "f64"))


class Library:
    """The functions of one module, each made at its first use."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module

    def lane_bit(self) -> Value:
        """`i1 (i64 mask, i32 lane)`: the lane's bit of a wave mask; the lane number is taken modulo 64."""
        name = "asmevo.lane_bit"
        if name not in self.module.globals:
            f = self._define(name, I1, I64, I32)
            mask, lane = f.args
            wide = f.b.zext(f.b.and_(lane, const(32, 63)), I64)
            f.b.ret(f.b.trunc(f.b.lshr(mask, wide), I1))
        return self.module.globals[name]

    def pair(self) -> Value:
        """`i64 (i32 low, i32 high)`: two registers as one value."""
        name = "asmevo.pair"
        if name not in self.module.globals:
            f = self._define(name, I64, I32, I32)
            low, high = f.args
            f.b.ret(f.b.or_(f.b.shl(f.b.zext(high, I64), const(64, 32)), f.b.zext(low, I64)))
        return self.module.globals[name]

    def float_operation(self, e: Expr) -> Value:
        """`iN (arguments..., i32 mode)`: the operation of node `e`, on bits, by MODE's rules; no `mode` where none counts."""
        attribute = e.attr if isinstance(e.attr, tuple) else (str(e.attr),)
        name = ".".join(("asmevo", e.op.value, *attribute))
        if name not in self.module.globals:
            has_mode = reads_mode(e)
            f = self._define(name, ir.IntType(e.bits), *(ir.IntType(a.bits) for a in e.args), *([I32] if has_mode else []))
            emitter = Emitter(f, None, None, {}, {}, mode=f.args[-1] if has_mode else None)
            f.b.ret(floats.emit(emitter, e, list(f.args[: len(e.args)])))
        return self.module.globals[name]

    def declared(self, name: str, result: Any, arguments: Sequence[Any], *, convergent: bool = False) -> Value:
        """A function that another program gives; `convergent` when it looks at other lanes."""
        found = self.module.globals.get(name)
        if found is None:
            found = ir.Function(self.module, ir.FunctionType(result, list(arguments)), name)
            if convergent:
                found.attributes.add("convergent")
        return found

    def _define(self, name: str, result: Any, *arguments: Any) -> Function:
        f = Function(self.module, name, ir.FunctionType(result, arguments))
        f.function.linkage = "internal"
        return f
