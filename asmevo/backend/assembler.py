"""Instruction texts to machine code.

Owns encoding single instructions in batches, and refusing whatever is more than one instruction. Branches take their
raw simm16 (`s_branch 5`); resolving labels is the writer's.
"""

from __future__ import annotations

import re
import struct
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from asmevo.diagnostics import Diagnostic, DiagnosticError, Span, fail
from asmevo.frontend.disassembler import disassemble
from asmevo.frontend.llvm import AssemblyError, assemble_object, check_target
from asmevo.ir.symbols import integer

_MARK = "asmevo_line_"
_FILE = "<assembly>"
_MAX_LENGTH = 16
_CACHE_LIMIT = 1 << 17
_MAX_TEXT = 512
# A mnemonic, then operands out of the characters that operands and modifiers need. What the assembler would read as a
# comment, directive, label, assignment, macro argument, quoted or location symbol has no place here.
# The one quoted form is the mask of ds_swizzle_b32.
_SAFE = re.compile(r'[A-Za-z][A-Za-z0-9_]*(?:[ \t]+(?![=:])(?:[A-Za-z0-9_ \t,.:\[\]()|+&-]|"[01pi]{5}")*)?')
_DOT = re.compile(r"(?<![0-9])\.")
_LONG = re.compile(r"\.long[ \t]+(0x[0-9a-fA-F]{1,8}|0|[1-9][0-9]{0,9})")
# LLVM cuts these silently to their field: `offset:5000` of a buffer load assembles as 904, `s_nop 0x10001` as 1.
_FIELD = re.compile(r"\b([a-z_]+[01]?):(-?(?:0x[0-9a-fA-F]+|[0-9]+))\b")
_ONLY_IMMEDIATE = re.compile(r"s_[a-z0-9_]+[ \t]+(-?(?:0x[0-9a-fA-F]+|[0-9]+))[ \t]*")
# Fields that do not come back as the number they were given as.
_RESPELLED = frozenset({"bound_ctrl", "format", "dfmt", "nfmt"})
_SHT_SYMTAB, _SHT_RELA, _SHT_REL = 2, 4, 9


@cache
def _cache(target: str) -> OrderedDict[str, bytes]:
    check_target(target)
    return OrderedDict()


def assemble(texts: Sequence[str], target: str) -> list[bytes]:
    """Encode each text by itself: one encoding for each text, in order: an instruction, or `.long WORD` for a raw 4-byte word.

    Raises E0602 for an unknown target; E0603 for a text the assembler refuses or whose value it would cut; E0604 for a
    text that is not exactly one instruction (several lines, a directive, a label, a comment) or that refers to a symbol.
    Spans count texts from line 1.
    """
    cache = _cache(target)
    problems: list[Diagnostic] = []
    found: dict[str, bytes] = {}
    missing: dict[str, int] = {}
    for number, text in enumerate(texts, 1):
        if text in found or text in missing:
            continue
        if (known := cache.get(text)) is not None:
            found[text] = known
        elif (word := _LONG.fullmatch(text)) and (value := int(word[1], 0)) < 1 << 32:
            found[text] = struct.pack("<I", value)
        elif problem := _refusal(text):
            problems.append(_diagnostic("E0604", problem, number, 1, text))
        else:
            missing[text] = number
    if problems:
        raise DiagnosticError(*problems)
    if missing:
        fresh = _encode(tuple(missing), tuple(missing.values()), target)
        found.update(fresh)
        if len(cache) + len(fresh) > _CACHE_LIMIT:
            cache.clear()
        cache.update(fresh)
    return [found[text] for text in texts]


def reproduced(lines: Sequence[tuple[str, bytes]], target: str) -> list[bool]:
    """Tell of each (text, encoding) whether the assembler makes exactly these bytes of the text.

    The text must be that of one instruction decoded from the encoding. What the assembler refuses, or would read as more than
    an instruction, is not reproduced; nothing is raised but E0602.
    """
    cache, others = _cache(target), _not_reproduced(target)
    answers = [cache.get(line[0]) == line[1] for line in lines]
    missing = {line[0]: line[1] for line, known in zip(lines, answers, strict=True) if not known and line not in others}
    missing = {text: encoding for text, encoding in missing.items() if not _refusal(text)}
    if missing:
        fresh = _same_bytes(missing, target)
        for known in (cache, others):
            if len(known) + len(missing) > _CACHE_LIMIT:
                known.clear()
        cache.update(fresh)
        others.update(dict.fromkeys(item for item in missing.items() if item[0] not in fresh))
        answers = [is_same or fresh.get(text) == code for (text, code), is_same in zip(lines, answers, strict=True)]
    return answers


