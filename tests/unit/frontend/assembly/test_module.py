"""Whole sources against LLVM's assembler: the same bytes, or a refusal at the same line."""

import time
from pathlib import Path

import pytest

from asmevo.backend.assembler import assemble
from asmevo.diagnostics import DiagnosticError, Severity
from asmevo.frontend import elf
from asmevo.frontend.assembly.module import SourceModule
from asmevo.frontend.llvm import assemble_object
from asmevo.frontend.parser import parse_module, parse_source
from asmevo.ir.instruction import Immediate, Instruction, Symbolic
from asmevo.ir.printer import print_instruction
from asmevo.ir.verifier import verify_kernel


def llvm_bytes(text: str, target: str = "gfx942") -> bytes | int:
    """The text section LLVM makes, or the line it complains about first."""
    made = assemble_object(text, target)
    if made.errors:
        return min(error.line for error in made.errors)
    found = elf.read(made.object, "x")
    section = found.section(".text")
    assert section is not None
    return found.contents(section)


def encoded(instruction: Instruction, target: str) -> bytes:
    if instruction.encoding is not None:
        return instruction.encoding
    if instruction.mnemonic in (".long", ".byte"):
        size = 4 if instruction.mnemonic == ".long" else 1
        return b"".join(item.value.to_bytes(size, "little") for item in instruction.operands if isinstance(item, Immediate))
    return assemble([print_instruction(instruction)], target)[0]


def module_bytes(module: SourceModule) -> bytes:
    kernels = [*module.kernels, *module.functions]
    return b"".join(encoded(item, module.target) for kernel in kernels for item in kernel.instructions())


