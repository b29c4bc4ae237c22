"""Whether a value matters: where it goes from the instruction that has it, until memory, a branch or EXEC depends on it.

Owns a forward data-flow of units that may depend on the value. What depends on it in some lane is taken to keep it until a
scalar is overwritten as a whole: which lanes a vector write reaches is not followed. So a value said not to matter does not.
"""

from __future__ import annotations

from collections.abc import Iterable

from asmevo.ir.effects import OPAQUE, effects
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import IssueClass
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import EXEC_MASK, HWREG, MODE, VECTOR_MASK, VSKIP

_ARITHMETIC = frozenset({IssueClass.SALU, IssueClass.VALU, IssueClass.TRANS, IssueClass.MATRIX})
_CONTROL = EXEC_MASK | 1 << MODE | 1 << VSKIP | 1 << HWREG


def first_effect(kernel: Kernel, label: str, index: int) -> Instruction | None:
    """An instruction by which what instruction `index` of a block reads can be noticed; None when there is none on any path.

    That is one that touches memory, branches, sets EXEC or a mode, selects registers by an index, or is not understood, and
    reads a register that the value may have gone into; or the instruction itself.
    """
    successors = {block.label: block.successors for block in kernel.blocks}
    instructions = {block.label: block.instructions for block in kernel.blocks}
    first = instructions[label][index]
    if _is_noticed(first):
        return first
    entry: dict[str, int] = {}
    work = [(label, index + 1, effects(first).writes)]
    while work:
        at, start, depending = work.pop()
        noticed, depending = _through(instructions[at][start:], depending)
        if noticed is not None:
            return noticed
        for following in successors[at]:
            known = entry.get(following, 0)
            if depending & ~known:
                entry[following] = known | depending
                work.append((following, 0, known | depending))
    return None


def _through(instructions: Iterable[Instruction], depending: int) -> tuple[Instruction | None, int]:
    for i in instructions:
        touched = effects(i)
        if touched.reads & depending:
            if _is_noticed(i):
                return i, depending
            depending |= touched.writes
        else:
            depending &= ~touched.kills | VECTOR_MASK
        if not depending:
            break
    return None, depending


def _is_noticed(i: Instruction) -> bool:
    definition = i.definition
    if definition is None or definition.space is not None or definition.issue not in _ARITHMETIC:
        return True
    touched = effects(i)
    selects = i.mnemonic.startswith(("s_set_gpr_idx", "v_movrel", "s_movrel"))
    return selects or touched == OPAQUE or bool(touched.writes & _CONTROL)
