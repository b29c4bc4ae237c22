"""What only a laid-out text can tell: label differences, descriptors, and whether the assembler takes an instruction.

Owns the questions put to LLVM's assembler. Every text given to it was read by this package before: no line of a source
reaches LLVM unread.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.diagnostics import Diagnostic
from asmevo.frontend import elf
from asmevo.frontend.assembly.lines import Line, located
from asmevo.frontend.llvm import AssemblyError, assemble_object
from asmevo.frontend.untrusted import assemble_untrusted

_VALUES = ".asmevo_values"
_HERE = re.compile(r"(?<![\w.$])\.(?![\w.$])")
_TEXT = ".text"


@dataclass(frozen=True, slots=True)
class FlatLine:
    """One line of the text in which labels have places: a label, an instruction, data or an assignment.

    `asks` are the expressions of an instruction whose values are wanted.
    """

    text: str
    line: Line
    asks: tuple[str, ...] = ()
    start: int | None = None
    """Column of the text in the line; None when the line says it in other words."""
    is_entry: bool = False
    """Whether the line is an instruction, data or an alignment of the code."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An instruction's bytes, and the value of each expression it asked for; None where a relocation must fill it in."""

    encoding: bytes
    values: tuple[int | None, ...]


def resolve(flat: Sequence[FlatLine], target: str) -> list[Answer]:
    """The answers to every line that asks, in order.

    Raises: DiagnosticError E0126 at the line that the assembler refuses, E0626 when it does not come to an end.
    """
    texts: list[str] = [_TEXT, f"{_mark(0, 'o')}:"]
    sources: dict[int, FlatLine] = {}
    questions: list[str] = []
    asking = [item for item in flat if item.asks]
    number = 0
    for item in flat:
        if item.asks:
            begin, end = _mark(number, "a"), _mark(number, "z")
            texts += [f"{begin}:", item.text, f"{end}:"]
            questions += [f"{begin}-{_mark(0, 'o')}", f"{end}-{begin}"]
            questions += [_HERE.sub(begin, ask) for ask in item.asks]
            number += 1
        else:
            texts.append(item.text)
        sources[len(texts) - bool(item.asks)] = item
    texts.append(f'.section {_VALUES},"",@progbits')
    # Harmless lines can be endless together: LLVM looks for the fixed point of a text in which sizes depend on places.
    source = "\n".join([*texts, *(f".quad {question}" for question in questions)]) + "\n"
    made = assemble_untrusted(source, target, "", flat[-1].line.file, hsa=False)
    if made.errors:
        raise _refusal(made.errors[0], sources, flat[-1])
    values, code = _read(made.object, len(questions))
    answers: list[Answer] = []
    at = 0
    for item in asking:
        start, size = values[at], values[at + 1]
        assert start is not None
        assert size is not None
        answers.append(Answer(code[start : start + size], tuple(values[at + 2 : at + 2 + len(item.asks)])))
        at += 2 + len(item.asks)
    return answers


def _mark(number: int, kind: str) -> str:
    return f".Lasmevo_{kind}{number}"


def _refusal(error: AssemblyError, sources: dict[int, FlatLine], last: FlatLine) -> Exception:
    item = sources.get(error.line)
    if item is None:
        message = f"an expression has no value: {error.message}"
        return located(Diagnostic("E0126", message, last.line.span()), last.line.origin)
    span = item.line.span()
    if item.start is not None and 0 < error.column <= len(item.text):
        span = item.line.span(item.start + error.column - 1, 1)
    return located(Diagnostic("E0126", f"the assembler refuses this: {error.message}", span), item.line.origin)


def _read(data: bytes, count: int) -> tuple[list[int | None], bytes]:
    found = elf.read(data, "<assembled>")
    section, text = found.section(_VALUES), found.section(_TEXT)
    assert section is not None
    assert text is not None
    values: list[int | None] = list(struct.unpack(f"<{count}q", found.contents(section)))
    for table in found.sections:
        # Without HSA the tables have no addends: pairs of offset and info.
        if table.kind == elf.SHT_REL and table.info == section.index:
            for offset, _ in struct.iter_unpack("<QQ", found.contents(table)):
                values[offset // 8] = None
    return values, found.contents(text)


# ---- single instructions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Candidate:
    """An instruction to be judged: its text, and the line with the column where the text stands (None when rewritten)."""

    text: str
    line: Line
    start: int | None


def check_instructions(candidates: Sequence[Candidate], target: str) -> None:
    """Raise E0129 at the first instruction that the assembler for `target` refuses; texts are single instructions."""
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        first.setdefault(candidate.text, candidate)
    made = assemble_object("\n".join(first) + "\n", target)
    order = list(first.values())
    for error in sorted(made.errors, key=lambda error: error.line):
        candidate = order[error.line - 1] if 0 < error.line <= len(order) else order[-1]
        line = candidate.line
        if candidate.start is None:
            span = line.span()
        else:
            column = min(max(error.column - 1, 0), len(candidate.text) - 1)
            word = re.match(r"[\w.]+|.", candidate.text[column:])
            span = line.span(candidate.start + column, len(word.group()) if word else 1)
        raise located(Diagnostic("E0129", f"{target} has no such instruction: {error.message}", span), line.origin)


# ---- descriptors --------------------------------------------------------------------------------------------------------


def descriptor_bytes(settings: Sequence[tuple[str, int, Line]], opening: Line, target: str, features: str) -> bytes:
    """The 64 bytes that `.amdhsa_kernel` with these settings makes, with an entry offset of 0.

    Raises: DiagnosticError E0146 at the setting, or at `opening`, that the assembler refuses.
    """
    head = [".text", "k:", "s_endpgm", ".rodata", ".amdhsa_kernel k"]
    body = [f"{name} {value}" for name, value, _ in settings]
    made = assemble_object("\n".join([*head, *body, ".end_amdhsa_kernel"]) + "\n", target, hsa=True, features=features)
    if made.errors:
        error = min(made.errors, key=lambda error: error.line)
        index = error.line - len(head) - 1
        line = settings[index][2] if 0 <= index < len(settings) else opening
        raise located(Diagnostic("E0146", f"the descriptor cannot be made: {error.message}", line.span()), line.origin)
    found = elf.read(made.object, "<assembled>")
    section = found.section(".rodata")
    assert section is not None
    return found.contents(section)[:64]
