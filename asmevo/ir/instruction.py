"""Instruction and operand: the plain data every other part reads.

Nothing here decides anything; what an instruction reads and writes is in `effects`, what it means in `semantics`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from asmevo.diagnostics import Span
from asmevo.ir.isa.model import OpcodeDef
from asmevo.ir.registers import RegisterRange


@dataclass(frozen=True, slots=True)
class Register:
    """A register operand with its source modifiers."""

    range: RegisterRange
    negate: bool = False
    absolute: bool = False
    sign_extend: bool = False

    def __hash__(self) -> int:
        # Operands are hashed by the million: the registers tell them apart well enough, equality does the rest.
        return self.range.unit << 8 | self.range.count


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant operand.

    `value` is its 32-bit pattern (inline floats included, 64-bit inline floats by their f32 pattern), `text` how it was
    printed (`1.0`, `0x3f800000`, `-4`, `0`); negate and absolute as on a register.
    """

    value: int
    text: str
    is_float: bool = False
    negate: bool = False
    absolute: bool = False

    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True, slots=True)
class Label:
    """A branch target, by block label."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbolic:
    """An operand kept as normalised text: hwreg(...), sendmsg(...), gpr_idx(...), `off`; value when it has one."""

    text: str
    value: int | None = None


@dataclass(frozen=True, slots=True)
class WaitCounts:
    """The operand of s_waitcnt; None means that the counter is not waited on (all ones in the encoding)."""

    vmcnt: int | None = None
    expcnt: int | None = None
    lgkmcnt: int | None = None


Operand = Register | Immediate | Label | Symbolic | WaitCounts
ModifierValue = int | str | tuple[int, ...] | bool


@dataclass(frozen=True, slots=True)
class Modifier:
    """One modifier after the operands: `offset:16` is ("offset", 16), `offen` ("offen", True), `op_sel:[0,1]` a tuple."""

    name: str
    value: ModifierValue = True

    def __hash__(self) -> int:
        return hash((self.name, self.value))


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction.

    `encoding` are the original bytes, None once edited; `offset` is the byte offset in the original text section, None
    for inserted ones; `uid` stays with the instruction however it is moved. `definition` is None for raw data kept as
    `.long` (mnemonic ".long"), which freezes its block.
    """

    mnemonic: str
    operands: tuple[Operand, ...] = ()
    modifiers: tuple[Modifier, ...] = ()
    definition: OpcodeDef | None = None
    encoding: bytes | None = None
    offset: int | None = None
    uid: int = -1
    span: Span | None = field(default=None, compare=False)

    @property
    def ends_block(self) -> bool:
        """Whether control need not come to what follows: a branch, a call, or an end of the program."""
        return self.definition is not None and (self.definition.is_branch or self.definition.is_terminator)

    def modifier(self, name: str, default: ModifierValue = False) -> ModifierValue:
        """The value of a modifier, or `default`."""
        for modifier in self.modifiers:
            if modifier.name == name:
                return modifier.value
        return default

    def edited(
        self,
        *,
        operands: tuple[Operand, ...] | None = None,
        modifiers: tuple[Modifier, ...] | None = None,
    ) -> Instruction:
        """A copy with other operands or modifiers, to be encoded anew."""
        return replace(
            self,
            operands=self.operands if operands is None else operands,
            modifiers=self.modifiers if modifiers is None else modifiers,
            encoding=None,
        )
