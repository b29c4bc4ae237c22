import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from asmevo.backend.assembler import assemble
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.line import LineParser
from asmevo.frontend.parser import parse_source
from asmevo.frontend.recover import recover
from asmevo.ir.instruction import Immediate, Instruction, Label
from asmevo.ir.printer import print_instruction, print_kernel
from asmevo.ir.verifier import verify_kernel

# LLVM's assembler drops bits 13 and 14 of these, so their bytes are only ever copied.
NOT_REPRODUCED = frozenset(("v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4"))


def raw_branch(instruction: Instruction) -> Instruction:
    """A branch with its word count in place of its label: the assembler takes single lines."""
    if not instruction.operands or not isinstance(instruction.operands[-1], Label) or instruction.encoding is None:
        return instruction
    words = int.from_bytes(instruction.encoding[:2], "little")
    return replace(instruction, operands=(*instruction.operands[:-1], Immediate(words, str(words))))


def check_text(kernel):
    """Asserts that LLVM's text, ours and the bytes agree for every instruction of `kernel`."""
    members = [raw_branch(i) for i in kernel.instructions() if not i.mnemonic.startswith(".")]
    for member in members:
        assert print_instruction(member) == " ".join(member.span.source.split())
    members = [member for member in members if member.mnemonic not in NOT_REPRODUCED]
    encodings = assemble([print_instruction(member) for member in members], kernel.target)
    assert encodings == [member.encoding for member in members]


def test_text_is_that_of_llvm_and_assembles_to_the_same_bytes(shipped, shipped_name):
    kernel = shipped[shipped_name][2]
    check_text(kernel)
    assert verify_kernel(kernel, kernel) == []


def test_printed_kernel_parses_to_itself(shipped, shipped_name):
    kernel = shipped[shipped_name][2]
    again = parse_source(print_kernel(kernel))
    assert (again.name, again.target, again.roots) == (kernel.name, kernel.target, kernel.roots)
    assert [block.label for block in again.blocks] == [block.label for block in kernel.blocks]
    for block in kernel.blocks:
        bare = tuple(replace(member, encoding=None, offset=None) for member in block.instructions)
        if not block.frozen:
            assert again.block(block.label).instructions == bare
            assert again.block(block.label).successors == block.successors


def test_templates_agree_with_the_grammar_on_every_line(shipped, shipped_name):
    fast, slow = LineParser(), LineParser()
    lines = {instruction.span.source for instruction in shipped[shipped_name][2].instructions() if instruction.span.source}
    for line in sorted(lines):
        assert fast.parse(line, allow_opaque=True) == slow.parse_with_grammar(line)


def test_text_of_production_objects():
    corpus = os.environ.get("ASMEVO_CORPUS")
    if not corpus:
        pytest.skip("set ASMEVO_CORPUS to a folder of production objects (ROCm/aiter, hsa/gfx942)")
    for path in random.Random(0).sample(sorted(Path(corpus).rglob("*.co")), 100):
        kernel = recover(load_file(path))
        check_text(kernel)
        assert verify_kernel(kernel, kernel) == []
