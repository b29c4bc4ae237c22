from __future__ import annotations

import pytest

from asmevo.backend.build import assemble_like, assemble_new
from asmevo.backend.listing import Options, print_object
from asmevo.diagnostics import Diagnostic, DiagnosticError
from asmevo.frontend.codeobject import CodeObject, load
from asmevo.frontend.recover import recover
from code_objects import check_structure

TARGET = '\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n'
LOOP = """	s_load_dwordx2 s[2:3], s[0:1], 0x0
	s_mov_b32 s4, 8
again:
	s_sub_u32 s4, s4, 1
	s_cmp_lg_u32 s4, 0
	s_cbranch_scc1 again
	s_waitcnt lgkmcnt(0)
	s_endpgm
"""
HELPER = "\tv_add_u32_e32 v0, v0, v1\n\ts_setpc_b64 s[30:31]\n"
TAIL = "\ts_nop 3\n\ts_endpgm\n\ts_nop 0\n\ts_nop 0\n"


def function(name: str, code: str) -> str:
    return f"\t.text\n\t.globl {name}\n\t.p2align 8\n\t.type {name},@function\n{name}:\n{code}"


def kernel(name: str, code: str) -> str:
    directives = "".join(
        f"\t\t.amdhsa_{line}\n"
        for line in ("user_sgpr_kernarg_segment_ptr 1", "next_free_vgpr 8", "next_free_sgpr 16", "accum_offset 8")
    )
    descriptor = f'\t.section .rodata,"a",@progbits\n\t.p2align 6\n\t.amdhsa_kernel {name}\n{directives}\t.end_amdhsa_kernel\n'
    return function(name, code) + descriptor


def metadata(*names: str) -> str:
    kernels = "".join(
        f"""  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 22
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args:
      - .name: out
        .offset: 0
        .size: 8
        .value_kind: global_buffer
"""
        for name in names
    )
    return f"\t.amdgpu_metadata\n---\namdhsa.kernels:\n{kernels}amdhsa.version: [1, 2]\n...\n\t.end_amdgpu_metadata\n"


SEVERAL = TARGET + kernel("loop", LOOP) + function("helper", HELPER) + kernel("tail", TAIL) + metadata("loop", "tail")
DATA = (
    TARGET
    + kernel("k", "\ts_nop 3\n\ts_endpgm\n")
    + """	.globl table
	.type table,@object
	.size table, 40
table:
	.quad 1, 2
	.byte 1, 2, 3
	.data
	.p2align 3
	.globl where
where:
	.quad table
	.quad table+8
	.quad k
	.bss
	.globl room
room:
	.zero 256
"""
    + metadata("k")
)


@pytest.fixture
def several() -> CodeObject:
    return load(assemble_new(SEVERAL, "several.s"), "several.co")


@pytest.fixture
def kernels() -> CodeObject:
    """Without the function: its return keeps the writer from moving what stands around it."""
    source = TARGET + kernel("loop", LOOP) + kernel("tail", TAIL) + metadata("loop", "tail")
    return load(assemble_new(source, "kernels.s"), "kernels.co")


@pytest.fixture
def with_data() -> CodeObject:
    return load(assemble_new(DATA, "data.s"), "data.co")


def edited(obj: CodeObject, *changes: tuple[str, str], options: Options | None = None) -> CodeObject:
    text = print_object(obj, options or Options())
    for old, new in changes:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    return load(assemble_like(obj, text, "k.s"), obj.name)


def failure(obj: CodeObject, *changes: tuple[str, str]) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        edited(obj, *changes)
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.span is not None
    return diagnostic


def texts(obj: CodeObject, name: str) -> list[str]:
    return [i.span.source or "" for i in recover(obj, name).instructions() if i.span]


def differences(old: CodeObject, new: CodeObject) -> list[int]:
    assert len(old.data) == len(new.data)
    return [n for n, (a, b) in enumerate(zip(old.data, new.data, strict=True)) if a != b]


def test_unedited_listings_give_identical_objects(several, with_data):
    for obj in (several, with_data):
        for options in (Options(), Options(comments=False), Options(offsets=True, encoding=True)):
            assert edited(obj, options=options).data == obj.data
        for entry in obj.kernels:
            assert edited(obj, options=Options(kernel=entry.name)).data == obj.data