SAME = [
    ".set x, 1\n.set x, x+1\ns_nop x\nx = 5\ns_nop x\n.equ y, 7\ns_nop y",
    "base = 4\nv_mov_b32 v[base+1], v[base*2]\ns_mov_b64 s[base:base+1], s[2*base:2*base+1]",
    "x = 3\ns_mov_b32 s0, -x\nv_add_f32 v0, -x, v1\ns_add_u32 s[x], s[x+1], x<<x",
    ".macro m a, b=3\ns_mov_b32 \\a, \\b\n.endm\nm s0\nm s1 4\nm b=5, a=s2\nm s3, 1 + 2\nm s4, 1 +2\nm s5, (1 + 2)",
    ".macro m a, b\n.ifb \\b\ns_nop 1\n.else\n.irp x, \\b\ns_nop \\x\n.endr\n.endif\n.endm\nm 1\nm 1, \"2, 3\"",
    ".macro m r:vararg\n.irp x,\\r\ns_nop \\x\n.endr\n.endm\nm 1,2, 3",
    ".macro m\ns_nop \\@\n.endm\nm\nm",
    ".macro m\n.macro k\ns_nop 2\n.endm\n.endm\nm\nk",
    ".macro m a=4\n.if \\a > 2\ns_nop \\a\n.exitm\n.endif\ns_nop 9\n.endm\nm\nm 1",
    ".macro s_nop a\ns_mov_b32 s0, \\a\n.endm\ns_nop 3\n.purgem s_nop\ns_nop 3",
    ".macro fact n, a\n.if \\n\nfact \\n-1, \\a+1\n.else\ns_nop \\a\n.endif\n.endm\nfact 5, 0",
    ".irpc c, 123\ns_nop \\c\n.endr\n.rept 2\n.rept 2\ns_nop 1\n.endr\n.endr\n.rept 0\ns_nop 7\n.endr",
    ".if 0\n.if 1\ns_nop 9\n.else\ns_nop 8\n.endif\n.elseif 1\ns_nop 1\n.else\ns_nop 2\n.endif",
    ".ifdef foo\ns_nop 1\n.endif\nfoo:\n.ifdef foo\ns_nop 2\n.endif\n.ifndef bar\ns_nop 3\n.endif",
    ".ifc a, a\ns_nop 1\n.endif\n.ifnc a,b\ns_nop 3\n.endif",
    ".ifeqs \"x\",\"x\"\ns_nop 2\n.endif\n.ifnes \"x\",\"x\"\ns_nop 4\n.endif",
    ".ifeq 0\ns_nop 1\n.endif\n.ifge -1\ns_nop 2\n.endif\n.iflt -1\ns_nop 3\n.endif",
    "a:\ns_nop 0\nb:\ns_mov_b32 s0, b-a\ns_mov_b32 s1, c-b+1\nc:\ns_nop 0",
    "s_mov_b32 s0, x\n.set x, 5",
    "a:\ns_nop 0\n.if . - a == 4\ns_nop 4\n.endif",
    "a:\ns_nop 0\n.long . - a, b - a, 7\nb:\n.quad 1\n.short 1, 2\n.byte 1, 2, 3, 'a'",
    ".zero 8\n.space 4\n.fill 2, 4, 0xbf800000\n.skip 4, 1\n.ascii \"ab\\n\"\n.asciz \"c\"\ns_nop 0",
    "s_nop 1 ; comment\n# a comment\ns_nop /* in\n the middle */ 2 // end\n.byte ';', '\"', '/', '#'",
    "S_NOP 1\n.SET x, 2\ns_nop x",
    "s_waitcnt vmcnt(1+1) & lgkmcnt(0)\ns_getreg_b32 s0, hwreg(1+1, 0, 3+2)",
    "v_mov_b32_dpp v0, v1 quad_perm:[1+1,0,0,0] row_mask:1+2",
    "buffer_load_dword v0, off, s[0:3], 0 offset:1+2\ns_nop 0x10 | 3\nv_add_f32 v0, |2.0|, v1\nv_sub_f32 v0, |v1|, v2",
    "s_mov_b64 s[0:1], [s[2],s[3]]\ns_mov_b64 [vcc_lo,vcc_hi], [s4, s5]\nv_mov_b32 v0, [v1]",
    "v_add_f32 v0 v1 v2\nv_add_f32_e64 v0, v1, v2, clamp\ns_nop 0,\nds_read_b32 v0, v1 offset : 4\nv_sub_f32 v0, v1 -v2",
    "s_getreg_b32 s0, {size: 3, id: 1}\ntbuffer_load_format_x v0, off, s[0:3], dfmt:4, nfmt:2, 0\nds_read_b32 v0, v1 nogds",
    "v_cndmask_b32 v0, v1, v2\nv_cmp_eq_u32 v1, v2\nv_add_co_u32 v0, v1, v2",
    "s_load_dword s0, s[2:3]\ns_buffer_load_dword s0, s[4:7] glc",
    "v_add_f16 v0, 1.5, v1\nv_max_i16 v0, 1.5, v1\ns_mov_b32 s0, 0x1p3\ns_mov_b32 s0, .5",
    "s_mov_b32 s0, 017\nv_mov_b32 v010, 0b11",
    "s_mov_b32 s0, lit(4)\ns_mov_b32 s0, 0xffffffffffffffff\ns_mov_b32 s0, --5\ns_mov_b64 s[0:1], shared_base",
    "s_mov_b64 s[0:1], --4.0\ns_mov_b64 s[2:3], 0x3ff0000000000000\nv_ceil_f64 v[0:1], neg(0x3fc45f306dc9c882)\n.quad 1.5",
    "offset=3\ns_branch 1+offset\ngds=4\ns_mov_b32 s0, gds\nhwreg=0xf803\ns_setreg_b32 hwreg, s2\ns_mov_b64 s[0:1], [exec]",
    "v_add_f32 v5, v1, v2 noclamp\nv_mov_b32_sdwa v1, v0 dst_sel:1\ns_mov_b32 s0, lit64(5)\ns_getreg_b32 s2, {}",
    "s_nop 1\n.p2align 4\nb:\ns_nop 2\n.balign 8\ns_nop 3",
    "s_nop 1\n.p2align 4, 7\ns_nop 2",
    "s_mov_b32 s0, max(1,2)\n.pushsection .data\n.long 1\n.popsection\ns_nop 3",
]  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_the_same_bytes_as_llvm(text: str) -> None:
    assert module_bytes(parse_module(text + "\n")) == llvm_bytes(text + "\n")


