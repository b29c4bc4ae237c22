"""Small kernels written as assembly text, for tests of analyses and of the cycle model."""

from dataclasses import replace

from asmevo.frontend.parser import parse_line
from asmevo.ir.instruction import Instruction, Label
from asmevo.ir.isa.model import IssueClass
from asmevo.ir.kernel import Block, Kernel


def kernel_of(text: str, target: str = "gfx942") -> Kernel:
    """A kernel of labelled blocks: `name:` starts a block; branches and falling through make the edges."""
    bodies: dict[str, list[Instruction]] = {}
    current, uid = "entry", 0
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.endswith(":"):
            current = stripped[:-1]
            bodies[current] = []
        elif stripped:
            bodies.setdefault(current, []).append(replace(parse_line(stripped), uid=uid))
            uid += 1
    labels = list(bodies)
    following = [*labels[1:], None]
    blocks = tuple(
        Block(label, tuple(bodies[label]), _successors(bodies[label], after))
        for label, after in zip(labels, following, strict=True)
    )
    return Kernel("test", target, blocks, (labels[0],))


def _successors(body: list[Instruction], following: str | None) -> tuple[str, ...]:
    definition = body[-1].definition if body else None
    targets = [operand.name for operand in body[-1].operands if isinstance(operand, Label)] if body else []
    ends = definition is not None and definition.issue is IssueClass.END
    stops = ends or (definition is not None and definition.is_branch and not definition.is_conditional)
    return (*targets, *([] if stops or following is None else [following]))
