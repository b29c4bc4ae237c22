"""A register the kernel was not given must be refused, though every proof about it would hold."""

from dataclasses import replace

from asmevo.diagnostics import Severity
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.parser import parse_line
from asmevo.frontend.recover import recover
from asmevo.ir.instruction import Register
from asmevo.ir.registers import VGPR0, RegisterRange
from asmevo.ir.vector_file import shared_vectors
from asmevo.verify.equivalence.kernel import prove_kernel
from asmevo.verify.judge import Judge, Level
from asmevo.verify.static.registers import check_registers
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


def errors(kernel):
    return [f.code for f in check_registers(kernel) if f.severity is Severity.ERROR]


def test_shipped_kernel_stays_within_its_registers():
    assert check_registers(KERNEL) == []


def test_first_register_beyond_the_allocation_is_refused():
    assert KERNEL.descriptor is not None
    limit = KERNEL.descriptor.vgpr_count
    assert errors(renamed(limit - 1)) == []
    assert errors(renamed(limit)) == ["E0506", "E0506"]


def test_a_vgpr_that_is_an_agpr_too_is_a_warning_and_no_proof_holds():
    assert KERNEL.descriptor is not None
    rsrc3 = KERNEL.descriptor.rsrc3 & ~63  # a0 is register 4 of the allocation
    low = replace(KERNEL, descriptor=replace(KERNEL.descriptor, rsrc3=rsrc3))
    assert [f.severity for f in check_registers(low)] == [Severity.NOTE]
    assert shared_vectors(low) == 0
    move = parse_line("v_accvgpr_write_b32 a0, 0")
    blocks = tuple(replace(b, instructions=(move, *b.instructions)) if b.label == SUM.label else b for b in low.blocks)
    both = replace(low, blocks=blocks)
    assert shared_vectors(both) == 1 << VGPR0 + 4
    assert [f.severity for f in check_registers(both)] == [Severity.WARNING]
    assert Judge(Level.SMT)(both, both).outcome is Outcome.UNSUPPORTED
    assert prove_kernel(both, both).outcome is Outcome.UNSUPPORTED


def test_a_candidate_that_names_agprs_as_vgprs_is_refuted():
    assert KERNEL.descriptor is not None
    assert Judge(Level.STATIC)(KERNEL, renamed(KERNEL.descriptor.accum_offset)).outcome is Outcome.REFUTED


def test_a_candidate_that_borrows_a_register_is_refuted():
    verdict = Judge(Level.SMT)(KERNEL, renamed(200))
    assert verdict.outcome is Outcome.REFUTED
    assert "beyond" in verdict.reason
