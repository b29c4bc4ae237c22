from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.backend.link import link
from asmevo.backend.loader_rules import check_object
from asmevo.backend.writer import rebuild
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.codeobject import load
from asmevo.frontend.elf import ElfFile
from asmevo.frontend.llvm import assemble_object
from asmevo.frontend.recover import recover
from containers import DATA, HISTOGRAM

PROGRAM = (DATA / "program.o").read_bytes()
RELOCATABLE = (DATA / "histogram.o").read_bytes()
KERNEL = ".text\n.p2align 8\n.globl k\n.protected k\n.type k,@function\nk:\n"


def relocatable(source: str) -> bytes:
    made = assemble_object(source, "gfx942", hsa=True)
    assert not made.errors
    return made.object


def linked(source: str) -> ElfFile:
    return elf_reader.read(link(relocatable(source), "linked.co"), "linked.co")


def refusal(data: bytes) -> tuple[str, str]:
    with pytest.raises(DiagnosticError) as caught:
        link(data, "bad.o")
    found = caught.value.diagnostics[0]
    return found.code, found.message


def words(elf: ElfFile, name: str) -> list[int]:
    section = elf.section(name)
    assert section is not None
    data = elf.contents(section)
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def address(elf: ElfFile, name: str) -> int:
    return next(s.value for s in elf_reader.symbols(elf) if s.name == name)


@pytest.mark.parametrize(("source", "reference"), [(PROGRAM, (DATA / "program.co").read_bytes()), (RELOCATABLE, HISTOGRAM)])
def test_everything_loaded_is_as_lld_makes_it(source: bytes, reference: bytes) -> None:
    ours, lld = elf_reader.read(link(source, "ours"), "ours"), elf_reader.read(reference, "lld")
    assert ours.segments == lld.segments
    for theirs in (section for section in lld.sections if section.is_loaded):
        section = ours.section(theirs.name)
        assert section == theirs
        assert ours.contents(section) == lld.contents(theirs)
    assert ours.header.flags == lld.header.flags
    debug = [section for section in lld.sections if section.name in (".debug_info", ".debug_addr", ".debug_frame")]
    for theirs in debug:
        section = ours.section(theirs.name)
        assert section is not None
        assert ours.contents(section) == lld.contents(theirs)


def test_the_symbols_are_lld_s_but_for_its_own() -> None:
    def listed(elf: ElfFile) -> set[tuple[str, int, int, int, int, int]]:
        found = elf_reader.symbols(elf)
        return {(s.name, s.kind, s.value, s.size, s.binding, s.visibility) for s in found if s.name != "_DYNAMIC"}

    ours = elf_reader.read(link(PROGRAM, "ours"), "ours")
    assert listed(ours) == listed(elf_reader.read((DATA / "program.co").read_bytes(), "lld"))


def test_the_linked_object_loads_and_rebuilds_to_the_same_bytes() -> None:
    obj = load(link(PROGRAM, "program"), "program")
    assert [k.name for k in obj.kernels] == ["first", "second"]
    assert check_object(obj) == ()
    for entry in obj.kernels:
        assert rebuild(obj, recover(obj, entry.name)) == obj.data


@pytest.mark.parametrize(("target", "machine"), [("gfx90a", 0x3F), ("gfx942", 0x4C), ("gfx950", 0x4F)])
def test_every_supported_chip_is_linked(target: str, machine: int) -> None:
    made = assemble_object(f"{KERNEL}s_endpgm", target, hsa=True)
    elf = elf_reader.read(link(made.object, "k.o"), "k.co")
    assert (elf.header.kind, elf.header.flags & 0xFF) == (elf_reader.ET_DYN, machine)


def test_the_result_is_the_same_each_time() -> None:
    assert link(PROGRAM, "a") == link(PROGRAM, "b")


@pytest.mark.parametrize(
    ("operand", "field"),
    [("there@rel32@lo+4", lambda s, p: s + 4 - p), ("there@rel32@hi+4", lambda s, p: (s + 4 - p) >> 32)],
)
def test_relative_operands_lead_to_the_symbol(operand: str, field) -> None:
    elf = linked(f"{KERNEL}s_add_u32 s0, s0, {operand}\ns_endpgm\n.data\n.p2align 4\nthere: .long 1")
    place = address(elf, "k") + 4
    assert words(elf, ".text")[1] == field(address(elf, "there"), place) & 0xFFFFFFFF