REFUSED = [
    ("s_nop 0\n.if x\n.endif", "E0130", 2, 5),
    (".macro m a:req\ns_nop \\a\n.endm\nm", "E0137", 4, 2),
    (".macro m a\ns_nop \\a\n.endm\nm 1,2", "E0137", 4, 5),
    (".purgem m", "E0137", 1, 1),
    (".equ y, 7\n.equiv y, 3", "E0145", 2, 1),
    ("s_nop x\n.set x, 3", "E0123", 1, 7),
    ("s_nop 0 s_nop 1", "E0121", 1, 9),
    ("s_nop 1 # c", "E0121", 1, 9),
    ("s_nop 0\n.rept -1\n.endr", "E0131", 2, 7),
    (".endif", "E0136", 1, 1),
    (".else", "E0136", 1, 1),
    ("s_nop 0\n.if 1\ns_nop 0", "E0136", 2, 1),
    (".macro m\ns_nop 0", "E0136", 1, 1),
    (".rept 2\ns_nop 0", "E0136", 1, 1),
    (".endm", "E0136", 1, 1),
    (".exitm", "E0136", 1, 1),
    ("s_nop 0\n.unheard 1", "E0131", 2, 1),
    ('s_nop 0\n.error "no"', "E0140", 2, 1),
    ("s_nop 0 /* open", "E0136", 1, 9),
    (".long 1<", "E0130", 1, 9),
    (".byte 256\n", "E0126", 1, 6),
    ("s_load_dwordx2 s[1:2], s[0:1], 0", "E0129", 1, 16),
    ("  v_mov_b64 v[0:1], v[2:3]\n  v_prng_b32 v0, v1", "E0129", 2, 3),
    ("v_add_f32 v0, s1, s2", "E0129", 1, 19),
    ("v_mov_b32 v0, VCC_LO", "E0123", 1, 15),
    ("v_sub_f32 v0, --5, v1", "E0129", 1, 15),
    ("s_mov_b32 s0,, s1", "E0129", 1, 14),
    ("x: s_nop 0\nx = 3", "E0145", 2, 1),
    ("s_nop 0\n.float 1.0", "E0131", 2, 1),
    ("s_nop 0\n .org 256", "E0131", 2, 2),
    ("s_nop 0\n.p2align 17", "E0138", 2, 10),
    ("v_ceil_f32 v1, |1+2|", "E0130", 1, 18),
    ("image_load v[0:3], v2, s[0:7] dmask:0xf", "E0122", 1, 1),
    ("s_mov_b32 s0, 0x3ff0000000000000", "E0126", 1, 15),
]


@pytest.mark.parametrize(("text", "code", "line", "column"), REFUSED)
def test_refusals_say_where(text: str, code: str, line: int, column: int) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text + "\n", "t.s")
    first = caught.value.diagnostics[0]
    assert first.span is not None
    assert (first.code, first.span.file, first.span.line, first.span.column) == (code, "t.s", line, column)


def test_an_error_in_a_macro_names_every_call() -> None:
    text = ".macro inner a\n s_mov_b32 s0, \\a\n.endm\n.macro outer a\n inner \\a\n.endm\ns_nop 0\nouter v1\n"
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text, "t.s")
    found = [(item.severity, str(item.span), item.message) for item in caught.value.diagnostics]
    assert found[0][:2] == (Severity.ERROR, "t.s:2:16")
    assert found[1:] == [
        (Severity.NOTE, "t.s:5:2", "in expansion of macro 'inner'"),
        (Severity.NOTE, "t.s:8:1", "in expansion of macro 'outer'"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        ".macro m\nm\n.endm\nm",
        ".rept 1<<40\ns_nop 0\n.endr",
        ".macro a\n.rept 1000\nb\n.endr\n.endm\n"
        ".macro b\n.rept 1000\nc\n.endr\n.endm\n.macro c\n.rept 1000\ns_nop 0\n.endr\n.endm\na",
    ],
)
def test_expansion_is_bounded(text: str) -> None:
    with pytest.raises(DiagnosticError, match="E0138"):
        parse_module(text)


def test_includes_stay_in_their_folder(tmp_path: Path) -> None:
    root = tmp_path / "inc"
    root.mkdir()
    (root / "a.inc").write_text('.macro two\ns_nop 2\n.endm\n.include "sub/b.inc"\n')
    (root / "sub").mkdir()
    (root / "sub" / "b.inc").write_text("s_nop 3\n")
    (root / "bad.inc").write_text("s_nop 0\n  s_nop s1\n")
    (root / "loop.inc").write_text('.include "loop.inc"\n')
    (tmp_path / "secret.inc").write_text("s_nop 9\n")
    (root / "link.inc").symlink_to(tmp_path / "secret.inc")
    module = parse_module('.include "a.inc"\ntwo\n', include_root=root)
    assert [print_instruction(item) for item in module.kernels[0].instructions()] == ["s_nop 3", "s_nop 2"]
    for name in ("../secret.inc", "link.inc", str(tmp_path / "secret.inc"), "missing.inc", "sub", "a\\0b"):
        with pytest.raises(DiagnosticError, match="E0139"):
            parse_module(f's_nop 0\n.include "{name}"\n', include_root=root)
    with pytest.raises(DiagnosticError, match="E0139"):
        parse_module('.include "a.inc"\n')
    with pytest.raises(DiagnosticError, match="E0138"):
        parse_module('.include "loop.inc"\n', include_root=root)
    with pytest.raises(DiagnosticError) as caught:
        parse_module('.include "bad.inc"\n', "main.s", root)
    assert [str(item.span) for item in caught.value.diagnostics] == ["bad.inc:2:9", "main.s:1:1"]


