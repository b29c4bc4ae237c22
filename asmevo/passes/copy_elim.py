"""copy-elim: no copy whose source can be read, or whose value can be made, in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from asmevo.ir.instruction import Immediate, Instruction, Operand, Register
from asmevo.ir.isa.model import Flag
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import FLAT_SCRATCH, VGPR0, RegisterRange
from asmevo.passes.base import PassContext, PassResult
from asmevo.passes.commit import commit
from asmevo.passes.operand_forms import is_inline
from asmevo.passes.registry import register_pass
from asmevo.passes.substitution import BlockCode, changed_blocks, forwarded, renamed

_COPIES = frozenset(
    {"v_mov_b32", "v_mov_b64", "s_mov_b32", "s_mov_b64", "v_accvgpr_mov_b32", "v_accvgpr_read_b32", "v_accvgpr_write_b32"}
)


@register_pass
@dataclass(frozen=True, slots=True)
class CopyElim:
    """Remove copies of registers and constants within a block.

    Rewrite:  v_mov_b32_e32 v9, v1; v_add_f32_e32 v2, v9, v3 --> v_add_f32_e32 v2, v1, v3
              v_add_f32_e32 v9, v1, v3; v_mov_b32_e32 v2, v9 --> v_add_f32_e32 v2, v1, v3
    Legality: the copy's register is needed nowhere else, in no lane; all who read it can be encoded with the source, which
        still holds the same there; EXEC keeps its lanes or loses some, and no reader looks into other lanes. Or the source is
        needed nowhere else, and nothing touches the copy's register from the source's writer on.
    Preserves: memory, control flow, every register that is needed behind the block, waits. Wait states are made anew.
    Targets: gfx90a, gfx942, gfx950.
    Source: copy propagation and register coalescing, LLVM MachineCopyPropagation.cpp and RegisterCoalescer.cpp.
    """

    name: ClassVar[str] = "copy-elim"

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Removes what can be in one sweep over each block."""
        codes = [code for block in kernel.blocks if (code := BlockCode.of(block, ctx.analyses)) is not None]
        for code in codes:
            for index, instruction in enumerate(code.items):
                copied = None if instruction is None else _copied(instruction)
                if copied is None:
                    continue
                changes = _changes(code, index, *copied)
                if changes is None:
                    ctx.stat("copies kept")
                    continue
                for position, one in changes.items():
                    code.put(position, one)
                code.take_out(index)
                ctx.stat("copies removed")
        commit(ctx, changed_blocks(kernel, codes))
        return ctx.finish()


def _copied(i: Instruction) -> tuple[RegisterRange, Operand] | None:
    """Where a copy goes and what it copies; None for anything else."""
    if i.mnemonic.removesuffix("_e32").removesuffix("_e64") not in _COPIES or i.modifiers:
        return None
    target, source = i.operands
    if not isinstance(target, Register) or FLAT_SCRATCH <= target.range.unit < VGPR0:
        return None
    if isinstance(source, Register):
        if source.negate or source.absolute or source.range.count != target.range.count:
            return None
        return target.range, source
    return (target.range, source) if isinstance(source, Immediate) and not source.negate and not source.absolute else None


def _changes(code: BlockCode, index: int, target: RegisterRange, source: Operand) -> dict[int, Instruction] | None:
    found = forwarded(code, index, target, source)
    if found is not None and isinstance(source, Immediate) and not is_inline(source.value) and len(found) > 1:
        # A literal makes each reader longer.
        found = None
    if found is not None or not isinstance(source, Register):
        return found
    instruction = code.items[index]
    assert instruction is not None
    assert instruction.definition is not None
    same_file = (source.range.unit < VGPR0) == (target.unit < VGPR0)
    is_masked = Flag.NO_EXEC not in instruction.definition.flags
    if not same_file or not is_masked or FLAT_SCRATCH <= source.range.unit < VGPR0:
        return None
    return renamed(code, index, source.range, target)
