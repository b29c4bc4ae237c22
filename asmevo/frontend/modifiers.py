"""Which values a modifier takes, by its own field in the encoding.

Owns the ranges of modifiers that mean the same on every opcode; the range of `offset`, which differs by encoding family, is
checked with the opcode at hand. Whether an opcode takes a modifier at all is the assembler's answer.
Source: AMD CDNA3 ISA guide, microcode formats; LLVM operand syntax for GFX9.
"""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.ir.instruction import ModifierValue
from asmevo.ir.symbols import integer

_CACHE_FLAGS = ("glc", "slc", "dlc", "scc", "sc0", "sc1", "nt")
_ADDRESS_FLAGS = ("offen", "idxen", "addr64", "lds", "gds", "tfe")
_IMAGE_FLAGS = ("lwe", "da", "unorm", "a16", "d16", "r128")
_FLAGS = frozenset((*_CACHE_FLAGS, *_ADDRESS_FLAGS, *_IMAGE_FLAGS, "clamp", "row_mirror", "row_half_mirror"))

_NUMBERS: dict[str, range | tuple[int, ...]] = {
    "offset": range(-(1 << 20), 1 << 21),
    "offset0": range(256),
    "offset1": range(256),
    "row_mask": range(16),
    "bank_mask": range(16),
    "bound_ctrl": range(2),
    "row_shl": range(1, 16),
    "row_shr": range(1, 16),
    "row_ror": range(1, 16),
    "row_bcast": (15, 31),
    "row_newbcast": range(16),
    "wave_shl": (1,),
    "wave_shr": (1,),
    "wave_rol": (1,),
    "wave_ror": (1,),
    "cbsz": range(8),
    "abid": range(16),
    "blgp": range(8),
    "mul": (2, 4),
    "div": (2,),
    "dmask": range(16),
    "bitop3": range(256),
    "format": range(128),
    "fi": range(2),
}

_VECTORS: dict[str, tuple[tuple[int, ...], int]] = {
    "op_sel": ((1, 2, 3, 4), 1),
    "op_sel_hi": ((1, 2, 3), 1),
    "neg_lo": ((1, 2, 3), 1),
    "neg_hi": ((1, 2, 3), 1),
    "neg": ((1, 2, 3), 1),
    "quad_perm": ((4,), 3),
}
"""Name to allowed lengths and the largest item."""

_SELECTS = frozenset(("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"))
_WORDS = {
    "dst_sel": _SELECTS,
    "src0_sel": _SELECTS,
    "src1_sel": _SELECTS,
    "dst_unused": frozenset(("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")),
}

FLAG_NAMES = _FLAGS
MODIFIER_NAMES = tuple(sorted((*_FLAGS, *_NUMBERS, *_VECTORS, *_WORDS)))


def check_flag(name: str) -> ModifierValue:
    """True for a known flag; ValueError otherwise."""
    if name not in _FLAGS:
        raise ValueError(f"unknown modifier '{name}'")
    return True


def check_number(name: str, text: str) -> ModifierValue:
    """The number given to a modifier; ValueError when the field cannot hold it."""
    allowed = _NUMBERS.get(name)
    if allowed is None:
        raise ValueError(f"unknown modifier '{name}'" if name not in MODIFIER_NAMES else f"'{name}' does not take a number")
    value = integer(text)
    if value not in allowed:
        shown = f"{allowed[0]} to {allowed[-1]}" if isinstance(allowed, range) else " or ".join(map(str, allowed))
        raise ValueError(f"{name}:{text} is out of range: {shown}")
    # Both spellings set the same bit and LLVM prints the bit as 1.
    return 1 if name == "bound_ctrl" else value


def check_word(name: str, text: str) -> ModifierValue:
    """The word given to a modifier; ValueError when the modifier has no such value."""
    if name == "format" and text.startswith("BUF_"):
        return text
    allowed = _WORDS.get(name)
    if allowed is None:
        raise ValueError(f"unknown modifier '{name}'" if name not in MODIFIER_NAMES else f"'{name}' does not take a word")
    if text not in allowed:
        raise ValueError(f"{name} is one of {', '.join(sorted(allowed))}, not '{text}'")
    return text


def check_vector(name: str, texts: Sequence[str]) -> ModifierValue:
    """The items of a bracketed modifier; ValueError for a wrong count or item. Formats keep their names as one text."""
    if name == "format":
        return f"[{','.join(texts)}]"
    rule = _VECTORS.get(name)
    if rule is None:
        raise ValueError(f"unknown modifier '{name}'" if name not in MODIFIER_NAMES else f"'{name}' does not take a list")
    lengths, largest = rule
    if len(texts) not in lengths:
        raise ValueError(f"{name} takes {' or '.join(map(str, lengths))} items, {len(texts)} given")
    values: list[int] = []
    for text in texts:
        value = integer(text) if text[:1].isdigit() else -1
        if not 0 <= value <= largest:
            raise ValueError(f"{name} items are 0 to {largest}, not '{text}'")
        values.append(value)
    if name == "neg":
        # One bit for each source; those that a line leaves out are 0.
        values += [0] * (max(lengths) - len(values))
    return tuple(values)
