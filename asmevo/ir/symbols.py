"""Symbolic operands: the names that stand for bit fields in hwreg(...), sendmsg(...), gpr_idx(...) and swizzle(...).

Owns the tables and the packing; how the text is split into name and arguments is the parser's business.
Source: LLVM AMDGPUUsage and the operand syntax page for GFX9; field layouts from AMD's CDNA3 ISA guide, SOPK, SOPP and DS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

HWREG_IDS: dict[str, int] = {
    "HW_REG_MODE": 1,
    "HW_REG_STATUS": 2,
    "HW_REG_TRAPSTS": 3,
    "HW_REG_HW_ID": 4,
    "HW_REG_GPR_ALLOC": 5,
    "HW_REG_LDS_ALLOC": 6,
    "HW_REG_IB_STS": 7,
    "HW_REG_SH_MEM_BASES": 15,
    "HW_REG_TBA_LO": 16,
    "HW_REG_TBA_HI": 17,
    "HW_REG_TMA_LO": 18,
    "HW_REG_TMA_HI": 19,
    "HW_REG_XCC_ID": 20,
    "HW_REG_SQ_PERF_SNAPSHOT_DATA": 21,
    "HW_REG_SQ_PERF_SNAPSHOT_DATA1": 22,
    "HW_REG_SQ_PERF_SNAPSHOT_PC_LO": 23,
    "HW_REG_SQ_PERF_SNAPSHOT_PC_HI": 24,
}

MESSAGE_IDS: dict[str, int] = {
    "MSG_INTERRUPT": 1,
    "MSG_GS": 2,
    "MSG_GS_DONE": 3,
    "MSG_SAVEWAVE": 4,
    "MSG_STALL_WAVE_GEN": 5,
    "MSG_HALT_WAVES": 6,
    "MSG_ORDERED_PS_DONE": 7,
    "MSG_EARLY_PRIM_DEALLOC": 8,
    "MSG_GS_ALLOC_REQ": 9,
    "MSG_GET_DOORBELL": 10,
    "MSG_SYSMSG": 15,
}

MESSAGE_OPERATIONS: dict[str, int] = {
    "GS_OP_NOP": 0,
    "GS_OP_CUT": 1,
    "GS_OP_EMIT": 2,
    "GS_OP_EMIT_CUT": 3,
    "SYSMSG_OP_ECC_ERR_INTERRUPT": 1,
    "SYSMSG_OP_REG_RD": 2,
    "SYSMSG_OP_HOST_TRAP_ACK": 3,
    "SYSMSG_OP_TTRACE_PC": 4,
}

GPR_INDEX_BITS: dict[str, int] = {"SRC0": 1, "SRC1": 2, "SRC2": 4, "DST": 8}

NAMED_SOURCES: dict[str, int] = {
    "off": 0,
    "null": 0,
    "src_shared_base": 235,
    "src_shared_limit": 236,
    "src_private_base": 237,
    "src_private_limit": 238,
    "src_pops_exiting_wave_id": 239,
    "src_lds_direct": 254,
    "lds_direct": 254,
    "shared_base": 235,
    "shared_limit": 236,
    "private_base": 237,
    "private_limit": 238,
    "pops_exiting_wave_id": 239,
    "src_flat_scratch_base_lo": 230,
    "src_flat_scratch_base_hi": 231,
}
"""Operand words that are neither a register unit nor a constant, with their source encoding (0: not encoded)."""


def integer(text: str) -> int:
    """The value of a constant as the assembler spells it: decimal, 0x, 0b, or octal behind a leading 0; a sign may stand first.

    Raises: ValueError for what is none of them, such as 08.
    """
    digits = text.lstrip("-")
    if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
        return int(text, 8)
    return int(text, 0)


class SymbolError(ValueError):
    """A symbolic operand that packs to no value; the text says why, in a diagnostic's style."""


def symbol_value(function: str, arguments: Sequence[str]) -> int:
    """The encoded field of `function(arguments)`: the 16-bit immediate, or the DS offset of a swizzle.

    Raises: SymbolError for an unknown function or name, a wrong number of arguments or a field out of range.
    """
    packer = _PACKERS.get(function)
    if packer is None:
        raise SymbolError(f"unknown operand function '{function}'")
    return packer(arguments)


def _field(text: str, limit: int, names: dict[str, int] | None = None) -> int:
    if names and text in names:
        return names[text]
    if not (text[:1].isdigit()):
        raise SymbolError(f"unknown name '{text}'")
    try:
        value = integer(text)
    except ValueError:
        raise SymbolError(f"'{text}' is not a number") from None
    if value > limit:
        raise SymbolError(f"{text} is above the limit of {limit}")
    return value


def _count(function: str, arguments: Sequence[str], *allowed: int) -> None:
    if len(arguments) not in allowed:
        wanted = " or ".join(map(str, allowed))
        raise SymbolError(f"{function}(...) takes {wanted} arguments, {len(arguments)} given")


def _hwreg(arguments: Sequence[str]) -> int:
    _count("hwreg", arguments, 1, 3)
    register = _field(arguments[0], 63, HWREG_IDS)
    offset, width = (_field(arguments[1], 31), _field(arguments[2], 32)) if len(arguments) == 3 else (0, 32)
    if not width:
        raise SymbolError("a hardware register field is 1 to 32 bits wide")
    return register | offset << 6 | (width - 1) << 11