TWO = """\t.amdgcn_target "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"
\t.set lds, 64*2
\t.text
\t.globl first
\t.type first,@function
first:
\ts_cbranch_scc0 1f
\ts_nop 1
1:
\ts_endpgm
\t.type helper,@function
helper:
\ts_setpc_b64 s[30:31]
\t.type second,@function
second:
1:\ts_nop 0
\ts_cbranch_scc1 1b
\ts_endpgm
\t.section .rodata
\t.amdhsa_kernel first
\t\t.amdhsa_group_segment_fixed_size lds
\t\t.amdhsa_next_free_vgpr max(first.vgprs, 9)
\t\t.amdhsa_next_free_sgpr 8
\t\t.amdhsa_accum_offset 12
\t.end_amdhsa_kernel
\t.amdhsa_kernel second
\t\t.amdhsa_next_free_vgpr 4
\t\t.amdhsa_next_free_sgpr 8
\t\t.amdhsa_accum_offset 4
\t.end_amdhsa_kernel
\t.set first.vgprs, 4+8
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .name: first
    .symbol: 'first.kd'
    .vgpr_count: 12
    .args:
      - { .offset: 0, .size: 8, .value_kind: global_buffer, .name: "a" }
...
\t.end_amdgpu_metadata
"""


def test_several_kernels_with_descriptors_and_metadata() -> None:
    module = parse_module(TWO)
    first, second = module.kernels
    (helper,) = module.functions
    assert (module.target, module.features) == ("gfx90a", "+sramecc,-xnack")
    assert [kernel.name for kernel in (first, second, helper)] == ["first", "second", "helper"]
    assert first.descriptor is not None
    assert (first.descriptor.group_segment_bytes, first.descriptor.accum_offset, first.descriptor.entry_offset) == (128, 12, 0)
    assert first.metadata is not None
    assert (first.metadata.vgpr_count, first.metadata.arguments[0].name) == (12, "a")
    assert second.metadata is None
    assert second.roots == (second.blocks[0].label,)
    assert second.blocks[0].successors[0] == second.blocks[0].label
    for kernel in (first, second):
        assert not verify_kernel(kernel)
    with pytest.raises(DiagnosticError, match="E0148"):
        parse_source(TWO)


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("\t\t.amdhsa_accum_offset 12\n", "\t\t.amdhsa_accum_offset 13\n", "E0146", 20),
        ("\t\t.amdhsa_accum_offset 12\n", "\t\t.amdhsa_nonsense 12\n", "E0146", 24),
        ("\t\t.amdhsa_accum_offset 12\n", "\t\ts_nop 0\n", "E0146", 24),
        ("max(first.vgprs, 9)", "nothing", "E0130", 22),
        (".amdhsa_kernel second", ".amdhsa_kernel first", "E0146", 26),
        (".amdhsa_kernel second", ".amdhsa_kernel third", "E0146", 26),
        (".vgpr_count: 12", ".vgpr_count: &x 12", "E0147", 37),
        (".vgpr_count: 12", ".vgpr_count: [", "E0147", 39),
        (".vgpr_count: 12", ".vgpr_count: many", "E0147", 32),
        (".vgpr_count: 12", ".name: 12", "E0147", 37),
        (".vgpr_count: 12", ".x: !!python/object:os.system 12", "E0147", 37),
        ("s_cbranch_scc1 1b", "s_cbranch_scc1 first", "E0133", 17),
        ("...\n\t.end_amdgpu_metadata", "...", "E0136", 32),
    ],
)
def test_wrong_blocks_are_refused_at_their_line(old: str, new: str, code: str, line: int) -> None:
    assert old in TWO
    with pytest.raises(DiagnosticError) as caught:
        parse_module(TWO.replace(old, new, 1))
    first = caught.value.diagnostics[0]
    assert first.span is not None
    assert (first.code, first.span.line) == (code, line)


def test_code_that_knows_its_place_is_frozen() -> None:
    module = parse_module("a:\ns_nop 0\nb:\ns_mov_b32 s0, b-a\ns_endpgm\n")
    assert all(block.frozen for block in module.kernels[0].blocks)
    moved = module.kernels[0].blocks[-1].instructions[0]
    assert moved.operands[1] == Immediate(4, "4") or isinstance(moved.operands[1], Immediate)


