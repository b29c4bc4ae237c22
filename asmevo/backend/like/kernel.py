"""An edited region as a kernel to put into the object.

Owns telling which statements are the original's instructions (these keep bytes, number and place) and which are new, and the
blocks they form. Sizes, places and branches are the writer's work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from asmevo.backend.like.code import Coded
from asmevo.backend.listing.code import statements
from asmevo.backend.listing.reader import Document, Statement
from asmevo.backend.resources import granted_by
from asmevo.diagnostics import Span
from asmevo.frontend.disassembler import disassemble
from asmevo.frontend.line import line_parser, parse_line
from asmevo.ir.abi import KernelDescriptor
from asmevo.ir.instruction import Immediate, Instruction, Label, Register
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import RegisterFile

_WORD = 4
_MOST_PAIRS = 1 << 22
"""Beyond this many pairs of statements in one block, only equal beginnings and ends are matched."""


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Numbers that no instruction of the original has."""

    first: int
    used: list[int]

    def next(self) -> int:
        """Take one."""
        self.used.append(self.first + len(self.used))
        return self.used[-1]


def edited_kernel(original: Kernel, coded: Coded, document: Document, descriptor: KernelDescriptor | None) -> Kernel:
    """The kernel that the text makes of `original`, with this descriptor.

    Raises E0622 for a new instruction with a register that the descriptor does not grant, E0623 when a place where waves start
    has lost its label, and what the parser raises for an instruction without a definition.
    """
    members = _instructions(original, coded, document)
    known = {block.label: block for block in original.blocks}
    heads = _heads(coded, members, known)
    for root in original.roots:
        if root not in heads.values():
            opening = coded.piece.statements[0]
            document.fail("E0623", f"'{root}', where waves start, is no longer a label of '{original.name}'", opening)
    leaders = sorted(heads)
    ends = [*leaders[1:], len(members)]
    blocks = tuple(
        _block(members[start:end], start, end, heads, coded, known) for start, end in zip(leaders, ends, strict=True)
    )
    wanted = descriptor or original.descriptor
    if wanted is not None:
        _check_registers(original, members, coded, document, wanted)
    return replace(original, blocks=blocks, descriptor=wanted)


def _instructions(original: Kernel, coded: Coded, document: Document) -> list[Instruction]:
    """An instruction for each statement: the original's where text and block are the same."""
    piece = coded.piece
    texts = [statement.text for statement in piece.statements]
    old_blocks = {block.label: block.instructions for block in original.blocks}
    old_texts = _texts(original)
    cuts = sorted((index, label) for label, index in piece.labels.items() if label in old_blocks)
    found: list[Instruction | None] = [None] * len(texts)
    for position, (start, label) in enumerate(cuts):
        stop = cuts[position + 1][0] if position + 1 < len(cuts) else len(texts)
        for old, new, size in _matches(old_texts[label], texts[start:stop]):
            found[start + new : start + new + size] = old_blocks[label][old : old + size]
    first = max((instruction.uid for instruction in original.instructions()), default=-1) + 1
    numbers = _Numbers(first, [])
    return [
        _with_new_target(known, index, coded) if known is not None else _new(index, coded, document, original.target, numbers)
        for index, known in enumerate(found)
    ]


def _texts(original: Kernel) -> dict[str, list[str]]:
    written = iter(statements(list(original.instructions()), original.target))
    return {block.label: [next(written)[0] for _ in block.instructions] for block in original.blocks}


def _matches(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int]]:
    """Stretches (place in old, place in new, length) that are equal, in order."""
    if list(old) == list(new):
        return [(0, 0, len(old))]
    if len(old) * len(new) <= _MOST_PAIRS:
        return [(m.a, m.b, m.size) for m in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()]
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    return [(0, 0, head), (len(old) - tail, len(new) - tail, tail)]


def _with_new_target(instruction: Instruction, index: int, coded: Coded) -> Instruction:
    label = coded.targets.get(index)
    if label is None or instruction.operands[-1] == Label(label):
        return instruction
    return replace(instruction, operands=(*instruction.operands[:-1], Label(label)))


