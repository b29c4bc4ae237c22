"""Following one block's values: who reads what an instruction writes, and putting another operand in its place.

Owns the question whether a definition can be taken out of a block because each reader can read something else. It looks at one
block; what is needed behind it comes from liveness. Lanes: a vector result is followed only where EXEC stays as it was or loses
lanes, and never into an instruction that reads lanes other than its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from asmevo.ir.analysis.dataflow.exec_full import ExecChange, exec_change
from asmevo.ir.analysis.dataflow.facts import EffectsTable, active_kills, reads_any_lane
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import EVERYTHING, OPAQUE, Effects, effects
from asmevo.ir.instruction import Immediate, Instruction, Operand, Register
from asmevo.ir.isa.model import Family, Flag, Role, Space
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import EXEC_MASK, VECTOR_MASK, RegisterRange
from asmevo.passes.operand_forms import encodable, lengthened, shortened

_SAME_OR_FEWER = (ExecChange.NONE, ExecChange.NARROW)


@dataclass(slots=True)
class BlockCode:
    """One block under change: its instructions, None where one was taken out, and what each reads and writes.

    `live_out` are the units needed behind the block by the kernel that the block is of.
    """

    label: str
    items: list[Instruction | None]
    effects: list[Effects]
    live_out: int

    @classmethod
    def of(cls, block: Block, analyses: AnalysisManager) -> BlockCode | None:
        """The block's code; None where it must not be touched, or where register numbers may be relative or VSKIP set."""
        table = analyses.get(EffectsTable)
        found = table.by_block[block.label]
        if block.frozen or found != table.printed[block.label]:
            return None
        return cls(block.label, list(block.instructions), list(found), analyses.get(Liveness).live_out[block.label])

    def kept(self) -> tuple[Instruction, ...]:
        """The instructions that are left, in order."""
        return tuple(i for i in self.items if i is not None)

    def put(self, index: int, instruction: Instruction) -> None:
        """Replaces one instruction."""
        self.items[index] = instruction
        self.effects[index] = effects(instruction)

    def take_out(self, index: int) -> None:
        """Removes one instruction; the others keep their places."""
        self.items[index] = None
        self.effects[index] = Effects(0, 0, 0)

    def is_dead_after(self, index: int, unit: int) -> bool:
        """Whether what `unit` holds behind an instruction is read by nobody, in no lane."""
        for position in range(index + 1, len(self.items)):
            instruction, effect = self.items[position], self.effects[position]
            if instruction is None:
                continue
            if effect.reads >> unit & 1 or effect == OPAQUE or effect.writes == EVERYTHING:
                return False
            if exec_change(instruction, effect) is not ExecChange.NONE and 1 << unit & VECTOR_MASK:
                return not self.live_out >> unit & 1 and not self._reads_behind(position, unit)
            if active_kills(effect) >> unit & 1:
                return True
        return not self.live_out >> unit & 1

    def _reads_behind(self, position: int, unit: int) -> bool:
        return any(effect.reads >> unit & 1 for effect in self.effects[position + 1 :])


def forwarded(code: BlockCode, index: int, place: RegisterRange, source: Operand) -> dict[int, Instruction] | None:
    """The readers of what instruction `index` writes to `place`, changed to read `source`; None where not all can.

    The result is complete: with these in the code, nobody needs that write. `source` is a constant or registers of the same
    count that hold the same at `index`; a scalar register or a constant may stand for a vector register, not the reverse.
    """
    target, wanted = place.mask, source.range.mask if isinstance(source, Register) else 0
    is_vector = bool(target & VECTOR_MASK)
    left, stale = target, False
    same_lanes = True
    changed: dict[int, Instruction] = {}
    for position in range(index + 1, len(code.items)):
        instruction, effect = code.items[position], code.effects[position]
        if instruction is None:
            continue
        if effect == OPAQUE or effect.writes == EVERYTHING:
            return None
        if effect.reads & left:
            if stale or (is_vector and reads_any_lane(instruction)):
                return None
            one = _with_operand(instruction, place, source)
            if one is None or effects(one).reads & left:
                return None
            changed[position] = one
        if is_vector:
            change = exec_change(instruction, effect)
            if change not in _SAME_OR_FEWER:
                break
            same_lanes &= change is ExecChange.NONE
        if same_lanes:
            left &= ~(active_kills(effect) if is_vector else effect.kills)
        elif effect.writes & left & ~effect.kills:
            # Lanes that are off here still hold the value; who reads it later cannot be told from who reads the new one.
            return None if _needed_behind(code, position, left) else changed
        if not left:
            return changed
        stale |= bool(effect.writes & wanted)
    else:
        return None if code.live_out & left else changed
    return None if _needed_behind(code, position, left) else changed


