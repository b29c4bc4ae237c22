import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.parser import parse_source
from asmevo.ir.printer import print_kernel
from asmevo.ir.verifier import verify_kernel

SOURCE = """\t.amdgcn_target "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"
\t.text
\t.globl my_kernel ; the name
\t.p2align 8
\t.type my_kernel,@function
my_kernel:                  ; @my_kernel
; %bb.0:
\ts_load_dword s4, s[0:1], 0x0 // first /* not a block comment
\ts_waitcnt lgkmcnt(0)
.LBB0_1: /* a comment
over two lines */ v_add_u32_e32 v0, s4, v0
# a line comment
\ts_cbranch_scc1 .LBB0_1
\ts_endpgm
\t.section .rodata,"a",@progbits
\t.ascii "; not a comment"
\t.amdhsa_kernel my_kernel
\t\t.amdhsa_next_free_vgpr max(1, 2)
\t\t.amdhsa_next_free_sgpr 8
\t\t.amdhsa_accum_offset 4
\t.end_amdhsa_kernel
\t.text
\t.set my_kernel.num_vgpr, 1
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .name: "my_kernel"
...
\t.end_amdgpu_metadata
"""


def test_a_compiled_source_becomes_blocks() -> None:
    kernel = parse_source(SOURCE, "my.s")
    assert (kernel.name, kernel.target, kernel.roots) == ("my_kernel", "gfx90a", ("my_kernel",))
    assert [(block.label, len(block.instructions), block.successors) for block in kernel.blocks] == [
        ("my_kernel", 2, (".LBB0_1",)),
        (".LBB0_1", 2, (".LBB0_1", "B_4")),
        ("B_4", 1, ()),
    ]
    assert [instruction.uid for instruction in kernel.instructions()] == [0, 1, 2, 3, 4]
    assert not verify_kernel(kernel)


def test_spans_survive_comments_and_tabs() -> None:
    span = parse_source(SOURCE, "my.s").blocks[1].instructions[0].span
    assert span is not None
    assert (span.file, span.line, span.column) == ("my.s", 11, 19)


def test_printing_and_parsing_again_gives_the_same_kernel() -> None:
    kernel = parse_source(SOURCE, "my.s")
    again = parse_source(print_kernel(kernel), "again.s")
    assert again == kernel


def test_two_labels_at_one_place_are_one_block() -> None:
    kernel = parse_source("k:\nL_0000:\n s_nop 0\n s_branch k\n")
    assert [block.label for block in kernel.blocks] == ["L_0000"]
    assert kernel.blocks[0].successors == ("L_0000",)
    assert kernel.name == "k"


def test_roots_other_than_the_first_block_survive() -> None:
    kernel = parse_source("; asmevo-root: b\n; asmevo-root: c\na:\n s_nop 0\nb:\n s_nop 1\nc:\n s_endpgm\n")
    assert kernel.roots == ("b", "c")
    again = parse_source(print_kernel(kernel))
    assert (again.roots, again.name) == (kernel.roots, kernel.name)


def test_odd_names_are_quoted() -> None:
    kernel = parse_source('.globl "a b\\"c"\n"a b\\"c":\n s_endpgm\n')
    assert kernel.name == kernel.blocks[0].label == 'a b"c'
    assert parse_source(print_kernel(kernel)) == kernel


def test_data_in_code_freezes_its_block() -> None:
    kernel = parse_source("k:\n .long 0xbf800000, 7\n s_branch e\ne:\n s_endpgm\n")
    assert [block.frozen for block in kernel.blocks] == [True, False]


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("k:\n s_branch nowhere\n", "E0133", 2, 2),
        ("k:\n s_nop 0\nk:\n s_endpgm\n", "E0132", 3, 1),
        ("; nothing\n", "E0134", 0, 0),
        (" s_endpgm\n.amdhsa_kernel k\n", "E0136", 2, 1),
        (".section .rodata\n s_nop 0\n", "E0131", 2, 2),
        ("k:\n  s_nop 0\n  foo:\tv_mvo_b32 v1, v2 ; hi\n", "E0122", 3, 8),
        ("!", "E0121", 1, 1),
        (" s_nop " + "0" * 5000, "E0135", 1, 1),
        ("; asmevo-root: r\n s_endpgm\n", "E0133", 0, 0),
    ],
)
def test_errors_say_what_and_where(text: str, code: str, line: int, column: int) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_source(text, "t.s")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span is not None
    assert (diagnostic.code, diagnostic.span.line, diagnostic.span.column) == (code, line, column)
