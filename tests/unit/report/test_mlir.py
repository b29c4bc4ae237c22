from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pytest

from asmevo.backend.inputs import load_input
from asmevo.frontend.recover import recover
from asmevo.report.mlir import print_mlir
from programs import kernel_of
from support import EXAMPLES, SHIPPED

pytest.importorskip("xdsl", reason="xDSL needs Python 3.11")
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Block
from xdsl.irdl.dominance import DominanceInfo
from xdsl.parser import Parser

MLIR_OPT = shutil.which("mlir-opt") or shutil.which("mlir-opt-19")


def parse(text):
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def kernels_in(module):
    return list(module.body.block.ops)


def name_of(op):
    return op.attributes.get("op_name__", op.attributes.get("op_name")).data if op.name == "builtin.unregistered" else op.name


def undominated(kernel_op):
    """Uses that their definition does not dominate, and blocks given other values than they take."""
    region = kernel_op.regions[0]
    info = DominanceInfo(region)
    found = []
    for block in region.blocks:
        order = {op: n for n, op in enumerate(block.ops)}
        for op, position in order.items():
            for operand in op.operands:
                owner = operand.owner
                if isinstance(owner, Block):
                    good = owner is block or info.strictly_dominates(owner, block)
                elif owner.parent is block:
                    good = order[owner] < position
                else:
                    good = info.strictly_dominates(owner.parent, block)
                if not good:
                    found.append(name_of(op))
            if op.successors:
                sizes = op.attributes["operandSegmentSizes"].get_values()
                passed = [operand.type for operand in op.operands[sizes[0] :]]
                if passed != [argument.type for target in op.successors for argument in target.args]:
                    found.append(name_of(op))
    return found


@pytest.fixture(scope="module", params=SHIPPED)
def shipped(request):
    code_object = load_input(EXAMPLES / "kernels" / f"{request.param}.co")
    text = print_mlir([recover(code_object)])
    return code_object, text, kernels_in(parse(text))[0]


def test_shipped_kernels_parse_and_every_use_is_dominated(shipped):
    kernel = shipped[2]
    assert name_of(kernel) == "amdgcn.kernel"
    assert undominated(kernel) == []


def test_the_bytes_joined_are_the_text_section(shipped):
    code_object, _, kernel = shipped
    encodings = [op.attributes["bytes"].data for op in kernel.walk() if "bytes" in op.attributes]
    assert bytes.fromhex("".join(encodings)) == bytes(code_object.code(code_object.kernel(None)))


@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt is not installed")
def test_mlir_opt_accepts_it(shipped):
    command = [MLIR_OPT, "--allow-unregistered-dialect", "-"]
    assert subprocess.run(command, input=shipped[1], capture_output=True, text=True, timeout=120).returncode == 0


LOOP = """
entry:
  s_mov_b32 s4, 0
loop:
  s_add_u32 s4, s4, s5
  s_cmp_lt_u32 s4, s6
  s_cbranch_scc1 loop
out:
  v_mov_b32_e32 v0, s4
  global_load_dwordx2 v[2:3], v0, s[0:1] offset:16 sc0
  s_endpgm
"""


def test_what_an_operation_says():
    text = print_mlir([kernel_of(LOOP)])
    assert undominated(kernels_in(parse(text))[0]) == []
    assert "  ^loop(%s4_2: !amdgcn.sgpr<4>):\n" in text
    branch = '"amdgcn.s_cbranch_scc1"(%scc_2, %s4_3)[^loop, ^out]'
    assert branch in text
    assert "operandSegmentSizes = array<i32: 1, 1, 0>" in text
    move = next(line for line in text.splitlines() if "v_mov_b32_e32" in line)
    assert move.strip().startswith('%v0_1 = "amdgcn.v_mov_b32_e32"(%s4_3, %exec_lo_0, %exec_hi_0, %v0_0) {')
    assert 'operands = {vdst = "v0", src0 = "s4"}' in move
    assert "kept = array<i64: 3>" in move
    load = next(line for line in text.splitlines() if "global_load" in line)
    assert "modifiers = {offset = 16 : i64, sc0}" in load
    assert 'memory = {space = "global", access = "load", bytes = 8 : i64}' in load
    assert '"amdgcn.fall"(%s4_1)[^loop] {operandSegmentSizes = array<i32: 0, 1>} : (!amdgcn.sgpr<4>) -> ()' in text


def test_the_check_of_dominance_finds_a_use_before_its_definition():
    text = print_mlir([kernel_of(LOOP)])
    wrong = text.replace('"amdgcn.s_add_u32"(%s4_2, ', '"amdgcn.s_add_u32"(%s4_3, ')
    assert wrong != text
    assert undominated(kernels_in(parse(wrong))[0]) == ["amdgcn.s_add_u32"]
    swapped = text.replace('"(%scc_2, %s4_3)[^loop', '"(%scc_2, %scc_2)[^loop').replace(
        "(!amdgcn.state<scc>, !amdgcn.sgpr<4>) -> ()", "(!amdgcn.state<scc>, !amdgcn.state<scc>) -> ()"
    )
    assert undominated(kernels_in(parse(swapped))[0]) == ["amdgcn.s_cbranch_scc1"]


def test_hostile_names_stay_inside_their_strings():
    label = 'x"]}) : () -> ()\n^'
    kernel = kernel_of("a:\n s_branch entry\nentry:\n s_endpgm")
    second = replace(kernel.blocks[1], label=label)
    kernel = replace(kernel, name='k"\n\x1b[31m\\é', blocks=(replace(kernel.blocks[0], successors=(label,)), second))
    text = print_mlir([kernel])
    assert "\x1b" not in text
    (op,) = kernels_in(parse(text))
    assert len(op.regions[0].blocks) == 3
    assert '"k\\22\\0A\\1B[31m\\5C\\C3\\A9"' in text


def test_several_kernels_and_blocks_called_as_ours_are_kept_apart():
    kernel = kernel_of("entry:\n s_branch block1\nblock1:\n s_endpgm")
    module = parse(print_mlir([kernel, replace(kernel, name="other")]))
    assert [len(k.regions[0].blocks) for k in kernels_in(module)] == [3, 3]


def test_code_that_runs_off_its_end_leaves():
    text = print_mlir([kernel_of("a:\n s_nop 0")])
    assert '"amdgcn.leave"() : () -> ()' in text
    parse(text)
