"""Compiles a module written in a small integer subset of Python to native code.

Owns the subset and its translation; it must not know what the module computes. The same module runs in the interpreter, which
is the reference that tests hold the native code to.

The subset: functions of `int` and `Words` (lists of int) that return an int or nothing, also those imported from another such
module; constants that are ints, of the module or of one that it imports (`words.SIZE`);
assignments to names and elements; `if`, `while`, `for ... in range`, `return`, `break`, `continue`; integer arithmetic,
comparisons, `and`, `or`, `not`, conditional expressions, `min` and `max` of two, calls of the module's own functions. Every
value is a signed 64-bit word; `//` and `%` are for operands that are not negative, and `and` and `or` give 0 or 1.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import ast
import ctypes
import hashlib
import inspect
import sys
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
from llvmlite import ir

from asmevo.backend.emulator import cache

_WORD = ir.IntType(64)
_BIT = ir.IntType(1)
_POINTER = ir.PointerType()
_VERSION = "1"
"""Raised when the translation changes, so that cached objects are made anew."""

_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "sdiv",
    ast.Mod: "srem",
    ast.LShift: "shl",
    ast.RShift: "ashr",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


class NotInSubset(ValueError):
    """The module uses something that the subset does not have: a fault of AsmEvo's own source, with file and line."""


def translate(module: ModuleType) -> ir.Module:
    """The LLVM module of a Python module's functions and of those it imports, under their own names. Raises NotInSubset."""
    found = ir.Module(module.__name__)
    functions: list[tuple[ModuleType, ast.FunctionDef]] = []
    for source in (module, *_imported(module, FunctionType)):
        tree = ast.parse(inspect.getsource(source))
        functions += [(source, node) for node in tree.body if isinstance(node, ast.FunctionDef)]
    for _, node in functions:
        kinds = [_POINTER if _annotation(argument) == "Words" else _WORD for argument in node.args.args]
        made: Any = ir.Function(found, ir.FunctionType(_WORD, kinds), node.name)
        made.linkage = "internal" if node.name.startswith("_") else "external"
    for source, node in functions:
        _Translator(source, found, node).translate()
    return found


def _imported(module: ModuleType, kind: type) -> list[ModuleType]:
    """The modules whose functions (kind FunctionType) or that themselves (ModuleType) a module of the subset imports."""
    found: dict[str, ModuleType] = {}
    for value in vars(module).values():
        if isinstance(value, kind):
            name = value.__name__ if isinstance(value, ModuleType) else value.__module__
            if name != module.__name__:
                found[name] = sys.modules[name]
    return [found[name] for name in sorted(found)]


def native_function(module: ModuleType, name: str) -> Callable[..., int]:
    """The native form of one of a module's functions; `Words` are passed as addresses. Compiled once, kept on disk."""
    return _engine(module).function(name)


