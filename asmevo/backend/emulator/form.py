"""The form of an instruction: what a handler is built for, and what instructions share that differ in numbers only.

Owns the data and the walk over a program's expressions; handlers are built from it elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from asmevo.backend.emulator.codegen import Place
from asmevo.ir.semantics.expr import Expr, Program


@dataclass(frozen=True, slots=True)
class Form:
    """A program with its operands' places (by name) and the indices of the modifiers it reads as integers."""

    program: Program
    places: tuple[tuple[str, Place], ...]
    modifiers: tuple[str, ...]
    space: str
    """`lds`, `buffer`, `global`, `flat`, `scalar`, `scratch`, or empty when memory is not touched."""
    deferred: str = ""
    """The queue (`lds` or `smem`) that delivers results which no memory operation gives: permutes, the clock."""
    selects: bool = False
    """Whether a lane needs only that one of src0 and src1 which it takes."""
    rounds: bool = False
    """Whether MODE may ask for another rounding than to nearest even."""


def expressions(program: Program) -> Iterator[Expr]:
    """The roots of a program's expressions."""
    for write in program.writes:
        yield write.value
        if write.enable is not None:
            yield write.enable
    memory = program.memory
    if memory is not None:
        yield from memory.addresses
        yield from (e for e in (memory.index, memory.soffset, memory.to_lds) if e is not None)


def nodes(roots: Iterable[Expr]) -> Iterator[Expr]:
    """Every node under `roots`, each once."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        e = stack.pop()
        if id(e) not in seen:
            seen.add(id(e))
            yield e
            stack.extend(e.args)
