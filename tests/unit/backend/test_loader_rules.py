from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from asmevo.backend.loader_rules import check_object
from asmevo.diagnostics import Severity
from asmevo.frontend import elf as elf_reader
from asmevo.frontend.codeobject import CodeObject, load, load_file
from support import EXAMPLES, SHIPPED

Break = Callable[[bytearray, CodeObject], None]


def base() -> CodeObject:
    return load_file(EXAMPLES / "kernels" / "softmax.co")


def broken(how: Break) -> list[tuple[str, Severity]]:
    obj = base()
    data = bytearray(obj.data)
    how(data, obj)
    return [(f.code, f.severity) for f in check_object(load(bytes(data), "broken"))]


def segment(which: int, field: int, value: int) -> Break:
    """Sets a field of the PT_LOAD number `which`."""

    def change(data: bytearray, obj: CodeObject) -> None:
        loads = [s.index for s in obj.elf.segments if s.kind == elf_reader.PT_LOAD]
        place = obj.elf.header.segment_offset + loads[which] * elf_reader.SEGMENT_BYTES
        struct.pack_into("<I" if field == 4 else "<Q", data, place + field, value)

    return change


def descriptor(place: int, shape: str, value: int) -> Break:
    def change(data: bytearray, obj: CodeObject) -> None:
        struct.pack_into(shape, data, obj.kernel().descriptor_place + place, value)

    return change


def bits(place: int, mask: int) -> Break:
    """Sets bits of a dword of the descriptor."""

    def change(data: bytearray, obj: CodeObject) -> None:
        at = obj.kernel().descriptor_place + place
        (old,) = struct.unpack_from("<I", data, at)
        struct.pack_into("<I", data, at, old | mask)

    return change


def symbol(field: int, shape: str, value: int) -> Break:
    """Sets a field of the descriptor's dynamic symbol."""

    def change(data: bytearray, obj: CodeObject) -> None:
        found = next(s for s in obj.symbols if s.name == obj.kernel().symbol)
        struct.pack_into(shape, data, found.place + field, value)

    return change


def renamed_symbol(data: bytearray, obj: CodeObject) -> None:
    found = next(s for s in obj.symbols if s.name == obj.kernel().symbol)
    struct.pack_into("<I", data, found.place, 0)


def dynamic(tag: int, value: int | None) -> Break:
    """Sets a dynamic entry's value, or makes it another entry."""

    def change(data: bytearray, obj: CodeObject) -> None:
        for found, _, place in elf_reader.dynamic_entries(obj.elf):
            if found == tag:
                struct.pack_into("<QQ", data, place, *((tag, value) if value is not None else (30, 0)))

    return change


def without_hashes(data: bytearray, obj: CodeObject) -> None:
    for tag in (4, 0x6FFFFEF5):
        dynamic(tag, None)(data, obj)


def noted(old: bytes, new: bytes) -> Break:
    def change(data: bytearray, obj: CodeObject) -> None:
        at = data.index(old, obj.note[0])
        data[at : at + len(new)] = new

    return change


def no_note_segment(data: bytearray, obj: CodeObject) -> None:
    for found in obj.elf.segments:
        if found.kind == elf_reader.PT_NOTE:
            struct.pack_into("<I", data, obj.elf.header.segment_offset + found.index * elf_reader.SEGMENT_BYTES, 0x6FFFFFFF)


def large_and_greedy(data: bytearray, obj: CodeObject) -> None:
    """A workgroup of 8 waves with 512 vector registers each."""
    bits(48, 63)(data, obj)
    noted(b".max_flat_workgroup_size\xcd\x01\x00", b".max_flat_workgroup_size\xcd\x02\x00")(data, obj)


@pytest.mark.parametrize("name", SHIPPED)
def test_what_a_compiler_made_is_clean(name: str) -> None:
    obj = load_file(EXAMPLES / "kernels" / f"{name}.co")
    assert [f for f in check_object(obj) if f.severity is not Severity.NOTE] == []


