"""The blocks of a kernel as one stretch of machine code.

Owns encoding what was edited, placing blocks, and resolving branches. It knows nothing of ELF. Untouched instructions keep
their bytes; a branch keeps its own unless its distance changed.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace

from asmevo.backend.assembler import assemble
from asmevo.diagnostics import Diagnostic, DiagnosticError, Span, fail
from asmevo.frontend.lowering import indirect_instructions
from asmevo.ir.instruction import Immediate, Instruction, Label
from asmevo.ir.kernel import Kernel
from asmevo.ir.printer import print_instruction

S_NOP = struct.pack("<I", 0xBF800000)
_WORD = 4
# What stands between functions: s_nop, s_code_end (as older assemblers fill), zero.
_PADDING_WORDS = frozenset({0xBF9F0000, 0})
_S_NOP_OPCODE, _SOPP_OPCODE_MASK = 0xBF800000, 0xFFFF0000
_ENDS = frozenset({"s_endpgm", "s_endpgm_saved", "s_branch", "s_setpc_b64"})


@dataclass(frozen=True, slots=True)
class Placed:
    """An instruction with its final bytes and its offset in .text."""

    instruction: Instruction
    offset: int
    code: bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """A kernel's code from `start` (an offset in .text) on, and where its blocks and instructions came to stand."""

    start: int
    code: bytes
    placed: tuple[Placed, ...]
    origins: tuple[tuple[int, int], ...]
    """Each original block's old and new offset, sorted."""
    places: Mapping[str, int]
    """Each block's offset, by label."""

    @property
    def is_in_place(self) -> bool:
        """Whether every original instruction stands where it stood."""
        return all(item.instruction.offset in (None, item.offset) for item in self.placed)

    def moved(self, offset: int) -> int:
        """Return where an offset of the original text is now: the place of its block, then as far behind it as before."""
        index = bisect_right(self.origins, (offset, 1 << 64)) - 1
        if index < 0:
            return offset
        origin, place = self.origins[index]
        return place + offset - origin


def lay_out(kernel: Kernel, start: int) -> Layout:
    """Encode and place a kernel whose code begins at `start`, an offset in .text.

    Roots stay where they were: hardware starts waves there. Shorter code before a root is filled up with s_nop.
    Raises E0603 when the assembler refuses an edited instruction, E0610 for a branch to no block, E0611 for one too far,
    E0612 when code before a root grew.
    """
    encoded = _encode(kernel)
    cursor = start
    placed: list[Placed] = []
    code = bytearray()
    places: dict[str, int] = {}
    for block in kernel.blocks:
        if block.label in kernel.roots and block.offset is not None:
            if cursor > block.offset:
                what = f"'{kernel.name}': the code before '{block.label}' grew; waves start there, it cannot move"
                fail("E0612", what, block.instructions[0].span)
            code += S_NOP * ((block.offset - cursor) // _WORD)
            cursor = block.offset
        if block.label in places:
            fail("E0610", f"'{kernel.name}': two blocks are called '{block.label}'")
        places[block.label] = cursor
        for instruction in block.instructions:
            bits = encoded[id(instruction)]
            placed.append(Placed(instruction, cursor, bits))
            code += bits
            cursor += len(bits)
    for index, item in enumerate(placed):
        if (label := branch_label(item.instruction)) is not None:
            bits = _with_target(kernel, item, label, places)
            placed[index] = replace(item, code=bits)
            code[item.offset - start : item.offset - start + len(bits)] = bits
    origins = sorted((block.offset, places[block.label]) for block in kernel.blocks if block.offset is not None)
    layout = Layout(start, bytes(code), tuple(placed), tuple(origins), places)
    _check_computed_addresses(kernel, layout)
    return layout


def branch_label(instruction: Instruction) -> str | None:
    """Return the label that an instruction branches to or calls."""
    for operand in instruction.operands:
        if isinstance(operand, Label):
            return operand.name
    return None


def branch_target(offset: int, code: bytes) -> int:
    """Return where the branch at `offset` leads: its simm16 counts words from the next instruction."""
    (distance,) = struct.unpack_from("<h", code)
    return offset + _WORD + distance * _WORD


def is_padding(code: bytes) -> bool:
    """Tell whether an encoding is filler: s_nop, s_code_end or a zero word."""
    if len(code) != _WORD:
        return False
    (word,) = struct.unpack("<I", code)
    return word in _PADDING_WORDS or word & _SOPP_OPCODE_MASK == _S_NOP_OPCODE


def without_trailing_padding(layout: Layout) -> Layout:
    """Drop filler behind the last instruction, when control cannot run into it; only good where other code follows.

    At the end of .text filler stays: it keeps the instruction fetch within mapped memory.
    """
    count = len(layout.placed)
    while count and is_padding(layout.placed[count - 1].code):
        count -= 1
    if count == 0 or count == len(layout.placed) or layout.placed[count - 1].instruction.mnemonic not in _ENDS:
        return layout
    end = layout.placed[count - 1].offset + len(layout.placed[count - 1].code)
    return replace(layout, code=layout.code[: end - layout.start], placed=layout.placed[:count])


def _encode(kernel: Kernel) -> dict[int, bytes]:
    # By identity, since equal instructions may have different bytes (a branch's distance).
    edited = [i for i in kernel.instructions() if i.encoding is None]
    try:
        fresh = assemble([_text(i) for i in edited], kernel.target)
    except DiagnosticError as error:
        raise DiagnosticError(*(_located(kernel, edited, problem) for problem in error.diagnostics)) from error
    encoded = {id(i): i.encoding for i in kernel.instructions() if i.encoding is not None}
    encoded.update((id(i), bits) for i, bits in zip(edited, fresh, strict=True))
    return encoded


def _located(kernel: Kernel, edited: list[Instruction], problem: Diagnostic) -> Diagnostic:
    # The assembler counts texts; a person knows the instruction by its text and the kernel.
    if problem.span is None or not 0 < problem.span.line <= len(edited):
        return problem
    instruction = edited[problem.span.line - 1]
    span = replace(problem.span, file=f"<{kernel.name}, instruction {instruction.uid}>", line=1)
    return replace(problem, span=span)


def _text(instruction: Instruction) -> str:
    # The distance is filled in once blocks are placed.
    operands = tuple(Immediate(0, "0") if isinstance(o, Label) else o for o in instruction.operands)
    return print_instruction(replace(instruction, operands=operands))


def _with_target(kernel: Kernel, item: Placed, label: str, places: dict[str, int]) -> bytes:
    target = places.get(label)
    if target is None:
        fail("E0610", f"'{kernel.name}': {item.instruction.mnemonic} leads to '{label}', which is no block")
    distance = (target - item.offset - _WORD) // _WORD
    if not -(1 << 15) <= distance < 1 << 15:
        what = f"'{kernel.name}': {item.instruction.mnemonic} to '{label}' is {distance} words away; a branch reaches 32767"
        fail("E0611", what, Span(kernel.name, offset=item.offset))
    return struct.pack("<h", distance) + item.code[2:]


def _check_computed_addresses(kernel: Kernel, layout: Layout) -> None:
    if layout.is_in_place or not (named := indirect_instructions(kernel.instructions())):
        return
    what = f"'{kernel.name}' computes code addresses ({', '.join(named)}): its instructions must keep their places"
    fail("E0613", what, Span(kernel.name), "replace instructions by ones of equal size")
