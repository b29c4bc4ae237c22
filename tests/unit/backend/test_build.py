from __future__ import annotations

import subprocess
import sys

import pytest

from asmevo.backend.build import assemble_like, assemble_new, text_roundtrip
from asmevo.backend.listing import Options, print_object
from asmevo.diagnostics import Diagnostic, DiagnosticError
from asmevo.frontend.codeobject import load, load_file
from asmevo.frontend.recover import recover
from code_objects import check_structure
from support import EXAMPLES, SHIPPED

HEAD = '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n\t.text\n'
DESCRIPTOR = """
	.section .rodata,"a",@progbits
	.p2align 6
	.amdhsa_kernel k
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 8
	.end_amdhsa_kernel
"""
METADATA = """
	.amdgpu_metadata
---
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 0
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args: []
amdhsa.version: [1, 2]
...
	.end_amdgpu_metadata
"""
CODE = "\t.globl k\n\t.p2align 8\n\t.type k,@function\nk:\n\ts_nop 3\n\ts_endpgm\n"
SOURCE = HEAD + CODE + DESCRIPTOR + METADATA


def failure(text: str, target: str | None = None) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        assemble_new(text, "k.s", target=target)
    return caught.value.diagnostics[0]


def place(diagnostic: Diagnostic) -> tuple[int, int]:
    assert diagnostic.span is not None
    return diagnostic.span.line, diagnostic.span.column


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize("name", SHIPPED)
def test_unedited_text_gives_the_identical_object(name):
    obj = load_file(EXAMPLES / "kernels" / f"{name}.co")
    assert text_roundtrip(obj) == obj.data
    assert assemble_like(obj, print_object(obj, Options(offsets=True, encoding=True)), "k.s") == obj.data


@pytest.mark.parametrize("name", SHIPPED)
def test_text_alone_gives_the_same_code_descriptor_and_metadata(name):
    obj = load_file(EXAMPLES / "kernels" / f"{name}.co")
    text = print_object(obj)
    data = assemble_new(text, "k.s")
    check_structure(data)
    new = load(data, obj.name)
    assert new.code(new.kernels[0]) == obj.code(obj.kernels[0])
    assert (new.kernels[0].metadata, new.abi_version) == (obj.kernels[0].metadata, obj.abi_version)
    assert new.elf.header.flags == obj.elf.header.flags
    assert print_object(new) == text


def test_a_hand_written_source_becomes_an_object_without_padding_or_a_second_note():
    obj = load(assemble_new(SOURCE, "k.s"), "k.co")
    assert [i.mnemonic for i in recover(obj).instructions()] == ["s_nop", "s_endpgm"]
    assert obj.text.size == 8
    assert obj.abi_version == 3
    assert not [s.name for s in obj.elf.sections if "asmevo" in s.name]


def test_macros_and_expressions_are_llvms():
    source = SOURCE.replace("\ts_nop 3\n", ".macro twice n\n s_nop \\n\n s_nop \\n + 1\n.endm\n.set count, 2\n\ttwice count\n")
    obj = load(assemble_new(source, "k.s"), "k.co")
    assert [i.span.source for i in recover(obj).instructions() if i.span] == ["s_nop 2", "s_nop 3", "s_endpgm"]


def test_target_features_and_version_of_the_text_are_kept():
    source = SOURCE.replace("--gfx942", "-unknown-gfx942:sramecc+:xnack-") + "\t.amdhsa_code_object_version 6\n"
    obj = load(assemble_new(source, "k.s"), "k.co")
    assert (obj.sramecc, obj.xnack, obj.abi_version) == ("on", "off", 4)


def test_a_target_can_be_given_beside_the_text():
    source = SOURCE.replace(HEAD, "\t.text\n")
    assert load(assemble_new(source, "k.s", target="gfx90a"), "k.co").target == "gfx90a"
    assert failure(source).code == "E0625"
    assert failure(SOURCE, "gfx950").code == "E0112"
    assert failure(source, "gfx900").code == "E0602"


def test_a_refused_line_is_named_with_line_and_column():
    source = SOURCE.replace("s_nop 3", "s_nop v0")
    problem = failure(source)
    assert (problem.code, place(problem)) == ("E0620", (line_of(source, "s_nop v0"), 8))
    assert problem.span is not None
    assert problem.span.source == " s_nop v0"


def test_the_first_lines_column_is_that_of_the_text():
    problem = failure("  v_foo v0\n" + SOURCE)
    assert place(problem) == (1, 3)


def test_a_complaint_about_an_expansion_is_at_the_line_that_expands():
    source = SOURCE.replace("\ts_nop 3\n", ".macro outer\n inner\n.endm\n.macro inner\n v_foo v1\n.endm\n\ts_nop 0\n\touter\n")
    problem = failure(source)
    assert problem.code == "E0620"
    assert "v_foo v1" in problem.message
    assert place(problem)[0] == line_of(source, "\touter\n") + 0


def test_a_value_that_llvm_would_cut_is_refused():
    source = SOURCE.replace("s_nop 3", "buffer_load_dword v0, v1, s[0:3], 0 offen offset:5000")
    problem = failure(source)
    assert (problem.code, place(problem)[0]) == ("E0603", line_of(source, "offset:5000"))


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (HEAD + CODE + DESCRIPTOR, "E0625"),
        (SOURCE.replace("gfx942", "gfx1100"), "E0602"),
        (SOURCE.replace("amdgcn-amd-amdhsa--gfx942", "gfx942"), "E0625"),
        (SOURCE + "\t.amdhsa_code_object_version 9\n", "E0625"),
        (SOURCE.replace("s_endpgm\n", "s_endpgm\n.text 1\ns_nop 0\n"), "E0625"),
        ('.incbin "/etc/hostname"\n' + SOURCE, "E0620"),
        ('.include "/etc/hostname"\n' + SOURCE, "E0620"),
        (".zero 0x7fffffff\n" * 2 + SOURCE, "E0626"),
        (SOURCE.replace("\t.end_amdgpu_metadata\n", ""), "E0620"),
        ("", "E0625"),
    ],
)
def test_what_is_no_source_of_an_object_is_refused(source, code):
    assert failure(source).code == code


def test_a_source_without_code_says_so() -> None:
    assert failure("", "gfx942").code == "E0134"
    assert failure("; nothing\n", "gfx942").code == "E0134"


def test_a_limit_of_the_shell_is_kept_not_raised() -> None:
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))\n"
        "from asmevo.backend.build import assemble_new\n"
        "assemble_new(sys.stdin.read(), 'k.s')"
    )
    done = subprocess.run([sys.executable, "-c", program], input=SOURCE, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
