"""The instructions and data of a source's code, in order, as they are read.

Owns the step from one statement to one entry: expressions replaced, spellings tried, errors put at the words they are about.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from asmevo.diagnostics import Diagnostic, DiagnosticError, Span
from asmevo.frontend.assembly.data import DataError, data_bytes, data_instruction
from asmevo.frontend.assembly.expressions import ExpressionError, UnknownValue, evaluate
from asmevo.frontend.assembly.lines import Line, located
from asmevo.frontend.assembly.operands import MAX_DEFERRED, Deferred, has_symbols, is_word, mentions, rewrite, with_local_names
from asmevo.frontend.assembly.resolve import FlatLine
from asmevo.frontend.assembly.spelling import spellings, with_inline_doubles
from asmevo.frontend.assembly.symbols import SymbolTable
from asmevo.frontend.line import Parts, line_parser
from asmevo.ir.instruction import Immediate, Instruction, Label
from asmevo.ir.isa.model import Family

ALIGNMENTS = frozenset((".p2align", ".align", ".balign", ".p2alignl", ".p2alignw", ".balignl", ".balignw"))
MAX_ALIGNMENT = 1 << 16
"""Bytes; beyond it one directive could make gigabytes."""

_WORD_BYTES = 4
MAX_ENTRIES = 1 << 16
"""Twice the largest production kernel known, and read in some seconds."""

_PLAIN_WORDS = re.compile(r"\.long[ \t]+(?:0x[0-9a-f]+|0|[1-9]\d*)(?:[ \t]*,[ \t]*(?:0x[0-9a-f]+|0|[1-9]\d*))*")
_PLAIN_BRANCH = re.compile(
    r"(s_branch|s_cbranch_(?:scc[01]|vccz|vccnz|execz|execnz))[ \t]+([A-Za-z_$][\w.$]*|\.[A-Za-z_][\w.$]*)\Z"
)
_SHORT_FAMILIES = frozenset((Family.VOP1, Family.VOP2, Family.VOPC))
_BRANCHES = ("s_branch", "s_cbranch_", "s_call_")


@dataclass(frozen=True, slots=True)
class Entry:
    """One instruction of the code, or data in it, with where it came from.

    `start` is the column of its text, None when the text was rewritten; `text` is what the grammar read.
    """

    instruction: Instruction
    line: Line
    text: str
    start: int | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """An entry whose bytes or expressions are not known before the code is laid out.

    `failure` is what to say when an expression never gets a value; `is_padding` tells that the entry stands for what an
    alignment fills in.
    """

    entry: int
    deferred: tuple[Deferred, ...] = ()
    failure: DiagnosticError | None = None
    is_padding: bool = False


@dataclass(slots=True)
class Code:
    """The code read so far: `entries`, and of those which `waiting` must be settled by a layout, in order."""

    symbols: SymbolTable
    entries: list[Entry] = field(default_factory=list[Entry])
    waiting: list[Waiting] = field(default_factory=list[Waiting])
    _placeholders: int = 0
    _odd_bytes: int = 0
    """How many bytes stand behind the last whole word."""

    def add_instruction(self, body: str, line: Line, start: int) -> None:
        """Read an instruction that stands at column `start`. Raises DiagnosticError E0121 to E0130."""
        span = line.span(start, len(body))
        if (
            (match := _PLAIN_BRANCH.match(body))
            and match.group(2) not in self.symbols.constants
            and not is_word(match.group(2))
        ):
            # Every label is another shape of line; the grammar need not see each.
            parts = line_parser().parse(f"{match.group(1)} L_0", span)
            instruction = Instruction(parts.mnemonic, (Label(match.group(2)),), (), parts.definition, span=span)
            self._add(Entry(instruction, line, body, start))
            return
        failure: DiagnosticError | None = None
        if not mentions(body, self.symbols.is_defined):
            try:
                self._add(Entry(Instruction(*line_parser().parse(body, span), span=span), line, body, start))
                return
            except DiagnosticError as error:
                failure = error
        text = _lowered(body)
        scope, local = self.symbols.scope(), self.symbols.local_label
        takes_label = text.startswith(_BRANCHES)
        try:
            found = rewrite(text, scope, local, takes_label=takes_label, used=self._placeholders)
        except ExpressionError as error:
            raise _explained(failure, line, start, error) from error
        same = found.text == body
        try:
            parts = _parts(found.text, span if same else None)
        except DiagnosticError as error:
            raise _refused(failure or error, found.text, same or failure is not None, line, span) from error
        self._placeholders += len(found.deferred)
        shown = found.text
        for item in found.deferred:
            shown = shown.replace(f"{item.placeholder:#x}", item.text, 1)
        if not found.deferred and not has_symbols(body, self.symbols.is_defined):
            # The assembler can judge the line itself, in the spelling it has.
            shown = body
        entry = Entry(Instruction(*parts, span=span), line, shown, start if shown == body else None)
        self._add(entry, [item.text for item in found.deferred])
        if found.deferred:
            self.waiting.append(Waiting(len(self.entries) - 1, found.deferred, failure))

    def add_data(self, head: str, line: Line, start: int) -> None:
        """Read a data directive whose arguments begin at column `start`. Raises DiagnosticError E0126, E0130."""
        text = line.text[start - len(head) :].strip()
        if head == ".long" and _PLAIN_WORDS.fullmatch(text):
            # Numbers as they are written, so that a listing of data comes back word for word.
            self.add_instruction(text, line, start - len(head))
            return
        waits: list[str] = []

        def value(begin: int, end: int) -> int:
            argument = line.text[:end]
            try:
                return evaluate(argument, self.symbols.scope(), begin)
            except UnknownValue:
                waits.append(with_local_names(argument[begin:].strip(), self.symbols.local_label))
                return 0
            except ExpressionError as error:
                line.fail("E0130", error.message, start=error.start, length=error.length)

        try:
            code = data_bytes(head, line.text, start, value)
        except DataError as error:
            line.fail("E0126", error.message, start=error.start, length=1)
        if code:
            self._odd_bytes = (self._odd_bytes + len(code)) % _WORD_BYTES
            laid_out = with_local_names(text, self.symbols.local_label) if waits else text
            self._add(Entry(data_instruction(code), line, laid_out, None), waits)
            if waits:
                if len(self.waiting) >= MAX_DEFERRED:
                    line.fail("E0138", f"more than {MAX_DEFERRED} lines depend on addresses")
                self.waiting.append(Waiting(len(self.entries) - 1))

    def add_alignment(self, head: str, line: Line, start: int) -> None:
        """Read an alignment directive whose arguments begin at column `start`. Raises DiagnosticError E0130, E0138."""
        argument = line.text[:end] if (end := line.text.find(",", start)) >= 0 else line.text
        number = self.symbols.number(argument, line, start)
        if (number > MAX_ALIGNMENT.bit_length() - 1) if head.startswith(".p2") else (number > MAX_ALIGNMENT):
            line.fail(
                "E0138", f"code is aligned to at most {MAX_ALIGNMENT} bytes", start=start + 1, length=len(argument) - start - 1
            )
        text = line.text[start - len(head) :]
        self._check_filler(1 << max(number, 0) if head.startswith(".p2") else number, line, start)
        if not self.entries:
            # Code starts on the largest boundary that is asked for: nothing is filled in.
            self.symbols.flat.append(FlatLine(text, line))
            return
        self._add(Entry(data_instruction(b""), line, text, None), ("0",))
        self.waiting.append(Waiting(len(self.entries) - 1, is_padding=True))

    def _check_filler(self, alignment: int, line: Line, start: int) -> None:
        """Refuse what LLVM never comes to the end of: filling a gap with s_nop that is no whole number of them."""
        _, *others = line.text[start:].split(",")
        step = min(max(alignment, 1), _WORD_BYTES)
        if self._odd_bytes % step and not (others and others[0].strip()):
            line.fail(
                "E0126",
                f"the gap behind {self._odd_bytes} odd bytes cannot be filled with s_nop",
                "give a filler: .p2align 2, 0",
            )
        self._odd_bytes = -(-self._odd_bytes // step) * step % _WORD_BYTES

    def _add(self, entry: Entry, asks: Sequence[str] = ()) -> None:
        if len(self.entries) >= MAX_ENTRIES:
            entry.line.fail("E0138", f"the source has more than {MAX_ENTRIES} instructions and data directives")
        self.entries.append(entry)
        self.symbols.flat.append(FlatLine(entry.text, entry.line, tuple(asks), entry.start, is_entry=True))


def _explained(failure: DiagnosticError | None, line: Line, start: int, error: ExpressionError) -> DiagnosticError:
    if failure is not None:
        return located(failure.diagnostics[0], line.origin)
    return located(Diagnostic("E0130", error.message, line.span(start + error.start, error.length)), line.origin)


def _refused(error: DiagnosticError, text: str, is_placed: bool, line: Line, span: Span) -> DiagnosticError:
    found = error.diagnostics[0]
    if not is_placed:
        found = replace(found, span=span, help=found.help or f"with values for symbols the line is: {text}")
    return located(found, line.origin)


def _parts(text: str, span: Span | None) -> Parts:
    """The parts of a line, in whatever spelling LLVM takes it; the error is that of the line as it stands."""
    try:
        return line_parser().parse(text, span)
    except DiagnosticError:
        for other in spellings(text):
            if (parts := _other(other)) is not None:
                return parts
        raise


def _other(text: str) -> Parts | None:
    """The parts of another spelling, with the bits of doubles as floats where only that makes it right; None when it is not."""
    with contextlib.suppress(DiagnosticError):
        return line_parser().parse(text)
    changed, floats = with_inline_doubles(text)
    if not floats:
        return None
    parse = line_parser().parse
    try:
        parts = parse(changed)
        placed = _constants(parts, floats)
        if placed is None:
            return None
        definition = parts.definition
        if any(item.negate or item.absolute for item in placed) and definition and definition.family in _SHORT_FAMILIES:
            # Only the long encoding has modifiers; without it the float itself would be changed, and cut to 32 bits.
            mnemonic = changed.split(None, 1)[0]
            return parse(f"{mnemonic.removesuffix('_e64')}_e64{changed[len(mnemonic) :]}")
    except DiagnosticError:
        return None
    return parts


def _constants(parts: Parts, floats: Collection[str]) -> list[Immediate] | None:
    """The operands that are one of `floats`; None when one stands where the encoding has no 64-bit constant."""
    definition = parts.definition
    if definition is None or definition.mnemonic.startswith("v_pk_"):
        return None
    found: list[Immediate] = []
    for spec, operand in zip(definition.operands, parts.operands, strict=True):
        if isinstance(operand, Immediate) and operand.is_float and operand.text in floats:
            if spec.bits != 64:
                return None
            found.append(operand)
    return found


def _lowered(body: str) -> str:
    """The body with its opcode in lower case: LLVM takes either."""
    head = body.split(None, 1)[0]
    return head.lower() + body[len(head) :]
