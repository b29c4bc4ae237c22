"""Where everything lies in the linked file and in memory.

Owns merging input sections into output sections, their order, addresses, file offsets and segments. It must not know what
the sections hold. The rules are lld's, so that the result can be compared with it byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from asmevo.backend.link.relocatable import SHF_WRITE
from asmevo.diagnostics import Span, fail
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.elf import Section

PAGE_BYTES = 4096
PHDR_TYPE, GNU_STACK_TYPE, GNU_RELRO_TYPE = 6, 0x6474E551, 0x6474E552

_READ, _WRITE, _EXECUTE = 4, 2, 1
_SHF_MERGE, _SHF_STRINGS = 0x10, 0x20
_KEPT_FLAGS = SHF_WRITE | elf_reader.SHF_ALLOC | elf_reader.SHF_EXECINSTR | _SHF_MERGE | _SHF_STRINGS
# What is merged by prefix; the longer name first.
_FAMILIES = (".data.rel.ro", ".bss.rel.ro", ".text", ".rodata", ".data", ".bss")
_RELRO = frozenset({".data.rel.ro", ".bss.rel.ro"})
# Rank in the file: notes, what the loader looks up, constants, code, what is fixed after loading, data, zeroed room.
NOTES, LOOKUP, CONSTANTS, CODE, RELRO, DATA, ZEROED, UNLOADED = range(8)


@dataclass(frozen=True, slots=True)
class Output:
    """One output section; `pieces` are input sections with their offsets in it, none when the linker makes the contents."""

    name: str
    kind: int
    flags: int
    alignment: int
    size: int
    rank: int
    entry_size: int = 0
    pieces: tuple[tuple[Section, int], ...] = ()

    @property
    def has_contents(self) -> bool:
        """Whether it takes room in the file."""
        return self.kind != elf_reader.SHT_NOBITS


@dataclass(frozen=True, slots=True)
class Placed:
    """An output section with its address (0 when not loaded) and file offset."""

    output: Output
    address: int
    offset: int


@dataclass(frozen=True, slots=True)
class Program:
    """One program header."""

    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    alignment: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Sections in file order, program headers, and the size of the file up to the section headers."""

    placed: tuple[Placed, ...]
    programs: tuple[Program, ...]
    size: int

    def find(self, name: str) -> Placed | None:
        """Return the output section of this name."""
        return next((placed for placed in self.placed if placed.output.name == name), None)


def merge(sections: Sequence[Section], file: str, reserved: frozenset[str]) -> list[Output]:
    """Merge input sections of one family or name. Raises E0163 for parts that do not fit together or a reserved name."""
    groups: dict[str, list[Section]] = {}
    for section in sections:
        name = section.name
        if section.flags & elf_reader.SHF_ALLOC:
            name = next((f for f in _FAMILIES if name == f or name.startswith(f + ".")), name)
        groups.setdefault(name, []).append(section)
    outputs: list[Output] = []
    for name, members in groups.items():
        where = Span(file, offset=members[0].offset)
        if name in reserved:
            fail("E0163", f"section '{name}': the linker makes this section itself", where)
        flags = {s.flags & (SHF_WRITE | elf_reader.SHF_ALLOC | elf_reader.SHF_EXECINSTR) for s in members}
        kinds = {s.kind for s in members}
        if len(flags) > 1 or len(kinds) > 1:
            fail("E0163", f"sections '{name}' have different types or flags and are not linked", where)
        outputs.append(_merged(name, members))
    return outputs


def _merged(name: str, members: Sequence[Section]) -> Output:
    pieces: list[tuple[Section, int]] = []
    size = 0
    for section in members:
        size += -size % max(section.alignment, 1)
        pieces.append((section, size))
        size += section.size
    first = members[0]
    # Strings and constants are not merged, but a later link may still do it when all parts allow it.
    flags = first.flags & _KEPT_FLAGS
    if len({(s.flags & _KEPT_FLAGS, s.entry_size) for s in members}) > 1:
        flags &= ~(_SHF_MERGE | _SHF_STRINGS)
    entry_size = first.entry_size if flags & _SHF_MERGE else 0
    alignment = max(max(s.alignment, 1) for s in members)
    return Output(name, first.kind, flags, alignment, size, _rank(name, first), entry_size, tuple(pieces))


def _rank(name: str, section: Section) -> int:
    if not section.flags & elf_reader.SHF_ALLOC:
        return UNLOADED
    if section.flags & SHF_WRITE:
        if name in _RELRO:
            return RELRO
        return ZEROED if section.kind == elf_reader.SHT_NOBITS else DATA
    if section.flags & elf_reader.SHF_EXECINSTR:
        return CODE
    return NOTES if section.kind == elf_reader.SHT_NOTE else CONSTANTS


