"""AsmEvo's reader and LLVM's assembler on the same lines: what LLVM takes is read to the same bytes, the rest is refused.

The exceptions are named: values that LLVM cuts to their field without a word, and operands that no encoding has.
"""

from __future__ import annotations

import collections
import random
import re
from dataclasses import replace

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.line import parse_line
from asmevo.frontend.llvm import TARGETS
from asmevo.frontend.parser import parse_module
from asmevo.ir import isa
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.printer import print_instruction
from asmevo.ir.verifier import verify_kernel
from asmevo.resources import document
from assembler_lines import changed_lines, decoded_lines, lines_by_mnemonic, llvm_encodings, llvm_verdicts, table_lines

STRICTER = {
    "value cut by LLVM": r"is out of range|takes 16 bits|takes -?\d+ to \d+, offset|does not fit in 32 bits",
    "constant under sext": r"sext\(\.\.\.\) applies to a register",
    "condition bit written": r"src_\w+ is read-only|is written, so it must be a register|wide, src_\w+ given",
    "wide register of a DPP form": r"_dpp is 1 register wide",
    "suffix written twice": r"unknown opcode '\w+_(?:e32|e64|sdwa|dpp)_(?:e32|e64|sdwa|dpp)'",
    "wait counter given twice": r"counter '\w+' is given twice",
    "image instruction": r"image instructions are not supported",
    "load to LDS of gfx90a": r"(?:global|scratch)_load_\w+ takes",
    "list longer than the operands": r"(?:op_sel_hi|neg_lo|neg_hi) takes .* items",
    "reserved matrix format": r"_f8f6f4 is no register",
}
"""What LLVM takes and AsmEvo refuses, with the words it refuses it by; docs/assembly.md has the same list, with reasons."""


def read(line: str, target: str) -> tuple[Instruction | None, str]:
    """The instruction, or what is wrong with the line."""
    try:
        instruction = next(parse_module(line + "\n", target=target).kernels[0].instructions())
    except DiagnosticError as error:
        first = error.diagnostics[0]
        assert first.span is not None
        assert first.span.line == 1
        assert first.span.column >= 1
        return None, first.message
    definition = instruction.definition
    assert definition is not None
    if not (definition.is_branch or definition.is_terminator):
        last = replace(parse_line("s_endpgm"), uid=1)
        kernel = Kernel("k", target, (Block("k", (replace(instruction, uid=0), last)),), ("k",))
        if findings := verify_kernel(kernel):
            return None, findings[0].message
    return instruction, ""


def disagreements(lines: list[str], target: str) -> tuple[collections.Counter[str], list[str]]:
    """Counts by kind, and the lines on which AsmEvo and LLVM differ in a way that `STRICTER` does not name."""
    verdicts = llvm_verdicts(lines, target)
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    printed: dict[str, str] = {}
    for line, complaint in verdicts.items():
        instruction, message = read(line, target)
        if complaint is not None:
            counts["refused by both"] += instruction is None
            wrong += [f"only LLVM refuses: {line} ({complaint[1]})"] if instruction is not None else []
        elif instruction is not None:
            printed[line] = print_instruction(instruction)
        elif reason := next((name for name, words in STRICTER.items() if re.search(words, message)), None):
            counts[reason] += 1
        else:
            wrong.append(f"only AsmEvo refuses: {line} ({message})")
    refused = llvm_verdicts(list(printed.values()), target)
    kept = {line: text for line, text in printed.items() if refused[text] is None}
    wrong += [f"printed wrongly: {line} as {text}" for line, text in printed.items() if line not in kept]
    for line, before, after in zip(
        kept, llvm_encodings(list(kept), target), llvm_encodings(list(kept.values()), target), strict=True
    ):
        # Unused bits of a wait are not kept.
        if before != after and not re.match(r"s_waitcnt (?:0x|\d)", line):
            wrong.append(f"other bytes: {line} as {kept[line]}")
    counts["read by both"] = len(kept)
    return counts, wrong


def corpus(target: str, rounds: int, seed: int, sample: int | None) -> tuple[list[str], list[str]]:
    """Lines of the tables with what the disassembler makes of changed bits, and the same lines each with one thing changed."""
    verdicts = llvm_verdicts(table_lines(target), target)
    right = [line for line, complaint in verdicts.items() if complaint is None]
    decoded = decoded_lines(llvm_encodings(right, target), target, rounds, seed)
    lines = [*verdicts, *decoded]
    if sample is not None:
        lines = random.Random(seed).sample(lines, sample)
    return lines, [*right, *decoded]


def test_the_documentation_lists_what_is_refused() -> None:
    rows = re.findall(r"^\| \*([a-z][^*]+)\* \|", document("assembly.md"), re.MULTILINE | re.IGNORECASE)
    assert sorted(rows) == sorted(STRICTER)


@pytest.mark.parametrize("target", TARGETS)
def test_every_mnemonic_has_a_line_that_both_take(target: str) -> None:
    names = {name for name, found in isa.definitions().items() if any(target in item.targets for item in found)}
    by_name = lines_by_mnemonic(target)
    assert by_name.keys() == names
    verdicts = llvm_verdicts([line for lines in by_name.values() for line in lines], target)
    taken = {name: [line for line in lines if verdicts[line] is None] for name, lines in by_name.items()}
    assert [name for name, lines in taken.items() if not lines] == []
    assert [name for name, lines in taken.items() if all(read(line, target)[0] is None for line in lines)] == []


@pytest.mark.parametrize("target", TARGETS)
def test_a_sample_of_lines_is_judged_as_llvm_judges_it(target: str) -> None:
    lines, base = corpus(target, 1, 5, 150)
    counts, wrong = disagreements([*lines, *changed_lines(base, 250, 6)], target)
    assert not wrong
    assert counts["read by both"] > 120
    assert counts["refused by both"] > 80


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_every_line_is_judged_as_llvm_judges_it(target: str) -> None:
    lines, base = corpus(target, 4, 7, None)
    counts, wrong = disagreements([*lines, *changed_lines(base, 40_000, 8)], target)
    print(target, dict(counts))
    assert not wrong


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("buffer_load_dword v0, off, s[0:3], 0 offset:5000", "out of range"),
        ("s_nop 0x10001", "takes 16 bits"),
        ("s_waitcnt 0x1ffff", "takes 16 bits"),
        ("v_mov_b32_dpp v0, v1 row_shl:1 row_mask:64", "out of range"),
    ],
)
def test_values_that_llvm_cuts_are_refused(line: str, message: str) -> None:
    assert llvm_verdicts([line], "gfx942")[line] is None
    assert message in read(line, "gfx942")[1]


@pytest.mark.parametrize(
    ("line", "target"), [("v_mov_b64 v[0:1], v[2:3]", "gfx90a"), ("v_prng_b32 v0, v1", "gfx942"), ("buffer_wbinvl1", "gfx950")]
)
def test_another_chips_instruction_is_refused(line: str, target: str) -> None:
    assert "has no such instruction" in read(line, target)[1]