def _needed_behind(code: BlockCode, position: int, units: int) -> bool:
    return bool(code.live_out & units) or any(effect.reads & units for effect in code.effects[position + 1 :])


def _with_operand(i: Instruction, place: RegisterRange, source: Operand) -> Instruction | None:
    """`i` with `source` wherever it reads exactly `place`; None where it reads a part of it, or cannot be encoded so."""
    definition = i.definition
    if definition is None or (definition.space is Space.SCALAR and isinstance(source, Immediate)):
        return None
    operands: list[Operand] = []
    for operand, spec in zip(i.operands, definition.operands, strict=True):
        if not isinstance(operand, Register) or spec.role is Role.WRITE or not operand.range.mask & place.mask:
            operands.append(operand)
            continue
        if operand.range != place or spec.role is not Role.READ:
            return None
        if isinstance(source, Register):
            operands.append(replace(operand, range=source.range))
        elif operand.negate or operand.absolute or operand.sign_extend or i.modifiers or spec.bits != 32 or place.count != 1:
            return None
        elif definition.family in (Family.VOP3P, Family.MATRIX):
            # A constant is read by halves there.
            return None
        else:
            operands.append(source)
    one = i.edited(operands=tuple(operands))
    if encodable(one):
        return one
    longer = lengthened(one)
    return None if longer is None else shortened(longer) or longer


def single_result(i: Instruction) -> RegisterRange | None:
    """The one register or tuple that an instruction writes by an operand; None where it writes none, more, or a part."""
    if i.definition is None:
        return None
    written = [
        (operand, spec.role)
        for operand, spec in zip(i.operands, i.definition.operands, strict=True)
        if spec.role is not Role.READ and spec.bits
    ]
    if len(written) != 1:
        return None
    operand, role = written[0]
    return operand.range if isinstance(operand, Register) and role is Role.WRITE else None


def renamed(code: BlockCode, index: int, old: RegisterRange, new: RegisterRange) -> dict[int, Instruction] | None:
    """The changes by which the value that instruction `index` copies from `old` to `new` is made in `new` at once.

    They hold for the writer of `old` and all that read it up to `index`; None where that cannot be: another's value is in `new`
    then, `old` is needed behind, or lanes change.
    """
    if any(not code.is_dead_after(index, unit) for unit in range(old.unit, old.unit + old.count)):
        return None
    both, is_vector = old.mask | new.mask, bool(old.mask & VECTOR_MASK)
    changed: dict[int, Instruction] = {}
    for position in range(index - 1, -1, -1):
        instruction, effect = code.items[position], code.effects[position]
        if instruction is None or not (effect.reads | effect.writes) & (both | EXEC_MASK):
            continue
        if effect == OPAQUE or (is_vector and effect.writes & EXEC_MASK) or (effect.reads | effect.writes) & new.mask:
            return None
        if effect.writes & old.mask:
            one = _made_in(instruction, old, new) if not effect.reads & old.mask else None
            return None if one is None else {**changed, position: one}
        if effect.reads & old.mask:
            reader = _with_operand(instruction, old, Register(new))
            if reader is None or effects(reader).reads & old.mask:
                return None
            changed[position] = reader
    return None


def _made_in(i: Instruction, old: RegisterRange, new: RegisterRange) -> Instruction | None:
    definition = i.definition
    if (
        definition is None
        or single_result(i) != old
        or Flag.NO_EXEC in definition.flags
        or definition.implicit_writes & old.mask
    ):
        return None
    operands = tuple(
        Register(new) if spec.role is Role.WRITE and spec.bits else operand
        for operand, spec in zip(i.operands, definition.operands, strict=True)
    )
    one = i.edited(operands=operands)
    return one if encodable(one) else None


def changed_blocks(kernel: Kernel, codes: Sequence[BlockCode]) -> dict[str, tuple[Instruction, ...]]:
    """New contents by label, of the blocks that changed."""
    return {code.label: code.kept() for code in codes if code.kept() != kernel.block(code.label).instructions}
