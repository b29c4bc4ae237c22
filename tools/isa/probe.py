"""Asks LLVM's assembler what it accepts in every operand's place, and compares that with what the tables say.

Owns the candidate texts, the prediction from an operand's class, and running both. Not asked: 1/2pi, which LLVM takes as text
only where the operand's type can hold it; offsets and immediates, whose ranges are not a matter of registers.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asmevo.frontend.llvm import assemble_object
from asmevo.ir.isa.operands import Constants, OperandClass, operand_class, same_file, takes_register
from asmevo.ir.registers import (
    AGPR0,
    EXEC,
    EXECZ,
    FLAT_SCRATCH,
    M0,
    SCC,
    TTMP,
    VCC,
    VCCZ,
    VGPR0,
    XNACK_MASK,
    RegisterFile,
    RegisterRange,
)
from tools.isa.forms import Form, printed

# Complaints about the instruction as a whole, not about this operand: they leave the question open.
_ELSEWHERE = re.compile("constant bus|only one unique literal|must not partially overlap|wrong register tuple size")
_LINES_A_MODULE = 50_000
_COUNTS = (1, 2, 3, 4, 5, 6, 8, 16, 32)


class Kind(enum.Enum):
    """What a candidate is."""

    REGISTER = "register"
    APERTURE = "read-only source with a name"
    INTEGER = "integer inline constant"
    FLOAT = "float inline constant"
    LITERAL = "literal"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text to try in an operand's place, and the register that it names."""

    text: str
    kind: Kind
    place: RegisterRange | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the table says of a candidate and what the assembler says; `accepted` is None when it does not say."""

    form: Form
    index: int
    candidate: Candidate
    expected: bool
    accepted: bool | None
    message: str


def candidates() -> Iterator[Candidate]:
    """All texts that are tried in every place."""
    for base, counts, starts in (
        (VGPR0, _COUNTS, (64, 65)),
        (AGPR0, _COUNTS, (64, 65)),
        (0, tuple(count for count in _COUNTS if count <= 16), (64, 65, 66)),
        (TTMP, (1, 2, 4, 8, 16), (0,)),
    ):
        for count in counts:
            for start in starts:
                yield _register(RegisterRange(base + start, count))
    for unit in (VCC, EXEC, FLAT_SCRATCH, XNACK_MASK):
        yield _register(RegisterRange(unit, 2))
        yield _register(RegisterRange(unit))
    for unit in (M0, SCC, VCCZ, EXECZ):
        yield _register(RegisterRange(unit))
    for text in ("src_shared_base", "src_private_limit", "src_pops_exiting_wave_id"):
        yield Candidate(text, Kind.APERTURE)
    for text in ("0", "64", "-16"):
        yield Candidate(text, Kind.INTEGER)
    yield Candidate("1.0", Kind.FLOAT)
    yield Candidate("0x3ff", Kind.LITERAL)


def _register(place: RegisterRange) -> Candidate:
    return Candidate(str(place), Kind.REGISTER, place)


def expected(form: Form, index: int, candidate: Candidate) -> bool:
    """Whether the tables allow `candidate` as operand `index` of `form`."""
    takes = operand_class(form.definition, index, form.encoding)
    if takes.fixed:
        return candidate.text == takes.fixed
    if candidate.kind is Kind.APERTURE:
        narrow = form.bits[index] in (32, 64) or takes.name == "accumulator"
        return "source" in takes.named and narrow
    if candidate.place is not None:
        linked = candidate.place.file in _linked(form, index, takes) or candidate.place.file is RegisterFile.SPECIAL
        return linked and takes_register(takes, form.bits[index], candidate.place)
    return _constant(form, takes.constants, candidate)


def _constant(form: Form, constants: Constants, candidate: Candidate) -> bool:
    if constants is Constants.OFFSET:
        return candidate.kind is not Kind.FLOAT and "offset:" not in form.modifiers
    if candidate.kind is Kind.LITERAL:
        return constants is Constants.LITERAL
    return constants in (Constants.INLINE, Constants.LITERAL)


def _linked(form: Form, index: int, takes: OperandClass) -> frozenset[RegisterFile]:
    """The files that the other operands leave, where one bit of the encoding speaks for several."""
    names = same_file(form.definition)
    if form.definition.operands[index].name not in names:
        return takes.files
    for number, spec in enumerate(form.definition.operands):
        if number != index and spec.name in names and form.operands[number][0] in "va":
            return frozenset({RegisterFile(form.operands[number][0])})
    return takes.files


def ask(forms: Sequence[Form], target: str, tried: Sequence[Candidate]) -> Iterator[Answer]:
    """Try every candidate in every register operand of every form, some 70,000 lines a second."""
    questions: list[tuple[Form, int, Candidate]] = []
    for form in forms:
        for index, _ in enumerate(form.operands):
            if _is_asked(form, index):
                questions += [(form, index, candidate) for candidate in tried if not _is_open(form, index, candidate)]
        if len(questions) >= _LINES_A_MODULE:
            yield from _answers(questions, target)
            questions = []
    yield from _answers(questions, target)


def _is_asked(form: Form, index: int) -> bool:
    takes = operand_class(form.definition, index, form.encoding)
    return bool(takes.fixed) or (bool(form.bits[index]) and takes.constants is not Constants.IMMEDIATE)


def _is_open(form: Form, index: int, candidate: Candidate) -> bool:
    # Whether a byte offset may be negative depends on the opcode.
    takes = operand_class(form.definition, index, form.encoding)
    return takes.constants is Constants.OFFSET and candidate.text.startswith("-")


def _answers(questions: Sequence[tuple[Form, int, Candidate]], target: str) -> Iterator[Answer]:
    messages = refused([form.line(index, candidate.text) for form, index, candidate in questions], target)
    for number, (form, index, candidate) in enumerate(questions):
        message = messages.get(number, "")
        accepted = None if message and _ELSEWHERE.search(message) else not message
        yield Answer(form, index, candidate, expected(form, index, candidate), accepted, message)


def refused(lines: Sequence[str], target: str) -> dict[int, str]:
    """The number of each line that the assembler refuses, counted from 0, with its message."""
    if not lines:
        return {}
    return {error.line - 1: error.message for error in assemble_object(printed(lines), target).errors}
