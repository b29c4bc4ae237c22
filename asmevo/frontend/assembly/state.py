"""What a source says, statement by statement: symbols, labels, sections, code, descriptors and metadata as they are read.

Owns the meaning of each statement after macros are gone. Cutting the code into kernels is the business of `module`.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from asmevo.diagnostics import Diagnostic, DiagnosticError, Span
from asmevo.frontend.assembly.data import DATA, DataError, data_bytes, data_instruction
from asmevo.frontend.assembly.expander import Statement
from asmevo.frontend.assembly.expressions import ExpressionError, Scope, UnknownValue, evaluate, evaluate_prefix
from asmevo.frontend.assembly.lines import Line, located, unquoted
from asmevo.frontend.assembly.operands import Deferred, has_symbols, mentions, rewrite, with_local_names
from asmevo.frontend.assembly.resolve import FlatLine, resolve
from asmevo.frontend.assembly.spelling import respelled
from asmevo.frontend.line import Parts, line_parser
from asmevo.frontend.llvm import TARGETS
from asmevo.ir.instruction import Instruction
from asmevo.ir.printer import quoted

_WORD = re.compile(r"[A-Za-z_.$][\w.$]*")
_ASSIGNMENT = re.compile(r'([A-Za-z_.$][\w.$@]*|"(?:[^"\\]|\\.)*")\s*==?(?!=)\s*')
_SETTERS = frozenset((".set", ".equ", ".equiv", ".eqv"))
_TARGET_ID = re.compile(r'"?amd(?:gcn|gpu[\d.]*)-amd-amdhsa-[^"\s]*?-(gfx[0-9a-f]+)((?::[a-z]+[+-])*)"?\s*\Z')
_FEATURE = re.compile(r":([a-z]+)([+-])")
_PLAIN_WORDS = re.compile(r"\.long[ \t]+(?:0x[0-9a-f]+|0|[1-9]\d*)(?:[ \t]*,[ \t]*(?:0x[0-9a-f]+|0|[1-9]\d*))*")
_MAX_LAYOUTS = 256
"""Conditionals on addresses: each one lays the code out anew."""

_ALIGNMENTS = frozenset((".p2align", ".align", ".balign", ".p2alignl", ".p2alignw", ".balignl", ".balignw", ".org"))
_SECTIONS = frozenset(
    (".text", ".data", ".bss", ".rodata", ".section", ".pushsection", ".popsection", ".previous", ".subsection")
)
_BLOCKS = {".amdhsa_kernel": ".end_amdhsa_kernel", ".amdgpu_metadata": ".end_amdgpu_metadata"}
_IGNORED = frozenset(
    (
        *(".type", ".size", ".ident", ".file", ".line", ".loc", ".weak", ".hidden", ".protected", ".internal", ".local"),
        *(".comm", ".lcomm", ".addrsig", ".addrsig_sym", ".version", ".symver", ".bundle_align_mode"),
        *(".uleb128", ".sleb128", ".float", ".double", ".single", ".reloc", ".octa", ".dc"),
        *(
            ".dcb",
            ".ds",
            ".dc.b",
            ".dc.l",
            ".dc.w",
            ".amdgpu_lds",
            ".amdhsa_code_object_version",
            ".cg_profile",
            ".lto_discard",
        ),
        *(".amdgpu_num_vgpr", ".amdgpu_num_agpr", ".amdgpu_num_sgpr", ".amdgpu_private_segment_size", ".amdgpu_uses_vcc"),
        *(".amdgpu_info", ".end_amdgpu_info", ".pal_metadata", ".incbin", ".bundle_lock", ".bundle_unlock", ".stabs"),
    )
)


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
    """An entry whose expressions have no values before the code is laid out; `failure` is what to say when one never has."""

    entry: int
    deferred: tuple[Deferred, ...]
    failure: DiagnosticError | None


@dataclass(slots=True)
class DescriptorBlock:
    """One `.amdhsa_kernel` block: the kernel's name and each setting's line with the column of its value."""

    name: str
    opening: Line
    settings: list[tuple[str, Line, int]] = field(default_factory=list[tuple[str, Line, int]])


@dataclass(slots=True)
class SourceState:
    """The reader: give it every statement, then ask it."""

    target: str
    features: str = ""
    constants: dict[str, int] = field(default_factory=dict[str, int])
    later: dict[str, Line] = field(default_factory=dict[str, Line])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    data_labels: set[str] = field(default_factory=set[str])
    locals: dict[str, int] = field(default_factory=dict[str, int])
    entries: list[Entry] = field(default_factory=list[Entry])
    flat: list[FlatLine] = field(default_factory=list[FlatLine])
    waiting: list[Waiting] = field(default_factory=list[Waiting])
    globals: list[str] = field(default_factory=list[str])
    functions: list[str] = field(default_factory=list[str])
    descriptors: list[DescriptorBlock] = field(default_factory=list[DescriptorBlock])
    metadata: tuple[Line, list[Line]] | None = None
    sections: list[tuple[bool, bool]] = field(default_factory=list[tuple[bool, bool]])
    in_code: bool = True
    was_in_code: bool = True
    block: str | None = None
    opening: Line | None = None
    placeholders: int = 0
    layouts: int = 0

    # ---- symbols ----

    def scope(self) -> Scope:
        """What expressions may refer to now."""
        return Scope(self.constants.get, self.target != "gfx90a")

    def is_defined(self, name: str) -> bool:
        """Whether a symbol or label of this name stands before here."""
        return name in self.constants or name in self.labels or name in self.later or name in self.data_labels

    def number(self, text: str, line: Line, start: int) -> int:
        """The value of the expression that is the rest of `text`. Raises E0130 when it has none."""
        try:
            return evaluate(text, self.scope(), start)
        except UnknownValue as error:
            value = self._laid_out(text[start:], line) if self._is_address(text, start) else None
            if value is None:
                line.fail("E0130", error.message, start=error.start, length=error.length)
            return value
        except ExpressionError as error:
            line.fail("E0130", error.message, start=error.start, length=error.length)

    def _is_address(self, text: str, start: int) -> bool:
        """Whether every name of the expression has a place or a value once the code so far is laid out."""
        known = Scope(lambda name: 1 if name == "." or name[0].isdigit() or self.is_defined(name) else None)
        try:
            evaluate_prefix(text, known, start)
        except ExpressionError as error:
            return not isinstance(error, UnknownValue)
        return True

    def _laid_out(self, text: str, line: Line) -> int | None:
        self.layouts += 1
        if self.layouts > _MAX_LAYOUTS:
            line.fail("E0138", f"more than {_MAX_LAYOUTS} values depend on addresses before the end of the source")
        try:
            question = with_local_names(text, self.local_label)
            answers = resolve([*self._without_questions(), FlatLine("s_nop 0", line, (question,))], self.target)
        except DiagnosticError:
            return None
        return answers[-1].values[0]

    def _without_questions(self) -> list[FlatLine]:
        return [replace(item, asks=()) for item in self.flat]

    # ---- statements ----

    def take(self, statement: Statement) -> None:
        """Read one statement. Raises DiagnosticError E0121 to E0133 and E0145."""
        line = statement.line
        if statement.label is not None:
            self._label(statement.label, line, statement.start)
            return
        body = line.text[statement.start :]
        if match := _ASSIGNMENT.match(line.text, statement.start):
            self._assign(unquoted(match.group(1)), line, match.end(), may_change=True)
            return
        word = _WORD.match(body)
        head = word.group().lower() if word else ""
        if head.startswith("."):
            self._directive(head, line, statement.start + len(head))
        elif not self.in_code:
            line.fail("E0131", "an instruction stands outside the text section", "write .text before it", start=statement.start)
        else:
            self._instruction(body, line, statement.start)

    def take_raw(self, line: Line) -> bool:
        """Read a line inside a descriptor or metadata block; False when no block is open."""
        if self.block is None:
            return False
        word = line.text.strip()
        if word.lower() == _BLOCKS[self.block]:
            self.block = None
        elif self.block == ".amdgpu_metadata":
            assert self.metadata is not None
            self.metadata[1].append(line)
        else:
            self._setting(line)
        return True

    def _label(self, name: str, line: Line, start: int) -> None:
        shown = name
        if name.isdigit():
            self.locals[name] = self.locals.get(name, 0) + 1
            name = _local_name(name, self.locals[name])
        else:
            name = unquoted(name)
        if self.is_defined(name):
            line.fail("E0132", f"label '{name}' stands twice", start=start, length=len(shown))
        if self.in_code:
            self.labels[name] = len(self.entries)
            self.flat.append(FlatLine(f"{name if shown.isdigit() else shown}:", line))
        else:
            self.data_labels.add(name)

    def local_label(self, reference: str) -> str:
        """The name of the label that `1b` or `1f` means here."""
        digits, direction = reference[:-1], reference[-1]
        return _local_name(digits, self.locals.get(digits, 0) + (direction == "f"))

    def _assign(self, name: str, line: Line, start: int, *, may_change: bool) -> None:
        if name in self.labels or name in self.data_labels or (not may_change and self.is_defined(name)):
            line.fail("E0145", f"'{name}' is defined before")
        if name == ".":
            line.fail("E0145", "the position is not assigned to", "use .org or .p2align")
        try:
            self.constants[name] = evaluate(line.text, self.scope(), start)
            self.later.pop(name, None)
        except UnknownValue:
            self.constants.pop(name, None)
            self.later[name] = line
        except ExpressionError as error:
            line.fail("E0130", error.message, start=error.start, length=error.length)
        value = with_local_names(line.text[start:], self.local_label)
        self.flat.append(FlatLine(f".set {quoted(name)}, {value}", line))

    # ---- directives ----

    def _directive(self, head: str, line: Line, start: int) -> None:
        rest = line.text[start:].strip()
        if head in DATA or head in _ALIGNMENTS:
            if self.in_code:
                self._data(head, line, start)
        elif head in _SETTERS:
            name, comma, _ = rest.partition(",")
            if not comma or not name.strip():
                line.fail("E0145", f"{head} needs a name and a value")
            self._assign(unquoted(name), line, line.text.index(",", start) + 1, may_change=head in (".set", ".equ"))
        elif head in _SECTIONS:
            self._section(head, rest, line)
        elif head in (".globl", ".global"):
            self.globals.append(unquoted(rest))
        elif head == ".amdgcn_target":
            self._target(rest, line)
        elif head in _BLOCKS:
            self._open_block(head, rest, line)
        elif head == ".type":
            name, _, kind = rest.partition(",")
            if "function" in kind:
                self.functions.append(unquoted(name))
        elif head not in _IGNORED and not head.startswith(".cfi_"):
            known = [*DATA, *_SETTERS, *_SECTIONS, *_IGNORED, *_BLOCKS, *_ALIGNMENTS, ".globl", ".amdgcn_target"]
            near = difflib.get_close_matches(head, known, n=1)
            help = f"did you mean '{near[0]}'?" if near else None
            line.fail("E0131", f"unknown directive '{head}'", help, start=start - len(head), length=len(head))

    def _section(self, head: str, rest: str, line: Line) -> None:
        if head == ".subsection" or (head in (".text", ".data") and rest):
            line.fail("E0131", "subsections are not supported", "write the parts in the order they shall have")
        here = (self.in_code, self.was_in_code)
        if head == ".popsection":
            if not self.sections:
                line.fail("E0131", ".popsection without .pushsection")
            self.in_code, self.was_in_code = self.sections.pop()
            return
        if head == ".previous":
            self.in_code, self.was_in_code = self.was_in_code, self.in_code
            return
        if head == ".pushsection":
            self.sections.append(here)
        self.was_in_code = self.in_code
        self.in_code = head == ".text" or (
            head in (".section", ".pushsection") and unquoted(rest.split(",")[0]).startswith(".text")
        )

    def _target(self, rest: str, line: Line) -> None:
        match = _TARGET_ID.match(rest)
        if match is None or match.group(1) not in TARGETS:
            line.fail("E0131", f"target {rest} is not supported", f"supported targets: {', '.join(TARGETS)}")
        self.target = match.group(1)
        self.features = ",".join(f"{sign}{name}" for name, sign in _FEATURE.findall(match.group(2)))

    def _open_block(self, head: str, rest: str, line: Line) -> None:
        self.block, self.opening = head, line
        if head == ".amdgpu_metadata":
            self.metadata = (line, [])
            return
        name = unquoted(rest)
        if not name:
            line.fail("E0146", ".amdhsa_kernel needs a name")
        if any(block.name == name for block in self.descriptors):
            line.fail("E0146", f"kernel '{name}' has two descriptors")
        self.descriptors.append(DescriptorBlock(name, line))

    def _setting(self, line: Line) -> None:
        match = re.match(r"\s*(\.amdhsa_\w+)(?=\s)", line.text)
        if match is None:
            line.fail("E0146", "a descriptor block holds .amdhsa_ settings, each with a value")
        self.descriptors[-1].settings.append((match.group(1), line, match.end()))

    # ---- code ----

    def _data(self, head: str, line: Line, start: int) -> None:
        if head == ".org":
            line.fail("E0131", ".org in the code is not supported", "write .fill for the gap")
        if head in _ALIGNMENTS:
            self.flat.append(FlatLine(line.text[start - len(head) :], line))
            return
        text = line.text[start - len(head) :].strip()
        if head == ".long" and _PLAIN_WORDS.fullmatch(text):
            # Numbers as they are written, so that a listing of data comes back word for word.
            self._instruction(text, line, start - len(head))
            return
        waits: list[str] = []

        def value(begin: int, end: int) -> int:
            argument = line.text[:end]
            try:
                return evaluate(argument, self.scope(), begin)
            except UnknownValue:
                waits.append(with_local_names(argument[begin:].strip(), self.local_label))
                return 0
            except ExpressionError as error:
                line.fail("E0130", error.message, start=error.start, length=error.length)

        try:
            code = data_bytes(head, line.text, start, value)
        except DataError as error:
            line.fail("E0126", error.message, start=error.start, length=1)
        if code:
            self._add(Entry(data_instruction(code), line, text, None), tuple(waits))
            if waits:
                self.waiting.append(Waiting(len(self.entries) - 1, (), None))

    def _add(self, entry: Entry, asks: Sequence[str] = ()) -> None:
        self.entries.append(entry)
        self.flat.append(FlatLine(entry.text, entry.line, tuple(asks), entry.start))

    def _instruction(self, body: str, line: Line, start: int) -> None:
        span = line.span(start, len(body))
        failure: DiagnosticError | None = None
        if not mentions(body, self.is_defined):
            try:
                self._add(Entry(_instruction(line_parser().parse(body, span), line, start, len(body)), line, body, start))
                return
            except DiagnosticError as error:
                failure = error
        text = _lowered(body)
        head = text.split(None, 1)[0]
        try:
            found = rewrite(
                text,
                self.scope(),
                self.local_label,
                takes_label=head.startswith(("s_branch", "s_cbranch_", "s_call_")),
                used=self.placeholders,
            )
        except ExpressionError as error:
            raise self._explained(failure, line, start + error.start, error) from error
        same = found.text == body
        try:
            parts = _parts(found.text, span if same else None)
        except DiagnosticError as error:
            raise self._refused(failure or error, found.text, same or failure is not None, line, start, len(body)) from error
        self.placeholders += len(found.deferred)
        shown = found.text
        for item in found.deferred:
            shown = shown.replace(f"{item.placeholder:#x}", item.text, 1)
        if not found.deferred and not has_symbols(body, self.is_defined):
            # The assembler can judge the line itself, in the spelling it has.
            shown = body
        entry = Entry(_instruction(parts, line, start, len(body)), line, shown, start if shown == body else None)
        self._add(entry, [item.text for item in found.deferred])
        if found.deferred:
            self.waiting.append(Waiting(len(self.entries) - 1, found.deferred, failure))

    def _explained(self, failure: DiagnosticError | None, line: Line, start: int, error: ExpressionError) -> DiagnosticError:
        if failure is not None:
            return located(failure.diagnostics[0], line.origin)
        return located(Diagnostic("E0130", error.message, line.span(start, error.length)), line.origin)

    def _refused(
        self, error: DiagnosticError, text: str, is_placed: bool, line: Line, start: int, length: int
    ) -> DiagnosticError:
        found = error.diagnostics[0]
        if not is_placed:
            found = replace(
                found, span=line.span(start, length), help=found.help or f"with values for symbols the line is: {text}"
            )
        return located(found, line.origin)

    def unfinished(self) -> None:
        """Raise E0136 when the source ends inside a block."""
        if self.block is not None:
            assert self.opening is not None
            self.opening.fail("E0136", f"the file ends before {_BLOCKS[self.block]}")
        return None


def _parts(text: str, span: Span | None) -> Parts:
    """The parts of a line, in whatever spelling LLVM takes it; the error is that of the line as it stands."""
    try:
        return line_parser().parse(text, span)
    except DiagnosticError:
        other = respelled(text)
        if other != text:
            with contextlib.suppress(DiagnosticError):
                return line_parser().parse(other)
        raise


def _lowered(body: str) -> str:
    """The body with its opcode in lower case: LLVM takes either."""
    head = body.split(None, 1)[0]
    return head.lower() + body[len(head) :]


def _local_name(digits: str, count: int) -> str:
    return f".Llocal_{digits}_{count}"


def _instruction(parts: Parts, line: Line, start: int, length: int) -> Instruction:
    return Instruction(*parts, span=line.span(start, length))
