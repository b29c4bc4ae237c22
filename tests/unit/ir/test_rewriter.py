import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.parser import parse_line, parse_source
from asmevo.ir.instruction import Immediate
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction
from asmevo.ir.rewriter import Rewriter, Window
from asmevo.ir.verifier import verify_kernel

SOURCE = """
k:
 v_mov_b32_e32 v0, s0
 s_nop 4
 v_mov_b32_e32 v1, s1
 s_barrier
 v_mov_b32_e32 v2, s2
 s_cbranch_scc1 k
tail:
 v_mov_b32_e32 v3, s3
 s_endpgm
data:
 .long 7
 s_endpgm
"""


@pytest.fixture
def kernel() -> Kernel:
    return parse_source(SOURCE)


def texts(kernel: Kernel, label: str) -> list[str]:
    return [print_instruction(instruction) for instruction in kernel.block(label).instructions]


def test_without_edits_the_kernel_is_the_same_object(kernel: Kernel) -> None:
    rewriter = Rewriter(kernel)
    assert rewriter.kernel is kernel
    assert rewriter.edits == ()


def test_edits_are_one_window_a_block_and_the_first_kernel_stays(kernel: Kernel) -> None:
    before = kernel.block("k").instructions
    rewriter = Rewriter(kernel)
    shorter = before[1].edited(operands=(Immediate(1, "1"),))
    rewriter.replace(1, [shorter])
    rewriter.erase(7 - 1)
    assert rewriter.edits == (
        Window("k", (before[1],), (shorter,)),
        Window("tail", kernel.block("tail").instructions[:1], ()),
    )
    assert texts(rewriter.kernel, "k")[1] == "s_nop 1"
    assert texts(rewriter.kernel, "tail") == ["s_endpgm"]
    assert kernel.block("k").instructions == before
    assert not verify_kernel(rewriter.kernel, kernel)


def test_an_edit_taken_back_is_no_edit(kernel: Kernel) -> None:
    rewriter = Rewriter(kernel)
    rewriter.move(0, "k", 2)
    assert texts(rewriter.kernel, "k")[:3] == ["s_nop 4", "v_mov_b32_e32 v1, s1", "v_mov_b32_e32 v0, s0"]
    rewriter.move(0, "k", 0)
    assert rewriter.edits == ()
    assert rewriter.kernel is kernel


def test_inserted_instructions_get_uids_of_their_own(kernel: Kernel) -> None:
    rewriter = Rewriter(kernel)
    rewriter.insert("tail", 0, [parse_line("s_nop 0"), parse_line("s_nop 1")])
    rewriter.insert("k", 5, [parse_line("s_setprio 1")])
    uids = [instruction.uid for instruction in rewriter.kernel.instructions()]
    assert len(set(uids)) == len(uids)
    assert not verify_kernel(rewriter.kernel, kernel)


def test_moves_between_blocks(kernel: Kernel) -> None:
    rewriter = Rewriter(kernel)
    rewriter.move(6, "k", 5)
    assert texts(rewriter.kernel, "tail") == ["s_endpgm"]
    assert texts(rewriter.kernel, "k")[5] == "v_mov_b32_e32 v3, s3"
    rewriter.erase(6)
    assert texts(rewriter.kernel, "k") == texts(kernel, "k")


def test_waits_and_nops_may_go(kernel: Kernel) -> None:
    rewriter = Rewriter(kernel)
    rewriter.erase(1)
    assert "s_nop 4" not in texts(rewriter.kernel, "k")


def refusal(kernel: Kernel, method: str, *arguments: object) -> str:
    rewriter = Rewriter(kernel)
    with pytest.raises(DiagnosticError) as caught:
        getattr(rewriter, method)(*arguments)
    assert rewriter.kernel is kernel
    return caught.value.diagnostics[0].code


def test_unknown_places_are_refused(kernel: Kernel) -> None:
    assert refusal(kernel, "erase", 99) == "E0311"
    assert refusal(kernel, "insert", "nowhere", 0, []) == "E0311"
    assert refusal(kernel, "insert", "k", 7, []) == "E0311"
    assert refusal(kernel, "move", 0, "k", 9) == "E0311"


def test_a_uid_stands_once(kernel: Kernel) -> None:
    first = kernel.block("k").instructions[0]
    assert refusal(kernel, "insert", "k", 0, [first]) == "E0311"
    assert refusal(kernel, "insert", "tail", 0, [first]) == "E0311"


def test_frozen_blocks_are_left_alone(kernel: Kernel) -> None:
    assert refusal(kernel, "erase", kernel.block("data").instructions[0].uid) == "E0312"
    assert refusal(kernel, "replace_block_instructions", "data", []) == "E0312"
    assert refusal(kernel, "move", 0, "data", 0) == "E0312"


def test_what_is_fixed_stays(kernel: Kernel) -> None:
    members = kernel.block("k").instructions
    assert refusal(kernel, "erase", 3) == "E0313"
    assert refusal(kernel, "move", 3, "k", 0) == "E0313"
    assert refusal(kernel, "erase", 5) == "E0313"
    assert refusal(kernel, "replace_block_instructions", "k", members[::-1]) == "E0313"
    assert refusal(kernel, "replace", 5, [parse_line("s_cbranch_scc1 tail")]) == "E0313"
    assert refusal(kernel, "replace", 5, [members[5].edited(operands=(parse_line("s_branch tail").operands[0],))]) == "E0313"


def test_nothing_stands_behind_a_branch_and_no_branch_is_added(kernel: Kernel) -> None:
    assert refusal(kernel, "insert", "k", 6, [parse_line("s_nop 0")]) == "E0313"
    assert refusal(kernel, "insert", "k", 0, [parse_line("s_branch k")]) == "E0313"
    assert refusal(kernel, "insert", "k", 0, [parse_line(".long 3")]) == "E0313"


def test_a_version_of_the_kernel_is_taken_block_by_block(kernel: Kernel) -> None:
    other = Rewriter(kernel)
    block = next(b for b in kernel.blocks if not b.frozen and len(b.instructions) > 1)
    other.insert(block.label, 0, [parse_line("s_nop 0")])
    taken = Rewriter(kernel)
    taken.take_blocks(other.kernel)
    assert taken.kernel == other.kernel
    unchanged = Rewriter(kernel)
    unchanged.take_blocks(kernel)
    assert unchanged.kernel is kernel
