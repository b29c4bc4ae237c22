"""The form of an instruction: all that its meaning may depend on.

Mnemonic, modifiers and kinds of operands belong to it; register numbers, constants and offsets do not, they are leaves. Two
instructions of equal form have the same program. Owns the key and the constants' bits; it gives no meaning.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

from asmevo.diagnostics import fail
from asmevo.ir.instruction import Immediate, Instruction, Modifier, ModifierValue, Operand, Register, Symbolic
from asmevo.ir.isa import base_mnemonic
from asmevo.ir.isa.model import OpcodeDef, OperandSpec, Role
from asmevo.ir.registers import VGPR0
from asmevo.ir.symbols import NAMED_SOURCES

SHARED_APERTURE, PRIVATE_APERTURE = 1 << 48, 2 << 48
"""Where generic addresses of LDS and of scratch memory begin, 4 GiB each; as the Linux driver places them on this family."""
_APERTURES = {
    NAMED_SOURCES["src_shared_base"]: SHARED_APERTURE,
    NAMED_SOURCES["src_shared_limit"]: SHARED_APERTURE | 0xFFFFFFFF,
    NAMED_SOURCES["src_private_base"]: PRIVATE_APERTURE,
    NAMED_SOURCES["src_private_limit"]: PRIVATE_APERTURE | 0xFFFFFFFF,
}
_LEAVES = frozenset({"offset", "offset0", "offset1"})
_NO_MEANING = frozenset({"sc0", "sc1", "nt", "glc", "slc", "scc"})
_SWIZZLE_MODES = 0xC000


class UnsupportedFormError(Exception):
    """A modifier without semantics on an opcode that has them; the message names it. The whole form is then opaque."""


@dataclass(frozen=True, slots=True)
class OperandKind:
    """What matters of an operand: `kind` is v (vector), s (scalar), imm or none; `bits` of its register, 0 otherwise."""

    kind: str
    bits: int = 0
    negate: bool = False
    absolute: bool = False
    sign_extend: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """An instruction without its register numbers, constants and offsets."""

    name: str
    encoding: str
    definition: OpcodeDef
    kinds: tuple[OperandKind, ...]
    modifiers: tuple[tuple[str, ModifierValue], ...]
    target: str = ""
    """The target, where the meaning depends on it; else empty, so that the targets share a program."""

    def modifier(self, name: str, default: ModifierValue = False) -> ModifierValue:
        """A modifier's value, or `default`."""
        for key, value in self.modifiers:
            if key == name:
                return value
        return default

    def flags(self, name: str, count: int, default: int) -> tuple[int, ...]:
        """A list modifier's `count` items; a missing list or item is `default`."""
        value = self.modifier(name, ())
        items = value if isinstance(value, tuple) else ()
        return (items + (default,) * count)[:count]

    def has(self, name: str) -> bool:
        """Whether the opcode prints an operand of that name."""
        return any(spec.name == name for spec in self.definition.operands)

    def spec(self, name: str) -> OperandSpec:
        """The operand's entry in the instruction table."""
        return self.definition.operands[self._index(name)]

    def kind(self, name: str) -> OperandKind:
        """The operand's kind."""
        return self.kinds[self._index(name)]

    def keeps_rest(self, name: str) -> bool:
        """Whether a narrow result leaves the rest of destination `name` as it was."""
        return self.spec(name).role is Role.READ_WRITE

    def _index(self, name: str) -> int:
        for index, spec in enumerate(self.definition.operands):
            if spec.name == name:
                return index
        raise KeyError(f"{self.name} has no operand {name}")


def _depends_on_target(name: str) -> bool:
    """Whether targets disagree: on 8-bit floats, and on the sums of matrix instructions."""
    return "fp8" in name or "bf8" in name or name.startswith(("v_mfma_", "v_smfmac_"))


def form_of(i: Instruction, target: str = "gfx942") -> Form | None:
    """The form on a target; None for raw data and for what does not fit its definition."""
    definition = i.definition
    if definition is None or len(definition.operands) != len(i.operands):
        return None
    return _form(i.mnemonic, definition, tuple([_kind(operand) for operand in i.operands]), i.modifiers, target)


def _kind(operand: Operand) -> int:
    """Return an operand's kind as a number, which is quicker to compare; `_operand_kind` reads it."""
    if isinstance(operand, Register):
        place = operand.range
        signs = operand.negate << 2 | operand.absolute << 1 | operand.sign_extend
        return place.count << 4 | (place.unit >= VGPR0) << 3 | signs
    return operand.negate << 2 | operand.absolute << 1 | 1 if isinstance(operand, Immediate) else 0


def _operand_kind(number: int) -> OperandKind:
    count, negate, absolute, last = number >> 4, bool(number & 4), bool(number & 2), bool(number & 1)
    if count:
        return OperandKind("v" if number & 8 else "s", 32 * count, negate, absolute, last)
    return OperandKind("imm", 0, negate, absolute) if last else OperandKind("none")