def test_one_edited_instruction_changes_its_bytes_only(several):
    new = edited(several, ("s_mov_b32 s4, 8", "s_mov_b32 s4, 16"))
    assert differences(several, new) == [several.text.offset + 8]
    assert texts(new, "loop")[1] == "s_mov_b32 s4, 16"


def test_code_grows_and_shrinks_and_branches_follow(kernels):
    line = "\ts_sub_u32 s4, s4, 1\n"
    new = edited(kernels, (line, line + "\ts_mul_hi_u32 s9, s4, 0x12345\n" * 40), ("\ts_nop 3\n", ""))
    check_structure(new.data)
    loop = recover(new, "loop")
    branch = next(i for i in loop.instructions() if i.mnemonic == "s_cbranch_scc1")
    assert branch.operands[0].name == "L_000c"
    assert len([i for i in loop.instructions() if i.mnemonic == "s_mul_hi_u32"]) == 40
    assert texts(new, "tail")[0] == "s_endpgm"
    assert new.kernel("tail").entry == 512


def test_new_labels_and_branches(several):
    new = edited(several, ("\ts_waitcnt lgkmcnt(0)\n", "\ts_cbranch_scc0 done\n\ts_nop 7\ndone:\n\ts_waitcnt lgkmcnt(0)\n"))
    kernel = recover(new, "loop")
    branch = next(i for i in kernel.instructions() if i.mnemonic == "s_cbranch_scc0")
    target = next(block for block in kernel.blocks if block.label == branch.operands[0].name)
    assert target.instructions[0].mnemonic == "s_waitcnt"


def test_a_listing_of_one_kernel_leaves_the_others(several):
    text = print_object(several, Options(kernel="tail")).replace("s_nop 3", "s_nop 5")
    new = load(assemble_like(several, text, "k.s"), "k.co")
    assert differences(several, new) == [several.text.offset + 512]


def test_a_listing_with_no_code_of_a_kernel_leaves_it(kernels):
    text = print_object(kernels)
    start, stop = text.index("\t.globl loop"), text.index("\t.globl tail")
    assert assemble_like(kernels, text[:start] + text[stop:], "k.s") == kernels.data


def test_edits_of_a_kernel_twice_as_long_as_can_be_reached_are_refused(kernels):
    line = "\ts_sub_u32 s4, s4, 1\n"
    assert failure(kernels, (line, line + "\ts_nop 0\n" * 40_000)).code == "E0611"


def test_a_function_takes_edits_of_the_same_size_only(several):
    new = edited(several, ("v_add_u32_e32 v0, v0, v1", "v_sub_u32_e32 v0, v0, v1"))
    assert len(differences(several, new)) == 1
    assert failure(several, ("v_add_u32_e32 v0, v0, v1", "v_add_u32_e64 v0, v0, v1")).code == "E0624"


def test_raw_words_may_be_edited_and_added(kernels):
    new = edited(kernels, ("\ts_nop 3\n", "\t.long 0xbf800003\n\t.long 0xbf800001\n"))
    assert texts(new, "tail")[:2] == ["s_nop 3", "s_nop 1"]


@pytest.mark.parametrize(
    ("old", "new", "code", "part"),
    [
        ("s_mov_b32 s4, 8", "s_mov_b32 s4, v0", "E0603", "v0"),
        ("s_mov_b32 s4, 8", "s_move_b32 s4, 8", "E0603", "s_move_b32"),
        ("s_mov_b32 s4, 8", "s_mov_b32 s4, symbol", "E0604", "s_mov_b32"),
        ("s_nop 3", "s_nop 0x10003", "E0603", "s_nop"),
        ("s_nop 3", "s_branch nowhere", "E0623", "s_branch"),
        ("s_nop 3", "s_mov_b32 s99, 0", "E0622", "s_mov_b32"),
        ("v_add_u32_e32 v0, v0, v1", ".long table", "E0621", ".long"),
        ("s_nop 3", ".macro m\n.endm", "E0621", ".macro"),
        ("s_nop 3", ".long 0x1ffffffff", "E0621", ".long"),
        ("s_nop 3", "again:\n\ts_nop 3\nagain:", "E0623", "again:"),
        (".amdhsa_next_free_vgpr", ".amdhsa_next_free_vgprs", "E0620", ".amdhsa_next_free_vgprs"),
        (".amdhsa_accum_offset", ".amdhsa_accum_offset 3 +", "E0620", ".amdhsa_kernel"),
    ],
)
def test_what_cannot_be_assembled_is_named_with_line_and_column(several, old, new, code, part):
    text = print_object(several)
    text = text.replace(old, new, 1)
    with pytest.raises(DiagnosticError) as caught:
        assemble_like(several, text, "k.s")
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code == code
    span = diagnostic.span
    assert span is not None
    lines = text.split("\n")
    assert part in lines[span.line - 1]
    assert lines[span.line - 1][span.column - 1 :].startswith(part) or span.column > 1


