"""Assembly text to a code object.

Owns the two ways: a new object from the text alone, and, by `like`, the original with the text's edits in it. LLVM reads the
text of a new object, in a child that opens no files; the linker makes it loadable.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from asmevo.backend.assembler import check_values
from asmevo.backend.like import assemble_like
from asmevo.backend.link import link
from asmevo.backend.listing.document import PLAIN, print_object
from asmevo.diagnostics import Diagnostic, DiagnosticError, Span, fail
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.codeobject import CodeObject, load
from asmevo.frontend.llvm import AssemblyError, assemble_object, check_target
from asmevo.frontend.metadata import NT_AMDGPU_METADATA
from asmevo.frontend.untrusted import assemble_untrusted
from asmevo.ir.kernel import Kernel

__all__ = ["assemble_like", "assemble_new", "text_roundtrip"]

_SIZE_LIMIT = 64 << 20
_TARGET = re.compile(r'^[ \t]*\.amdgcn_target[ \t]+"([^"\n]*)"', re.MULTILINE)
_TARGET_ID = re.compile(r"(?:amdgcn|amdgpu[0-9.]*)-amd-amdhsa-[^-:]*-(gfx[0-9a-f]+)((?::(?:sramecc|xnack)[+-])*)")
_VERSION = re.compile(r"^[ \t]*\.amdhsa_code_object_version[ \t]+([0-9]+)", re.MULTILINE)
_VERSIONS, _DEFAULT_VERSION, _VERSIONS_OF_LLVM = range(3, 7), 5, range(4, 7)
_ABI_OF_VERSION, _ABI_PLACE = 2, 8
_EXPANSION = re.compile(r"<instantiation>:\d+:\d+: (.*?)\n(.*)", re.DOTALL)
_SHT_NULL = 0
_CACHE_LINE_BYTES = 64
# The label shares the first line, so that line numbers stay those of the text; `e` keeps the section out of the object.
_BEGIN, _END, _SIZE_SECTION = ".Lasmevo_begin", ".Lasmevo_end", ".asmevo.size"
_PROLOGUE = f"{_BEGIN}: "
_EPILOGUE = f'\n.text\n{_END}:\n.section {_SIZE_SECTION},"e"\n.quad {_END}-{_BEGIN}\n'


def text_roundtrip(obj: CodeObject, recovered: Mapping[str, Kernel] = {}) -> bytes:
    """Return what becomes of an object that is printed and, with no edit, assembled against itself: the same bytes.

    `recovered`: kernels of this object that the caller has already, by name.
    """
    return assemble_like(obj, print_object(obj, PLAIN, recovered), "<listing>")


@dataclass(frozen=True, slots=True)
class _Target:
    chip: str
    features: str
    version: int


def assemble_new(text: str, file: str, *, target: str | None = None) -> bytes:
    """Return the code object (ET_DYN) that a source file stands for, by the text alone.

    The chip comes from `.amdgcn_target`, else from `target`; the code object version from `.amdhsa_code_object_version`, else
    it is 5. Everything LLVM's assembler knows may be used but `.include` and `.incbin`: no file is opened.

    Raises E0112 for a text for another chip than `target`, E0135 for a text that is too large, E0602 for an unsupported chip,
    E0603 for a value that LLVM would cut and E0620 for what it refuses, each with line and column, E0625 for a text without
    target, kernel or metadata, E0626 when the assembler crashes or meets its limits, E016x from linking.
    """
    if len(text) > _SIZE_LIMIT:
        fail("E0135", f"the source has {len(text)} characters, the limit is {_SIZE_LIMIT}", Span(file))
    chosen = _target(text, file, target)
    source = _PROLOGUE + _without_own_directives(text) + _EPILOGUE
    made = assemble_untrusted(source, chosen.chip, chosen.features, file)
    if made.errors:
        raise DiagnosticError(*_complaints(made.errors, text, source, chosen, file))
    check_values(_plain_lines(text), chosen.chip, file)
    data = link(_tidied(made.object, chosen, file), file)
    load(data, file)
    return data


def _target(text: str, file: str, asked: str | None) -> _Target:
    found = _TARGET.search(text)
    chip, flags = asked, ""
    if found is not None:
        span = _span(text, file, found.start(1), len(found[1]))
        named = _TARGET_ID.fullmatch(found[1])
        if named is None:
            fail("E0625", f"'{found[1]}' is no target", span, 'write it as "amdgcn-amd-amdhsa--gfx942"')
        if asked is not None and named[1] != asked:
            fail("E0112", f"the source is for {named[1]}, not {asked}", span)
        chip, flags = named[1], named[2]
    if chip is None:
        fail(
            "E0625",
            "the source names no target",
            Span(file),
            'give --target, or write .amdgcn_target "amdgcn-amd-amdhsa--gfx942"',
        )
    features = ",".join(f"{flag[-1]}{flag[:-1]}" for flag in flags.split(":") if flag)
    number = _DEFAULT_VERSION
    if (written := _VERSION.search(text)) is not None:
        number = int(written[1])
        if number not in _VERSIONS:
            span = _span(text, file, written.start(1), len(written[1]))
            fail("E0625", f"code object version {number} is not one of 3 to 6", span)
    return _Target(check_target(chip), features, number)


def _span(text: str, file: str, place: int, length: int) -> Span:
    line = text.count("\n", 0, place) + 1
    start = text.rfind("\n", 0, place) + 1
    return Span(file, line, place - start + 1, length, source=text[start:].split("\n", 1)[0].replace("\t", " "))


def _without_own_directives(text: str) -> str:
    """The text without what was read here already: LLVM compares a target word for word, and knows no version 3."""
    text = _TARGET.sub(lambda match: " " * len(match[0]), text)
    return _VERSION.sub(lambda match: match[0] if int(match[1]) in _VERSIONS_OF_LLVM else " " * len(match[0]), text)


def _complaints(errors: Sequence[AssemblyError], text: str, source: str, target: _Target, file: str) -> Iterator[Diagnostic]:
    lines = text.split("\n")
    has_expansion = False
    for error in errors:
        if error.line == 0:
            if not has_expansion:
                yield _in_expansion(error, lines, source, target, file)
            has_expansion = True
            continue
        column = error.column - (len(_PROLOGUE) if error.line == 1 else 0)
        yield Diagnostic("E0620", f"{error.message} ({target.chip})", _line_span(lines, file, error.line, column))


def _line_span(lines: Sequence[str], file: str, line: int, column: int) -> Span:
    if line > len(lines):
        # In what was added behind the text: something was left open at its end.
        return Span(file, max(len(lines), 1), 1, 1, source=lines[-1].replace("\t", " "))
    return Span(file, line, max(column, 1), 1, source=lines[line - 1].replace("\t", " "))


def _in_expansion(error: AssemblyError, lines: Sequence[str], source: str, target: _Target, file: str) -> Diagnostic:
    """Find the line that a complaint about an expanded macro comes from: the end of the shortest text that has one."""
    found = _EXPANSION.match(error.message)
    message = f"{found[1]}, in an expansion: '{found[2].splitlines()[0].strip()}'" if found else error.message
    prepared = source.split("\n")
    low, high = 0, len(lines)
    while high - low > 1:
        middle = (low + high) // 2
        made = assemble_untrusted("\n".join(prepared[:middle]) + "\n", target.chip, target.features, file)
        if any(complaint.line == 0 for complaint in made.errors):
            high = middle
        else:
            low = middle
    return Diagnostic("E0620", f"{message} ({target.chip})", _line_span(lines, file, high, 1))


def _plain_lines(text: str) -> Iterator[tuple[str, int]]:
    """Statements without comments and labels, with their line numbers: only single plain instructions matter."""
    for number, line in enumerate(text.split("\n"), 1):
        statement = line.split(";", 1)[0].split("//", 1)[0].rpartition(":\t")[2].strip()
        if statement:
            yield statement, number


def _tidied(data: bytes, target: _Target, file: str) -> bytes:
    """The relocatable object without what LLVM put in by itself, and with the code object version that was asked for."""
    elf = elf_reader.read(data, file)
    out = bytearray(data)
    size, text = elf.section(_SIZE_SECTION), elf.section(".text")
    assert size is not None
    assert text is not None
    kept = int.from_bytes(elf.contents(size), "little")
    if not kept:
        fail("E0134", "the source holds no instructions", Span(file))
    if text.size != -(-kept // _CACHE_LINE_BYTES) * _CACHE_LINE_BYTES + _prefetch_padding(target.chip):
        fail("E0625", "the source uses subsections of .text, which are not supported", Span(file), "put the code in order")
    _resize(out, elf.header.section_offset, text.index, kept)
    _retype(out, elf.header.section_offset, size.index, _SHT_NULL)
    notes = [note for note in elf_reader.notes(elf) if note.owner == b"AMDGPU" and note.kind == NT_AMDGPU_METADATA]
    section = elf.section(".note")
    if section is None or len(notes) < 2:
        fail("E0625", "the source holds no metadata, so no kernel can be found in it", Span(file), "write .amdgpu_metadata")
    # Name and header stand before a note's contents; LLVM's own note is the last.
    last = notes[-1].offset - 12 - 8
    _resize(out, elf.header.section_offset, section.index, last - section.offset)
    out[_ABI_PLACE] = target.version - _ABI_OF_VERSION
    return bytes(out)


@lru_cache(maxsize=8)
def _prefetch_padding(chip: str) -> int:
    """How many bytes LLVM adds behind .text, once that is filled up to a cache line."""
    elf = elf_reader.read(assemble_object("s_nop 0\n", chip, hsa=True).object, "<one instruction>")
    text = elf.section(".text")
    assert text is not None
    return text.size - _CACHE_LINE_BYTES


def _resize(data: bytearray, table: int, index: int, size: int) -> None:
    struct.pack_into("<Q", data, table + index * elf_reader.SECTION_BYTES + 32, size)


def _retype(data: bytearray, table: int, index: int, kind: int) -> None:
    struct.pack_into("<I", data, table + index * elf_reader.SECTION_BYTES + 4, kind)
