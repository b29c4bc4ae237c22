"""The code of a listing, region by region, as bytes.

Owns finding which part of .text each instruction of the text belongs to, and encoding it: equal bytes mean that nothing was
edited. It builds no IR.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from asmevo.backend.assembler import assemble
from asmevo.backend.listing.code import without_target
from asmevo.backend.listing.reader import Document, Statement, label_of, unquoted
from asmevo.backend.listing.regions import Region, names_of, regions_of
from asmevo.diagnostics import Diagnostic, DiagnosticError
from asmevo.frontend.codeobject import CodeObject
from asmevo.ir.symbols import integer

_WORD = 4
_BRANCHES = ("s_branch ", "s_cbranch_", "s_call_b64 ")
_REACH = range(-(1 << 15), 1 << 15)
_SIZES = {
    ".byte": 1, ".short": 2, ".2byte": 2, ".long": 4, ".4byte": 4, ".int": 4, ".quad": 8, ".8byte": 8,
}  # fmt: skip
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
_MOST_ZEROS = 64 << 20


@dataclass(slots=True)
class Piece:
    """What a text says of one region: its statements, and for each label the number of the statement that it stands before."""

    region: Region
    statements: list[Statement] = field(default_factory=list[Statement])
    labels: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Coded:
    """A piece with the bytes of each statement. `targets` are the labels of branches, by statement."""

    piece: Piece
    codes: tuple[bytes, ...]
    targets: dict[int, str]

    @property
    def code(self) -> bytes:
        """The region's bytes."""
        return b"".join(self.codes)


def pieces_of(obj: CodeObject, document: Document) -> list[Piece]:
    """The regions that a text holds, in its order.

    Raises E0623 for code before any region's label, and for a label or a region that stands twice.
    """
    starts = _starts(obj)
    pieces: dict[int, Piece] = {}
    seen: set[str] = set()
    current: Piece | None = None
    for statement in document.code:
        label = label_of(statement)
        if label is None:
            if current is None:
                help = "the label of a kernel or function, as disasm prints it, begins its code"
                document.fail("E0623", "code stands before any label of the object", statement, help)
            current.statements.append(statement)
            continue
        if label in seen:
            document.fail("E0623", f"label '{label}' stands twice", statement)
        seen.add(label)
        region = starts.get(label)
        if region is not None and (current is None or current.region is not region):
            if region.start in pieces:
                document.fail("E0623", f"the code of '{label}' stands twice", statement)
            current = pieces[region.start] = Piece(region)
        if current is not None:
            current.labels[label] = len(current.statements)
    return list(pieces.values())


def _starts(obj: CodeObject) -> dict[str, Region]:
    """The labels that begin a region."""
    regions = {region.start: region for region in regions_of(obj)}
    starts = {f"L_{start:04x}": region for start, region in regions.items()}
    for symbol in names_of(obj).by_section.get(obj.text.index, ()):
        if (region := regions.get(symbol.value - obj.text.address)) is not None:
            starts[symbol.name] = region
    for region in regions.values():
        for entry in region.kernels:
            if entry.entry == region.start:
                starts.setdefault(entry.name, region)
    return starts


def encode_piece(piece: Piece, document: Document, target: str) -> Coded:
    """Assemble every statement, branches with their distances.

    Raises E0603 and E0604 at the statement that the assembler refuses, E0621 for data that is no plain number, E0623 for a
    branch to a label that the region does not have.
    """
    texts: list[str] = []
    numbers: list[int] = []
    codes: list[bytes] = []
    targets: dict[int, str] = {}
    for number, statement in enumerate(piece.statements):
        text = statement.text
        codes.append(b"")
        if text[0] == ".":
            codes[-1] = data_bytes(statement, document)
            continue
        if text.startswith(_BRANCHES):
            operand = text.rpartition(" ")[2]
            if not operand[0].isdigit() and operand[0] != "-":
                targets[number] = unquoted(operand)
                text = without_target(text)
        texts.append(text)
        numbers.append(number)
    try:
        made = assemble(texts, target)
    except DiagnosticError as error:
        raise DiagnosticError(*(_placed(d, numbers, piece, document) for d in error.diagnostics)) from error
    for number, code in zip(numbers, made, strict=True):
        codes[number] = code
    if targets:
        _resolve(piece, document, codes, targets)
    return Coded(piece, tuple(codes), targets)


def _placed(diagnostic: Diagnostic, numbers: Sequence[int], piece: Piece, document: Document) -> Diagnostic:
    # The assembler counts texts from line 1.
    span = diagnostic.span
    if span is None or not 0 < span.line <= len(numbers):
        return diagnostic
    statement = piece.statements[numbers[span.line - 1]]
    return replace(diagnostic, span=document.span(statement, max(span.column - 1, 0), 1))


def _resolve(piece: Piece, document: Document, codes: list[bytes], targets: dict[int, str]) -> None:
    places = [0]
    for code in codes:
        places.append(places[-1] + len(code))
    for number, label in targets.items():
        index = piece.labels.get(label)
        if index is None:
            document.fail("E0623", f"there is no label '{label}' in this kernel or function", piece.statements[number])
        distance = (places[index] - places[number + 1]) // _WORD
        # What is out of reach is the layout's to refuse, once everything has its place.
        if distance in _REACH:
            codes[number] = struct.pack("<h", distance) + codes[number][2:]


def data_bytes(statement: Statement, document: Document) -> bytes:
    """The bytes of a data directive with plain numbers. Raises E0621 for anything else."""
    word, _, rest = statement.text.partition(" ")
    values = [part.strip() for part in rest.split(",")]
    if not all(_NUMBER.fullmatch(value) for value in values) or word not in (*_SIZES, ".zero"):
        document.fail("E0621", "only plain numbers can be edited in a listing that is assembled against an object", statement)
    try:
        found = [integer(value) for value in values]
    except ValueError:
        document.fail("E0621", "a number is not one", statement, "a leading 0 makes it octal")
    if word == ".zero":
        count = found[0]
        if len(values) != 1 or not 0 <= count <= _MOST_ZEROS:
            document.fail("E0621", f".zero takes one count up to {_MOST_ZEROS}", statement)
        return bytes(count)
    size = _SIZES[word]
    for value in found:
        if not -(1 << (8 * size - 1)) <= value < 1 << 8 * size:
            document.fail("E0621", f"{value:#x} does not fit into {size} byte{'s' if size > 1 else ''}", statement)
    return b"".join((value & (1 << 8 * size) - 1).to_bytes(size, "little") for value in found)