def _sendmsg(arguments: Sequence[str]) -> int:
    _count("sendmsg", arguments, 1, 2, 3)
    message = _field(arguments[0], 15, MESSAGE_IDS)
    operation = _field(arguments[1], 7, MESSAGE_OPERATIONS) if len(arguments) > 1 else 0
    stream = _field(arguments[2], 3) if len(arguments) > 2 else 0
    return message | operation << 4 | stream << 8


def _gpr_idx(arguments: Sequence[str]) -> int:
    value = 0
    for name in arguments:
        if name not in GPR_INDEX_BITS:
            raise SymbolError(f"unknown name '{name}'")
        value |= GPR_INDEX_BITS[name]
    return value


_BITMASK = {"0": (0, 0, 0), "1": (0, 1, 0), "p": (1, 0, 0), "i": (1, 0, 1)}
"""One letter of a BITMASK_PERM string to its AND, OR and XOR bits."""


_BITMASK_LETTERS = {(0, 0): "0", (1, 1): "1", (0, 1): "p", (1, 0): "i"}
"""What a lane index bit of 0 and of 1 becomes, to the letter."""


def _bitmask(letters: str) -> int:
    if len(letters) != 5 or any(letter not in _BITMASK for letter in letters):
        raise SymbolError(f"a bit mask is five letters of 0, 1, p and i, not '{letters}'")
    value = 0
    for letter in letters:
        and_bit, or_bit, xor_bit = _BITMASK[letter]
        value = value << 1 | and_bit | or_bit << 5 | xor_bit << 10
    return value


def _group(text: str, *, least: int) -> int:
    size = _field(text, 32)
    if size < least or size & (size - 1):
        raise SymbolError(f"a swizzle group is a power of two from {least} to 32, not {size}")
    return size


def _swizzle(arguments: Sequence[str]) -> int:
    if not arguments:
        raise SymbolError("swizzle(...) needs a mode")
    mode, rest = arguments[0], arguments[1:]
    if mode == "QUAD_PERM":
        _count("swizzle", arguments, 5)
        return 0x8000 | sum(_field(lane, 3) << 2 * index for index, lane in enumerate(rest))
    if mode == "BITMASK_PERM":
        _count("swizzle", arguments, 2)
        return _bitmask(rest[0].strip('"'))
    if mode == "BROADCAST":
        _count("swizzle", arguments, 3)
        size = _group(rest[0], least=2)
        return 32 - size | _field(rest[1], size - 1) << 5
    if mode == "SWAP":
        _count("swizzle", arguments, 2)
        size = _group(rest[0], least=1)
        if size > 16:
            raise SymbolError("SWAP takes a group of at most 16")
        return 0x1F | size << 10
    if mode == "REVERSE":
        _count("swizzle", arguments, 2)
        return 0x1F | (_group(rest[0], least=2) - 1) << 10
    if mode == "FFT":
        _count("swizzle", arguments, 2)
        return 0xE000 | _field(rest[0], 31)
    if mode == "ROTATE":
        _count("swizzle", arguments, 3)
        return 0xC000 | _field(rest[0], 1) << 10 | _field(rest[1], 31) << 5
    raise SymbolError(f"unknown swizzle mode '{mode}'")


_PACKERS: dict[str, Callable[[Sequence[str]], int]] = {
    "hwreg": _hwreg,
    "sendmsg": _sendmsg,
    "gpr_idx": _gpr_idx,
    "swizzle": _swizzle,
}

_SEPARATORS = {"hwreg": ", ", "sendmsg": ", "}


def symbol_text(function: str, arguments: Sequence[str]) -> str:
    """The call as LLVM prints it."""
    return f"{function}({_SEPARATORS.get(function, ',').join(arguments)})"


def swizzle_text(offset: int) -> str:
    """How LLVM prints the DS offset field of a swizzle: the most telling form that packs to it, else the number."""
    if offset >= 0xE000:
        return f"swizzle(FFT,{offset & 31})" if not offset & 0x1FE0 else str(offset)
    if offset >= 0xC000:
        return f"swizzle(ROTATE,{offset >> 10 & 1},{offset >> 5 & 31})" if not offset & 0x181F else str(offset)
    if offset & 0xFF00 == 0x8000:
        return f"swizzle(QUAD_PERM,{','.join(str(offset >> shift & 3) for shift in (0, 2, 4, 6))})"
    if offset & 0x8000:
        return str(offset)
    and_mask, or_mask, xor_mask = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    if and_mask == 31 and not or_mask and xor_mask:
        if not xor_mask & (xor_mask - 1):
            return f"swizzle(SWAP,{xor_mask})"
        if not xor_mask & (xor_mask + 1):
            return f"swizzle(REVERSE,{xor_mask + 1})"
    size = 32 - and_mask
    if size > 1 and not size & (size - 1) and or_mask < size and not xor_mask:
        return f"swizzle(BROADCAST,{size},{or_mask})"
    zeros, ones = or_mask ^ xor_mask, (and_mask | or_mask) ^ xor_mask
    letters = "".join(_BITMASK_LETTERS[zeros >> bit & 1, ones >> bit & 1] for bit in range(4, -1, -1))
    return f'swizzle(BITMASK_PERM,"{letters}")'