@lru_cache(maxsize=1 << 15)
def _form(
    mnemonic: str, definition: OpcodeDef, numbers: tuple[int, ...], all_modifiers: tuple[Modifier, ...], target: str
) -> Form:
    name = base_mnemonic(mnemonic)
    modifiers: list[tuple[str, ModifierValue]] = []
    for modifier in all_modifiers:
        if modifier.name in _LEAVES:
            # Above this the offset of a swizzle is another operation, not another pattern.
            if name == "ds_swizzle_b32" and isinstance(modifier.value, int) and modifier.value >= _SWIZZLE_MODES:
                modifiers.append(("rotate", True))
        elif modifier.name not in _NO_MEANING:
            modifiers.append((modifier.name, modifier.value))
    kinds = tuple([_operand_kind(number) for number in numbers])
    encoding = mnemonic[len(name) + 1 :] if mnemonic != name else ""
    chip = target if _depends_on_target(name) else ""
    return Form(name, encoding, definition, kinds, tuple(sorted(modifiers, key=lambda item: item[0])), chip)


_UNSIGNED_K = ("s_cmpk_eq_u32", "s_cmpk_lg_u32", "s_cmpk_gt_u32", "s_cmpk_ge_u32", "s_cmpk_lt_u32", "s_cmpk_le_u32")
_TYPES = frozenset("f16 bf16 f32 f64 i16 u16 b16 i32 u32 b32 i64 u64 b64".split())
_INV_2PI = {0x3E22F983: (0x3118, 0x3FC45F306DC9C882)}
"""The inline constant 1/(2 pi): its f32 pattern to the f16 and f64 ones, which are not conversions of it."""


@lru_cache(maxsize=4096)
def _format(mnemonic: str, operand: str) -> str:
    """The type by which a constant of the operand is expanded: the last type in the name, or the source's where it has two."""
    words = mnemonic.split("_")
    types = [word for word in words if word in _TYPES]
    if not types:
        return "b32"
    if "ldexp" in words and operand == "src1":
        return "i16" if types[-1] == "f16" else "i32"
    if "class" in words and operand == "src1":
        return "b32"
    return types[-1]


def source_bits(i: Instruction, operand_name: str) -> int:
    """A constant operand's bits as the instruction reads them, before its negate and absolute modifiers.

    64-bit operands: integers sign-extend where printed as inline constants or where the type is signed, other literals
    zero-extend; a float's literal is the upper half; inline floats take the operand's own format. 16-bit operands take f16
    patterns in the low half, but for packed integers. `simm16` is sign-extended to 32 bits, for s_cmpk_*_u32 zero-extended.
    E0310 when the operand is no constant.
    """
    definition = i.definition
    operand = None
    bits = 32
    if definition is not None:
        for spec, candidate in zip(definition.operands, i.operands, strict=False):
            if spec.name == operand_name:
                operand, bits = candidate, spec.bits
    if isinstance(operand, Symbolic) and operand.value is not None:
        if operand.text.startswith("src_"):
            # An aperture has its bits in the upper half and reads as 0 by 32 bits.
            return _APERTURES.get(operand.value, operand.value) & (1 << bits) - 1
        return operand.value & 0xFFFFFFFF
    if not isinstance(operand, Immediate):
        fail("E0310", f"operand '{operand_name}' of '{i.mnemonic}' is not a constant", i.span)
    name = base_mnemonic(i.mnemonic)
    value = operand.value & 0xFFFFFFFF
    if operand_name == "simm16":
        value &= 0xFFFF
        return value if name in _UNSIGNED_K or value < 0x8000 else value | 0xFFFF0000
    packed = name.startswith("v_pk_") and bits == 64
    matrix = name.startswith(("v_mfma_", "v_smfmac_"))
    kind = _format(name, operand_name)
    if matrix:
        return _float_pattern(value, 64) if operand.is_float and name.startswith("v_mfma_f64") else value
    # Packed integers read an inline float as all 32 bits of its f32 pattern.
    halves = ("f16", "bf16") if name.startswith("v_pk_") else ("f16", "bf16", "i16", "u16", "b16")
    if operand.is_float and kind in halves and _reads_half(name):
        return _float_pattern(value, 16)
    if bits <= 32 or packed:
        return value
    if operand.is_float:
        return _float_pattern(value, 64)
    inline = not operand.text.lower().startswith(("0x", "-0x"))
    if inline or kind == "i64":
        return value | 0xFFFFFFFF00000000 if value >> 31 else value
    return value << 32 if kind == "f64" else value


def _reads_half(name: str) -> bool:
    """Whether the last type in the mnemonic is also that of its sources."""
    return not name.startswith(("v_cvt_f16_f32", "v_cvt_pkrtz", "v_fma_mix", "v_dot2"))


def _float_pattern(value: int, bits: int) -> int:
    if value in _INV_2PI:
        return _INV_2PI[value][0 if bits == 16 else 1]
    real = struct.unpack("<f", struct.pack("<I", value))[0]
    if bits == 16:
        return int.from_bytes(struct.pack("<e", real), "little")
    return int.from_bytes(struct.pack("<d", real), "little")
