"""What could be better in a kernel that is right: notes made from the analyses.

Owns the choice of what is worth a note and its words. What is wrong is found by the static checks of `verify`, not here.
"""

from __future__ import annotations

from collections.abc import Iterator

from asmevo.diagnostics import Severity
from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.cost.loop_bounds import LoopChains
from asmevo.ir.analysis.dataflow.dead_code import DeadCode
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.memory.bank_conflicts import BankConflicts
from asmevo.ir.analysis.memory.coalescing import Coalescing
from asmevo.ir.analysis.waits.redundancy import Redundancy
from asmevo.ir.finding import Finding
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import IssueClass
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.printer import print_operand

EXCESS_WAIT, EXCESS_NOP, BANK_CONFLICT, SCATTERED = "E0530", "E0531", "E0532", "E0533"
DEAD, UNREACHABLE, CHAIN, UNKNOWN_WORD = "E0534", "E0535", "E0536", "E0537"
IRREDUCIBLE = "E0538"


def advise(kernel: Kernel, analyses: AnalysisManager) -> Iterator[Finding]:
    """Yield the notes on a kernel, by kind and in layout order; words that are no known instruction are a warning."""
    blocks = {block.label: block for block in kernel.blocks}
    yield from _waits(blocks, analyses)
    yield from _memory(analyses)
    yield from _dead(blocks, analyses)
    yield from _chains(blocks, analyses)
    yield from _unknown(kernel, analyses)


def _note(code: str, message: str, label: str, instruction: Instruction, rule: str = "", missing: int = 0) -> Finding:
    return Finding(code, message, label, instruction, severity=Severity.NOTE, rule=rule, missing=missing)


def _waits(blocks: dict[str, Block], analyses: AnalysisManager) -> Iterator[Finding]:
    redundancy = analyses.get(Redundancy)
    for wait in redundancy.waits:
        instruction = blocks[wait.label].instructions[wait.index]
        if wait.is_redundant:
            yield _note(EXCESS_WAIT, "nothing needs this wait", wait.label, instruction, "redundant")
        else:
            message = f"waits for {print_operand(wait.current)}; {print_operand(wait.enough)} is enough on every path"
            yield _note(EXCESS_WAIT, message, wait.label, instruction, "stronger than needed")
    for nop in redundancy.nops:
        instruction = blocks[nop.label].instructions[nop.index]
        if nop.enough_llvm < nop.current:
            message = f"gives {nop.current} wait states; {nop.enough_llvm} are enough by LLVM's count"
            yield _note(EXCESS_NOP, message, nop.label, instruction, "by LLVM's count", nop.current - nop.enough_llvm)
        else:
            message = (
                f"gives {nop.current} wait states; {nop.enough_physical} are enough by the manual, "
                "counting what instructions in between surely take"
            )
            yield _note(EXCESS_NOP, message, nop.label, instruction, "by the manual", nop.current - nop.enough_physical)


def _memory(analyses: AnalysisManager) -> Iterator[Finding]:
    for use in analyses.get(BankConflicts).conflicts:
        assert use.cost is not None
        message = f"LDS bank conflicts: {use.cost.cycles} clocks for the data, {use.cost.ideal} without conflicts"
        access = use.access
        yield _note(BANK_CONFLICT, message, access.label, access.instruction, missing=use.cost.extra)
    for use in analyses.get(Coalescing).scattered:
        worst = max(use.segments, key=lambda s: s.touched - s.least)
        message = f"the wave touches {worst.touched} segments of {worst.size_bytes} bytes; its bytes fit {worst.least}"
        yield _note(SCATTERED, message, use.access.label, use.access.instruction, missing=worst.touched - worst.least)


def _dead(blocks: dict[str, Block], analyses: AnalysisManager) -> Iterator[Finding]:
    dead = analyses.get(DeadCode)
    for found in dead.instructions:
        what = "the loaded value is never read" if found.is_load else "the result is never read"
        yield _note(DEAD, what, found.label, found.instruction, "load" if found.is_load else "computation")
    for label in dead.unreachable:
        block = blocks[label]
        # Padding behind the code, and what the assembler puts to fill a fetch line, is not worth a word.
        if any(not _is_filler(instruction) for instruction in block.instructions):
            message = f"no path leads to this block of {len(block.instructions)} instruction(s)"
            yield _note(UNREACHABLE, message, label, block.instructions[0])


def _is_filler(instruction: Instruction) -> bool:
    definition = instruction.definition
    return definition is not None and definition.issue in (IssueClass.NOP, IssueClass.END)


def _chains(blocks: dict[str, Block], analyses: AnalysisManager) -> Iterator[Finding]:
    for header, matrix in analyses.get(LoopChains).chains.items():
        if matrix.instructions > 1 and matrix.is_latency_bound and blocks[header].instructions:
            message = (
                f"this loop's longest chain of matrix instructions on one accumulator ({matrix.longest} of "
                f"{matrix.instructions}) takes {matrix.latency_cycles} cycles a round, "
                f"the matrix unit is busy for {matrix.issue_cycles}"
            )
            yield _note(CHAIN, message, header, blocks[header].instructions[0])


def _unknown(kernel: Kernel, analyses: AnalysisManager) -> Iterator[Finding]:
    reachable, loops = analyses.get(Flow).reachable, analyses.get(Loops)
    for block in kernel.blocks:
        if block.label in reachable:
            for instruction in block.instructions:
                if instruction.definition is None:
                    message = "a path leads to a word that is no known instruction: it is taken to touch everything"
                    yield Finding(UNKNOWN_WORD, message, block.label, instruction, severity=Severity.WARNING)
    for source, target in loops.irreducible:
        instructions = kernel.block(source).instructions
        if instructions:
            message = f"a cycle through {target} can be entered elsewhere than at its start: it is not treated as a loop"
            yield _note(IRREDUCIBLE, message, source, instructions[-1])