@pytest.mark.parametrize(("part", "value"), [("lo", 0x9ABCDEF0), ("hi", 0x12345678)])
def test_absolute_symbols_are_settled_at_once(part: str, value: int) -> None:
    source = f"{KERNEL}s_mov_b32 s0, fixed@abs32@{part}\ns_endpgm\n.globl fixed\n.set fixed, 0x123456789abcdef0"
    assert words(linked(source), ".text")[1] == value


def test_a_branch_between_sections_counts_words() -> None:
    elf = linked(f'{KERNEL}s_nop 0\ns_endpgm\n.section .text.b,"ax",@progbits\n.p2align 8\n.globl b\n.hidden b\nb: s_branch k')
    place = address(elf, "b")
    (branch,) = struct.unpack_from("<h", elf.data, elf.at_address(place, 4) or 0)
    assert place + 4 + 4 * branch == address(elf, "k")


def test_a_visible_symbol_is_reached_directly() -> None:
    elf = linked(KERNEL.replace(".protected k", "") + "s_add_u32 s0, s0, k@rel32@lo+4\ns_endpgm")
    assert words(elf, ".text")[1] == 0
    assert elf.section(".rela.dyn") is None


def test_the_offset_table_holds_what_the_loader_fills_in() -> None:
    source = f"{KERNEL}s_add_u32 s0, s0, seen@gotpcrel32@lo+4\ns_addc_u32 s1, s1, seen@gotpcrel32@hi+12\ns_endpgm\n"
    elf = linked(f"{source}.data\n.globl seen\nseen: .long 1")
    table, relocations = elf.section(".got"), elf.section(".rela.dyn")
    assert table is not None
    assert relocations is not None
    low, high = words(elf, ".text")[1], words(elf, ".text")[3]
    assert (high << 32 | low) + address(elf, "k") == table.address
    assert [(r.offset, r.kind, r.addend) for r in elf_reader.relocations(elf, relocations)] == [(table.address, 3, 0)]


def test_pointers_in_data_are_left_to_the_loader() -> None:
    elf = linked(f"{KERNEL}s_endpgm\n.data\n.p2align 3\n.globl seen\nseen: .quad k+8\n.quad seen")
    table = elf.section(".rela.dyn")
    assert table is not None
    entries = [(r.offset - address(elf, "seen"), r.kind, r.symbol, r.addend) for r in elf_reader.relocations(elf, table)]
    # RELATIVE64 to a symbol of this object, ABS64 by name to one that the loader looks up.
    names = [s.name for s in elf_reader.symbols(elf)]
    assert entries == [(0, 13, 0, address(elf, "k") + 8), (8, 3, names.index("seen"), 0)]
    assert (0x6FFFFFF9, 1) in [(tag, value) for tag, value, _ in elf_reader.dynamic_entries(elf)]


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        (f"{KERNEL}s_add_u32 s0, s0, absent@rel32@lo\n", "E0160", "'absent'"),
        (f"{KERNEL}s_mov_b32 s0, there@abs32@lo\n.data\nthere: .long 0", "E0162", "known only after loading"),
        (f'{KERNEL}s_endpgm\n.section .rodata,"a"\n.quad k', "E0162", "cannot be written"),
        (f'{KERNEL}s_endpgm\n.section .far,"ax"\n.zero 0x40000\nb: s_branch k', "E0162", "REL16 against 'k' does not fit"),
        (f'{KERNEL}s_endpgm\n.section .odd,"awx"\n.long 0', "E0163", "'.odd': writable code"),
        (f'{KERNEL}s_endpgm\n.section .tls,"awT"\n.long 0', "E0163", "'.tls': thread-local"),
        (f'{KERNEL}s_endpgm\n.section .init_array,"aw",@init_array\n.quad k', "E0163", "'.init_array'"),
        (f'{KERNEL}s_endpgm\n.section .got,"aw"\n.quad 0', "E0163", "'.got': the linker makes"),
        (
            f'{KERNEL}s_endpgm\n.section .own,"a"\n.long 0\n.section .own,"aw",@progbits,unique,1\n.long 0',
            "E0163",
            "different types or flags",
        ),
        (f"{KERNEL}s_endpgm\n.comm shared_room, 64, 4", "E0164", "'shared_room' is common"),
        (f"{KERNEL}s_mov_b32 s0, room@abs32@lo\n.globl room\n.amdgpu_lds room, 64, 4", "E0164", "'room' is LDS"),
    ],
)
def test_what_is_not_linked_is_refused_by_name(source: str, code: str, words: str) -> None:
    found = refusal(relocatable(source))
    assert found[0] == code
    assert words in found[1]


