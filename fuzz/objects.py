"""Mutated code objects: ELF structure, notes, descriptors, symbols and code words are known and changed as such.

Seeds are valid objects; what is known of one is read once, and each mutation is a few writes into a copy of it.
"""

# msgpack comes without type annotations.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import copy
import struct
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

import msgpack

from asmevo.frontend import elf as elf_reader
from asmevo.frontend.elf import ElfFile
from asmevo.frontend.metadata import NT_AMDGPU_METADATA
from fuzz import mutate

Place = tuple[int, int]
"""Offset and size of a number."""

_HEADER = (
    (4, 1),
    (5, 1),
    (7, 1),
    (8, 1),
    (16, 2),
    (18, 2),
    (24, 8),
    (32, 8),
    (40, 8),
    (48, 4),
    (52, 2),
    (54, 2),
    (56, 2),
    (58, 2),
    (60, 2),
    (62, 2),
)
_SECTION = ((0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8))
_SEGMENT = ((0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 8), (48, 8))
_SYMBOL = ((0, 4), (4, 1), (5, 1), (6, 2), (8, 8), (16, 8))
_RELOCATION = ((0, 8), (8, 4), (12, 4), (16, 8))
_DESCRIPTOR = ((0, 4), (4, 4), (8, 4), (16, 8), (44, 4), (48, 4), (52, 4), (56, 2), (58, 2))
_DESCRIPTOR_BYTES = 64
_NOTE_HEAD = 20
_MANY = 64

# First words: ends, branches near and far, address arithmetic, families with literals, cut literals, and what is nothing.
_WORDS = (
    0,
    0xFFFFFFFF,
    0xBF810000,
    0xBF800000,
    0xBF82FFFF,
    0xBF820000,
    0xBF827FFF,
    0xBF828000,
    0xBF84FFFE,
    0xBF850001,
    0xBE801C00,
    0xBE801D00,
    0xBE8000FF,
    0x7E0002FF,
    0x7E0002F9,
    0x7E0002FA,
    0xD1C00000,
    0xD3D00000,
    0xD3CC0000,
    0xDC508000,
    0xD8EC0000,
    0xE0501000,
    0xC0060000,
    0xC8000000,
    0xD2800000,
    0xD1FE0000,
    0xD3B10000,
    0xF0000000,
    0xBF8C0000,
    0xB0000000,
    0xBA000000,
    0x80FF00FF,
    0xD5000000,
)


@dataclass(slots=True)
class Seed:
    """A valid object and where its parts are; offsets in the file."""

    data: bytes
    places: dict[str, list[Place]] = field(default_factory=dict[str, "list[Place]"])
    text: Place = (0, 0)
    note: Place = (0, 0)
    note_section: int = 0
    strings: list[Place] = field(default_factory=list[Place])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    near: tuple[int, ...] = ()


def seed_of(data: bytes) -> Seed:
    """Read a valid object, linked or not, as a seed."""
    elf = elf_reader.read(data, "<seed>")
    seed = Seed(data)
    header = elf.header
    seed.places["header"] = list(_HEADER)
    seed.places["section"] = _table(header.section_offset, elf_reader.SECTION_BYTES, header.section_count, _SECTION)
    seed.places["segment"] = _table(header.segment_offset, elf_reader.SEGMENT_BYTES, header.segment_count, _SEGMENT)
    for section in elf.sections:
        _section(seed, section)
    for note in elf_reader.notes(elf):
        if note.owner == b"AMDGPU" and note.kind == NT_AMDGPU_METADATA:
            seed.note = (note.offset, note.size)
            seed.places["note"] = [(note.offset - _NOTE_HEAD + at, 4) for at in (0, 4, 8)]
            seed.metadata = cast(
                "dict[str, Any]", msgpack.unpackb(data[note.offset : note.offset + note.size], strict_map_key=False)
            )
    seed.places["descriptor"] = _descriptors(elf)
    seed.near = tuple(
        {len(data), *(s.offset for s in elf.sections), *(s.address for s in elf.sections), *(s.size for s in elf.sections)}
    )
    seed.places = {name: places for name, places in seed.places.items() if places}
    return seed


def _table(start: int, size: int, count: int, fields: tuple[Place, ...]) -> list[Place]:
    return [(start + i * size + at, width) for i in range(min(count, _MANY)) for at, width in fields]


