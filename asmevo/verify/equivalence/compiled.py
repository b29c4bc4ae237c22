"""Programs flattened for execution: an instruction's expressions as one list, each shared node once.

Owns the list form only. Its order is arguments first, so that one pass computes every value.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from asmevo.ir.semantics.expr import Expr, MemoryOp, Op, Program

FLOATS = frozenset(op for op in Op if op.name.startswith("F"))
"""Operations whose result may depend on MODE."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation: `args` are positions of earlier steps."""

    op: str
    bits: int
    args: tuple[int, ...]
    attr: Hashable
    uses_mode: bool


@dataclass(frozen=True, slots=True)
class CompiledWrite:
    """A write by positions of its value and enable (None: always)."""

    target: str
    value: int
    bits: int
    enable: int | None


@dataclass(frozen=True, slots=True)
class CompiledMemory:
    """A memory effect by positions; `extra` are vindex, soffset and LDS destination where there are such."""

    operation: MemoryOp
    addresses: tuple[int, ...]
    extra: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program's steps and what becomes of them."""

    program: Program
    steps: tuple[Step, ...]
    writes: tuple[CompiledWrite, ...]
    memory: CompiledMemory | None


def compile_program(program: Program) -> Compiled:
    """`program` as a list of steps."""
    steps: list[Step] = []
    places: dict[Expr, int] = {}

    def place(expr: Expr) -> int:
        found = places.get(expr)
        if found is None:
            args = tuple(place(a) for a in expr.args)
            mode = expr.op in FLOATS or expr.op in (Op.ITOF, Op.NATIVE)
            steps.append(Step(expr.op.value, expr.bits, args, expr.attr, mode))
            found = places[expr] = len(steps) - 1
        return found

    writes = tuple(
        CompiledWrite(w.target, place(w.value), w.value.bits, None if w.enable is None else place(w.enable))
        for w in program.writes
    )
    memory = None
    if program.memory is not None:
        operation = program.memory
        extra = (operation.index, operation.soffset, operation.to_lds)
        memory = CompiledMemory(
            operation,
            tuple(place(a) for a in operation.addresses),
            tuple(place(e) for e in extra if e is not None),
        )
    return Compiled(program, tuple(steps), writes, memory)
