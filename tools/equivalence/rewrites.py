"""Edits that are legal by integer arithmetic: an instruction for another one that computes the same.

Owns the rules, each an identity that a reader can check. They need a solver where `edits` needs only independence; nothing here
asks the proof whether a rewrite holds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from asmevo.ir.instruction import Immediate, Instruction, Operand, Register
from asmevo.ir.isa import lookup
from asmevo.ir.registers import VGPR0

Rule = Callable[[Instruction], Instruction | None]
_WORD = 0xFFFFFFFF
_COMMUTE = frozenset(
    {
        *(
            "v_add_u32_e32",
            "v_mul_lo_u32",
            "v_mul_hi_u32",
            "v_mul_u32_u24_e32",
            "v_and_b32_e32",
            "v_or_b32_e32",
            "v_xor_b32_e32",
        ),
        *("v_min_u32_e32", "v_max_u32_e32", "v_min_i32_e32", "v_max_i32_e32", "v_add3_u32", "v_or3_b32"),
        *(
            "v_mul_i32_i24_e32",
            "s_add_u32",
            "s_add_i32",
            "s_mul_i32",
            "s_and_b32",
            "s_or_b32",
            "s_xor_b32",
            "s_and_b64",
            "s_or_b64",
        ),
    }
)
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def rewritten(window: tuple[Instruction, ...], source: random.Random, most: int) -> tuple[Instruction, ...]:
    """The window with up to `most` of its instructions replaced by equal ones."""
    out = list(window)
    places = list(range(len(out)))
    source.shuffle(places)
    done = 0
    for place in places:
        found = [new for rule in _RULES if (new := rule(out[place])) is not None]
        if found and done < most:
            out[place] = source.choice(found)
            done += 1
    return tuple(out)


def _with(i: Instruction, mnemonic: str, *operands: Operand) -> Instruction | None:
    definition = lookup(mnemonic)
    if definition is None or len(definition.operands) != len(operands):
        return None
    return replace(i, mnemonic=mnemonic, operands=operands, definition=definition, encoding=None)


def _plain(i: Instruction) -> bool:
    return not i.modifiers and all(
        isinstance(o, Immediate) or (isinstance(o, Register) and not (o.negate or o.absolute or o.sign_extend))
        for o in i.operands
    )


def _number(value: int) -> Immediate:
    return Immediate(value & _WORD, hex(value & _WORD))


def _commuted(i: Instruction) -> Instruction | None:
    """A op b = b op a."""
    if i.mnemonic not in _COMMUTE or not _plain(i):
        return None
    out, a, b, *rest = i.operands
    return None if a == b else _with(i, i.mnemonic, out, b, a, *rest)


def _mirrored(i: Instruction) -> Instruction | None:
    """A < b is b > a."""
    parts = i.mnemonic.split("_")
    if parts[:2] != ["v", "cmp"] or parts[2] not in _MIRRORED or parts[3][0] not in "ui" or not _plain(i):
        return None
    out, a, b = i.operands
    parts[2] = _MIRRORED[parts[2]]
    return _with(i, "_".join(parts), out, b, a)


def _subtracted(i: Instruction) -> Instruction | None:
    """C + a = a - (-c)."""
    if i.mnemonic != "v_add_u32_e32" or not _plain(i) or not isinstance(i.operands[1], Immediate):
        return None
    out, constant, a = i.operands
    assert isinstance(constant, Immediate)
    return _with(i, "v_subrev_u32_e32", out, _number(-constant.value), a)


def _multiplied(i: Instruction) -> Instruction | None:
    """A << n = a * 2^n."""
    if i.mnemonic != "v_lshlrev_b32_e32" or not _plain(i) or not isinstance(i.operands[1], Immediate):
        return None
    out, amount, a = i.operands
    assert isinstance(amount, Immediate)
    return _with(i, "v_mul_lo_u32", out, a, _number(1 << amount.value % 32))


def _shifted_and_added(i: Instruction) -> Instruction | None:
    """A << n = (a << n) + 0."""
    if i.mnemonic == "v_lshlrev_b32_e32" and _plain(i) and isinstance(i.operands[1], Immediate):
        out, amount, a = i.operands
        return _with(i, "v_lshl_add_u32", out, a, amount, _number(0))
    return None


def _masked_field(i: Instruction) -> Instruction | None:
    """A & (2^n - 1) = the lowest n bits of a."""
    if i.mnemonic != "v_and_b32_e32" or not _plain(i) or not isinstance(i.operands[1], Immediate):
        return None
    out, mask, a = i.operands
    assert isinstance(mask, Immediate)
    bits = mask.value.bit_length()
    return _with(i, "v_bfe_u32", out, a, _number(0), _number(bits)) if mask.value == (1 << bits) - 1 and 0 < bits < 32 else None


def _field_shifted(i: Instruction) -> Instruction | None:
    """A >> n = the upper 32 - n bits of a."""
    if i.mnemonic != "v_lshrrev_b32_e32" or not _plain(i) or not isinstance(i.operands[1], Immediate):
        return None
    out, amount, a = i.operands
    assert isinstance(amount, Immediate)
    by = amount.value % 32
    return _with(i, "v_bfe_u32", out, a, _number(by), _number(32 - by)) if by else None


def _moved(i: Instruction) -> Instruction | None:
    """A = a | a."""
    if i.mnemonic != "v_mov_b32_e32" or not _plain(i) or not isinstance(i.operands[1], Register):
        return None
    out, a = i.operands
    return _with(i, "v_or_b32_e32", out, a, a) if isinstance(a, Register) and a.range.unit >= VGPR0 else None


_RULES: tuple[Rule, ...] = (
    _commuted, _mirrored, _subtracted, _multiplied, _shifted_and_added, _masked_field, _field_shifted, _moved,
)  # fmt: skip
