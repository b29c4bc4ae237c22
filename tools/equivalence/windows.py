"""Windows cut from real kernels: straight-line code that the model executes, with what is needed after it.

Owns the choice. Nothing of an object's contents is kept beyond a run.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import IssueClass
from asmevo.ir.vector_file import shared_vectors
from asmevo.verify.equivalence.execute import refusal
from asmevo.verify.equivalence.window import semantics

SHIPPED = Path(__file__).resolve().parents[2] / "examples" / "kernels"
_QUIET = frozenset({IssueClass.WAIT, IssueClass.NOP})


@dataclass(frozen=True, slots=True)
class CutWindow:
    """Instructions of one block, from `start` on. `live_out` are the units needed after them."""

    origin: str
    start: int
    target: str
    instructions: tuple[Instruction, ...]
    live_out: int

    def __str__(self) -> str:
        return f"{self.origin}[{self.start}:{self.start + len(self.instructions)}]"


def objects(with_corpus: bool = True) -> list[Path]:
    """The shipped objects; with ASMEVO_CORPUS set, those below it too."""
    found = sorted(SHIPPED.glob("*.co"))
    corpus = os.environ.get("ASMEVO_CORPUS")
    return found + (sorted(Path(corpus).rglob("*.co")) if corpus and with_corpus else [])


def window_number(paths: list[Path], number: int, seed: int, least: int = 8, most: int = 128) -> CutWindow:
    """Return window `number` of a seed, of `least` to `most` instructions: the same whatever was cut before.

    Raises ValueError when no object has one.
    """
    order = list(paths)
    random.Random(seed).shuffle(order)
    source = random.Random(f"{seed}/{number}/window")
    for k in range(len(order)):
        for window in _of_object(order[(number + k) % len(order)], source, 1, least, most):
            return window
    raise ValueError("no object has a window of that size")


def cut(paths: list[Path], count: int, seed: int, least: int = 8, most: int = 128) -> Iterator[CutWindow]:
    """Yield `count` windows of `least` to `most` instructions, of as many objects as there are."""
    source = random.Random(seed)
    order = list(paths)
    source.shuffle(order)
    made = 0
    each = max(1, -(-count // max(1, len(order))))
    while made < count and order:
        for path in list(order):
            here = 0
            for window in _of_object(path, source, each, least, most):
                yield window
                made += 1
                here += 1
                if made == count:
                    return
            if not here:
                order.remove(path)


def _of_object(path: Path, source: random.Random, count: int, least: int, most: int) -> Iterator[CutWindow]:
    try:
        kernel = recover(load_file(str(path)))
    except DiagnosticError:
        return  # of a chip or a form that is not supported: no windows
    if shared_vectors(kernel):
        return
    liveness: Liveness | None = None
    places: list[tuple[str, int, int]] = []
    for block in kernel.blocks:
        start = 0
        for index in range(len(block.instructions) + 1):
            stop = index == len(block.instructions) or refusal(block.instructions[index], semantics(kernel.target)) is not None
            if stop:
                if index - start >= least:
                    places.append((block.label, start, index))
                start = index + 1
    for _ in range(count if places else 0):
        label, low, high = source.choice(places)
        length = min(source.randint(least, most), high - low)
        start = source.randint(low, high - length)
        instructions = kernel.block(label).instructions[start : start + length]
        liveness = liveness or AnalysisManager(kernel).get(Liveness)
        live_out = liveness.live_after(label, start + length - 1)
        yield CutWindow(f"{path.stem}:{label}", start, kernel.target, instructions, live_out)


def is_quiet(i: Instruction) -> bool:
    """Whether it is a wait or a nop, which compute nothing."""
    return i.definition is not None and i.definition.issue in _QUIET
