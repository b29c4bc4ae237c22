"""The instructions of a region as statements that assemble to their bytes.

Owns what is written for each instruction, and that it gives the bytes back: what the assembler would not reproduce is written
as `.long`, with the text as a comment. Labels, comments on control flow and directives are other modules' work.
"""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.backend.assembler import reproduced
from asmevo.ir.instruction import Instruction, Label
from asmevo.ir.printer import print_instruction

_BRANCH_FIELD_BYTES = 2


def statements(instructions: Sequence[Instruction], target: str) -> list[tuple[str, str]]:
    """For each instruction its statement, and a comment or "".

    Every instruction needs its bytes (`encoding`). A branch to a label counts as reproduced when all of it but the distance
    is; whoever assembles the label gives the distance.
    """
    texts: list[str] = []
    wanted: list[tuple[str, bytes]] = []
    for instruction in instructions:
        encoding = instruction.encoding
        assert encoding is not None, "only original instructions have bytes to reproduce"
        text = print_instruction(instruction)
        texts.append(text)
        if instruction.operands and isinstance(instruction.operands[-1], Label):
            wanted.append((without_target(text), bytes(_BRANCH_FIELD_BYTES) + encoding[_BRANCH_FIELD_BYTES:]))
        else:
            wanted.append((text, encoding))
    return [
        (text, "") if is_same else _as_data(text, encoding)
        for text, (_, encoding), is_same in zip(texts, wanted, reproduced(wanted, target), strict=True)
    ]


def without_target(text: str) -> str:
    """A branch to a label as the branch to the next instruction, which an assembler takes by itself."""
    head, _, _ = text.rpartition(" ")
    return f"{head} 0"


def _as_data(text: str, encoding: bytes) -> tuple[str, str]:
    if len(encoding) % 4:
        return f".byte {', '.join(f'{byte:#04x}' for byte in encoding)}", ""
    words = [int.from_bytes(encoding[at : at + 4], "little") for at in range(0, len(encoding), 4)]
    statement = f".long {', '.join(f'{word:#010x}' for word in words)}"
    return statement, "" if text.startswith(".") else text
