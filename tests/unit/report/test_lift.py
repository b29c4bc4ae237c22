from __future__ import annotations

import re
from dataclasses import replace

import llvmlite.binding as llvm
import pytest

from asmevo.backend.emulator import run
from asmevo.backend.inputs import load_input
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.parser import parse_line
from asmevo.frontend.recover import recover
from asmevo.ir.isa import definitions
from asmevo.ir.isa.model import IssueClass
from asmevo.ir.kernel import Block, Kernel
from asmevo.report.lift import print_block_as_llvm_ir, print_llvm_ir
from asmevo.verify.launch.dispatches import load_launches
from lifted import NotRunnableError, run_lifted
from line_forms import lines_of
from programs import kernel_of
from support import EXAMPLES, SHIPPED


def checked(text):
    module = llvm.parse_assembly(text)
    module.verify()
    return module


def kernel(name):
    return recover(load_input(EXAMPLES / "kernels" / f"{name}.co"))


def body(text, name="test"):
    return re.search(rf'define void @"{name}".*?\n}}', text, re.DOTALL)[0]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_kernels_give_valid_llvm_ir(name):
    text = print_llvm_ir([kernel(name)])
    checked(text)
    called = set(re.findall(r'declare .*@"amdgcn\.(\w+)', text))
    # Everything that is no control and no matrix operation has a program.
    assert {one for one in called if not one.startswith(("s_", "v_mfma_"))} == set()


RUNNABLE = ["vector_add", "histogram", "reduce_sum", "softmax", "layer_norm"]


def cases(name, k):
    return load_launches(EXAMPLES / "launches" / f"{name}.toml", k)


def check_against_emulator(k, dispatch, *, lanes=None):
    got = run_lifted(k, dispatch, lanes=lanes)
    wanted = run(k, replace(dispatch, workgroup=(1, 1, 1)) if lanes else dispatch, mode="fast", threads=1)
    assert not wanted.faults
    assert any(w.any() for w in wanted.written)
    for mine, theirs in zip(got, wanted.buffers, strict=True):
        assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("name", RUNNABLE)
def test_lifted_code_run_lane_by_lane_writes_the_same_bytes_as_the_emulator(name):
    k = kernel(name)
    check_against_emulator(k, min(cases(name, k), key=lambda d: (d.grid, sum(len(b.data) for b in d.buffers))))


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNNABLE)
def test_lifted_code_agrees_with_the_emulator_in_every_case(name):
    k = kernel(name)
    for dispatch in cases(name, k):
        check_against_emulator(k, dispatch)


@pytest.mark.parametrize("name", ["vector_add", "softmax", "layer_norm", "reduce_sum"])
def test_one_lane_alone_agrees_too(name):
    k = kernel(name)
    for dispatch in cases(name, k)[:2]:
        check_against_emulator(k, dispatch, lanes=1)


def test_a_changed_instruction_is_seen_by_the_comparison():
    k = kernel("vector_add")

    def edited(i):
        return i.edited(operands=(*i.operands[:2], i.operands[1])) if i.mnemonic.startswith("v_add_f32") else i

    blocks = tuple(replace(block, instructions=tuple(map(edited, block.instructions))) for block in k.blocks)
    dispatch = cases("vector_add", k)[0]
    wanted = run(k, replace(dispatch, workgroup=(1, 1, 1)), mode="fast", threads=1)
    got = run_lifted(replace(k, blocks=blocks), dispatch, lanes=1)
    assert any(mine.tobytes() != theirs.tobytes() for mine, theirs in zip(got, wanted.buffers, strict=True))


def test_what_cannot_run_is_named_by_the_runner():
    k = kernel("matmul_fp16")
    dispatch = cases("matmul_fp16", k)[0]
    with pytest.raises(NotRunnableError, match="v_mfma"):
        run_lifted(k, dispatch)


def test_the_text_is_short_and_named_after_registers():
    text = print_llvm_ir([kernel_of("a:\n v_add_u32_e32 v0, 5, v1\n s_lshl_b32 s0, s1, 3\n s_endpgm")])
    checked(text)
    lines = [line.strip() for line in body(text).splitlines()]
    assert "; v_add_u32_e32 v0, 5, v1" in lines
    assert any(re.fullmatch(r'%"\.\d+" = add i32 5, %"v1_0"', line) for line in lines)
    assert any(re.fullmatch(r'%"v0_1" = select  i1 %"\.\d+", i32 %"\.\d+", i32 %"v0_0"', line) for line in lines)
    assert '%"s0_1" = shl i32 %"s1_0", 3' in lines


