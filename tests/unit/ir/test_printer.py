from asmevo.frontend.parser import parse_line, parse_source
from asmevo.ir.instruction import Instruction, WaitCounts
from asmevo.ir.printer import print_instruction, print_kernel, quoted

KERNEL = """\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
\t.text
\t.globl k
\t.type k,@function
k:
L_0000:
\tv_mov_b32_e32 v0, s0
\ts_cbranch_scc1 L_0000
L_0008: ; frozen
\t.long 0x7 ; kept as it is
\ts_endpgm
"""


def test_a_kernel_prints_as_a_source_file() -> None:
    assert print_kernel(parse_source(KERNEL)) == KERNEL


def test_a_wait_on_nothing_names_every_counter() -> None:
    assert print_instruction(Instruction("s_waitcnt", (WaitCounts(),))) == "s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)"


def test_an_edited_instruction_prints_its_new_parts() -> None:
    first, second = parse_line("v_add_f32_e64 v0, -v1, |v2| clamp"), parse_line("v_add_f32_e64 v9, 1.0, v3")
    assert print_instruction(first.edited(operands=second.operands)) == "v_add_f32_e64 v9, 1.0, v3 clamp"
    assert print_instruction(first.edited(modifiers=())) == "v_add_f32_e64 v0, -v1, |v2|"


def test_only_plain_words_go_without_quotes() -> None:
    assert [quoted(name) for name in ("k_1", ".L$x", "1k", "a b", 'a"b\\c', "ключ")] == [
        "k_1",
        ".L$x",
        '"1k"',
        '"a b"',
        '"a\\"b\\\\c"',
        '"ключ"',
    ]
