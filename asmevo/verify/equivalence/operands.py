"""Operands by name, and the refusal that everything which executes instructions raises.

Owns the look-up only.
"""

from __future__ import annotations

from asmevo.ir.instruction import Instruction, Operand, Register
from asmevo.verify.equivalence.machine import SPECIALS


class UnmodelledError(Exception):
    """An instruction that the model refuses; the text says which and why."""


def operand_of(i: Instruction, name: str) -> Operand:
    """Return the operand that the definition calls `name`. UnmodelledError when there is none."""
    if i.definition is not None:
        for operand, spec in zip(i.operands, i.definition.operands, strict=True):
            if spec.name == name:
                return operand
    raise UnmodelledError(f"{i.mnemonic}: no operand {name}")


def destination_of(i: Instruction, name: str) -> tuple[int, int]:
    """First unit and count of a write target."""
    if i.definition is not None:
        for operand, spec in zip(i.operands, i.definition.operands, strict=True):
            if spec.name == name and isinstance(operand, Register):
                return operand.range.unit, operand.range.count
    if name in SPECIALS:
        return SPECIALS[name]
    raise UnmodelledError(f"{i.mnemonic}: cannot write {name}")