def _new(index: int, coded: Coded, document: Document, target: str, numbers: _Numbers) -> Instruction:
    statement = coded.piece.statements[index]
    span = document.span(statement)
    if statement.text.startswith("."):
        return _data(coded.codes[index], span, target, numbers)
    return replace(parse_line(statement.text, span), uid=numbers.next())


def _data(code: bytes, span: Span, target: str, numbers: _Numbers) -> Instruction:
    """A statement of raw words: the instruction that they are, when they are exactly one."""
    lines = disassemble(code, target)
    if len(lines) == 1 and (text := lines[0].text) is not None:
        parts = line_parser().parse(text, span, allow_opaque=True)
        return Instruction(*parts, encoding=code, uid=numbers.next(), span=span)
    words = tuple(int.from_bytes(code[at : at + _WORD], "little") for at in range(0, len(code), _WORD))
    operands = tuple(Immediate(word, f"{word:#010x}") for word in words)
    return Instruction(".long", operands, (), None, code, None, numbers.next(), span)


def _heads(coded: Coded, members: Sequence[Instruction], known: dict[str, Block]) -> dict[int, str]:
    """The number of each block's first statement, to its label: one of the original's when there is one."""
    count = len(members)
    at: dict[int, list[str]] = {}
    for label, index in coded.piece.labels.items():
        if index < count:
            at.setdefault(index, []).append(label)
    wanted = {0, *(coded.piece.labels[label] for label in coded.targets.values())}
    wanted |= {index for index, labels in at.items() if any(label in known for label in labels)}
    for index, instruction in enumerate(members[:-1]):
        if instruction.ends_block:
            wanted.add(index + 1)
    taken = set(coded.piece.labels)
    heads: dict[int, str] = {}
    for index in sorted(index for index in wanted if index < count):
        labels = at.get(index, [])
        name = next((label for label in labels if label in known), labels[0] if labels else f"B_{index}")
        while not labels and name in taken:
            name = f"{name}_"
        heads[index] = name
    return heads


def _block(
    members: Sequence[Instruction], start: int, end: int, heads: dict[int, str], coded: Coded, known: dict[str, Block]
) -> Block:
    last = members[-1]
    definition = last.definition
    out = list(members)
    successors: tuple[str, ...] = ()
    if (label := coded.targets.get(end - 1)) is not None:
        name = heads[coded.piece.labels[label]] if coded.piece.labels[label] in heads else label
        out[-1] = last if last.operands[-1] == Label(name) else replace(last, operands=(*last.operands[:-1], Label(name)))
        successors = (name,)
    is_open = definition is None or not definition.is_terminator or definition.is_conditional
    if is_open and end in heads and not last.mnemonic.startswith("."):
        successors = (*successors, heads[end])
    old = known.get(heads[start])
    frozen = any(member.definition is None for member in members) or (old is not None and old.frozen)
    return Block(heads[start], tuple(out), successors, frozen, old.offset if old is not None else None)


def _check_registers(
    original: Kernel, members: Sequence[Instruction], coded: Coded, document: Document, descriptor: KernelDescriptor
) -> None:
    granted = granted_by(descriptor)
    limits = {RegisterFile.VGPR: granted.vgprs, RegisterFile.AGPR: granted.agprs, RegisterFile.SGPR: granted.sgprs}
    old = {instruction.uid for instruction in original.instructions()}
    for instruction, statement in zip(members, coded.piece.statements, strict=True):
        if instruction.uid in old:
            continue
        for operand in instruction.operands:
            if isinstance(operand, Register) and operand.range.index + operand.range.count > limits.get(
                operand.range.file, 1 << 10
            ):
                _refuse_register(operand, limits[operand.range.file], statement, document)


def _refuse_register(operand: Register, limit: int, statement: Statement, document: Document) -> None:
    directive = {
        RegisterFile.VGPR: ".amdhsa_accum_offset and .amdhsa_next_free_vgpr",
        RegisterFile.AGPR: ".amdhsa_next_free_vgpr",
        RegisterFile.SGPR: ".amdhsa_next_free_sgpr",
    }[operand.range.file]
    message = f"{operand.range} is beyond the {limit} registers of its kind that the descriptor grants"
    document.fail("E0622", message, statement, f"raise {directive} in the text")