CASES: dict[str, tuple[Break, str, Severity]] = {
    "alignment below a page": (segment(1, 48, 256), "E0640", Severity.ERROR),
    "alignment that is no power of two": (segment(1, 48, 5000), "E0640", Severity.ERROR),
    "address and offset that do not match": (segment(2, 16, 0x9008), "E0640", Severity.ERROR),
    "more in the file than in memory": (segment(1, 40, 4), "E0641", Severity.ERROR),
    "segments over each other": (segment(1, 40, 1 << 20), "E0641", Severity.ERROR),
    "writable code": (segment(1, 4, 7), "E0642", Severity.WARNING),
    "code that is not executable": (segment(1, 4, 4), "E0642", Severity.ERROR),
    "code cut off in its segment": (segment(1, 32, 64), "E0642", Severity.ERROR),
    "descriptor that is not loaded": (segment(0, 32, 64), "E0643", Severity.ERROR),
    "reserved bytes": (descriptor(30, "<B", 1), "E0644", Severity.ERROR),
    "reserved bits of rsrc1": (bits(48, 1 << 20), "E0644", Severity.ERROR),
    "LDS size in rsrc2": (bits(52, 1 << 15), "E0644", Severity.ERROR),
    "reserved bits of rsrc3": (bits(44, 1 << 6), "E0644", Severity.ERROR),
    "wave32": (bits(56, 1 << 10), "E0644", Severity.ERROR),
    "private segment buffer on gfx942": (bits(56, 1), "E0644", Severity.ERROR),
    "too many SGPRs": (bits(48, 15 << 6), "E0645", Severity.ERROR),
    "too much LDS": (descriptor(0, "<I", 65537), "E0645", Severity.ERROR),
    "more user SGPRs than there are": (bits(52, 31 << 1), "E0646", Severity.ERROR),
    "fewer user SGPRs than are enabled": (bits(56, 1 << 1 | 1 << 2 | 1 << 4), "E0646", Severity.ERROR),
    "a workgroup too large for its registers": (large_and_greedy, "E0645", Severity.WARNING),
    "another chip in the metadata": (noted(b"gfx942", b"gfx90a"), "E0647", Severity.ERROR),
    "another version in the metadata": (noted(b"\x92\x01\x02", b"\x92\x01\x01"), "E0647", Severity.WARNING),
    "no note segment": (no_note_segment, "E0647", Severity.ERROR),
    "unknown flags": (lambda data, _: struct.pack_into("<I", data, 48, 0x154C), "E0648", Severity.ERROR),
    "descriptor of another symbol type": (symbol(4, "<B", 0x12), "E0649", Severity.ERROR),
    "no dynamic symbol": (renamed_symbol, "E0649", Severity.ERROR),
    "dynamic symbol of another value": (symbol(8, "<Q", 0x40), "E0649", Severity.ERROR),
    "symbol table elsewhere": (dynamic(6, 0x1000), "E0650", Severity.ERROR),
    "no string table": (dynamic(5, None), "E0650", Severity.ERROR),
    "no hash table": (without_hashes, "E0650", Severity.ERROR),
    "descriptor symbol without size": (symbol(16, "<Q", 0), "E0651", Severity.NOTE),
    "argument size that differs": (descriptor(8, "<I", 48), "E0652", Severity.NOTE),
    "preload behind the arguments": (descriptor(58, "<H", 10 | 20 << 7), "E0654", Severity.ERROR),
    "LDS that the metadata does not know": (descriptor(0, "<I", 256), "E0655", Severity.WARNING),
    "scratch that the metadata does not know": (descriptor(4, "<I", 16), "E0655", Severity.WARNING),
}


@pytest.mark.parametrize("name", CASES)
def test_each_breach_is_found(name: str) -> None:
    how, code, severity = CASES[name]
    found = broken(how)
    assert (code, severity) in found, found


def test_code_at_the_very_end_of_memory_is_warned_of() -> None:
    """The code's segment is the last one, its page ends with it, and its last word is no filler."""

    def change(data: bytearray, obj: CodeObject) -> None:
        segment(2, 0, 0x6FFFFFFF)(data, obj)
        end = obj.text.offset + obj.text.size
        assert (obj.text.address + obj.text.size) % 4096 == 0
        data[end - 4 : end] = struct.pack("<I", 0xBF810000)

    assert ("E0653", Severity.WARNING) in broken(change)