def _section(seed: Seed, section: elf_reader.Section) -> None:
    def count(size: int) -> int:
        return section.size // size

    match section.kind:
        case elf_reader.SHT_SYMTAB | elf_reader.SHT_DYNSYM:
            table = _table(section.offset, elf_reader.SYMBOL_BYTES, count(elf_reader.SYMBOL_BYTES), _SYMBOL)
            seed.places.setdefault("symbol", []).extend(table)
        case elf_reader.SHT_RELA:
            table = _table(section.offset, elf_reader.RELOCATION_BYTES, count(elf_reader.RELOCATION_BYTES), _RELOCATION)
            seed.places.setdefault("relocation", []).extend(table)
        case elf_reader.SHT_DYNAMIC:
            table = _table(section.offset, elf_reader.DYNAMIC_BYTES, count(elf_reader.DYNAMIC_BYTES), ((0, 8), (8, 8)))
            seed.places.setdefault("dynamic", []).extend(table)
        case elf_reader.SHT_NOTE:
            seed.note_section = section.index
        case 3:
            seed.strings.append((section.offset, section.size))
        case _ if section.name == ".text":
            seed.text = (section.offset, section.size)
        case _:
            pass


def _descriptors(elf: ElfFile) -> list[Place]:
    found: list[Place] = []
    for symbol in elf_reader.symbols(elf):
        if not symbol.name.endswith(".kd"):
            continue
        place = elf.at_address(symbol.value, _DESCRIPTOR_BYTES)
        if elf.header.kind == elf_reader.ET_REL and symbol.section < len(elf.sections):
            place = elf.sections[symbol.section].offset + symbol.value
        if place is not None:
            found += [(place + at, size) for at, size in _DESCRIPTOR]
    return found


