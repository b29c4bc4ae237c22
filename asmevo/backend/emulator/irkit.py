"""A thin layer over llvmlite's builder: typed record fields, loops, and lane vectors.

Owns how native functions are put together. It must not know any opcode.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir

from asmevo.backend.emulator import layout

Value = Any
"""An llvmlite value; the library has no types of its own."""

I1, I8, I16, I32, I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
PTR = ir.PointerType()
HANDLER = ir.FunctionType(I32, (PTR, PTR))


def const(bits: int, value: int) -> Value:
    """An integer constant of `bits` bits."""
    return ir.Constant(ir.IntType(bits), value & ((1 << bits) - 1))


class Function:
    """One native function under construction, with its builder `b`."""

    def __init__(self, module: ir.Module, name: str, kind: ir.FunctionType = HANDLER) -> None:
        self.module = module
        self.function = module.globals.get(name) or ir.Function(module, kind, name)
        self.args = self.function.args
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.entry = self.b.block

    def external(self, name: str, result: Any, *arguments: Any) -> Value:
        """A function of another module, declared once."""
        found = self.module.globals.get(name)
        return found or ir.Function(self.module, ir.FunctionType(result, arguments), name)

    def intrinsic(self, name: str, result: Any, *arguments: Any) -> Value:
        """An LLVM intrinsic by its full, mangled name."""
        return self.external(name, result, *arguments)

    def at(self, base: Value, offset: int | Value) -> Value:
        """`base` moved by bytes."""
        index = const(64, offset) if isinstance(offset, int) else offset
        return self.b.gep(base, [index], source_etype=I8)

    def item(self, base: Value, index: Value, size: int) -> Value:
        """The address of record `index` of an array of `size`-byte records."""
        wide = index if index.type == I64 else self.b.zext(index, I64)
        return self.at(base, self.b.mul(wide, const(64, size)))

    def load(self, kind: Any, address: Value, align: int = 1) -> Value:
        """A load with a stated alignment."""
        return self.b.load(address, align=align, typ=kind)

    def store(self, value: Value, address: Value, align: int = 1) -> None:
        """A store with a stated alignment."""
        self.b.store(value, address, align=align)

    def field(self, record: np.dtype[np.void], base: Value, name: str) -> Value:
        """The address of a field."""
        return self.at(base, layout.offset(record, name))

    def get(self, record: np.dtype[np.void], base: Value, name: str) -> Value:
        """A scalar field's value."""
        return self.load(_type(record, name), self.field(record, base, name), 1)

    def put(self, record: np.dtype[np.void], base: Value, name: str, value: Value | int) -> None:
        """Sets a scalar field."""
        kind = _type(record, name)
        number = ir.Constant(kind, value) if isinstance(value, int) else value
        self.store(number, self.field(record, base, name), 1)

    def pointer(self, record: np.dtype[np.void], base: Value, name: str) -> Value:
        """A u64 field's value as an address."""
        return self.b.inttoptr(self.get(record, base, name), PTR)

    def local(self, kind: Any, count: int = 1) -> Value:
        """Stack space, allocated at entry, 64-byte aligned."""
        with self.b.goto_entry_block():
            self.b.position_at_start(self.function.entry_basic_block)
            space: Any = self.b.alloca(kind, const(32, count))
            space.align = 64
            space.type = PTR  # the builder still gives a typed pointer, which would tie loads and stores to `kind`
            return space

    @contextmanager
    def loop(self, count: Value | int, step: int = 1) -> Generator[Value, None, None]:
        """Counts an i64 from 0 below `count`; yields the index."""
        total = const(64, count) if isinstance(count, int) else count
        start = self.b.block
        head = self.b.append_basic_block("head")
        body = self.b.append_basic_block("body")
        done = self.b.append_basic_block("done")
        self.b.branch(head)
        self.b.position_at_end(head)
        index = self.b.phi(I64)
        index.add_incoming(const(64, 0), start)
        self.b.cbranch(self.b.icmp_unsigned("<", index, total), body, done)
        self.b.position_at_end(body)
        yield index
        following = self.b.add(index, const(64, step))
        index.add_incoming(following, self.b.block)
        self.b.branch(head)
        self.b.position_at_end(done)

    @contextmanager
    def each_lane(self, mask: Value) -> Generator[Value, None, None]:
        """Visits the set bits of an i64, lowest first; yields the lane as i64."""
        start = self.b.block
        head = self.b.append_basic_block("lanes")
        body = self.b.append_basic_block("lane")
        done = self.b.append_basic_block("lanes_done")
        self.b.branch(head)
        self.b.position_at_end(head)
        rest = self.b.phi(I64)
        rest.add_incoming(mask, start)
        self.b.cbranch(self.b.icmp_unsigned("!=", rest, const(64, 0)), body, done)
        self.b.position_at_end(body)
        count = self.intrinsic("llvm.cttz.i64", I64, I64, I1)
        lane = self.b.call(count, [rest, const(1, 1)])
        yield lane
        rest.add_incoming(self.b.and_(rest, self.b.sub(rest, const(64, 1))), self.b.block)
        self.b.branch(head)
        self.b.position_at_end(done)

    @contextmanager
    def when(self, condition: Value, likely: bool | None = None) -> Generator[None, None, None]:
        """Runs its body when an i1 is set."""
        with self.b.if_then(condition, likely=likely):
            yield

    def choose(self, condition: Value, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        """An if-expression with branches."""
        with self.b.if_else(condition) as (then, otherwise):
            with then:
                first = yes()
                first_block = self.b.block
            with otherwise:
                second = no()
                second_block = self.b.block
        result = self.b.phi(first.type)
        result.add_incoming(first, first_block)
        result.add_incoming(second, second_block)
        return result

    def ret(self, status: int | Value) -> None:
        """Returns an i32."""
        self.b.ret(const(32, status) if isinstance(status, int) else status)


def _type(record: np.dtype[np.void], name: str) -> Any:
    fields = record.fields
    assert fields is not None
    return ir.IntType(fields[name][0].itemsize * 8)


def mangled(kind: Value) -> str:
    """The suffix LLVM gives an intrinsic overloaded on `kind`."""
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{mangled(kind.element)}"
    if isinstance(kind, ir.IntType):
        return f"i{kind.width}"
    return {ir.HalfType: "f16", ir.FloatType: "f32", ir.DoubleType: "f64"}[type(kind)]


def splat(f: Function, value: Value, lanes: int) -> Value:
    """A vector with `value` in every lane."""
    if isinstance(value, ir.Constant):
        return ir.Constant(ir.VectorType(value.type, lanes), [value.constant] * lanes)
    kind = ir.VectorType(value.type, lanes)
    first = f.b.insert_element(ir.Constant(kind, ir.Undefined), value, const(32, 0))
    zeros = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
    return f.b.shuffle_vector(first, ir.Constant(kind, ir.Undefined), zeros)