def test_exec_known_to_be_full_needs_no_selection():
    text = print_llvm_ir([kernel_of("a:\n s_mov_b64 exec, -1\n v_add_u32_e32 v0, v2, v1\n s_endpgm")])
    checked(text)
    assert '%"v0_1" = add i32 %"v2_0", %"v1_0"' in body(text)
    assert "select" not in body(text)


def test_a_comparison_is_a_ballot_and_a_branch_tests_the_mask():
    text = print_llvm_ir([kernel_of("a:\n v_cmp_gt_u32_e32 vcc, s0, v0\n s_cbranch_vccz c\nb:\n s_nop 0\nc:\n s_endpgm")])
    checked(text)
    assert 'call i64 @"asmevo.ballot"(i1 ' in text
    assert re.search(r'br i1 %"\.\d+", label %"c", label %"b"', text)
    assert "convergent" in text


def test_instructions_without_a_program_are_calls_that_keep_operands_apart():
    lines = ["v_mfma_f32_4x4x1_16b_f32 v[0:3], v8, v9, v[0:3]", "v_mfma_f32_4x4x1_16b_f32 v[4:7], v9, v8, v[4:7]"]
    text = print_llvm_ir([kernel_of("a:\n" + "\n".join(lines) + "\n s_endpgm")])
    checked(text)
    calls = re.findall(r'call \{.*?\} @"(.*?)"\(i32 %"(v\d)_0", i32 %"(v\d)_0"', text)
    assert calls == [
        ("amdgcn.v_mfma_f32_4x4x1_16b_f32 v[4], v, v, v[4]", "v8", "v9"),
        ("amdgcn.v_mfma_f32_4x4x1_16b_f32 v[4], v, v, v[4]", "v9", "v8"),
    ]
    assert text.count("declare {") == 1


def test_constants_and_modifiers_tell_calls_apart():
    lines = ["v_mfma_f32_4x4x1_16b_f32 v[0:3], v8, v9, 0", "v_mfma_f32_4x4x1_16b_f32 v[0:3], v8, v9, 0 cbsz:1 abid:2"]
    text = print_llvm_ir([kernel_of("a:\n" + "\n".join(lines) + "\n s_endpgm")])
    checked(text)
    assert 'v[4], v, v, 0"(' in text
    assert 'v[4], v, v, 0 cbsz:1 abid:2"(' in text


def test_data_and_ways_not_known_are_calls():
    k = kernel_of("a:\n s_mov_b32 s0, s1\n s_setpc_b64 s[0:1]")
    word = replace(k.blocks[0].instructions[0], mnemonic=".long", operands=(), definition=None, uid=9)
    k = replace(k, blocks=(replace(k.blocks[0], instructions=(word, *k.blocks[0].instructions)),))
    text = print_llvm_ir([k])
    checked(text)
    assert "amdgcn.unknown.9" in text
    assert '@"asmevo.leave"()' in text
    assert "unreachable" in text


def test_sub_dword_loads_and_stores_move_the_right_bits():
    lines = ["global_load_short_d16_hi v0, v1, s[0:1]", "global_load_sbyte v2, v1, s[0:1]", "ds_write_b8_d16_hi v1, v0"]
    text = print_llvm_ir([kernel_of("a:\n" + "\n".join(lines) + "\n s_endpgm")])
    checked(text)
    assert 'call i16 @"asmevo.load.b16.global"(i1 ' in text
    assert re.search(r'and i32 %"v0_0", 65535', text)
    assert re.search(r'sext i8 %"\.\d+" to i32', text)
    assert re.search(r'lshr i32 %"v0_1", 16', text)
    assert 'call void @"asmevo.store.b8.lds"(i1 ' in text


def test_two_starts_are_chosen_by_an_argument():
    k = replace(kernel_of("a:\n s_branch b\nb:\n s_endpgm"), roots=("a", "b"))
    text = print_llvm_ir([k])
    checked(text)
    assert 'switch i32 %"start", label %"a" [i32 1, label %"b"]' in text


def test_a_hostile_name_stays_quoted():
    text = print_llvm_ir([replace(kernel_of("a:\n s_endpgm"), name='k"\n\x1b')])
    checked(text)
    assert "\x1b" not in text