def place(outputs: Sequence[Output]) -> Layout:
    """Give every section its address and offset: one segment each for what is read, run, fixed up, and written."""
    ordered = sorted(outputs, key=lambda output: output.rank)
    candidates = [
        (_READ, [o for o in ordered if o.rank <= CONSTANTS]),
        (_READ | _EXECUTE, [o for o in ordered if o.rank == CODE]),
        (_READ | _WRITE, [o for o in ordered if o.rank == RELRO]),
        (_READ | _WRITE, [o for o in ordered if o.rank in (DATA, ZEROED)]),
    ]
    groups = [(flags, group) for flags, group in candidates if group]
    # Beside the loaded ones: the headers' own, the dynamic one, read-only after relocation, stack, notes.
    count = len(groups) + 4 + len(_note_runs(o.alignment for o in ordered if o.rank == NOTES))
    at = offset = elf_reader.HEADER_BYTES + count * elf_reader.SEGMENT_BYTES
    placed: list[Placed] = []
    loads: list[Program] = []
    for flags, group in groups:
        if loads:
            # The next page, at the same place in it: no padding in the file.
            at = -(-at // PAGE_BYTES) * PAGE_BYTES + at % PAGE_BYTES
        members, load = _segment(group, flags, at, offset, is_first=not loads)
        placed += members
        last = members[-1]
        at, offset = last.address + last.output.size, load.offset + load.file_size
        if group[0].rank == RELRO and at % PAGE_BYTES:
            # The rest of the page belongs to it, in memory only, so that nothing else becomes read-only with it.
            padding = _relro_padding(-at % PAGE_BYTES)
            placed.append(Placed(padding, at, offset))
            load = replace(load, memory_size=load.memory_size + padding.size)
        loads.append(load)
    programs = _programs(count, loads, placed)
    for output in (o for o in ordered if o.rank == UNLOADED):
        offset += -offset % output.alignment
        placed.append(Placed(output, 0, offset))
        offset += output.size if output.has_contents else 0
    return Layout(tuple(placed), programs, offset)


def _segment(group: Sequence[Output], flags: int, at: int, offset: int, *, is_first: bool) -> tuple[list[Placed], Program]:
    """Place one segment's sections from an address and file offset on; the first segment begins with the file."""
    alignment = max(PAGE_BYTES, *(output.alignment for output in group))
    at += -at % group[0].alignment
    offset += (at - offset) % alignment
    shift = at - offset
    begin = 0 if is_first else at
    placed: list[Placed] = []
    for output in group:
        at += -at % output.alignment
        if output.has_contents:
            offset = at - shift
        placed.append(Placed(output, at, offset))
        at += output.size
        offset += output.size if output.has_contents else 0
    begin_offset = begin - shift
    return placed, Program(elf_reader.PT_LOAD, flags, begin_offset, begin, offset - begin_offset, at - begin, alignment)


def _relro_padding(size: int) -> Output:
    return Output(".relro_padding", elf_reader.SHT_NOBITS, SHF_WRITE | elf_reader.SHF_ALLOC, 1, size, RELRO)


def _programs(count: int, loads: Sequence[Program], placed: Sequence[Placed]) -> tuple[Program, ...]:
    table = count * elf_reader.SEGMENT_BYTES
    header = Program(PHDR_TYPE, _READ, elf_reader.HEADER_BYTES, elf_reader.HEADER_BYTES, table, table, 8)
    dynamic = next(p for p in placed if p.output.kind == elf_reader.SHT_DYNAMIC)
    size = dynamic.output.size
    relro = next(load for load in loads if load.address <= dynamic.address < load.address + load.memory_size)
    programs = [
        header,
        *loads,
        Program(elf_reader.PT_DYNAMIC, _READ | _WRITE, dynamic.offset, dynamic.address, size, size, dynamic.output.alignment),
        Program(GNU_RELRO_TYPE, _READ, relro.offset, relro.address, relro.file_size, relro.memory_size, 1),
        Program(GNU_STACK_TYPE, _READ | _WRITE, 0, 0, 0, 0, 0),
    ]
    notes = [p for p in placed if p.output.rank == NOTES]
    for alignment, length in _note_runs(p.output.alignment for p in notes):
        run, notes = notes[:length], notes[length:]
        size = run[-1].offset + run[-1].output.size - run[0].offset
        programs.append(Program(elf_reader.PT_NOTE, _READ, run[0].offset, run[0].address, size, size, alignment))
    return tuple(programs)


def _note_runs(alignments: Iterable[int]) -> list[tuple[int, int]]:
    """Return (alignment, length) of each run of equal ones: notes that are padded alike share a segment."""
    return [(alignment, len(list(run))) for alignment, run in groupby(alignments)]
