"""A register the kernel was not given must be refused, though every proof about it would hold."""

from dataclasses import replace

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.instruction import Register
from asmevo.ir.registers import VGPR0, RegisterRange
from asmevo.verify.judge import Judge, Level
from asmevo.verify.static_registers import check_registers
from asmevo.verify.verdict import Outcome
from support import EXAMPLES

KERNEL = recover(load_file(EXAMPLES / "kernels" / "vector_add.co"))
SUM = next(b for b in KERNEL.blocks if [i.mnemonic for i in b.instructions[1:3]] == ["v_add_f32_e32", "global_store_dword"])


def renamed(number):
    """The kernel with the sum and the store of it in one block put into another VGPR."""
    old = SUM.instructions[1].operands[0]
    new = Register(RegisterRange(VGPR0 + number))
    body = [i.edited(operands=tuple(new if o == old else o for o in i.operands)) for i in SUM.instructions[1:3]]
    block = replace(SUM, instructions=(SUM.instructions[0], *body, *SUM.instructions[3:]))
    return replace(KERNEL, blocks=tuple(block if b.label == SUM.label else b for b in KERNEL.blocks))


def test_shipped_kernel_stays_within_its_registers():
    assert check_registers(KERNEL) == []


def test_first_register_beyond_the_allocation_is_refused():
    assert KERNEL.descriptor is not None
    limit = KERNEL.descriptor.accum_offset
    assert check_registers(renamed(limit - 1)) == []
    assert [f.code for f in check_registers(renamed(limit))] == ["E0506", "E0506"]


def test_a_candidate_that_borrows_a_register_is_refuted():
    verdict = Judge(Level.SMT)(KERNEL, renamed(200))
    assert verdict.outcome is Outcome.REFUTED
    assert "beyond" in verdict.reason