class _Engine:
    """The native code of one module, linked into this process."""

    def __init__(self, module: ModuleType) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        triple = llvm.get_process_triple()
        self._module = module
        self._machine: Any = llvm.Target.from_triple(triple).create_target_machine(
            cpu=cpu, features=features, opt=2, reloc="static", codemodel="large", jit=True
        )
        self._triple = triple
        parts = [module, *_imported(module, FunctionType), *_imported(module, ModuleType)]
        sources = [inspect.getsource(part) for part in parts]
        facts = f"timing {_VERSION} {sources} {llvmlite.__version__} {llvm.llvm_version_info} {cpu} {features}"
        data, _ = cache.load_or_build(hashlib.sha256(facts.encode()).hexdigest(), self._compile)
        empty = llvm.parse_assembly("")
        empty.triple = triple
        self._engine: Any = llvm.create_mcjit_compiler(empty, self._machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()

    def function(self, name: str) -> Callable[..., int]:
        count = len(inspect.signature(getattr(self._module, name)).parameters)
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *([ctypes.c_int64] * count))
        found: Any = kind(self._engine.get_function_address(name))
        # Whoever keeps the function keeps the code: an engine that is collected takes its code with it.
        found.engine = self
        return found

    def _compile(self) -> bytes:
        module = translate(self._module)
        module.triple = self._triple
        parsed = llvm.parse_assembly(str(module))
        parsed.verify()
        builder = llvm.create_pass_builder(self._machine, llvm.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(parsed, builder)
        return self._machine.emit_object(parsed)


_engine = lru_cache(maxsize=4)(_Engine)


def _annotation(argument: ast.arg) -> str:
    return argument.annotation.id if isinstance(argument.annotation, ast.Name) else ""


class _Translator:
    """One function on its way to LLVM."""

    def __init__(self, source: ModuleType, module: ir.Module, node: ast.FunctionDef) -> None:
        self._source = source
        self._functions = module.globals
        self._node = node
        self._function: Any = module.globals[node.name]
        self._b: Any = ir.IRBuilder(self._function.append_basic_block("entry"))
        self._arrays: dict[str, Any] = {}
        self._locals: dict[str, Any] = {}
        self._loops: list[tuple[Any, Any]] = []

    def translate(self) -> None:
        for argument, value in zip(self._node.args.args, self._function.args, strict=True):
            if _annotation(argument) == "Words":
                self._arrays[argument.arg] = value
            else:
                self._b.store(value, self._local(argument.arg))
        for inner in ast.walk(self._node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                self._local(inner.id)
        self._body(self._node.body)
        if not self._b.block.is_terminated:
            self._b.ret(ir.Constant(_WORD, 0))

    def _refuse(self, node: ast.AST) -> NotInSubset:
        line = getattr(node, "lineno", self._node.lineno)
        return NotInSubset(f"{self._source.__file__}:{line}: {type(node).__name__} is not in the subset")

    def _local(self, name: str) -> Any:
        if name not in self._locals:
            self._locals[name] = self._b.alloca(_WORD, name=name)
        return self._locals[name]

    def _body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self._b.block.is_terminated:
                return
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self._assign(target, self._value(value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self._value(value))
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                old = self._b.load(self._locals[name], typ=_WORD)
                self._b.store(self._binary(node, op, old, self._value(value)), self._locals[name])
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                place = self._place(target)
                old = self._b.load(place, typ=_WORD)
                self._b.store(self._binary(node, op, old, self._value(value)), place)
            case ast.If(test=test, body=body, orelse=orelse):
                self._if(test, body, orelse)
            case ast.While(test=test, body=body, orelse=[]):
                self._while(lambda: self._condition(test), lambda: self._body(body), lambda: None)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=bounds), body=body, orelse=[]):
                self._for(name, bounds, body)
            case ast.Return(value=value):
                self._b.ret(ir.Constant(_WORD, 0) if value is None else self._value(value))
            case ast.Break():
                self._b.branch(self._loops[-1][1])
            case ast.Continue():
                self._b.branch(self._loops[-1][0])
            case ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Expr(value=ast.Call() as call):
                self._value(call)
            case _:
                raise self._refuse(node)

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._b.store(value, self._locals[target.id])
        elif isinstance(target, ast.Subscript):
            self._b.store(value, self._place(target))
        else:
            raise self._refuse(target)

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        then, done = (self._b.append_basic_block(name) for name in ("then", "done"))
        other = self._b.append_basic_block("else") if orelse else done
        self._b.cbranch(self._condition(test), then, other)
        for block, statements in ((then, body), (other, orelse)):
            if block is done:
                continue
            self._b.position_at_end(block)
            self._body(statements)
            if not self._b.block.is_terminated:
                self._b.branch(done)
        self._b.position_at_end(done)

    def _while(self, test: Callable[[], Any], body: Callable[[], None], step: Callable[[], None]) -> None:
        head, inside, following, done = (self._b.append_basic_block(name) for name in ("head", "body", "next", "done"))
        self._b.branch(head)
        self._b.position_at_end(head)
        self._b.cbranch(test(), inside, done)
        self._b.position_at_end(inside)
        self._loops.append((following, done))
        body()
        self._loops.pop()
        if not self._b.block.is_terminated:
            self._b.branch(following)
        self._b.position_at_end(following)
        step()
        self._b.branch(head)
        self._b.position_at_end(done)

    def _for(self, name: str, bounds: list[ast.expr], body: list[ast.stmt]) -> None:
        values = [self._value(bound) for bound in bounds]
        start, stop = (ir.Constant(_WORD, 0), values[0]) if len(values) == 1 else (values[0], values[1])
        place = self._locals[name]
        self._b.store(start, place)

        def step() -> None:
            self._b.store(self._b.add(self._b.load(place, typ=_WORD), ir.Constant(_WORD, 1)), place)

        self._while(lambda: self._b.icmp_signed("<", self._b.load(place, typ=_WORD), stop), lambda: self._body(body), step)

    def _place(self, node: ast.Subscript) -> Any:
        if not isinstance(node.value, ast.Name) or node.value.id not in self._arrays:
            raise self._refuse(node)
        return self._b.gep(self._arrays[node.value.id], [self._value(node.slice)], source_etype=_WORD)

    def _condition(self, node: ast.expr) -> Any:
        """The truth of an expression, as one bit."""
        match node:
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                values = [self._value(left), *(self._value(c) for c in comparators)]
                found = None
                for op, a, b in zip(ops, values, values[1:], strict=False):
                    if type(op) not in _COMPARISONS:
                        raise self._refuse(node)
                    holds = self._b.icmp_signed(_COMPARISONS[type(op)], a, b)
                    found = holds if found is None else self._b.and_(found, holds)
                return found
            case ast.BoolOp(op=op, values=values):
                return self._chain(isinstance(op, ast.And), values)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._b.not_(self._condition(operand))
            case _:
                return self._b.icmp_signed("!=", self._value(node), ir.Constant(_WORD, 0))

    def _chain(self, is_and: bool, values: list[ast.expr]) -> Any:
        """`and` and `or`: later operands are evaluated only when they decide."""
        done = self._b.append_basic_block("decided")
        edges: list[tuple[Any, Any]] = []
        for value in values[:-1]:
            holds = self._condition(value)
            following = self._b.append_basic_block("undecided")
            edges.append((ir.Constant(_BIT, 0 if is_and else 1), self._b.block))
            self._b.cbranch(holds, *((following, done) if is_and else (done, following)))
            self._b.position_at_end(following)
        last = self._condition(values[-1])
        edges.append((last, self._b.block))
        self._b.branch(done)
        self._b.position_at_end(done)
        result = self._b.phi(_BIT)
        for value, block in edges:
            result.add_incoming(value, block)
        return result

    def _binary(self, node: ast.AST, op: ast.operator, a: Any, b: Any) -> Any:
        if type(op) not in _ARITHMETIC:
            raise self._refuse(node)
        return getattr(self._b, _ARITHMETIC[type(op)])(a, b)

    def _value(self, node: ast.expr) -> Any:
        """The word that an expression is."""
        match node:
            case ast.Constant(value=int() as value):
                return ir.Constant(_WORD, int(value))
            case ast.Name(id=name) if name in self._locals:
                return self._b.load(self._locals[name], typ=_WORD)
            case ast.Name(id=name):
                value = getattr(self._source, name, None)
                if not isinstance(value, int):
                    raise self._refuse(node)
                return ir.Constant(_WORD, int(value))
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                value = getattr(getattr(self._source, name, None), attribute, None)
                if not isinstance(value, int):
                    raise self._refuse(node)
                return ir.Constant(_WORD, int(value))
            case ast.Subscript():
                return self._b.load(self._place(node), typ=_WORD)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(node, op, self._value(left), self._value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._b.neg(self._value(operand))
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return self._b.zext(self._condition(node), _WORD)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choice(test, body, orelse)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(node, name, args)
            case _:
                raise self._refuse(node)

    def _choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Any:
        with self._b.if_else(self._condition(test)) as (then, otherwise):
            with then:
                yes, yes_block = self._value(body), self._b.block
            with otherwise:
                no, no_block = self._value(orelse), self._b.block
        result = self._b.phi(_WORD)
        result.add_incoming(yes, yes_block)
        result.add_incoming(no, no_block)
        return result

    def _call(self, node: ast.Call, name: str, args: list[ast.expr]) -> Any:
        if name in ("min", "max") and len(args) == 2:
            a, b = (self._value(arg) for arg in args)
            return self._b.select(self._b.icmp_signed("<" if name == "min" else ">", a, b), a, b)
        if name not in self._functions or node.keywords:
            raise self._refuse(node)
        values = [
            self._arrays[arg.id] if isinstance(arg, ast.Name) and arg.id in self._arrays else self._value(arg) for arg in args
        ]
        return self._b.call(self._functions[name], values)