@cache
def _not_reproduced(target: str) -> OrderedDict[tuple[str, bytes], None]:
    check_target(target)
    return OrderedDict()


def _same_bytes(wanted: dict[str, bytes], target: str) -> dict[str, bytes]:
    """Those of `wanted` that the assembler reproduces."""
    made = assemble_object("\n".join(wanted) + "\n", target)
    if not made.errors:
        relocatable = _Relocatable(made.object)
        # An instruction's first bytes fix its length, so equal bytes in total are equal bytes of each.
        if relocatable.text == b"".join(wanted.values()) and next(relocatable.relocated(), None) is None:
            return wanted
    # With a label at each, which takes longer.
    encodings = _encodable(wanted, target)
    return {text: code for text, code in encodings.items() if wanted[text] == code}


def _refusal(text: str) -> str | None:
    if len(text) > _MAX_TEXT:
        return f"an instruction of {len(text)} characters"
    if not _SAFE.fullmatch(text):
        return "not a single plain instruction"
    if _DOT.search(text) or _MARK in text:
        return "an instruction must not refer to a symbol"
    return None


def _diagnostic(code: str, message: str, line: int, column: int, text: str) -> Diagnostic:
    return Diagnostic(code, message, Span(_FILE, line, max(column, 1), 1, source=text))


def _encode(texts: tuple[str, ...], numbers: tuple[int, ...], target: str) -> dict[str, bytes]:
    # Label and instruction share a line, so that a complaint's line is the text's and its column is shifted by the label.
    lines = [f"{_MARK}{i}: {text}" for i, text in enumerate(texts)]
    lines.append(f"{_MARK}{len(texts)}:")
    made = assemble_object("\n".join(lines) + "\n", target)
    if made.errors:
        raise DiagnosticError(*(_complaint(error, texts, numbers, target) for error in made.errors))
    relocatable = _Relocatable(made.object)
    starts = relocatable.marks(len(texts) + 1)
    code = relocatable.text
    for place in relocatable.relocated():
        index = max(i for i, start in enumerate(starts[:-1]) if start <= place)
        raise DiagnosticError(
            _diagnostic("E0604", "an instruction must not refer to a symbol", numbers[index], 1, texts[index])
        )
    if starts[-1] != len(code):
        fail("E0605", f"the assembler wrote {len(code)} bytes of code where its symbols end at {starts[-1]}")
    encodings: dict[str, bytes] = {}
    for text, number, start, stop in zip(texts, numbers, starts, starts[1:], strict=False):
        if not 0 < stop - start <= _MAX_LENGTH or (stop - start) % 4:
            raise DiagnosticError(_diagnostic("E0604", f"{stop - start} bytes are not one instruction", number, 1, text))
        encodings[text] = code[start:stop]
    for text, number, cut in _cut_values(encodings, numbers, target):
        raise DiagnosticError(_diagnostic("E0603", f"{cut} is out of range ({target})", number, 1, text))
    return encodings


def _cut_values(encodings: dict[str, bytes], numbers: tuple[int, ...], target: str) -> Iterator[tuple[str, int, str]]:
    """Yield (text, its number, the part of it) where the assembler cut a value to fit its field."""
    given: list[tuple[str, int, list[re.Match[str]]]] = []
    for text, number in zip(encodings, numbers, strict=True):
        if (only := _ONLY_IMMEDIATE.fullmatch(text)) and not -(1 << 15) <= integer(only[1]) < 1 << 16:
            yield text, number, only[1]
        fields = [field for field in _FIELD.finditer(text) if integer(field[2]) and field[1] not in _RESPELLED]
        if fields:
            given.append((text, number, fields))
    lines = disassemble(b"".join(encodings[text] for text, _, _ in given), target)
    printed = {line.offset: line.text for line in lines}
    offset = 0
    for text, number, fields in given:
        kept = {(field[1], integer(field[2])) for field in _FIELD.finditer(printed.get(offset) or "")}
        offset += len(encodings[text])
        yield from ((text, number, field[0]) for field in fields if (field[1], integer(field[2])) not in kept)


