"""Whether an instruction with other operands can be encoded, and how it is written shortest.

Owns the encoding rules that a pass meets when it replaces an operand or an opcode: operand classes, the one scalar value that a
vector instruction may read, literals, and the operands of the short forms. What an instruction means is not its business.
Source: AMD CDNA3 ISA guide, chapter 6 (constant bus, literals) and chapter 13 (encodings).
"""

from __future__ import annotations

from dataclasses import replace

from asmevo.ir.instruction import Immediate, Instruction, Modifier, Operand, Register
from asmevo.ir.isa import lookup
from asmevo.ir.isa.model import Encoding, Family, Role
from asmevo.ir.isa.operands import Constants, operand_class, same_file, takes_register
from asmevo.ir.registers import VGPR0, RegisterFile, RegisterRange

_INLINE_FLOATS = frozenset(
    {0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983}
)
_VALU = frozenset({Family.VOP1, Family.VOP2, Family.VOP3, Family.VOP3P, Family.VOPC})
_WORD = (1 << 32) - 1
_COMMUTATIVE = frozenset(
    f"v_{name}"
    for name in (
        *("add_u32", "add_u16", "add_co_u32", "addc_co_u32", "mul_i32_i24", "mul_u32_u24", "mul_hi_i32_i24", "mul_hi_u32_u24"),
        *("mul_lo_u16", "min_i32", "min_u32", "max_i32", "max_u32", "and_b32", "or_b32", "xor_b32", "xnor_b32"),
    )
)
"""Integers only: which of two NaNs a float operation passes on may depend on its operands' order."""
_REVERSED = {
    "v_sub_f32": "v_subrev_f32",
    "v_subrev_f32": "v_sub_f32",
    "v_sub_u32": "v_subrev_u32",
    "v_subrev_u32": "v_sub_u32",
    "v_sub_co_u32": "v_subrev_co_u32",
    "v_subrev_co_u32": "v_sub_co_u32",
}


def encoding_of(i: Instruction) -> Encoding:
    """The encoding that the mnemonic's suffix names."""
    for encoding in (Encoding.E32, Encoding.E64, Encoding.SDWA, Encoding.DPP):
        if i.mnemonic.endswith(encoding.value):
            return encoding
    return Encoding.ONLY


def is_inline(value: int) -> bool:
    """Whether a 32-bit pattern can be an inline constant of a 32-bit operand."""
    return value <= 64 or value >= _WORD - 15 or value in _INLINE_FLOATS


def number(value: int) -> Immediate:
    """The operand that stands for a 32-bit pattern."""
    value &= _WORD
    signed = value - (1 << 32) if value >= _WORD - 15 else value
    return Immediate(value, str(signed) if -16 <= signed <= 64 else f"0x{value:x}")


def register(unit: int, count: int = 1) -> Register:
    """The plain register operand."""
    return Register(RegisterRange(unit, count))


def made(mnemonic: str, operands: tuple[Operand, ...], like: Instruction, modifiers: tuple[Modifier, ...] = ()) -> Instruction:
    """An instruction in the place, and with the uid, of `like`."""
    definition = lookup(mnemonic)
    assert definition is not None
    return replace(like, mnemonic=mnemonic, operands=operands, modifiers=modifiers, definition=definition, encoding=None)


def encodable(i: Instruction) -> bool:
    """Whether the operands fit the encoding that the mnemonic names. SDWA, DPP and what reads by lane numbers never do."""
    definition, encoding = i.definition, encoding_of(i)
    if definition is None or encoding not in definition.encodings or encoding in (Encoding.SDWA, Encoding.DPP):
        return False
    scalars: set[int | str] = set()
    files: set[RegisterFile] = set()
    bound = same_file(definition)
    for index, (operand, spec) in enumerate(zip(i.operands, definition.operands, strict=True)):
        takes = operand_class(definition, index, encoding)
        if isinstance(operand, Register):
            if takes.fixed and str(operand.range) != takes.fixed:
                return False
            bits = 32 * operand.range.count if spec.bits else 0
            if not takes_register(takes, max(bits, 32), operand.range):
                return False
            if spec.name in bound:
                files.add(operand.range.file)
            if operand.range.unit < VGPR0 and spec.role is Role.READ:
                scalars.add(operand.range.unit)
            if encoding is Encoding.E32 and (operand.negate or operand.absolute):
                return False
        elif isinstance(operand, Immediate) and spec.bits and takes.constants in (Constants.INLINE, Constants.LITERAL):
            if not _is_constant(operand):
                if takes.constants is Constants.INLINE:
                    return False
                scalars.add("literal")
        elif isinstance(operand, Immediate) and takes.constants is Constants.NONE:
            return False
    if definition.family in _VALU and len(scalars) > 1:
        return False
    literals = sum(isinstance(o, Immediate) and not _is_constant(o) for o in i.operands)
    return len(files) <= 1 and (definition.family not in (Family.SOP2, Family.SOPC) or literals <= 1)


def _is_constant(operand: Immediate) -> bool:
    return operand.is_float or is_inline(operand.value)


def shortened(i: Instruction) -> Instruction | None:
    """The same instruction in a shorter encoding; None where there is none."""
    definition = i.definition
    if definition is None:
        return None
    if i.mnemonic.endswith("_e64") and Encoding.E32 in definition.encodings and not i.modifiers:
        base = i.mnemonic[: -len("_e64")]
        return next((one for one in _orders(base, i) if encodable(one)), None)
    return _short_scalar(i)


def lengthened(i: Instruction) -> Instruction | None:
    """The same vector instruction in its 64-bit form; None where there is none."""
    if not i.mnemonic.endswith("_e32"):
        return None
    longer = replace(i, mnemonic=f"{i.mnemonic[: -len('_e32')]}_e64", encoding=None)
    return longer if encodable(longer) else None


def _orders(base: str, i: Instruction) -> list[Instruction]:
    """The short form with the operands as they stand, and with the first two sources swapped where that is the same."""
    found = [made(f"{base}_e32", i.operands, i)]
    other = base if base in _COMMUTATIVE else _REVERSED.get(base)
    assert i.definition is not None
    places = [n for n, spec in enumerate(i.definition.operands) if spec.name in ("src0", "src1")]
    if other is not None and len(places) == 2:
        operands = list(i.operands)
        first, second = places
        operands[first], operands[second] = operands[second], operands[first]
        found.append(made(f"{other}_e32", tuple(operands), i))
    return found


def _short_scalar(i: Instruction) -> Instruction | None:
    """s_mov_b32, s_add_i32 and s_mul_i32 with a literal that 16 bits hold."""
    if i.mnemonic not in ("s_mov_b32", "s_add_i32", "s_mul_i32"):
        return None
    target, *sources = i.operands
    if i.mnemonic != "s_mov_b32":
        others = [o for o in sources if isinstance(o, Register)]
        if len(others) != 1 or others[0] != target:
            return None
    constant = next((o for o in sources if isinstance(o, Immediate)), None)
    if constant is None or _is_constant(constant):
        return None
    signed = constant.value - (1 << 32) if constant.value >> 31 else constant.value
    if not -(1 << 15) <= signed < 1 << 15:
        return None
    mnemonic = {"s_mov_b32": "s_movk_i32", "s_add_i32": "s_addk_i32", "s_mul_i32": "s_mulk_i32"}[i.mnemonic]
    short = made(mnemonic, (target, Immediate(constant.value & 0xFFFF, f"0x{constant.value & 0xFFFF:x}")), i)
    return short if isinstance(target, Register) and target.range.file is RegisterFile.SGPR else None