PRELOAD = """k:
\ts_load_dwordx2 s[4:5], s[0:1], 0x0
\ts_waitcnt lgkmcnt(0)
\ts_branch body
{padding}
body:
\ts_endpgm
\t.amdhsa_kernel k
\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t\t.amdhsa_user_sgpr_kernarg_preload_length 2
\t\t.amdhsa_next_free_vgpr 4
\t\t.amdhsa_next_free_sgpr 8
\t\t.amdhsa_accum_offset 4
\t.end_amdhsa_kernel
"""


@pytest.mark.parametrize("padding", ["\t.p2align 8", "\t.fill 60, 4, 0xbf800000", ".rept 60\ns_nop 0\n.endr"])
def test_a_preload_kernel_has_two_roots_and_a_frozen_prologue(padding: str) -> None:
    (kernel,) = parse_module(PRELOAD.format(padding=padding)).kernels
    assert kernel.roots == ("k", "body")
    assert [block.frozen for block in kernel.blocks] == [True] * (len(kernel.blocks) - 1) + [False]
    assert not verify_kernel(kernel)


def test_a_prologue_of_another_size_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="E0144"):
        parse_module(PRELOAD.format(padding="\t.fill 59, 4, 0xbf800000\n\ts_mov_b32 s0, 0x12345678"))
    assert parse_module(PRELOAD.format(padding="")).kernels[0].roots == ("k",)


def test_alignment_is_filled_in_between_instructions_only() -> None:
    module = parse_module("\t.p2align 8\nk:\ts_nop 1\n.p2align 3\nl:\ts_branch l\n.p2align 8\n")
    assert [print_instruction(item) for item in module.kernels[0].instructions()] == ["s_nop 1", "s_nop 0", "s_branch l"]
    assert not any(block.frozen for block in module.kernels[0].blocks)
    with pytest.raises(DiagnosticError, match="E0138"):
        parse_module("s_nop 0\n" + ".p2align 16\ns_nop 0\n" * 5)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("s_nop 0\n" * ((1 << 16) + 1), "E0138"),
        (".globl x\n" * ((1 << 17) + 1), "E0135"),
        (f".rept {1 << 16}\ns_nop 0\ns_nop 0\n.endr\n", "E0138"),
        ("s_nop 0 " + " " * (16 << 20), "E0135"),
    ],
)
def test_sources_beyond_the_limits_are_refused(text: str, code: str) -> None:
    with pytest.raises(DiagnosticError, match=code):
        parse_module(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "".join(f"s_mov_b32 s{index % 100}, {index}\n" for index in range(50_000)),
        "".join(f"l{index}:\ns_cbranch_scc0 l{index}\n" for index in range(50_000)),
        ".set i, 0\n.rept 32767\n.set i, i+1\ns_mov_b32 s0, i\n.endr\n",
    ],
)
def test_sources_at_the_limits_take_seconds(text: str) -> None:
    start = time.process_time()
    parse_module(text)
    assert time.process_time() - start < 8


def test_relocations_stay_words() -> None:
    module = parse_module("s_getpc_b64 s[0:1]\ns_add_u32 s0, s0, outside@rel32@lo+4\ns_endpgm\n")
    added = module.kernels[0].blocks[0].instructions[1]
    assert added.operands[2] == Symbolic("outside@rel32@lo+4")
    with pytest.raises(DiagnosticError, match="E0123"):
        parse_module("s_mov_b32 s0, outside\n")


def test_hostile_metadata_is_bounded() -> None:
    head = "s_endpgm\n.amdgpu_metadata\n"
    for body in ("[" * 100, "a: &b [1]\nc: *b", "? [x]\n: 1", "\t- x", "--- 1\n--- 2", "x: 'open"):
        with pytest.raises(DiagnosticError, match="E0147"):
            parse_module(f"{head}{body}\n.end_amdgpu_metadata\n")


def test_a_gap_that_no_instruction_fills_is_refused_at_its_line():
    # LLVM never comes to the end of these.
    for directive in (".p2align 2", ".balign 4", ".p2align 1", ".p2align 2,,3"):
        with pytest.raises(DiagnosticError) as caught:
            parse_module(f"k:\n.byte 1\n{directive}\n.long k\ns_endpgm\n", "odd.s")
        found = caught.value.diagnostics[0]
        assert found.code == "E0126"
        assert found.span is not None
        assert found.span.line == 3
    parse_module("k:\n.byte 1\n.p2align 2, 0\ns_endpgm\n")
    parse_module("k:\n.byte 1, 2\n.p2align 1\n.byte 3, 4\n.p2align 2\ns_endpgm\n")


def test_data_refer_to_numbered_labels():
    text = "k:\ns_nop 0\n1:\n.long 1b - k, 1f - 1b\n1:\ns_endpgm\n"
    assert module_bytes(parse_module(text)) == llvm_bytes(text)