@pytest.mark.parametrize(("kind", "words"), [(13, "R_AMDGPU_RELATIVE64"), (99, "type 99"), (0xFFFFFFFF, "type 4294967295")])
def test_a_relocation_of_another_kind_is_refused_by_name(kind: int, words: str) -> None:
    elf = elf_reader.read(PROGRAM, "program.o")
    table = elf.section(".rela.text")
    assert table is not None
    data = bytearray(PROGRAM)
    struct.pack_into("<I", data, table.offset + 8, kind)
    assert refusal(bytes(data)) == ("E0161", f"relocation {words} in '.text' is not linked")


@pytest.mark.parametrize(
    ("place", "layout", "value", "words"),
    [
        (0, "<Q", 1 << 40, "behind the end of '.text'"),
        (12, "<I", 4000, "symbol that does not exist"),
    ],
)
def test_a_relocation_out_of_bounds_is_damage(place: int, layout: str, value: int, words: str) -> None:
    elf = elf_reader.read(PROGRAM, "program.o")
    table = elf.section(".rela.text")
    assert table is not None
    data = bytearray(PROGRAM)
    struct.pack_into(layout, data, table.offset + place, value)
    code, message = refusal(bytes(data))
    assert code == "E0102"
    assert words in message


def test_huge_sections_and_alignments_take_no_memory() -> None:
    elf = elf_reader.read(PROGRAM, "program.o")
    bss, text = elf.section(".bss"), elf.section(".text")
    assert bss is not None
    assert text is not None
    for section, field, value in ((bss, 32, 1 << 62), (bss, 48, 1 << 40), (text, 48, 1 << 30), (text, 48, 3)):
        data = bytearray(PROGRAM)
        struct.pack_into("<Q", data, elf.header.section_offset + section.index * elf_reader.SECTION_BYTES + field, value)
        assert refusal(bytes(data))[0] == "E0102"


def test_a_linked_object_and_another_chip_are_refused() -> None:
    assert refusal(HISTOGRAM)[0] == "E0104"
    assert refusal(b"text")[0] == "E0101"
    data = bytearray(PROGRAM)
    struct.pack_into("<I", data, 48, 0x541)
    assert refusal(bytes(data)) == ("E0106", "gfx1100 is not supported")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(PROGRAM) - 1), st.integers(0, 255)), max_size=8), st.integers(0, len(PROGRAM)))
def test_damage_gives_a_diagnostic_or_an_object(flips: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(PROGRAM)
    for place, value in flips:
        data[place] = value
    for damaged in (bytes(data), bytes(data[:cut])):
        try:
            made = link(damaged, "damaged.o")
        except DiagnosticError:
            continue
        elf_reader.read(made, "linked")


def test_an_offset_table_slot_is_not_for_sections_that_are_not_loaded() -> None:
    elf = elf_reader.read(PROGRAM, "program.o")
    table = elf.section(".rela.text")
    assert table is not None
    data = bytearray(PROGRAM)
    struct.pack_into("<I", data, table.offset + 8, 7)
    place = elf.header.section_offset + table.info * elf_reader.SECTION_BYTES + 8
    struct.pack_into("<Q", data, place, elf.sections[table.info].flags & ~elf_reader.SHF_ALLOC)
    code, message = refusal(bytes(data))
    assert code == "E0162"
    assert "not loaded" in message


def test_what_is_missing_or_too_large_has_a_place_in_the_file() -> None:
    elf = elf_reader.read(PROGRAM, "program.o")
    table, bss = elf.section(".rela.text"), elf.section(".bss")
    assert table is not None
    assert bss is not None
    first = next(elf_reader.relocations(elf, table))
    symbol = list(elf_reader.symbols(elf))[first.symbol]
    undefined, huge, absent = bytearray(PROGRAM), bytearray(PROGRAM), bytearray(PROGRAM)
    struct.pack_into("<BBH", undefined, symbol.place + 4, 0x10, 0, 0)
    header = elf.header.section_offset + bss.index * elf_reader.SECTION_BYTES
    struct.pack_into("<Q", huge, header + 32, 1 << 41)
    struct.pack_into("<I", absent, first.place + 12, 4000)
    for data, code, place in ((undefined, "E0160", symbol.place), (huge, "E0102", header), (absent, "E0102", first.place)):
        with pytest.raises(DiagnosticError) as caught:
            link(bytes(data), "program.o")
        found = caught.value.diagnostics[0]
        assert (found.code, found.span and found.span.offset) == (code, place)
