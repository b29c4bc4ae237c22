"""A listing read back: which statements stand in which part of the object.

Owns cutting a text into statements (comments and blank lines gone) and sorting them into code, data, descriptors and metadata,
each with its line. It knows the shapes that listings use, not everything an assembler takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from asmevo.backend.listing.metadata import BEGIN, END
from asmevo.diagnostics import Span, fail

_SIZE_LIMIT, _LINE_LIMIT = 64 << 20, 4096
_LABEL = re.compile(r'([A-Za-z_.$][\w.$@]*|"(?:[^"\\]|\\.)*"):(?!\S)')
_SECTION = re.compile(r'\.section\s+("(?:[^"\\]|\\.)*"|[\w.$@]+)\s*(?:,.*)?')
_DESCRIPTOR, _DESCRIPTOR_END = re.compile(r"\.amdhsa_kernel\s+(.+)"), ".end_amdhsa_kernel"
_HEAD = frozenset((".amdgcn_target", ".amdhsa_code_object_version"))
_SYMBOL_DIRECTIVES = frozenset((".globl", ".global", ".weak", ".local", ".protected", ".hidden", ".internal", ".type", ".size"))
_DATA = frozenset((".long", ".byte", ".short", ".quad", ".zero", ".asciz", ".ascii", ".2byte", ".4byte", ".8byte", ".int"))
_ALIGNMENTS = frozenset((".p2align", ".balign"))


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement and its 1-based line; `column` is that of its first character."""

    text: str
    line: int
    column: int


@dataclass(slots=True)
class Section:
    """A data section's statements, its own directive left out, and the labels among them."""

    name: str
    statements: list[Statement] = field(default_factory=list[Statement])


@dataclass(slots=True)
class Block:
    """The inside of a `.amdhsa_kernel` block, with the kernel's name."""

    name: str
    opening: Statement
    statements: list[Statement] = field(default_factory=list[Statement])


@dataclass(slots=True)
class Document:
    """A listing's parts. `code` holds instructions, data words and labels of .text in order; `metadata` None: there is none."""

    file: str
    lines: list[str]
    target: Statement | None = None
    code: list[Statement] = field(default_factory=list[Statement])
    sections: list[Section] = field(default_factory=list[Section])
    descriptors: list[Block] = field(default_factory=list[Block])
    metadata: list[Statement] | None = None

    def span(self, statement: Statement, start: int = 0, length: int | None = None) -> Span:
        """Where `length` characters of a statement stand, its end included when None."""
        size = len(statement.text) - start if length is None else length
        shown = self.lines[statement.line - 1].replace("\t", " ")
        return Span(self.file, statement.line, statement.column + start, max(size, 1), source=shown)

    def fail(self, code: str, message: str, statement: Statement, help: str | None = None) -> NoReturn:
        """Raise a diagnostic at a statement."""
        fail(code, message, self.span(statement), help)


def read_listing(text: str, file: str) -> Document:
    """Sort a listing's statements.

    Raises E0135 for a text or line that is too long, E0136 for a block without its end, and E0621 for a statement that listings
    do not have: a macro, an assignment, a condition.
    """
    if len(text) > _SIZE_LIMIT:
        fail("E0135", f"the source has {len(text)} characters, the limit is {_SIZE_LIMIT}", Span(file))
    document = Document(file, text.split("\n"))
    statements = _statements(document)
    section: Section | None = None
    for statement in statements:
        if statement.text[0] != ".":
            (document.code if section is None else section.statements).append(statement)
            continue
        word = statement.text.split(None, 1)[0]
        if word == ".text":
            section = None
        elif word in (".section", ".data", ".rodata", ".bss"):
            section = _section(document, statement)
        elif word == BEGIN:
            document.metadata = _until(document, statement, statements, END)
        elif word == ".amdhsa_kernel":
            document.descriptors.append(_descriptor(document, statement, statements))
        elif word == ".amdgcn_target":
            document.target = statement
        elif word in _HEAD or word in _SYMBOL_DIRECTIVES or (section is None and word in _ALIGNMENTS):
            continue
        elif word in _DATA or _LABEL.match(statement.text) or word in _ALIGNMENTS:
            (document.code if section is None else section.statements).append(statement)
        else:
            help = "without --like any source is taken; --like takes the statements that disasm prints"
            document.fail("E0621", f"'{word}' cannot be used in a listing that is assembled against an object", statement, help)
    return document