@pytest.mark.parametrize("name", ["asmevo.pair", "sin", "llvm.fma.f32"])
def test_a_kernel_called_as_a_function_of_ours_gets_a_prefix(name):
    k = replace(kernel_of("a:\n v_sin_f32_e32 v0, v1\n s_cbranch_vccz a\nb:\n s_endpgm"), name=name)
    module = checked(print_llvm_ir([k]))
    assert module.get_function(f"kernel.{name}") is not None


LOOP = """
entry:
  s_mov_b32 s4, 0
loop:
  s_add_u32 s4, s4, s5
  s_mul_i32 s8, s4, s5
  s_cmp_lt_u32 s4, s6
  s_cbranch_scc1 loop
out:
  s_mov_b32 s7, s4
  s_endpgm
"""


def test_a_block_alone_returns_its_condition_and_what_is_needed_after_it():
    text = print_block_as_llvm_ir(kernel_of(LOOP), "loop")
    checked(text)
    assert 'define {i1, i32} @"test.loop"(i32 %"lane", i32 %"start", i32 %"s4_0", i32 %"s5_0", i32 %"s6_0")' in text
    assert "; returns taken, s4_1" in text
    # s8 is written and never needed again.
    assert '%"s8_1" = mul' in text
    checked(print_block_as_llvm_ir(kernel_of(LOOP), "out"))


@pytest.mark.parametrize("name", ["softmax", "matmul_fp16"])
def test_every_block_of_a_shipped_kernel_is_valid_alone(name):
    k = kernel(name)
    for block in k.blocks:
        checked(print_block_as_llvm_ir(k, block.label))


def test_a_block_that_is_not_there_is_named():
    with pytest.raises(DiagnosticError, match="E0623"):
        print_block_as_llvm_ir(kernel_of(LOOP), "lop")


def lines_that_lift():
    """One line or more of every opcode; branches and ends belong to blocks."""
    for variants in definitions().values():
        for definition in variants:
            if not definition.is_branch and definition.issue is not IssueClass.END:
                yield from lines_of(definition)


@pytest.mark.slow
def test_every_form_of_every_opcode_lifts():
    lines = list(lines_that_lift())
    assert len(lines) > 5000
    for start in range(0, len(lines), 250):
        body = [replace(parse_line(line), uid=uid) for uid, line in enumerate(lines[start : start + 250])]
        checked(print_llvm_ir([Kernel("all", "gfx942", (Block("a", tuple(body)),), ("a",))]))


def test_what_memory_returns_goes_to_the_right_registers():
    lines = ["global_atomic_cmpswap v0, v1, v[2:3], s[0:1] sc0", "ds_wrxchg2_rtn_b32 v[4:5], v1, v2, v3 offset1:1"]
    text = print_llvm_ir(
        [kernel_of("a:\n" + "\n".join(lines) + "\n buffer_atomic_cmpswap v[6:7], off, s[4:7], 0 sc0\n s_endpgm")]
    )
    checked(text)
    assert re.search(r'@"asmevo.atomic.cmpswap_b32.global"\(i1 %"\.\d+", i64 %"\.\d+", i64 %"\.\d+"\)', text)
    assert text.count('call i32 @"asmevo.atomic.swap_b32.lds"') == 2
    # A compare-and-swap returns into the first register and leaves the other alone.
    assert '%"v6_1" = select' in text
    assert "v7_1" not in text


def test_an_integer_made_a_float_needs_no_mode():
    text = print_llvm_ir([kernel_of("a:\n v_cvt_f32_ubyte0_e32 v0, v1\n s_endpgm")])
    checked(text)
    assert re.search(r'define internal i32 @"asmevo\.itof\.\w+\.f32"\(i\d+ %"\.1"\)', text)


def test_registers_of_another_lane_are_gathered_one_by_one():
    text = print_llvm_ir([kernel_of("v_mov_b64_dpp v[2:3], v[4:5] row_newbcast:3 row_mask:0xf bank_mask:0xf")])
    checked(text)
    assert body(text).count('call i32 @"asmevo.gather"') == 2


def test_a_dot_product_does_not_see_the_rounding_mode():
    text = print_llvm_ir([kernel_of("v_dot2_f32_f16 v2, v3, v4, v5")])
    checked(text)
    assert f", {0xFFFFFFC0}" in body(text)