def check_values(lines: Iterable[tuple[str, int]], target: str, file: str) -> None:
    """Raise E0603 when the assembler would cut a value of one of these (statement, line number) to fit its field.

    Statements that are no single instruction, or that refer to symbols, are not judged: their fields have no plain numbers.
    """
    numbers: dict[str, int] = {}
    for text, number in lines:
        if (_FIELD.search(text) or _ONLY_IMMEDIATE.fullmatch(text)) and not _refusal(text):
            numbers.setdefault(text, number)
    encodings = _encodable(numbers, target)
    for text, number, cut in _cut_values(encodings, tuple(numbers[text] for text in encodings), target):
        span = Span(file, number, 1, len(text), source=text)
        fail("E0603", f"{cut} is out of range ({target})", span, "LLVM would take the low bits only")


def _encodable(texts: Iterable[str], target: str) -> dict[str, bytes]:
    """The encodings of those texts that are one instruction each."""
    left: list[str] = list(texts)
    while left:
        lines = [f"{_MARK}{i}: {text}" for i, text in enumerate(left)]
        made = assemble_object("\n".join([*lines, f"{_MARK}{len(left)}:", ""]), target)
        bad = {error.line - 1 for error in made.errors}
        if not bad:
            relocatable = _Relocatable(made.object)
            starts = relocatable.marks(len(left) + 1)
            moved = set(relocatable.relocated())
            spans = zip(left, starts, starts[1:], strict=False)
            return {t: relocatable.text[a:b] for t, a, b in spans if moved.isdisjoint(range(a, b))}
        kept = [text for index, text in enumerate(left) if index not in bad]
        if len(kept) == len(left):
            break
        left = kept
    return {}


def _complaint(error: AssemblyError, texts: tuple[str, ...], numbers: tuple[int, ...], target: str) -> Diagnostic:
    index = error.line - 1
    if not 0 <= index < len(texts):
        return Diagnostic("E0603", f"the assembler for {target} refused: {error.message}")
    column = error.column - len(f"{_MARK}{index}: ")
    return _diagnostic("E0603", f"{error.message} ({target})", numbers[index], column, texts[index])


@dataclass(frozen=True, slots=True)
class _Section:
    name: int
    kind: int
    offset: int
    size: int
    link: int


class _Relocatable:
    """The object our own assembler call made; trusted to be well formed ELF64."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        table, count, names = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 60)
        self._sections = [self._section(table + 64 * i) for i in range(count)]
        strings = self._sections[names]
        self._text_index = next(i for i, section in enumerate(self._sections) if self._string(strings, section.name) == ".text")
        self.text = self._content(self._sections[self._text_index])

    def _section(self, at: int) -> _Section:
        name, kind, _, _, offset, size, link = struct.unpack_from("<IIQQQQI", self._data, at)
        return _Section(name, kind, offset, size, link)

    def _content(self, section: _Section) -> bytes:
        return self._data[section.offset : section.offset + section.size]

    def _string(self, section: _Section, index: int) -> str:
        start = section.offset + index
        return self._data[start : self._data.index(b"\0", start)].decode()

    def marks(self, count: int) -> list[int]:
        """Return the offset in .text of each of our labels."""
        out = [0] * count
        table = next(section for section in self._sections if section.kind == _SHT_SYMTAB)
        strings = self._sections[table.link]
        for name, _, _, section, value, _ in struct.iter_unpack("<IBBHQQ", self._content(table)):
            label = self._string(strings, name)
            if section == self._text_index and label.startswith(_MARK):
                out[int(label.removeprefix(_MARK))] = value
        return out

    def relocated(self) -> Iterator[int]:
        """Yield the offsets in .text that relocations would patch."""
        for section in self._sections:
            if section.kind in (_SHT_REL, _SHT_RELA):
                entry = "<QQq" if section.kind == _SHT_RELA else "<QQ"
                for fields in struct.iter_unpack(entry, self._content(section)):
                    yield int(fields[0])
