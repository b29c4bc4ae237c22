"""The tables a loader looks symbols and relocations up in: .dynsym order, .hash, .gnu.hash, .dynamic, and string tables.

Owns their bytes. It must not know where things lie: addresses are given to it.

Source: System V ABI, "Dynamic Section", "Hash Table"; the GNU hash section as lld and glibc have it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from asmevo.frontend.elf import RELOCATION_BYTES, SYMBOL_BYTES, Symbol

_SHIFT = 26
_WORD_BITS = 64
# Bits in the filter for each symbol, as lld chooses them.
_FILTER_BITS = 12
_DT_NULL, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_RELA = 0, 4, 5, 6, 7
_DT_RELASZ, _DT_RELAENT, _DT_STRSZ, _DT_SYMENT = 8, 9, 10, 11
_DT_GNU_HASH, _DT_RELACOUNT = 0x6FFFFEF5, 0x6FFFFFF9


class Strings:
    """A string table under construction; a text that is there already is not added again."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self._places: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        """Return the offset of `text`."""
        if text not in self._places:
            self._places[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._places[text]


def gnu_hash(name: str) -> int:
    """Return the GNU hash of a name, 32 bits."""
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def sysv_hash(name: str) -> int:
    """Return the System V hash of a name, 28 bits."""
    value = 0
    for byte in name.encode():
        value = ((value << 4) + byte) & 0xFFFFFFFF
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high
    return value


def bucket_count(symbols: int) -> int:
    """Return how many GNU hash buckets this many symbols get."""
    return max(symbols // 4, 1)


def in_hash_order(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Return the symbols in the order that .gnu.hash asks of .dynsym: by bucket, otherwise unchanged."""
    buckets = bucket_count(len(symbols))
    return sorted(symbols, key=lambda symbol: gnu_hash(symbol.name) % buckets)


def gnu_hash_table(names: Sequence[str]) -> bytes:
    """Return .gnu.hash for these names of symbols 1, 2, ... in bucket order."""
    buckets = bucket_count(len(names))
    words = 1 << (len(names) * _FILTER_BITS // _WORD_BITS).bit_length()
    bloom, first = [0] * words, [0] * buckets
    hashes = [gnu_hash(name) for name in names]
    chain: list[int] = []
    for index, value in enumerate(hashes):
        word = value // _WORD_BITS % words
        bloom[word] |= 1 << value % _WORD_BITS | 1 << (value >> _SHIFT) % _WORD_BITS
        bucket = value % buckets
        first[bucket] = first[bucket] or index + 1
        is_last = index + 1 == len(hashes) or hashes[index + 1] % buckets != bucket
        chain.append(value | 1 if is_last else value & ~1)
    return struct.pack(f"<4I{words}Q{buckets}I{len(chain)}I", buckets, 1, words, _SHIFT, *bloom, *first, *chain)


def sysv_hash_table(names: Sequence[str]) -> bytes:
    """Return .hash for these names of symbols 1, 2, ..."""
    count = len(names) + 1
    buckets, chains = [0] * count, [0] * count
    for index, name in enumerate(names, 1):
        bucket = sysv_hash(name) % count
        chains[index], buckets[bucket] = buckets[bucket], index
    return struct.pack(f"<2I{2 * count}I", count, count, *buckets, *chains)


def dynamic_section(addresses: Mapping[str, int], sizes: Mapping[str, int], relative: int) -> bytes:
    """Return .dynamic for sections at these addresses; `relative`: how many relocations only add the load address."""
    entries: list[tuple[int, int]] = []
    if ".rela.dyn" in sizes:
        entries += [
            (_DT_RELA, addresses.get(".rela.dyn", 0)),
            (_DT_RELASZ, sizes[".rela.dyn"]),
            (_DT_RELAENT, RELOCATION_BYTES),
        ]
        if relative:
            entries.append((_DT_RELACOUNT, relative))
    entries += [
        (_DT_SYMTAB, addresses.get(".dynsym", 0)),
        (_DT_SYMENT, SYMBOL_BYTES),
        (_DT_STRTAB, addresses.get(".dynstr", 0)),
        (_DT_STRSZ, sizes[".dynstr"]),
        (_DT_GNU_HASH, addresses.get(".gnu.hash", 0)),
        (_DT_HASH, addresses.get(".hash", 0)),
        (_DT_NULL, 0),
    ]
    return b"".join(struct.pack("<QQ", tag, value) for tag, value in entries)