def label_of(statement: Statement) -> str | None:
    """The label that a statement is, without quotes; None for another statement."""
    if not statement.text.endswith(":") or (match := _LABEL.fullmatch(statement.text)) is None:
        return None
    return unquoted(match[1])


def unquoted(name: str) -> str:
    """A symbol without the quotes it may stand in."""
    name = name.strip()
    if len(name) >= 2 and name[0] == name[-1] == '"':
        return re.sub(r"\\(.)", r"\1", name[1:-1])
    return name


def _statements(document: Document) -> Iterator[Statement]:
    in_comment = False
    in_metadata = False
    for number, line in enumerate(document.lines, 1):
        if len(line) > _LINE_LIMIT:
            fail("E0135", f"the line has {len(line)} characters, the limit is {_LINE_LIMIT}", Span(document.file, number, 1))
        if in_metadata:
            in_metadata = line.strip() != END
            # YAML keeps its indentation, and may hold what is a comment elsewhere.
            if line.strip():
                yield Statement(line.rstrip() if in_metadata else END, number, 1)
            continue
        bare = line
        if "/" in line or in_comment:
            bare, in_comment = _without_block_comments(line, in_comment)
        text = bare.split(";", 1)[0].strip() if '"' not in bare else _before_comment(bare).strip()
        if not text or text[0] == "#":
            continue
        column = bare.index(text[0]) + 1
        if ":" in text and not text.endswith(":") and (match := _LABEL.match(text)) is not None:
            yield Statement(match[0], number, column)
            rest = text[match.end() :]
            column += match.end() + len(rest) - len(rest.lstrip())
            text = rest.strip()
        in_metadata = text == BEGIN
        yield Statement(text, number, column)


def _before_comment(line: str) -> str:
    """The line up to a `;` that is not within quotes."""
    quoted = False
    position = 0
    while position < len(line):
        character = line[position]
        if character == "\\" and quoted:
            position += 1
        elif character == '"':
            quoted = not quoted
        elif character == ";" and not quoted:
            return line[:position]
        position += 1
    return line


def _without_block_comments(line: str, inside: bool) -> tuple[str, bool]:
    """The line with `/* */` and `//` comments blanked, columns kept, and whether one is open at its end."""
    out = line
    while True:
        if inside:
            end = out.find("*/")
            if end < 0:
                return " " * len(out), True
            out, inside = " " * (end + 2) + out[end + 2 :], False
        start, rest = out.find("/*"), out.find("//")
        if rest >= 0 and (start < 0 or rest < start):
            return out[:rest], False
        if start < 0:
            return out, False
        end = out.find("*/", start + 2)
        if end < 0:
            return out[:start], True
        out = out[:start] + " " * (end + 2 - start) + out[end + 2 :]


def _section(document: Document, statement: Statement) -> Section | None:
    match = _SECTION.fullmatch(statement.text)
    name = unquoted(match[1]) if match else statement.text.split(None, 1)[0]
    if name == ".text":
        return None
    document.sections.append(Section(name))
    return document.sections[-1]


def _descriptor(document: Document, opening: Statement, statements: Iterator[Statement]) -> Block:
    match = _DESCRIPTOR.fullmatch(opening.text)
    if match is None:
        document.fail("E0621", ".amdhsa_kernel names no kernel", opening)
    return Block(unquoted(match[1]), opening, _until(document, opening, statements, _DESCRIPTOR_END))


def _until(document: Document, opening: Statement, statements: Iterator[Statement], end: str) -> list[Statement]:
    inside: list[Statement] = []
    for statement in statements:
        if statement.text == end:
            return inside
        inside.append(statement)
    document.fail("E0136", f"the file ends before {end}", opening)
