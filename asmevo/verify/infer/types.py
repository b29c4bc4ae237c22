"""Guesses of element types from the instructions around a buffer's loads and stores.

Owns the guesses, which are no more than that: mnemonics tell formats, and data that goes through LDS is taken to be what the
kernel's matrix instructions multiply.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import Effects
from asmevo.ir.instruction import Instruction, Register
from asmevo.ir.isa import base_mnemonic
from asmevo.ir.isa.model import Access, IssueClass, Space
from asmevo.ir.kernel import Kernel
from asmevo.ir.semantics import program_of

_TYPE = re.compile(r"(?<=_)(bf16|bf8|fp8|f16|f32|f64|i8|u8|i16|u16|i32|u32|i64|u64)(?=_|$)")
_SIZES = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "i16": 2, "u16": 2}
_BY_WIDTH = {1: "u8", 2: "f16"}
_BF16_SHIFT = 16
_MAX_SITES = 64
_REACH = 600
"""Instructions of the layout within which a reader or writer is looked for."""


@dataclass(slots=True)
class TypeGuesser:
    """Guesses for one kernel, whose `sites` are its instructions in layout order."""

    kernel: Kernel
    manager: AnalysisManager
    sites: tuple[Instruction, ...] = field(init=False)
    effects: tuple[Effects, ...] = field(init=False)
    matrix_type: str = field(init=False)

    def __post_init__(self) -> None:
        self.sites = tuple(self.kernel.instructions())
        table = self.manager.get(EffectsTable).printed
        self.effects = tuple(effect for block in self.kernel.blocks for effect in table[block.label])
        kinds = Counter(_last(i) for i in self.sites if i.definition and i.definition.issue is IssueClass.MATRIX)
        del kinds[""]
        self.matrix_type = kinds.most_common(1)[0][0] if kinds else ""

    def guess(self, loads: Iterable[int], stores: Iterable[int], is_scalar: bool, widths: Counter[int]) -> str:
        """The element type of a buffer that these instructions (by number) touch."""
        width = min(widths, default=4)
        votes: Counter[str] = Counter()
        for number in sorted(loads)[:_MAX_SITES]:
            votes.update(self._loaded(number))
        for number in sorted(stores)[:_MAX_SITES]:
            votes.update(self._stored(number))
        if is_scalar and not votes:
            return "i32"
        for name, _ in votes.most_common():
            if _SIZES.get(name, 1) <= width:
                return name
        return self.matrix_type or "f32" if width > 4 and not stores else _BY_WIDTH.get(width, "f32")

    def _loaded(self, number: int) -> Iterator[str]:
        i = self.sites[number]
        assert i.definition is not None
        if i.definition.access is Access.ATOMIC:
            yield _last(i) or ("u64" if i.definition.memory_bytes == 8 else "u32")
            return
        program = program_of(i, self.kernel.target)
        if program is None or program.memory is None or program.memory.dest is None:
            yield from self._multiplied()  # It goes to LDS.
            return
        for user in self._first_readers(number):
            definition = user.definition
            if definition is None:
                continue
            if definition.space is Space.LDS and definition.access is Access.STORE:
                yield from self._multiplied()
            elif definition.space is not None:
                # The value is an address, or is stored as it is.
                yield from _some("i32" if _is_address(user, i) else "")
            elif base_mnemonic(user.mnemonic) == "v_lshlrev_b32" and _shift(user) == _BF16_SHIFT:
                yield "bf16"
            else:
                yield from _some("i32" if user.mnemonic.startswith("s_") else _last(user))

    def _stored(self, number: int) -> Iterator[str]:
        i = self.sites[number]
        program = program_of(i, self.kernel.target)
        assert i.definition is not None
        if program is None or program.memory is None:
            return
        for spec, operand in zip(i.definition.operands, i.operands, strict=True):
            if spec.name in program.memory.data and isinstance(operand, Register):
                writer = self._last_writer(number, operand.range.mask)
                yield from _some(_first(writer) if writer else "")

    def _multiplied(self) -> Iterator[str]:
        yield from _some(self.matrix_type)

    def _first_readers(self, number: int) -> Iterator[Instruction]:
        """In layout order, the first reader of each register that an instruction writes."""
        rest = self.effects[number].writes
        for i, effect in zip(self.sites[number + 1 : number + _REACH], self.effects[number + 1 : number + _REACH], strict=True):
            if effect.reads & rest:
                yield i
            rest &= ~(effect.reads | effect.writes)
            if not rest:
                return

    def _last_writer(self, number: int, mask: int) -> Instruction | None:
        """In layout order, the nearest instruction before that writes any of the registers."""
        for at in range(number - 1, max(number - _REACH, -1), -1):
            if self.effects[at].writes & mask:
                return self.sites[at]
        return None


def _some(name: str) -> Iterator[str]:
    if name:
        yield name


def _types(i: Instruction) -> list[str]:
    return _TYPE.findall(base_mnemonic(i.mnemonic))


def _last(i: Instruction) -> str:
    """The type an instruction takes: v_cvt_f32_f16 takes f16."""
    if "_mix" in i.mnemonic:
        return "f16"
    found = _types(i)
    return found[-1] if found else ""


def _first(i: Instruction) -> str:
    """The type an instruction gives: v_cvt_f16_f32 gives f16."""
    if i.definition is not None and i.definition.space is not None:
        return ""
    found = _types(i)
    return found[0] if found else ""


def _shift(i: Instruction) -> int | None:
    value = getattr(i.operands[1], "value", None) if len(i.operands) > 1 else None
    return value if isinstance(value, int) else None


def _is_address(user: Instruction, load: Instruction) -> bool:
    assert user.definition is not None
    assert load.definition is not None
    written = 0
    for spec, operand in zip(load.definition.operands, load.operands, strict=True):
        if spec.name in ("vdst", "sdst", "vdata") and isinstance(operand, Register):
            written |= operand.range.mask
    return any(
        isinstance(operand, Register)
        and operand.range.mask & written
        and spec.name in ("addr", "vaddr", "saddr", "sbase", "soffset")
        for spec, operand in zip(user.definition.operands, user.operands, strict=True)
    )