def test_registers_beyond_the_descriptor_need_its_edit(several):
    change = ("s_nop 3", "v_mov_b32_e32 v200, 0")
    problem = failure(several, change)
    assert problem.code == "E0622"
    assert problem.help is not None
    assert ".amdhsa_next_free_vgpr" in problem.help
    text = print_object(several)
    before, block, after = text.rpartition(".amdhsa_kernel tail")
    for name in (".amdhsa_next_free_vgpr", ".amdhsa_accum_offset"):
        value = after.split(name, 1)[1].split("\n", 1)[0]
        after = after.replace(f"{name}{value}", f"{name} 208", 1)
    new = load(assemble_like(several, (before + block + after).replace(*change), "k.s"), "k.co")
    descriptor = new.kernel("tail").descriptor
    assert (descriptor.vgpr_count, descriptor.accum_offset) == (208, 208)
    assert new.kernel("tail").metadata.vgpr_count == 208
    assert new.kernel("loop").descriptor.raw[:16] == several.kernel("loop").descriptor.raw[:16]
    assert new.kernel("loop").metadata == several.kernel("loop").metadata


def test_figures_of_the_metadata_can_be_edited(with_data):
    new = edited(with_data, (".max_flat_workgroup_size: 64", ".max_flat_workgroup_size: 96"))
    assert new.kernels[0].metadata.max_flat_workgroup_size == 96
    assert failure(with_data, (".size: 8", ".size: 4")).code == "E0615"
    assert failure(with_data, (".kernarg_segment_align: 8", ".kernarg_segment_align: 16")).code == "E0624"
    assert failure(with_data, (".sgpr_count: 22", ".sgpr_count: [22")).code == "E0620"
    assert failure(with_data, (".sgpr_count: 22", f".sgpr_count: {'[' * 3000}")).code in ("E0620", "E0626")


def test_data_takes_numbers_of_the_same_size(with_data):
    text = print_object(with_data)
    assert ".quad table+8" in text or "L_section" in text
    row = next(line for line in text.split("\n") if line.startswith("\t.long 0x00000001, 0x00000000, 0x00000002"))
    new = edited(with_data, (row, row.replace("0x00000002", "0x00000007")))
    assert len(differences(with_data, new)) == 1
    assert failure(with_data, (row, row + ", 0x00000009")).code == "E0624"
    assert failure(with_data, (row, "")).code == "E0624"
    assert failure(with_data, ("\t.zero 256", "\t.zero 512")).code == "E0621"


def test_text_of_an_object_with_data_gives_an_equal_object(with_data):
    text = print_object(with_data)
    new = load(assemble_new(text, "k.s"), with_data.name)
    assert print_object(new) == text
    for name in (".rodata", ".data", ".text"):
        sections = [obj.elf.section(name) for obj in (with_data, new)]
        assert with_data.elf.contents(sections[0])[64:] == new.elf.contents(sections[1])[64:], name


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("\ts_nop 0\n", "E0623"),
        ('\t.amdgcn_target "amdgcn-amd-amdhsa--gfx950"\n', "E0112"),
        ("tail:\n\ts_endpgm\nloop:\n\ts_endpgm\ntail:\n", "E0623"),
        ("\t.amdgpu_metadata\n", "E0136"),
        ('\t.section .other,"a"\n\t.long 1\n', "E0623"),
        ("\t.amdhsa_kernel other\n\t.end_amdhsa_kernel\n", "E0623"),
        ("x" * 5000, "E0135"),
        ("tail:\n\ts_nop 0\n\t.long\n", "E0621"),
        ("tail:\n\ts_nop 0\n\t.long 08\n", "E0621"),
    ],
)
def test_what_is_no_listing_of_the_object_is_refused(several, text, code):
    with pytest.raises(DiagnosticError) as caught:
        assemble_like(several, text, "k.s")
    assert caught.value.diagnostics[0].code == code
