"""Other spellings of an instruction that LLVM accepts, brought to the one that the grammar reads.

LLVM takes commas between operands as optional, modifiers behind a comma or among the operands, `no` in front of a flag,
numbers for the words of `dst_sel` and the like, `{id: 1, size: 3}` for hwreg(1, 0, 3), sparse matrix opcodes without their
last underscores, and the bits of a double for an inline constant of a 64-bit operand. Owns words and separators only; what
they mean is judged afterwards.
Source: LLVM, AMDGPUAsmParser (parseInstruction, parseNamedBit, parseStructuredOpFields) and SIDefines (SdwaSel, DstUnused).
"""

from __future__ import annotations

import re
import struct

from asmevo.frontend.modifiers import FLAG_NAMES, MODIFIER_NAMES

_REGISTER = re.compile(r"(?:[-|]|\bneg\(|\babs\()*(?:ttmp|acc|[sva])(?:\d+|\[[^\]]*\])\|?\)?\Z|(?:vcc|exec|m0|off)\w*\Z")
_KEY = re.compile(r"([a-z]\w*)[ \t]*:")
_NEUTRAL = re.compile(r"(?:mul|div):1\Z")
_FORMAT = re.compile(r"(dfmt|nfmt)[ \t]*:[ \t]*(0x[0-9a-fA-F]{1,2}|0|[1-9]\d?)\Z")
_SELECT = re.compile(r"(dst_sel|src[01]_sel|dst_unused):(\d+)\Z")
_SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
_FIELDS = re.compile(r"\{([^{}]*)\}")
_FIELD = re.compile(r"\s*(id|offset|size)\s*:\s*([-\w]+)\s*\Z")
_BINARY = frozenset("+*/%^&<>=!~")
_SUFFIX = re.compile(r"_(?:e32|e64|sdwa|dpp)\Z")
_COMPACT = re.compile(r"(v_smfmac_[fi]32_\d+x\d+x\d+)(?:(f16|bf16|i8)|([bf][fp]8)([bf][fp]8))\Z")
_SUB_DWORD = re.compile(r"(?:dst_|src\d_|row_|quad_|wave_|bank_|bound_)")

_WIDE_NUMBER = re.compile(r"(?<![\w.])-?(?:0[xX][0-9a-fA-F]{9,16}|[1-9]\d{9,19})(?![\w.])")
_INLINE_DOUBLES = {
    **{
        struct.unpack("<Q", struct.pack("<d", value))[0]: str(value) for item in (0.5, 1.0, 2.0, 4.0) for value in (item, -item)
    },
    0x3FC45F306DC9C882: "0.15915494309189532",
}
"""The bits of each inline constant in double precision, to its text."""


def spellings(text: str) -> tuple[str, ...]:
    """The instruction as the grammar may know it, the likeliest first: commas between operands and modifiers behind them.

    A modifier that says nothing (`noclamp`, `mul:1`) still asks for the long encoding, where there is one.
    """
    mnemonic, _, rest = text.replace("\t", " ").partition(" ")
    if compact := _COMPACT.match(mnemonic):
        mnemonic = "_".join(filter(None, compact.groups()))
    operands: list[str] = []
    modifiers: list[str] = []
    formats: dict[str, int] = {}
    asks_for_long = False
    for item, follows_comma in _items(rest):
        key = _KEY.match(item)
        if part := _FORMAT.match(item):
            formats[part.group(1)] = int(part.group(2), 0)
        elif key is not None and key.group(1) in MODIFIER_NAMES:
            compact = key.group(1) + ":" + item[key.end() :].strip()
            if _NEUTRAL.match(compact):
                asks_for_long = True
            else:
                modifiers.append(_SELECT.sub(_select_word, compact))
        elif item in FLAG_NAMES and not (item == "scc" and follows_comma):
            modifiers.append(item)
        elif item.startswith("no") and item[2:] in FLAG_NAMES:
            asks_for_long = asks_for_long or item == "noclamp"
        else:
            operands.append(_FIELDS.sub(_register_fields, item))
    if formats:
        # One field in the encoding; 1 is the data format that a line leaves out.
        modifiers.insert(0, f"format:{formats.get('dfmt', 1) | formats.get('nfmt', 0) << 4}")
    tail = f" {', '.join(operands)} {' '.join(modifiers)}".rstrip()
    long = asks_for_long and not _SUFFIX.search(mnemonic) and not any(_SUB_DWORD.match(item) for item in modifiers)
    return (f"{mnemonic}_e64{tail}", mnemonic + tail) if long else (mnemonic + tail,)


def with_inline_doubles(text: str) -> tuple[str, frozenset[str]]:
    """`text` with numbers that have the bits of an inline double replaced by that float, and the floats put in.

    Only a 64-bit operand takes them: the caller checks it.
    """
    used: set[str] = set()

    def shown(match: re.Match[str]) -> str:
        found = _INLINE_DOUBLES.get(int(match.group(), 0) & (1 << 64) - 1)
        if found is None:
            return match.group()
        used.add(found)
        return found

    return _WIDE_NUMBER.sub(shown, text), frozenset(used)


def _select_word(match: re.Match[str]) -> str:
    words, index = (_UNUSED if match.group(1) == "dst_unused" else _SELECTS), int(match.group(2))
    return f"{match.group(1)}:{words[index]}" if index < len(words) else match.group()


def _register_fields(match: re.Match[str]) -> str:
    values = {"id": "0", "offset": "0", "size": "32"}
    for part in match.group(1).split(",") if match.group(1).strip() else ():
        field = _FIELD.match(part)
        if field is None:
            return match.group()
        values[field.group(1)] = field.group(2)
    return f"hwreg({values['id']}, {values['offset']}, {values['size']})"


def _items(text: str) -> list[tuple[str, bool]]:
    """Operands and modifiers in order, each with whether a comma stands before it."""
    found: list[tuple[str, bool]] = []
    begin, depth, bars, comma = 0, 0, False, True
    at = 0
    while at <= len(text):
        char = text[at : at + 1]
        if char and char in "([{":
            depth += 1
        elif char and char in ")]}":
            depth -= 1
        elif char == "|" and depth == 0:
            bars = not bars
        is_end = not char or (depth == 0 and not bars and (char == "," or (char == " " and _splits(text, begin, at))))
        if is_end:
            item = text[begin:at].strip()
            if item:
                found.append((item, comma))
                comma = False
            comma = comma or char == ","
            begin = at + 1
        at += 1
    return found


def _splits(text: str, begin: int, at: int) -> bool:
    """Whether the blank at `at` ends the item: no operator, bracket or colon stands on either side of it."""
    before, after = text[begin:at].strip(), text[at:].lstrip()
    if not before or not after:
        return True
    if before[-1] in _BINARY or before[-1] in "-|:" or after[0] in _BINARY or after[0] in "([:":
        return before[-1] == "|" and before[0] in "|-" and before.count("|") % 2 == 0 and after[0] not in _BINARY
    if after[0] in "-|":
        return _REGISTER.match(before) is not None or before in FLAG_NAMES
    return True
