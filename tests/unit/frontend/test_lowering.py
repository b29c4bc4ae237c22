import struct

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.disassembler import Decoded
from asmevo.frontend.lowering import frozen_reason, indirect_instructions, lower
from asmevo.ir.instruction import Label
from asmevo.ir.kernel import Kernel
from asmevo.ir.verifier import verify_kernel


def decoded(*lines: str | None, start: int = 0) -> list[Decoded]:
    """Lines as a disassembler gives them, four bytes each; a branch `s_branch +3` carries that word count."""
    result: list[Decoded] = []
    for index, line in enumerate(lines):
        word = 0xBF800000
        if line is not None and line.startswith(("s_branch", "s_cbranch")):
            mnemonic, distance = line.split()
            word |= int(distance) & 0xFFFF
            line = f"{mnemonic} {int(distance) & 0xFFFF}"
        result.append(Decoded(start + 4 * index, struct.pack("<I", word), line))
    return result


def kernel(*lines: str | None, **options: object) -> Kernel:
    return lower(decoded(*lines), name="k", target="gfx942", file="k.co", **options)  # type: ignore[arg-type]


def shape(lowered: Kernel) -> list[tuple[str, int, tuple[str, ...], bool]]:
    return [(block.label, len(block.instructions), block.successors, block.frozen) for block in lowered.blocks]


LOOP = ("s_mov_b32 s0, 0", "s_add_u32 s0, s0, 1", "s_cmp_lt_u32 s0, s1", "s_cbranch_scc1 -3", "s_endpgm")


def test_a_loop_splits_at_its_target_and_after_its_branch() -> None:
    lowered = kernel(*LOOP)
    assert shape(lowered) == [
        ("L_0000", 1, ("L_0004",), False),
        ("L_0004", 3, ("L_0004", "L_0010"), False),
        ("L_0010", 1, (), False),
    ]
    assert lowered.blocks[1].instructions[-1].operands == (Label("L_0004"),)
    assert lowered.roots == ("L_0000",)
    assert [instruction.uid for instruction in lowered.instructions()] == [0, 1, 2, 3, 4]
    assert not verify_kernel(lowered, lowered)


def test_no_byte_is_lost() -> None:
    lines = decoded("s_nop 0", None, "s_nop 1", "s_endpgm", "s_nop 0", None)
    lowered = lower(lines, name="k", target="gfx942", file="k.co")
    assert b"".join(i.encoding or b"" for i in lowered.instructions()) == b"".join(line.encoding for line in lines)


def test_padding_after_the_end_is_frozen() -> None:
    lowered = kernel(*LOOP, "s_nop 0", "s_nop 0", None)
    assert shape(lowered)[-1] == ("L_0014", 3, (), True)


def test_code_after_the_last_end_is_code_when_it_is_reached() -> None:
    lowered = kernel("s_cbranch_scc0 1", "s_endpgm", "s_nop 0", "s_branch -3")
    assert shape(lowered)[-1] == ("L_0008", 2, ("L_0004",), False)


def test_an_undecodable_word_freezes_its_block_only() -> None:
    lowered = kernel("s_cbranch_scc0 2", "s_nop 0", "s_endpgm", None, "s_endpgm")
    reasons = [frozen_reason(lowered, block) for block in lowered.blocks]
    assert reasons == [None, None, "holds data or an undecodable word", "no path from a root reaches it"]
    assert lowered.blocks[2].instructions[0].mnemonic == ".long"


def test_an_unknown_opcode_freezes_its_block() -> None:
    lowered = kernel("v_unheard_of v1, v2", "s_endpgm")
    assert lowered.blocks[0].frozen
    assert frozen_reason(lowered, lowered.blocks[0]) == "holds v_unheard_of, an opcode without a definition"


def test_a_text_with_a_remark_of_the_disassembler_is_kept_as_data() -> None:
    lowered = kernel("v_swap_b32 v77, s44/*Invalid register, operand has 'VGPR_32' register class*/", "s_endpgm")
    assert lowered.blocks[0].instructions[0].mnemonic == ".long"
    assert lowered.blocks[0].frozen


def test_computed_addresses_freeze_the_kernel_and_are_named() -> None:
    lowered = kernel("s_nop 0", "s_cbranch_scc0 2", "s_getpc_b64 s[0:1]", "s_setpc_b64 s[0:1]", "s_endpgm")
    assert all(block.frozen for block in lowered.blocks)
    assert indirect_instructions(lowered.instructions()) == ("s_getpc_b64", "s_setpc_b64")
    reason = frozen_reason(lowered, lowered.blocks[0])
    assert reason == "the kernel computes code addresses (s_getpc_b64, s_setpc_b64)"


def test_a_preload_prologue_is_frozen_and_both_entries_are_roots() -> None:
    lowered = kernel("s_nop 0", "s_branch 1", "s_nop 0", "s_nop 1", "s_endpgm", extra_roots=(12,))
    assert lowered.roots == ("L_0000", "L_000c")
    assert [block.frozen for block in lowered.blocks] == [True, True, False]


def test_offsets_need_not_begin_at_nought() -> None:
    lowered = lower(decoded(*LOOP, start=1024), name="k", target="gfx942", entry_offset=1024, file="k.co")
    assert [block.label for block in lowered.blocks] == ["L_0400", "L_0404", "L_0410"]


def test_a_branch_in_data_is_not_judged() -> None:
    assert shape(kernel("s_endpgm", "s_branch 500"))[-1] == ("L_0004", 1, (), True)


@pytest.mark.parametrize(
    ("lines", "options", "code"),
    [
        (("s_branch 7", "s_endpgm"), {}, "E0141"),
        (("s_branch -7", "s_endpgm"), {}, "E0141"),
        (("s_nop 0", "s_nop 0"), {}, "E0143"),
        (("s_endpgm",), {"entry_offset": 2}, "E0144"),
        (("s_endpgm",), {"extra_roots": (256,)}, "E0144"),
        ((), {}, "E0144"),
    ],
)
def test_impossible_control_flow_is_refused(lines: tuple[str, ...], options: dict[str, object], code: str) -> None:
    with pytest.raises(DiagnosticError, match=code):
        kernel(*lines, **options)


def test_a_branch_into_an_instruction_is_refused() -> None:
    lines = [
        Decoded(0, struct.pack("<I", 0xBF820001), "s_branch 1"),
        Decoded(4, bytes(8), "s_mov_b32 s0, 0x12345678"),
        Decoded(12, bytes(4), "s_endpgm"),
    ]
    with pytest.raises(DiagnosticError, match="E0142") as caught:
        lower(lines, name="k", target="gfx942", file="k.co")
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert span.offset == 0
