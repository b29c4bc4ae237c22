from dataclasses import replace

import pytest

from asmevo.frontend.parser import parse_source
from asmevo.ir.instruction import Immediate, Instruction, Label, Modifier, Register
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import VGPR0, RegisterRange
from asmevo.ir.verifier import verify_kernel

SOURCE = """
k:
 v_mov_b32_e32 v0, s0
 buffer_load_dwordx2 v[2:3], v0, s[4:7], 0 offen offset:8
loop:
 v_pk_add_f32 v[2:3], v[2:3], v[4:5]
 s_cbranch_scc1 loop
 .long 7
end:
 s_endpgm
"""


@pytest.fixture
def kernel() -> Kernel:
    return parse_source(SOURCE)


def with_instruction(kernel: Kernel, which: int, /, **changes: object) -> Kernel:
    def edit(instruction: Instruction) -> Instruction:
        return replace(instruction, **changes) if instruction.uid == which else instruction  # type: ignore[arg-type]

    blocks = tuple(replace(block, instructions=tuple(map(edit, block.instructions))) for block in kernel.blocks)
    return replace(kernel, blocks=blocks)


def with_block(kernel: Kernel, which: str, /, **changes: object) -> Kernel:
    def edit(block: Block) -> Block:
        return replace(block, **changes) if block.label == which else block  # type: ignore[arg-type]

    return replace(kernel, blocks=tuple(map(edit, kernel.blocks)))


def codes(kernel: Kernel, original: Kernel | None = None) -> list[str]:
    return [finding.code for finding in verify_kernel(kernel, original)]


def vector(first: int, count: int) -> Register:
    return Register(RegisterRange(VGPR0 + first, count))


def test_a_sound_kernel_has_no_findings(kernel: Kernel) -> None:
    assert codes(kernel, kernel) == []


def test_labels_and_uids_stand_once(kernel: Kernel) -> None:
    assert codes(with_instruction(kernel, 1, uid=0)) == ["E0301", "E0301"]
    assert codes(with_instruction(kernel, 1, uid=-1)) == ["E0301"]
    assert "E0301" in codes(with_block(kernel, "end", label="k"))


def test_roots_and_successors_exist(kernel: Kernel) -> None:
    assert codes(replace(kernel, roots=("elsewhere",))) == ["E0302"]
    assert "E0302" in codes(with_block(kernel, "k", successors=("elsewhere",)))


def test_control_flow_stands_at_block_ends(kernel: Kernel) -> None:
    loop = kernel.block("loop")
    assert codes(with_block(kernel, "loop", instructions=loop.instructions[::-1])) == ["E0303", "E0304"]


def test_successors_follow_from_code_and_layout(kernel: Kernel) -> None:
    assert codes(with_block(kernel, "loop", successors=("loop",))) == ["E0304"]
    assert codes(with_block(kernel, "end", successors=("k",))) == ["E0304"]
    assert codes(with_block(kernel, "end", instructions=())) == ["E0304"]
    assert codes(with_instruction(kernel, 3, operands=(Immediate(5, "5"),))) == ["E0304"]
    assert codes(with_instruction(kernel, 3, operands=(Label("end"),))) == ["E0304"]


@pytest.mark.parametrize(
    ("uid", "index", "operand", "code"),
    [
        (0, 0, vector(0, 2), "E0305"),
        (1, 0, vector(2, 4), "E0305"),
        (0, 0, Immediate(0, "0"), "E0305"),
        (0, 0, Register(RegisterRange(VGPR0), negate=True), "E0305"),
        (0, 0, Register(RegisterRange(128)), "E0305"),
        (0, 1, Immediate(1 << 32, "0x100000000"), "E0305"),
        (1, 0, vector(3, 2), "E0306"),
        (1, 0, vector(255, 2), "E0306"),
        (1, 2, Register(RegisterRange(6, 4)), "E0306"),
        (1, 2, Register(RegisterRange(100, 4)), "E0306"),
    ],
)
def test_operands_fit_their_opcode(kernel: Kernel, uid: int, index: int, operand: Register | Immediate, code: str) -> None:
    operands = list(next(i for i in kernel.instructions() if i.uid == uid).operands)
    operands[index] = operand
    assert codes(with_instruction(kernel, uid, operands=tuple(operands))) == [code]


def test_operand_count_and_definition(kernel: Kernel) -> None:
    assert codes(with_instruction(kernel, 0, operands=())) == ["E0305"]
    assert codes(with_instruction(kernel, 0, definition=None)) == ["E0305"]


def test_offsets_fit_their_field(kernel: Kernel) -> None:
    assert codes(with_instruction(kernel, 1, modifiers=(Modifier("offen"), Modifier("offset", 4096)))) == ["E0308"]
    assert codes(with_instruction(kernel, 0, modifiers=(Modifier("offset", 1),))) == ["E0308"]


def test_row_width_follows_the_format_modifiers() -> None:
    line = "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:{a}], v[16:{b}], v[0:3] cbsz:2 blgp:4\n s_endpgm\n"
    assert codes(parse_source(line.format(a=13, b=19))) == []
    assert codes(parse_source(line.format(a=15, b=19))) == ["E0305"]
    assert codes(parse_source(line.format(a=13, b=21))) == ["E0305"]


def test_frozen_blocks_are_as_they_were(kernel: Kernel) -> None:
    frozen = kernel.blocks[2]
    assert frozen.frozen
    assert codes(with_instruction(kernel, frozen.instructions[0].uid, operands=(Immediate(8, "8"),)), kernel) == ["E0307"]
    assert "E0307" in codes(with_block(kernel, frozen.label, frozen=False), kernel)
    assert "E0307" in codes(with_block(kernel, frozen.label, label="other"), kernel)
