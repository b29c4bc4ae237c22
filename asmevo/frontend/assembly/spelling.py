"""Other spellings of an instruction that LLVM accepts, brought to the one that the grammar reads.

LLVM takes commas between operands as optional, modifiers behind a comma or among the operands, `no` in front of a flag, and
`{id: 1, size: 3}` for hwreg(1, 0, 3). Owns words and separators only; what they mean is judged afterwards.
Source: LLVM, AMDGPUAsmParser (parseInstruction, parseNamedBit, parseStructuredOpFields).
"""

from __future__ import annotations

import re

from asmevo.frontend.modifiers import FLAG_NAMES, MODIFIER_NAMES

_REGISTER = re.compile(r"(?:[-|]|\bneg\(|\babs\()*(?:ttmp|acc|[sva])(?:\d+|\[[^\]]*\])\|?\)?\Z|(?:vcc|exec|m0|off)\w*\Z")
_KEY = re.compile(r"([a-z]\w*)[ \t]*:")
_NEUTRAL = re.compile(r"(?:mul|div):1\Z")
_FORMAT = re.compile(r"(dfmt|nfmt)[ \t]*:[ \t]*(0x[0-9a-fA-F]{1,2}|0|[1-9]\d?)\Z")
_FIELDS = re.compile(r"\{([^{}]*)\}")
_FIELD = re.compile(r"\s*(id|offset|size)\s*:\s*([-\w]+)\s*\Z")
_BINARY = frozenset("+*/%^&<>=!~")


def respelled(text: str) -> str:
    """The instruction with commas between its operands and its modifiers behind them; as it is where it has them."""
    mnemonic, _, rest = text.replace("\t", " ").partition(" ")
    operands: list[str] = []
    modifiers: list[str] = []
    formats: dict[str, int] = {}
    for item, follows_comma in _items(rest):
        key = _KEY.match(item)
        if part := _FORMAT.match(item):
            formats[part.group(1)] = int(part.group(2), 0)
        elif key is not None and key.group(1) in MODIFIER_NAMES:
            compact = key.group(1) + ":" + item[key.end() :].strip()
            if not _NEUTRAL.match(compact):
                modifiers.append(compact)
        elif item in FLAG_NAMES and not (item == "scc" and follows_comma):
            modifiers.append(item)
        elif not (item.startswith("no") and item[2:] in FLAG_NAMES):
            operands.append(_FIELDS.sub(_register_fields, item))
    if formats:
        # One field in the encoding; 1 is the data format that a line leaves out.
        modifiers.insert(0, f"format:{formats.get('dfmt', 1) | formats.get('nfmt', 0) << 4}")
    return f"{mnemonic} {', '.join(operands)} {' '.join(modifiers)}".strip()


def _register_fields(match: re.Match[str]) -> str:
    values = {"id": "", "offset": "0", "size": "32"}
    for part in match.group(1).split(","):
        field = _FIELD.match(part)
        if field is None:
            return match.group()
        values[field.group(1)] = field.group(2)
    return f"hwreg({values['id']}, {values['offset']}, {values['size']})" if values["id"] else match.group()


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
