"""The key under which a form's native code is cached: a digest of everything the code depends on.

Owns the canonical order of a program's nodes. Two forms of equal key have equal code.
"""

from __future__ import annotations

import hashlib

from asmevo.backend.emulator.form import Form, expressions
from asmevo.ir.semantics.expr import Expr


def form_key(form: Form, strict: bool) -> str:
    """The key, hexadecimal; chains of any depth are walked without recursion."""
    memory = form.program.memory
    parts = [
        form.program.domain.value,
        str(form.program.intrinsic),
        str(form.places),
        str(form.modifiers),
        form.space,
        form.deferred,
        str(strict),
        str(form.selects),
        str(form.rounds),
        str(form.program.ignored_mode),
    ]
    numbers: dict[int, int] = {}
    lines: list[str] = []
    for e in expressions(form.program):
        parts.append(str(_number(e, numbers, lines)))
    parts += lines
    parts += [f"{w.target} {w.enable is None}" for w in form.program.writes]
    if memory is not None:
        parts.append(
            f"{len(memory.addresses)} {memory.bytes} {memory.data} {memory.dest} {memory.extend} {memory.resource} "
            f"{memory.index is None} {memory.soffset is None} {memory.atomic} {memory.to_lds is None}"
        )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _number(root: Expr, numbers: dict[int, int], lines: list[str]) -> int:
    """Numbers the nodes under `root` by structure, each once; iterative, since chains can be deep."""
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        e, ready = stack.pop()
        if id(e) in numbers:
            continue
        if not ready:
            stack.append((e, True))
            stack.extend((x, False) for x in e.args)
            continue
        numbers[id(e)] = len(lines)
        lines.append(f"{e.op.value} {e.bits} {e.attr!r} {[numbers[id(x)] for x in e.args]}")
    return numbers[id(root)]