def mutated(rng: Random, seed: Seed) -> bytes:
    """Return the seed with one to four changes."""
    data = bytearray(seed.data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        choice = rng.random()
        if choice < 0.45:
            place, size = rng.choice(seed.places[rng.choice(tuple(seed.places))])
            mutate.set_number(rng, data, place, size, seed.near)
        elif choice < 0.60:
            change_code(rng, data, seed.text)
        elif choice < 0.75:
            _change_note(rng, data, seed)
        elif choice < 0.82 and seed.strings:
            start, size = rng.choice(seed.strings)
            mutate.change_bytes(rng, data, start, start + size)
        elif choice < 0.90:
            mutate.change_bytes(rng, data)
        elif choice < 0.93:
            mutate.change_length(rng, data)
        else:
            _swap_entries(rng, data, seed)
    return bytes(data)


def mutated_code(rng: Random, seed: Seed) -> bytes:
    """Return the seed with changes that leave it loadable, as a rule: code, descriptors, metadata values, symbols."""
    data = bytearray(seed.data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        choice = rng.random()
        if choice < 0.6:
            change_code(rng, data, seed.text)
        elif choice < 0.8 and (places := seed.places.get(rng.choice(("descriptor", "symbol")))):
            place, size = rng.choice(places)
            mutate.set_number(rng, data, place, size, seed.near)
        else:
            _change_note(rng, data, seed)
    return bytes(data)


def change_code(rng: Random, data: bytearray, text: Place) -> None:
    """Change a word of the code: into one of another family, a branch somewhere, a neighbour's, or flip a bit."""
    start, size = text
    if size < 4 or start + size > len(data):
        return
    at = start + 4 * rng.randrange(size // 4)
    (old,) = struct.unpack_from("<I", data, at)
    choice = rng.random()
    if choice < 0.45:
        word = old ^ 1 << rng.randrange(32)
    elif choice < 0.6:
        word = rng.choice(_WORDS)
    elif choice < 0.75:
        word = rng.choice(_WORDS) & 0xFFFF0000 | rng.getrandbits(16)
    elif choice < 0.9:
        (word,) = struct.unpack_from("<I", data, start + 4 * rng.randrange(size // 4))
    else:
        word = rng.getrandbits(32)
    struct.pack_into("<I", data, at, word)


def _swap_entries(rng: Random, data: bytearray, seed: Seed) -> None:
    """Copy one entry of a table over another."""
    sizes = {
        "section": (elf_reader.SECTION_BYTES, len(_SECTION)),
        "segment": (elf_reader.SEGMENT_BYTES, len(_SEGMENT)),
        "symbol": (elf_reader.SYMBOL_BYTES, len(_SYMBOL)),
        "dynamic": (elf_reader.DYNAMIC_BYTES, 2),
    }
    name = rng.choice([n for n in sizes if n in seed.places] or ["section"])
    size, step = sizes[name]
    starts = [place for place, _ in seed.places[name][::step]]
    one, other = rng.choice(starts), rng.choice(starts)
    data[one : one + size] = data[other : other + size].ljust(size, b"\0")


# ---- metadata ----

_TEXTS = (
    "",
    "a",
    "a.kd",
    "\x1b[2J\x07",
    "\u202e",
    "x" * 5000,
    "é",
    "\0",
    "add",
    '"',
    "'",
    "# no",
    "- a",
    "global_buffer",
    "hidden_none",
    "a\nb",
    "~",
    "yes",
    "1e3",
    "0x10",
)
_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    3,
    64,
    255,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 63) - 1,
    (1 << 64) - 1,
    -(1 << 63),
    1.5,
    float("nan"),
    float("inf"),
    b"",
    b"\xff\xfe",
    [],
    {},
    [[]],
    [1, 2, 3],
    [1, 2, 3, 4],
    {"a": 1},
    msgpack.Timestamp(0),
    msgpack.ExtType(5, b"x"),
)


_KEYS = (".name", ".symbol", ".args", ".reqd_workgroup_size", ".wavefront_size", 5, "", ".x")


def _change_note(rng: Random, data: bytearray, seed: Seed) -> None:
    if not seed.note[1]:
        return
    start, size = seed.note
    if rng.random() < 0.3:
        mutate.change_bytes(rng, data, start, start + size)
        return
    tree = copy.deepcopy(seed.metadata)
    for _ in range(rng.choice((1, 1, 2))):
        _change_tree(rng, tree)
    raw = cast(bytes, msgpack.packb(tree))
    if rng.random() < 0.02:
        raw = b"\x91" * rng.choice((50, 70, 600, 5000)) + b"\x81\xa1a\x01"
    _put_note(data, seed, raw)


def _put_note(data: bytearray, seed: Seed, raw: bytes) -> None:
    start, size = seed.note
    if start + size > len(data):
        return
    if len(raw) <= size:
        data[start : start + size] = raw.ljust(size, b"\0")
        struct.pack_into("<I", data, start - _NOTE_HEAD + 4, len(raw))
        return
    # At the end of the file, with the section showing there.
    note = (
        bytes(data[start - _NOTE_HEAD : start - _NOTE_HEAD + 4])
        + struct.pack("<2I", len(raw), NT_AMDGPU_METADATA)
        + b"AMDGPU\0\0"
        + raw
    )
    (table,) = struct.unpack_from("<Q", data, 40)
    entry = table + seed.note_section * elf_reader.SECTION_BYTES
    if entry + elf_reader.SECTION_BYTES <= len(data):
        data += bytes(-len(data) % 8)
        struct.pack_into("<QQ", data, entry + 24, len(data), len(note))
        data += note


def _change_tree(rng: Random, tree: dict[str, Any]) -> None:
    holder = rng.choice(_holders(tree))
    if isinstance(holder, dict):
        _change_map(rng, cast("dict[Any, Any]", holder))
    else:
        _change_list(rng, cast("list[Any]", holder))


def _change_map(rng: Random, holder: dict[Any, Any]) -> None:
    key = rng.choice(list(holder) or [".name"])
    match rng.randrange(4):
        case 0:
            holder.pop(key, None)
        case 1:
            holder[rng.choice(_KEYS)] = rng.choice(_VALUES)
        case _:
            holder[key] = _other(rng, holder.get(key))


def _change_list(rng: Random, holder: list[Any]) -> None:
    if not holder:
        holder.append(rng.choice(_VALUES))
    elif rng.random() < 0.3:
        holder.extend(copy.deepcopy(holder[:50]) * rng.choice((1, 3, 200)))
    else:
        index = rng.randrange(len(holder))
        holder[index] = _other(rng, holder[index])


def _other(rng: Random, old: Any) -> Any:
    if isinstance(old, int) and rng.random() < 0.5:
        return mutate.number(rng, old & 0xFFFFFFFF, 4)
    if isinstance(old, str) and rng.random() < 0.3:
        return old + rng.choice(_TEXTS)
    return rng.choice(rng.choice((_VALUES, _TEXTS)))


def _holders(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return [node, *(h for child in cast("dict[Any, Any]", node).values() for h in _holders(child))]
    if isinstance(node, list):
        return [node, *(h for child in cast("list[Any]", node) for h in _holders(child))]
    return []
