"""Builds the native handler of one program form: it reads, computes, accesses memory and writes, in that order.

A form is a program with the kinds of its operands; instructions that differ only in register numbers, constants and offsets
share it. Owns the order. It must not know mnemonics.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import layout, scalar_memory, vector_memory
from asmevo.backend.emulator.codegen import Emitter
from asmevo.backend.emulator.form import Form, expressions
from asmevo.backend.emulator.irkit import Function
from asmevo.backend.emulator.register_writes import check_selected, defer, lane_writes, scalar_writes
from asmevo.diagnostics import fail
from asmevo.ir.semantics.expr import Domain


def build_handler(module: ir.Module, name: str, form: Form, strict: bool) -> None:
    """Adds `name(state, op) -> status` for a scalar or lane program to `module`."""
    f = Function(module, name)
    state, op = f.args
    places = dict(form.places)
    m = Emitter(
        f,
        state,
        op,
        places,
        {n: k for k, n in enumerate(form.modifiers)},
        rounds=form.rounds,
        ignored_mode=form.program.ignored_mode,
    )
    m.prepare(expressions(form.program))
    memory = form.program.memory
    if form.program.domain is Domain.SCALAR:
        if memory is not None:
            scalar_memory.emit(m, memory, strict)
        scalar_writes(m, form.program.writes)
    elif form.program.domain is Domain.LANE:
        if strict and form.selects:
            check_selected(m, form.program.writes[0])
        if memory is not None:
            vector_memory.emit(m, memory, form.space, strict)
        if form.program.writes:
            lane_writes(m, form.program.writes, strict)
    else:
        fail("E0507", f"a {form.program.domain.value} program has no handler of its own")
    if strict and form.deferred:
        for write in form.program.writes:
            defer(m, write.target, form.deferred)
    f.ret(layout.CONTINUE)
