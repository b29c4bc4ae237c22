"""Which of a kernel's instructions another chip lacks.

Owns asking both that know: the instruction table, and LLVM's assembler for the other chip. Where they disagree, both answers
are shown; neither is trusted over the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from asmevo.backend.assembler import assemble
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.llvm import check_target
from asmevo.ir.instruction import Immediate, Instruction, Label
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction


@dataclass(frozen=True, slots=True)
class Illegal:
    """One instruction text that the other chip lacks.

    `offset` is that of its first place in .text, `count` how often it stands; `in_table` says that the table has it for the
    other chip, `refusal` what the assembler said, None when it accepts it. One of the two at least says no.
    """

    text: str
    offset: int | None
    count: int
    in_table: bool
    refusal: str | None


@dataclass(frozen=True, slots=True)
class Legality:
    """A kernel seen from another chip.

    `unknown` counts words that are no known instruction, of which nothing is said; `re_encoded` counts instructions that the
    other chip has in other bytes.
    """

    kernel: str
    target: str
    illegal: tuple[Illegal, ...]
    unknown: int
    re_encoded: int


def legal_on(kernel: Kernel, target: str) -> Legality:
    """Find the instructions of `kernel` that `target` lacks, by first place. Raises E0602 for an unknown chip."""
    check_target(target)
    first: dict[str, Instruction] = {}
    counts: dict[str, int] = {}
    unknown = 0
    for instruction in kernel.instructions():
        if instruction.definition is None:
            unknown += 1
            continue
        text = _text(instruction)
        first.setdefault(text, instruction)
        counts[text] = counts.get(text, 0) + 1
    encodings, refusals = _assembled(list(first), target)
    illegal: list[Illegal] = []
    re_encoded = 0
    for text, instruction in first.items():
        definition = instruction.definition
        assert definition is not None
        in_table = target in definition.targets
        if not in_table or text in refusals:
            illegal.append(Illegal(text, instruction.offset, counts[text], in_table, refusals.get(text)))
        elif instruction.encoding is not None and encodings[text] != _without_distance(instruction):
            re_encoded += counts[text]
    return Legality(kernel.name, target, tuple(illegal), unknown, re_encoded)


def _text(instruction: Instruction) -> str:
    operands = tuple(Immediate(0, "0") if isinstance(o, Label) else o for o in instruction.operands)
    return print_instruction(replace(instruction, operands=operands))


def _without_distance(instruction: Instruction) -> bytes:
    encoding = instruction.encoding or b""
    return bytes(2) + encoding[2:] if any(isinstance(o, Label) for o in instruction.operands) else encoding


def _assembled(texts: list[str], target: str) -> tuple[dict[str, bytes], dict[str, str]]:
    """The texts' encodings, and for those refused what the assembler said."""
    refusals: dict[str, str] = {}
    left = texts
    while True:
        try:
            return dict(zip(left, assemble(left, target), strict=True)), refusals
        except DiagnosticError as error:
            found = {d.span.source: d.message for d in error.diagnostics if d.span is not None and d.span.source in left}
            if not found:
                raise
            refusals |= found
            left = [text for text in left if text not in refusals]
